"""Draws the sheet for each paper into the package. Needs Debian's fonts-lato and fonts-ebgaramond."""

import sys
from pathlib import Path

from template.board import DISPLAY, LATO, PAPERS, Board
from template.fields import put_fields
from template.pages import draw

FORMS = Path(__file__).parents[1] / "src/accord/sources/sheets/forms"


def main() -> int:
    if not (DISPLAY.is_file() and LATO.is_dir()):
        print("template: apt-get install fonts-lato fonts-ebgaramond", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FORMS
    for paper in PAPERS:
        board = Board(paper)
        draw(board)
        board.canvas.save()
        put_fields(board.buffer.getvalue(), board.fields, folder / f"sheet-{paper}.pdf")
    return 0


if __name__ == "__main__":
    sys.exit(main())
