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
    *_, place = ["", *sorted(_places(error), key=_is_own)]
    return f"{said} ({_near(place)})" if place else said


def _places(error: BaseException) -> Iterator[str]:
    """`FILE:LINE` of the frames that are neither ours nor Python's, outermost first."""
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        is_python = name.startswith(_PYTHON) and not _is_installed(name)
        if not (name.startswith(("<", _OURS)) or is_python):
            yield f"{name}:{line}"


def _is_own(place: str) -> bool:
    return not _is_installed(place)


def _is_installed(name: str) -> bool:
    return not _INSTALLED.isdisjoint(Path(name).parts)


def _near(place: str) -> str:
    """A path as somebody in this folder would write it."""
    return place.removeprefix(f"{Path.cwd()}/")
