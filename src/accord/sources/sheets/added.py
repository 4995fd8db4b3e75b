"""Added pages: what found no room on the form, whole."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from accord.sources.sheets.blank import Blank
from accord.sources.sheets.ink import COLOUR, Ink
from accord.sources.sheets.script import visual
from accord.sources.sheets.sheet import Beyond
from accord.sources.sheets.typeset import Room, set_line, wrap
from accord.sources.sheets.update import Update, squeezed

_MARGIN: Final = 48.0
_LEAST: Final = (300.0, 300.0)  # paper that text can stand on, however small the form is
_SIZE: Final = 9.5
_LEADING: Final = 13.5
_LABEL_SIZE: Final = 11.0
_TITLE_SIZE: Final = 15.0
_ACCENT: Final = "0.52 0.13 0.12"
_BAR: Final = f"q {_ACCENT} rg {{:.2f}} {{:.2f}} {{:.2f}} 2.6 re f Q"
_RULE: Final = "q 0.11 0.13 0.22 RG 1.4 w {:.2f} {:.2f} m {:.2f} {:.2f} l S Q"


class _Line(NamedTuple):
    """A line of an added page: its text, whether it is a label, and how far it moves down."""

    text: str
    is_label: bool
    height: float


def add_pages(update: Update, blank: Blank, ink: Ink, title: str, beyond: Sequence[Beyond]) -> int:
    """Add as many pages as there is text for, none for none; how many there are then."""
    width, height = (max(side, least) for side, least in zip(blank.paper, _LEAST, strict=True))
    lines, added = deque(_lines(ink, beyond, width - 2 * _MARGIN)), []
    while lines:
        content = _page(ink, title, lines, width, height)
        drawn = update.stream(squeezed(content.encode("ascii")))
        page = (
            f"<</Type/Page/Parent {blank.pages} 0 R/Rotate 0"
            f"/MediaBox[0 0 {width:.2f} {height:.2f}]/CropBox[0 0 {width:.2f} {height:.2f}]"
            f"/Resources {ink.resources} 0 R/Contents {drawn} 0 R>>"
        )
        added.append(update.add(page.encode("ascii")))
    count = blank.page_count + len(added)
    if added:
        kids = blank.page_list + b"".join(b" %d 0 R" % number for number in added)
        tree = b"<<%b/Kids[%b]/Count %d>>" % (blank.pages_entries, kids, count)
        update.put(blank.pages, tree)
    return count


def _lines(ink: Ink, beyond: Sequence[Beyond], width: float) -> Iterator[_Line]:
    for each in beyond:
        yield _Line(each.label, is_label=True, height=2.2 * _LEADING)
        for line in wrap(ink.face, each.text, width / _SIZE):
            yield _Line(visual(line.rstrip()), is_label=False, height=_LEADING)


def _page(ink: Ink, title: str, lines: deque[_Line], width: float, height: float) -> str:
    """The content of one page, with as many lines as it takes."""
    edge = height - _MARGIN
    room = Room(width - 2 * _MARGIN, _TITLE_SIZE, _TITLE_SIZE, _SIZE)
    heading = set_line(ink.face, title, room)
    shown = [_BAR.format(_MARGIN, edge, width - 2 * _MARGIN)]
    shown.append(_text(ink, heading.lines[0], _MARGIN, edge - 24, heading.size, COLOUR))
    shown.append(_RULE.format(_MARGIN, edge - 34, width - _MARGIN, edge - 34))
    place = edge - 34
    while lines and place - _needed(lines) >= _MARGIN:
        line = lines.popleft()
        place -= line.height
        size = _LABEL_SIZE if line.is_label else _SIZE
        colour = f"{_ACCENT} rg" if line.is_label else COLOUR
        shown.append(_text(ink, line.text, _MARGIN, place, size, colour))
    return "\n".join(shown)


def _needed(lines: deque[_Line]) -> float:
    """A label does not stand alone at the foot of a page."""
    follows = lines[1].height if lines[0].is_label and len(lines) > 1 else 0.0
    return lines[0].height + follows


def _text(ink: Ink, text: str, left: float, baseline: float, size: float, colour: str) -> str:
    return f"BT {colour} 1 0 0 1 {left:.2f} {baseline:.2f} Tm {ink.show(text, size)} ET"
