"""Patterns of sentences: `phrases.completion` is the section `completion` of `phrases.txt`.

A pattern is compiled when it is first used: all at once take 30 ms. Most are matched against text
in small letters, which takes `re` a fraction of the time that it needs to ignore case.
"""

import re
from collections.abc import Callable, Iterable
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from accord.reader.lexicon import ordered, pairs, sections, words

LONGEST_LINE: Final = 100_000
"""Characters of the longest line that is matched."""
_METHODS: Final = ("match", "fullmatch", "search", "sub")
_INNER: Final = re.compile(r"\{([a-z][a-z.-]*)\}")


def lines_of(text: str) -> list[str] | None:
    """Return the lines of a text; None if one is too long to be matched."""
    lines = text.splitlines()
    if len(text) > LONGEST_LINE and max(map(len, lines)) > LONGEST_LINE:
        return None
    return lines


class Pattern:
    """The needed part of `re.Pattern`, compiled at its first match."""

    __slots__ = ("flags", "fullmatch", "match", "search", "source", "sub")

    match: Callable[[str], re.Match[str] | None]
    fullmatch: Callable[[str], re.Match[str] | None]
    search: Callable[[str], re.Match[str] | None]
    sub: Callable[[str | Callable[[re.Match[str]], str], str], str]

    def __init__(self, source: str, flags: int = 0) -> None:
        self.source: str = source
        self.flags: int = flags

    def __getattr__(self, name: str) -> Any:
        """Compile the pattern and set its methods, when one is first used."""
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(self.source, self.flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def patterns(section: str) -> tuple[str, ...]:
    """Return the patterns of a section; `{name}` in one stands for another section."""
    lines = sections("phrases")[section].splitlines()
    return tuple(_INNER.sub(_of_section, line) for line in lines if line and line[:2] != "# ")


def _of_section(found: re.Match[str]) -> str:
    each = sorted(words(found[1])) if "." in found[1] else patterns(found[1])
    return f"(?:{'|'.join(each)})"


def _pattern_of(section: str) -> Pattern:
    """Return the pattern of a section; a blank in it matches all white space."""
    spaced = (pattern.replace(" ", r"\s++") for pattern in patterns(section))
    return Pattern("|".join(f"(?:{pattern})" for pattern in spaced), re.S)


globals().update({name.replace("-", "_"): _pattern_of(name) for name in sections("phrases")})

if TYPE_CHECKING:  # not at run time, where it makes each access slower

    def __getattr__(name: str) -> Pattern: ...


def _any_word(words: Iterable[str]) -> str:
    """Return a pattern for any of the words, grouped by first letter, which halves the time."""
    parts = groupby(sorted(words), key=itemgetter(0))
    alike = ((first, "|".join(re.escape(word[1:]) for word in each)) for first, each in parts)
    return "|".join(f"{re.escape(first)}(?:{rests})" for first, rests in alike)


FRAGMENTS: Final = Pattern(_any_word(ordered("texts.of-failure")))
"""Parts of words of which each text about a failure has one."""


# Translation to English of the words by which replies in other languages report outcomes


_LONGEST_FOREIGN: Final = 600
"""Characters at the start of a text that are translated."""
_LETTERS: Final = Pattern("[\u00c0-\u024f\u0400-\u052f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
"""Letters of other languages, without signs and pictures."""
_SPACED: Final = pairs("languages.phrases")
_UNSPACED: Final = pairs("languages.signs")
_ENGLISH: Final = _SPACED | {sign: f" {english} " for sign, english in _UNSPACED.items()}
_ENGLISH["成功"] = " successfully "  # only at the end of a phrase
ENGLISH_MEMBERS: Final = pairs("languages.members")
"""Names of members that report the outcome."""


def _longest_first(words: dict[str, str]) -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


_FOREIGN: Final = Pattern(
    rf"(?<!\w)(?:{_longest_first(_SPACED)})(?!\w)|{_longest_first(_UNSPACED)}|成功(?=\W|$)"
)


def in_english(text: str, *, is_foreign: bool = False) -> str:
    """Return a text with its first words in English, in small letters, if any are foreign.

    `is_foreign`: it may be in another language although its letters are English.
    """
    head = text[:_LONGEST_FOREIGN]
    if not is_foreign and (head.isascii() or _LETTERS.search(head) is None):
        return text
    small = head.lower()
    english = _FOREIGN.sub(lambda found: _ENGLISH[found[0]], small)
    if english == small:
        return text
    return english.replace("  ", " ").replace(" :", ":").lstrip() + text[_LONGEST_FOREIGN:]
