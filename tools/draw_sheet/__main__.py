"""Draw the sheet for each paper size into the package. Needs Debian's fonts-lato and fonts-ebgaramond."""

import sys
from pathlib import Path

from tools.draw_sheet.fields import put_fields
from tools.draw_sheet.pages import draw
from tools.draw_sheet.sheet import DISPLAY, LATO, PAPERS, Sheet

FORMS = Path(__file__).parents[2] / "src/accord/sources/sheets/forms"


def main() -> int:
    if not (DISPLAY.is_file() and LATO.is_dir()):
        print(
            "draw_sheet: fonts are not installed; run apt-get install fonts-lato fonts-ebgaramond",
            file=sys.stderr,
        )
        return 2
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FORMS
    for paper in PAPERS:
        sheet = Sheet(paper)
        draw(sheet)
        sheet.canvas.save()
        put_fields(sheet.buffer.getvalue(), sheet.fields, folder / f"sheet-{paper}.pdf")
    return 0


if __name__ == "__main__":
    sys.exit(main())
