"""What was said of sheets on the command line, into something that fills them."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from accord.errors import ContractError
from accord.server import Server

try:
    from accord.sources import sheets
except ImportError as error:
    raise ContractError(str(error)) from error


def filler(
    template: Path | None = None,
    map: Path | None = None,
    paper: str = "a4",
    font: Sequence[Path] = (),
) -> sheets.Filler:
    """A filler of one form."""
    if map is not None and template is None:
        raise ContractError("--map says what the fields of a --template are for; give both")
    return sheets.Filler(sheets.load(template, map, paper), sheets.Typeface(font))


def _made(folder: Path) -> Path:
    """The folder, made where only the last step of its path is not there."""
    with suppress(OSError):
        folder.mkdir()
    return folder


def sheet_server(
    out: Path | None = None,
    template: Path | None = None,
    map: Path | None = None,
    paper: str = "a4",
    font: Sequence[Path] = (),
) -> Server:
    """The server that fills sheets into a folder."""
    folder = sheets.Folder(_made(out or Path()))
    server = Server(sheets.NAME, version=sheets.VERSION, profile=sheets.PROFILE)
    server.add(sheets.sheet_tool(filler(template, map, paper, font), folder))
    return server
