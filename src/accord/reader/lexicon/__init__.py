"""The words that replies and tool names use, as data: each word once, with one meaning.

The data is in the `.txt` files here: `verbs` and `names` (words of tool names), `members` (of
objects), `outcomes` (words of sentences), `phrases` (patterns of sentences), `languages`.
`words("verbs.list")` is one section:

    [list]  # what the section has in common
    search find browse

A `.txt` file whose first line says `# exclusive` has each word in one section only. Rules ask the
lexicon; no rule has a list of words of its own.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

_FOLDER: Final = Path(__file__).parent
_SECTION: Final = re.compile(r"^\[([\w-]+)\](?:[ \t].*)?$", re.M)
_INNER: Final = re.compile(r"\{([a-z][a-z.-]*)\}")
_JOINTS: Final = re.compile(r"[^a-z0-9]")
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_MAX_NAMES: Final = 2_048
"""Names that are remembered for each function."""
_MAX_NAME: Final = 64
"""Characters of a name that is remembered."""

T = TypeVar("T")


@cache
def _sections(file: str) -> dict[str, str]:
    """Return the sections of a file of the lexicon, as text."""
    text = (_FOLDER / f"{file}.txt").read_text(encoding="utf-8")
    _, *parts = _SECTION.split(text)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def ordered(section: str) -> tuple[str, ...]:
    """Return the words of a section, in order."""
    file, _, name = section.partition(".")
    return tuple(_sections(file)[name].split())


def words(*sections: str) -> frozenset[str]:
    """Return the words of one or several sections: `words("verbs.list")`."""
    return frozenset(word for section in sections for word in ordered(section))


def patterns(section: str) -> tuple[str, ...]:
    """Return the patterns of a section; `{name}` in one stands for those of another section."""
    file, _, name = section.partition(".")
    lines = (line for line in _sections(file)[name].splitlines() if line and line[:2] != "# ")
    return tuple(_INNER.sub(lambda found: _any_of(found[1], file), line) for line in lines)


def _any_of(name: str, file: str) -> str:
    """Return one pattern for a section: of words in another file, or of patterns in this one."""
    each = sorted(words(name)) if "." in name else patterns(f"{file}.{name}")
    return f"(?:{'|'.join(each)})"


def pairs(section: str) -> dict[str, str]:
    """Return the phrases of a section whose lines are `phrase: other; other`, by each other."""
    file, _, name = section.partition(".")
    lines = (line.partition(":") for line in _sections(file)[name].splitlines() if ":" in line)
    return {other.strip(): key.strip() for key, _, rest in lines for other in rest.split(";")}


def memo(describe: Callable[[str], T]) -> Callable[[str], T]:
    """Return a function that remembers its results for short names, which recur."""
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
            return (root, root + "e", root[:-1]) if root[-1] == root[-2] else (root, root + "e")
    return ()


PARTICIPLES: Final = words("outcomes.done")
"""Words that report a completed action: `The file was created`."""
