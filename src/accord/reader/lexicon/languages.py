"""Puts words of other languages into English: those by which a reply reports its outcome."""

import re
from typing import Final

from accord.reader.lexicon import pairs
from accord.reader.patterns import Pattern

_LONGEST: Final = 600
"""Characters at the start of a text that are put into English."""
_LETTERS: Final = Pattern("[\u00c0-\u024f\u0400-\u052f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
"""Letters of other languages; signs and pictures belong to all."""
_SPACED: Final = pairs("languages.phrases")
_UNSPACED: Final = pairs("languages.signs")
_ENGLISH: Final = _SPACED | {sign: f" {english} " for sign, english in _UNSPACED.items()}
_ENGLISH["成功"] = " successfully "  # only at the end of a phrase
VERBS: Final = pairs("languages.verbs")
"""Verbs in the names of tools."""
MEMBERS: Final = pairs("languages.members")
"""Names of members that report the outcome."""


def _longest_first(words: dict[str, str]) -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


_FOREIGN: Final = Pattern(
    rf"(?<!\w)(?:{_longest_first(_SPACED)})(?!\w)|{_longest_first(_UNSPACED)}|成功(?=\W|$)"
)


def in_english(words: str, *, is_foreign: bool = False) -> str:
    """Return a text with its first words in English, in small letters, if any are foreign.

    `is_foreign`: it may be of another language though no letter shows it.
    """
    head = words[:_LONGEST]
    if not is_foreign and (head.isascii() or _LETTERS.search(head) is None):
        return words
    small = head.lower()
    told = _FOREIGN.sub(lambda found: _ENGLISH[found[0]], small)
    return words if told == small else told.lstrip() + words[_LONGEST:]
