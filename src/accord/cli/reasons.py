"""Why somebody's module cannot be loaded, in one line: what it raised, and where."""

import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_OURS: Final = str(Path(__file__).parents[1])
_PYTHON: Final = sysconfig.get_paths()["stdlib"]
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})


def reason(error: BaseException) -> str:
    """The first line of what it says, and the last line of somebody's own code on the way."""
    said = f"{type(error).__name__}: {error}".partition("\n")[0]
    if isinstance(error, SyntaxError):  # which says where by itself
        return said
    *_, place = ["", *_places(error)]
    return f"{said} ({_near(place)})" if place else said


def _places(error: BaseException) -> Iterator[str]:
    """`FILE:LINE` of the frames that are nobody else's: ours, Python's, what is installed."""
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        is_installed = not _INSTALLED.isdisjoint(Path(name).parts)
        if not is_installed and not name.startswith(("<", _OURS, _PYTHON)):
            yield f"{name}:{line}"


def _near(place: str) -> str:
    """A path as somebody in this folder would write it."""
    return place.removeprefix(f"{Path.cwd()}/")
