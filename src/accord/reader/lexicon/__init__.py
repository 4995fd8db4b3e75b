"""The words that replies and tool names use, as data: each word once, with one meaning.

The data is in the `.txt` files here: `verbs` and `names` (words of tool names), `members` (of
objects), `outcomes` (words of sentences), `phrases` (patterns of sentences), `languages`.
A section:

    [list]  # what the words have in common
    search find browse

is `VERBS.list`, and `words("verbs.list")`.

A `.txt` file whose first line is `# exclusive` has each word in one section only. Rules ask the
lexicon; no rule has a list of words of its own.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

_FOLDER: Final = Path(__file__).parent
_SECTION: Final = re.compile(r"^\[([\w-]+)\](?:[ \t].*)?$", re.M)
_JOINTS: Final = re.compile(r"[^a-z0-9]")
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_MAX_NAMES: Final = 2_048
"""Names whose results are cached for each function."""
_MAX_NAME: Final = 64
"""Characters of a name whose result is cached."""

T = TypeVar("T")


@cache
def sections(file: str) -> dict[str, str]:
    """Return the sections of a file of the lexicon, as text."""
    text = (_FOLDER / f"{file}.txt").read_text(encoding="utf-8")
    _, *parts = _SECTION.split(text)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def ordered(section: str) -> tuple[str, ...]:
    """Return the words of a section, in order."""
    file, _, name = section.partition(".")
    return tuple(sections(file)[name].split())


def words(*sections: str) -> frozenset[str]:
    """Return the words of one or several sections: `words("verbs.list")`."""
    return frozenset(word for section in sections for word in ordered(section))


class Words:
    """The sections of a file as sets of words, by name: `NAMES.no_plural`."""

    if TYPE_CHECKING:  # not at run time, where it makes each access slower

        def __getattr__(self, name: str) -> frozenset[str]: ...


def _words_of_file(file: str) -> Words:
    found = Words()
    for name, text in sections(file).items():
        setattr(found, name.replace("-", "_"), frozenset(text.split()))
    return found


ARGUMENTS: Final = _words_of_file("arguments")
MEMBERS: Final = _words_of_file("members")
NAMES: Final = _words_of_file("names")
OUTCOMES: Final = _words_of_file("outcomes")
VERBS: Final = _words_of_file("verbs")


def pairs(section: str) -> dict[str, str]:
    """Return the phrases of a section whose lines are `phrase: other; other`, by each other."""
    file, _, name = section.partition(".")
    lines = (line.partition(":") for line in sections(file)[name].splitlines() if ":" in line)
    return {other.strip(): key.strip() for key, _, rest in lines for other in rest.split(";")}


def memo(describe: Callable[[str], T]) -> Callable[[str], T]:
    """Return a function that caches its results for short names, which recur."""
    return _Memo(describe).__getitem__  # nothing in Python is faster to call


class _Memo(dict[str, T]):
    def __init__(self, describe: Callable[[str], T]) -> None:
        self._describe = describe

    def __missing__(self, name: str) -> T:
        found = self._describe(name)
        if len(name) <= _MAX_NAME:
            if len(self) >= _MAX_NAMES:
                self.clear()
            self[name] = found
        return found


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in small letters: `get`, `user` of `getUser` and `get-user`."""
    return tuple(part.lower() for part in _PARTS.findall(name))


def singular(word: str) -> str:
    """Return a noun in the singular: `user` of `users`, `query` of `queries`."""
    return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s")


@memo
def squeezed(name: str) -> str:
    """Return a name in one spelling: `hasmore` of `has_more`, `hasMore` and `Has-More`."""
    return _JOINTS.sub("", name.lower())


def base_forms(word: str) -> tuple[str, ...]:
    """Return the verbs that a word may be a form of: `stop` of `stopped`, `move` of `moving`."""
    for ending in ("ied", "ed", "ing", "en"):
        root = word.removesuffix(ending)
        if root != word and len(root) > 1:
            if ending == "ied":
                return (root + "y",)
            is_doubled = root[-1] == root[-2]
            return (root, root + "e", *((root[:-1], root[:-1] + "e") if is_doubled else ()))
    return ()


# The names of members of objects


class Member(NamedTuple):
    """The properties of a member by its name."""

    noun: str
    """Its last word in the singular."""
    is_generic: bool
    """A name that any list may have."""
    is_paging: bool
    is_count: bool
    """`total`, `count`."""
    number_of: frozenset[str]
    """The nouns that it counts: `totalUsers`, `user_count`; empty if it is not a count."""
    is_identity: bool
    """True if it identifies a thing."""
    is_beside: bool
    """True if it is only sent along with an answer."""


def _is_number(parts: tuple[str, ...]) -> bool:
    """True if a name is that of an identifying number: `trial_number`."""
    return len(parts) == 2 and parts[1] == "number" and parts[0] not in MEMBERS.not_numbered


@memo
def member_of(name: str) -> Member:
    """Return the properties of a member by its name."""
    parts, key = words_of(name), squeezed(name)
    nouns = tuple(map(singular, parts))
    return Member(
        noun=nouns[-1] if nouns else "",
        is_generic=name.lower() in MEMBERS.generic,
        is_paging=key in MEMBERS.paging,
        is_count=key in MEMBERS.counts,
        number_of=frozenset() if MEMBERS.numbers.isdisjoint(parts) else frozenset(nouns),
        is_identity=name in MEMBERS.identity or name.endswith(("_id", "Id")) or _is_number(parts),
        is_beside=name.lower() in MEMBERS.beside or (bool(nouns) and nouns[-1] in MEMBERS.remarks),
    )


def is_of_list(member: Member) -> bool:
    """True if a member is about a list rather than a thing: a page or a count."""
    return member.is_paging or member.is_count or bool(member.number_of)
