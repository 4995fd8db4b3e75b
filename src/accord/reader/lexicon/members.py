"""What the names of members say: that of a list, or of what stands beside one."""

from typing import Final, NamedTuple

from accord.reader.lexicon import memo, singular, squeezed, words, words_of

_GENERIC: Final = words("members.generic")
_BESIDE: Final = words("members.beside")
_REMARKS: Final = words("members.remarks")
_IDENTITY: Final = words("members.identity")
_PAGING: Final = words("members.paging")
_COUNTS: Final = words("members.counts")
_NOT_NUMBERED: Final = words("members.not-numbered")
NUMBERS: Final = words("members.numbers")


class Member(NamedTuple):
    """What the name of a member says, beside a list or as that of one."""

    noun: str
    """Its last word in the singular: what it is."""
    is_generic: bool
    """A name that any list may have."""
    is_paging: bool
    is_count: bool
    """`total`, `count`."""
    number_of: frozenset[str]
    """What it is the number of: `totalUsers`, `user_count`."""
    is_identity: bool
    """It says which thing this is."""
    is_beside: bool
    """What it holds goes along with an answer, and is none itself."""


def _is_number(parts: tuple[str, ...]) -> bool:
    """Whether a name is that of the number that a thing goes by: `trial_number`."""
    return len(parts) == 2 and parts[1] == "number" and parts[0] not in _NOT_NUMBERED


@memo
def member_of(name: str) -> Member:
    """What is known of a member by its name."""
    parts, key = words_of(name), squeezed(name)
    nouns = tuple(map(singular, parts))
    return Member(
        noun=nouns[-1] if nouns else "",
        is_generic=name.lower() in _GENERIC,
        is_paging=key in _PAGING,
        is_count=key in _COUNTS,
        number_of=frozenset() if NUMBERS.isdisjoint(parts) else frozenset(nouns),
        is_identity=name in _IDENTITY or name.endswith(("_id", "Id")) or _is_number(parts),
        is_beside=name.lower() in _BESIDE or (bool(nouns) and nouns[-1] in _REMARKS),
    )


def is_of_list(member: Member) -> bool:
    """Whether a member says something about a list, rather than about a thing."""
    return member.is_paging or member.is_count or bool(member.number_of)
