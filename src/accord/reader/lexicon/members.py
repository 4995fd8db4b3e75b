"""What the names of members say: that of a list, or of what stands beside one."""

from typing import Final, NamedTuple

from accord.reader.lexicon.words import singular, squeezed, words_of
from accord.reader.memo import memo

_GENERIC: Final = frozenset(
    """items results result value body data rows records entries list values hits documents nodes
    edges elements
    objects content contents matches resultados risultati résultats resultats ergebnisse""".split()
)
_BESIDE: Final = frozenset(
    """facets included links columns headers fields schema aggregations messages_dropped sources
    citations""".split()
)
_REMARKS: Final = frozenset("error warning suggestion note hint tip notice caveat".split())
"""What is said beside an answer, whatever comes before it in the name: `parseWarnings`."""
_IDENTITY: Final = frozenset(
    """id _id uuid sha key slug number name title login username email isbn""".split()
)
_PAGING: Final = frozenset(
    """hasmore hasnext hasnextpage next nextcursor nextpage nextpagetoken nexttoken nextoffset
    previous prev offset limit cursor page perpage pagesize startat maxresults showing returned
    truncated incompleteresults islast pagination paging pageinfo""".split()
)
_COUNTS: Final = frozenset(
    """total count totalcount totalresults totalitems totalhits numresults resultcount returnedcount
    numfound totalrows rowcount hits n""".split()
)
_NOT_NUMBERED: Final = frozenset("page row line total".split())
NUMBERS: Final = frozenset({"total", "count", "num", "number", "found"})


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


def _is_number(words: tuple[str, ...]) -> bool:
    """Whether a name is that of the number that a thing goes by: `trial_number`."""
    return len(words) == 2 and words[1] == "number" and words[0] not in _NOT_NUMBERED


@memo
def member_of(name: str) -> Member:
    """What is known of a member by its name."""
    words, key = words_of(name), squeezed(name)
    nouns = tuple(map(singular, words))
    return Member(
        noun=nouns[-1] if nouns else "",
        is_generic=name.lower() in _GENERIC,
        is_paging=key in _PAGING,
        is_count=key in _COUNTS,
        number_of=frozenset() if NUMBERS.isdisjoint(words) else frozenset(nouns),
        is_identity=name in _IDENTITY or name.endswith(("_id", "Id")) or _is_number(words),
        is_beside=name.lower() in _BESIDE or (bool(nouns) and nouns[-1] in _REMARKS),
    )


def is_of_list(member: Member) -> bool:
    """Whether a member says something about a list, rather than about a thing."""
    return member.is_paging or member.is_count or bool(member.number_of)
