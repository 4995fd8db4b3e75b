"""A PDF with form fields while it is drawn; positions are points from the top left of the print area."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from fontTools.pens.reportLabPen import ReportLabPen
from fontTools.ttLib import TTFont as OutlineFont
from reportlab.graphics.shapes import _CLOSEPATH, _CURVETO, _LINETO, _MOVETO
from reportlab.graphics.shapes import Path as Shape
from reportlab.lib.colors import Color, HexColor, white
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

FONTS = Path("/usr/share/fonts")
LATO = FONTS / "truetype/lato"
DISPLAY = FONTS / "opentype/ebgaramond/EBGaramond12-Regular.otf"

WIDTH = 535.0
"""Width of the print area; it fits both A4 and Letter."""
MARGIN = 28.0
"""Space above and below the print area."""
PAPERS = {"a4": (595.276, 841.89), "letter": (612.0, 792.0)}

INK = HexColor("#2a2825")
SOFT = HexColor("#6d655a")
ACCENT = HexColor("#84211e")
RULE = HexColor("#a99d88")
HAIR = HexColor("#cfc5b3")
TINT = HexColor("#f6f2e9")

PADDING = 2.0
"""What viewers leave free before the text of a field."""
BOLD_RULE, LINE, HAIRLINE = 1.4, 0.7, 0.45


@dataclass(frozen=True)
class FieldSpec:
    """A form field: full name, page, rectangle and text style."""

    name: str
    page: int
    box: tuple[float, float, float, float]
    kind: str = "text"
    size: float = 9
    align: int = 0
    is_multiline: bool = False
    tip: str = ""


@dataclass
class Sheet:
    """The document being drawn and the fields added so far."""

    paper: str
    buffer: BytesIO = field(default_factory=BytesIO)
    fields: list[FieldSpec] = field(default_factory=list)
    page: int = 1

    def __post_init__(self) -> None:
        self.size = PAPERS[self.paper]
        self.canvas = Canvas(self.buffer, pagesize=self.size, invariant=1)
        for name in ("Regular", "Bold", "Heavy"):
            pdfmetrics.registerFont(TTFont(f"Lato-{name}", str(LATO / f"Lato-{name}.ttf")))
        self.display = OutlineFont(DISPLAY)
        self.left = (self.size[0] - WIDTH) / 2
        self.top = self.size[1] - MARGIN
        self.height = self.size[1] - 2 * MARGIN

    # Coordinates

    def x(self, x: float) -> float:
        return self.left + x

    def y(self, y: float) -> float:
        return self.top - y

    def next_page(self) -> None:
        """Start the next page."""
        self.canvas.showPage()
        self.page += 1

    # Lines and shapes

    def rule(
        self, x: float, y: float, width: float, weight: float = LINE, color: Color = RULE
    ) -> None:
        self.canvas.setLineWidth(weight)
        self.canvas.setStrokeColor(color)
        self.canvas.setLineCap(0)
        self.canvas.line(self.x(x), self.y(y), self.x(x + width), self.y(y))

    def bar(self, x: float, y: float, width: float, height: float, color: Color = ACCENT) -> None:
        self.canvas.setFillColor(color)
        self.canvas.rect(self.x(x), self.y(y + height), width, height, stroke=0, fill=1)

    def panel(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        radius: float = 3,
        *,
        fill: Color = TINT,
        stroke: Color | None = None,
        weight: float = LINE,
    ) -> None:
        self.canvas.setFillColor(fill)
        self.canvas.setLineWidth(weight)
        if stroke is not None:
            self.canvas.setStrokeColor(stroke)
        self.canvas.roundRect(
            self.x(x), self.y(y + height), width, height, radius, stroke=stroke is not None, fill=1
        )

    def circle(self, x: float, y: float, radius: float) -> None:
        self.canvas.setLineWidth(LINE)
        self.canvas.setStrokeColor(SOFT)
        self.canvas.setFillColor(white)
        self.canvas.circle(self.x(x), self.y(y), radius, stroke=1, fill=1)

    def polygon(self, points: Iterable[tuple[float, float]], *, fill: Color = white) -> None:
        path = self.canvas.beginPath()
        for index, (x, y) in enumerate(points):
            (path.lineTo if index else path.moveTo)(self.x(x), self.y(y))
        path.close()
        self.canvas.setLineWidth(LINE)
        self.canvas.setStrokeColor(SOFT)
        self.canvas.setFillColor(fill)
        self.canvas.drawPath(path, stroke=1, fill=1)

    def diamond(self, x: float, y: float, radius: float) -> None:
        self.polygon([(x, y - radius), (x + radius, y), (x, y + radius), (x - radius, y)])

    def shield(self, x: float, y: float, width: float, height: float) -> None:
        """Draw the outline of a shield."""
        c, path = self.canvas, self.canvas.beginPath()
        left, right, middle = self.x(x), self.x(x + width), self.x(x + width / 2)
        top, waist, foot = self.y(y), self.y(y + height * 0.52), self.y(y + height)
        path.moveTo(middle, top)
        path.curveTo(middle + width * 0.18, top - 4, right - 8, top - 5, right, top - 4)
        path.lineTo(right, waist)
        path.curveTo(right, waist - height * 0.26, middle + width * 0.16, foot + 5, middle, foot)
        path.curveTo(middle - width * 0.16, foot + 5, left, waist - height * 0.26, left, waist)
        path.lineTo(left, top - 4)
        path.curveTo(left + 8, top - 5, middle - width * 0.18, top - 4, middle, top)
        path.close()
        c.setFillColor(TINT)
        c.setStrokeColor(ACCENT)
        c.setLineWidth(1.0)
        c.drawPath(path, stroke=1, fill=1)

    # Text

    def text(
        self,
        text: str,
        x: float,
        y: float,
        *,
        size: float = 6.4,
        font: str = "Lato-Bold",
        color: Color = SOFT,
        spacing: float = 0.0,
        align: str = "left",
    ) -> None:
        """Draw one line of text on a baseline."""
        width = pdfmetrics.stringWidth(text, font, size) + spacing * max(len(text) - 1, 0)
        left = {"left": x, "center": x - width / 2, "right": x - width}[align]
        line = self.canvas.beginText(self.x(left), self.y(y))
        line.setFont(font, size)
        line.setCharSpace(spacing)
        line.setFillColor(color)
        line.textOut(text)
        self.canvas.drawText(line)

    def label(self, text: str, x: float, y: float, align: str = "left") -> None:
        """Draw a field label in small spaced capitals."""
        self.text(text.upper(), x, y, size=5.9, spacing=0.5, align=align)

    def heading(self, text: str, x: float, y: float, width: float) -> None:
        """Draw a section title with a rule below it."""
        self.text(text.upper(), x, y, size=7.4, font="Lato-Heavy", color=ACCENT, spacing=0.9)
        self.rule(x, y + 3.6, width, LINE, RULE)

    def title(
        self, text: str, x: float, y: float, size: float, color: Color = INK, align: str = "left"
    ) -> None:
        """Draw large text as outlines of the display font."""
        glyphs, cmap = self.display.getGlyphSet(), self.display.getBestCmap()
        scale = size / self.display["head"].unitsPerEm
        names = [cmap[ord(character)] for character in text]
        width = sum(glyphs[name].width for name in names) * scale
        at = {"left": x, "center": x - width / 2, "right": x - width}[align]
        for name in names:
            self._outline(glyphs, name, at, y, scale, color)
            at += glyphs[name].width * scale

    def _outline(
        self, glyphs: Any, name: str, x: float, y: float, scale: float, color: Color
    ) -> None:
        pen = ReportLabPen(glyphs)
        glyphs[name].draw(pen)
        self.canvas.saveState()
        self.canvas.translate(self.x(x), self.y(y))
        self.canvas.scale(scale, scale)
        self.canvas.setFillColor(color)
        path = self.canvas.beginPath()
        for operator, *points in _steps(pen.path):
            getattr(path, operator)(*points)
        self.canvas.drawPath(path, stroke=0, fill=1)
        self.canvas.restoreState()

    # Fields

    def field(
        self,
        name: str,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        size: float = 9,
        align: int = 0,
        tip: str = "",
    ) -> None:
        """Add a single-line text field; x and y are its top left corner.

        Text begins at x: viewers add a padding, by which a field on the left starts earlier.
        """
        if align == 0:
            x, width = x - PADDING, width + PADDING
        self._add(name, x, y, width, height, size=size, align=align, tip=tip)

    def area(
        self,
        name: str,
        x: float,
        y: float,
        width: float,
        height: float,
        tip: str,
        size: float = 9,
    ) -> None:
        """Add a multi-line text field."""
        self._add(name, x, y, width, height, size=size, is_multiline=True, tip=tip)

    def check(
        self, name: str, x: float, y: float, radius: float, tip: str, *, shape: str = "circle"
    ) -> None:
        """Add a checkbox centred at x and y."""
        (self.circle if shape == "circle" else self.diamond)(x, y, radius)
        kind = f"check-{shape}"
        self._add(name, x - radius, y - radius, 2 * radius, 2 * radius, kind=kind, tip=tip)

    def _add(self, name: str, x: float, y: float, width: float, height: float, **more: Any) -> None:
        box = (self.x(x), self.y(y + height), self.x(x + width), self.y(y))
        self.fields.append(FieldSpec(name, self.page, box, **more))


def _steps(path: Shape) -> Iterable[tuple[object, ...]]:
    """Yield the operations of a reportlab graphics path as methods of a canvas path."""
    names = {
        _MOVETO: ("moveTo", 2),
        _LINETO: ("lineTo", 2),
        _CURVETO: ("curveTo", 6),
        _CLOSEPATH: ("close", 0),
    }
    points = iter(path.points)
    for operator in path.operators:
        name, count = names[operator]
        yield name, *(next(points) for _ in range(count))
