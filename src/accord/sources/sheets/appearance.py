"""What is seen of a field: its appearance, drawn by us, so that every viewer shows the same."""

from typing import Final

from pikepdf import Array, Dictionary, Name, Pdf, Stream

from accord.sources.sheets.form import Field, Widget
from accord.sources.sheets.ink import COLOUR, Ink
from accord.sources.sheets.typeset import LEADING, Block, Room, set_line, set_lines

COMFORTABLE: Final = 7.5
"""The size below which text rather goes on in another field, where there is one for it."""
_LEAST_SIZE: Final = 6.0
_LEAST_LINE_SIZE: Final = 5.5
_USUAL_SIZE: Final = 9.0
_LARGEST_SIZE: Final = 14.0
_PADDING: Final = 2.0
_ASCENT: Final = 0.9
_CAPITALS: Final = 0.73
_ELSEWHERE: Final = "… in full on the added page"
_MARK: Final = "q 0.11 0.13 0.22 RG {:.2f} w 1 J 1 j {:.2f} {:.2f} m {:.2f} {:.2f} l {:.2f} {:.2f} l S Q"


def room(field: Field, widget: Widget) -> Room:
    """The room that a widget has for text."""
    width = max(widget.width - 2 * _PADDING, 1.0)
    if field.is_multiline:
        size = widget.size or _USUAL_SIZE
        return Room(width, max(widget.height - _PADDING, 1.0), size, _LEAST_SIZE)
    size = widget.size or min(widget.height * 0.72, _LARGEST_SIZE)
    return Room(width, widget.height, min(size, widget.height), _LEAST_LINE_SIZE)


def set_text(ink: Ink, field: Field, widget: Widget, text: str) -> Block:
    """A text in lines, as large as the widget has room for."""
    place = room(field, widget)
    if not field.is_multiline:
        return set_line(ink.face, text, place)
    return set_lines(ink.face, text, place)


def draw_text(pdf: Pdf, ink: Ink, field: Field, widget: Widget, block: Block) -> Stream:
    """The appearance of a text field."""
    lines = (*block.lines[:-1], _ELSEWHERE) if block.rest and field.is_multiline else block.lines
    size = block.size
    if field.is_multiline:
        baseline = widget.height - _PADDING / 2 - _ASCENT * size
    else:
        baseline = (widget.height - _CAPITALS * size) / 2
    shown = []
    for number, line in enumerate(lines):
        left = _left(widget, ink.face.width(line) * size)
        shown.append(
            f"1 0 0 1 {left:.2f} {baseline - number * size * LEADING:.2f} Tm {ink.show(line, size)}"
        )
    clip = f"0 0 {widget.width:.2f} {widget.height:.2f} re W n"
    content = f"/Tx BMC q {clip} BT {COLOUR} {' '.join(shown)} ET Q EMC"
    return _drawing(pdf, widget, content, Resources=ink.resources)


def _left(widget: Widget, width: float) -> float:
    match widget.align:
        case 1:
            return (widget.width - width) / 2
        case 2:
            return widget.width - _PADDING - width
    return _PADDING


def draw_mark(pdf: Pdf, widget: Widget) -> Stream:
    """A check mark, for a form that has none of its own."""
    width, height = widget.width, widget.height
    side = min(width, height)
    left, bottom = (width - side) / 2, (height - side) / 2
    points = [(0.2, 0.5), (0.42, 0.25), (0.82, 0.8)]
    places = [edge for x, y in points for edge in (left + x * side, bottom + y * side)]
    return _drawing(pdf, widget, _MARK.format(max(side / 8, 0.8), *places))


def draw_nothing(pdf: Pdf, widget: Widget) -> Stream:
    """The appearance of a box that is not checked."""
    return _drawing(pdf, widget, "")


def _drawing(pdf: Pdf, widget: Widget, content: str, **entries: Dictionary) -> Stream:
    box = Array([0, 0, round(widget.width, 2), round(widget.height, 2)])
    return Stream(
        pdf, content.encode("ascii"), Type=Name.XObject, Subtype=Name.Form, BBox=box, **entries
    )
