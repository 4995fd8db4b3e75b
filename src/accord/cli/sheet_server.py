"""Command-line options as a sheet filler, or as a server that fills sheets."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from accord.errors import ContractError
from accord.server import Server

try:
    from accord.sources import sheets
except ImportError as error:
    raise ContractError(str(error)) from error


def make_filler(
    template: Path | None = None,
    map: Path | None = None,
    paper: str = "a4",
    font: Sequence[Path] = (),
) -> sheets.Filler:
    """Return a filler of one form; the bundled one by default."""
    if map is not None and template is None:
        raise ContractError("--map must be given together with --template")
    return sheets.Filler(sheets.load(template, map, paper), sheets.Typeface(font))


def _make_folder(folder: Path) -> Path:
    """Create the folder if its parent exists, and return it."""
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
    """Return a server with the tool that fills sheets into a folder."""
    folder = sheets.OutputFolder(_make_folder(out or Path()))
    server = Server(sheets.NAME, version=sheets.VERSION, profile=sheets.PROFILE)
    server.add(sheets.sheet_tool(make_filler(template, map, paper, font), folder))
    return server
