"""Text in the order in which its glyphs stand on paper.

Hebrew and Arabic run from right to left, and Arabic letters change with their neighbours. This is
enough for names and lines; nested directions are not taken apart.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Final

_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_MIRRORED: Final = str.maketrans("()[]{}<>«»", ")(][}{><»«")
_FORMS: Final = range(0xFE70, 0xFEFD)
_LAM: Final = "\u0644"


def visual(text: str) -> str:
    """The characters from left to right, as they are drawn."""
    text = unicodedata.normalize("NFC", text)
    if not _RIGHT_TO_LEFT.search(text):
        return text
    runs = [(is_right, "".join(run)) for is_right, run in groupby(_shaped(text), _leans_right)]
    runs = list(_joined(runs))
    turned = [run[::-1].translate(_MIRRORED) if is_right else run for is_right, run in runs]
    return "".join(reversed(turned) if _begins_right(text) else turned)


def _leans_right(character: str) -> bool | None:
    """True from right to left, False from left to right, None for what goes along."""
    match unicodedata.bidirectional(character):
        case "R" | "AL" | "NSM":
            return True
        case "L" | "EN" | "AN":
            return False
    return None


def _joined(runs: list[tuple[bool | None, str]]) -> Iterator[tuple[bool, str]]:
    """Blanks and marks between two runs of one direction belong to them."""
    base = next((is_right for is_right, _ in runs if is_right is not None), False)
    resolved = []
    for index, (lean, run) in enumerate(runs):
        before = runs[index - 1][0] if index else base
        after = runs[index + 1][0] if index + 1 < len(runs) else base
        along = before if before == after else base
        resolved.append((bool(along if lean is None else lean), run))
    for is_right, group in groupby(resolved, lambda each: each[0]):
        yield is_right, "".join(run for _, run in group)


def _begins_right(text: str) -> bool:
    return next((lean for lean in map(_leans_right, text) if lean is not None), False)


@cache
def _shapes() -> dict[str, dict[str, str]]:
    """The forms of each Arabic letter, by where it stands in a word."""
    shapes: dict[str, dict[str, str]] = {}
    for code in _FORMS:
        place, *letters = unicodedata.decomposition(chr(code)).split() or [""]
        if place.startswith("<") and letters:
            base = "".join(chr(int(letter, 16)) for letter in letters)
            shapes.setdefault(base, {})[place.strip("<>")] = chr(code)
    return shapes


def _shaped(text: str) -> str:
    shapes, shaped = _shapes(), []
    letters = list(_ligatures(text))
    for index, letter in enumerate(letters):
        forms = shapes.get(letter)
        if forms is None:
            shaped.append(letter)
            continue
        before = index > 0 and "initial" in shapes.get(letters[index - 1], {})
        after = index + 1 < len(letters) and "final" in shapes.get(letters[index + 1], {})
        joins_on = after and "initial" in forms
        place = (
            "medial"
            if before and joins_on
            else "final"
            if before
            else "initial"
            if joins_on
            else "isolated"
        )
        shaped.append(forms.get(place) or forms.get("isolated") or letter)
    return "".join(shaped)


def _ligatures(text: str) -> Iterator[str]:
    """The letters; lam and alef are one."""
    index = 0
    while index < len(text):
        pair = text[index : index + 2]
        width = 2 if pair[0] == _LAM and pair in _shapes() else 1
        yield pair[:width]
        index += width
