"""What is seen of a field: its appearance, drawn by us, so that every viewer shows the same."""

from collections.abc import Iterator
from typing import Final

from accord.sources.sheets.blank import PADDING, Field, Widget
from accord.sources.sheets.ink import COLOUR, Ink
from accord.sources.sheets.typeset import LEADING, Block, set_line, set_lines
from accord.sources.sheets.update import Update, squeezed

COMFORTABLE: Final = 7.5
"""The size below which text rather goes on in another field, where there is one for it."""
_ASCENT: Final = 0.9
_CAPITALS: Final = 0.73
_ELSEWHERE: Final = "… in full on the added page"
_MARK: Final = (
    "q 0.11 0.13 0.22 RG {:.2f} w 1 J 1 j {:.2f} {:.2f} m {:.2f} {:.2f} l {:.2f} {:.2f} l S Q"
)
_MARK_POINTS: Final = ((0.2, 0.5), (0.42, 0.25), (0.82, 0.8))


class Artist:
    """Draws appearances into one document; two that are the same are drawn once."""

    def __init__(self, update: Update, ink: Ink) -> None:
        self._update = update
        self._ink = ink
        self._drawn: dict[tuple[str, float, float], int] = {}

    def text(self, field: Field, widget: Widget, text: str) -> tuple[int, bool]:
        """The appearance of a text, as large as there is room for, and whether it is all there."""
        setting = set_lines if field.is_multiline else set_line
        block = setting(self._ink.face, text, widget.room)
        shown = " ".join(self._lines(field, widget, block))
        clip = f"0 0 {widget.width:.2f} {widget.height:.2f} re W n"
        content = f"/Tx BMC q {clip} BT {COLOUR} {shown} ET Q EMC"
        return self._drawing(widget, content), not block.rest

    def mark(self, widget: Widget) -> int:
        """A check mark, for a form that has none of its own."""
        side = min(widget.width, widget.height)
        left, bottom = (widget.width - side) / 2, (widget.height - side) / 2
        places = [edge for x, y in _MARK_POINTS for edge in (left + x * side, bottom + y * side)]
        return self._drawing(widget, _MARK.format(max(side / 8, 0.8), *places))

    def nothing(self, widget: Widget) -> int:
        """The appearance of a box that is not checked."""
        return self._drawing(widget, "")

    def _lines(self, field: Field, widget: Widget, block: Block) -> Iterator[str]:
        lines, size = block.lines, block.size
        if field.is_multiline:
            baseline = widget.height - PADDING / 2 - _ASCENT * size
            lines = (*lines[:-1], _ELSEWHERE) if block.rest else lines
        else:
            baseline = (widget.height - _CAPITALS * size) / 2
        for number, line in enumerate(lines):
            left = _left(widget, self._ink.face.width(line) * size)
            bottom = baseline - number * size * LEADING
            yield f"1 0 0 1 {left:.2f} {bottom:.2f} Tm {self._ink.show(line, size)}"

    def _drawing(self, widget: Widget, content: str) -> int:
        key = (content, widget.width, widget.height)
        if key not in self._drawn:
            box = f"/BBox[0 0 {widget.width:.2f} {widget.height:.2f}]"
            entries = f"/Subtype/Form{box}/Resources {self._ink.resources} 0 R"
            self._drawn[key] = self._update.stream(squeezed(content.encode("ascii")), entries)
        return self._drawn[key]


def _left(widget: Widget, width: float) -> float:
    match widget.align:
        case 1:
            return (widget.width - width) / 2
        case 2:
            return widget.width - widget.padding - width
    return widget.padding
