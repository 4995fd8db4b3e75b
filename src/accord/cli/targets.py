"""Targets of the command line: which server, database or program a word names.

In this order: a reserved name (`sheets`, `reader`, `django:SETTINGS`), a database, a URL, a Python
file (`FILE.py`, or a path with a slash), a command line, a module.
"""

import importlib
import importlib.util
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final

from accord.cli import databases
from accord.combined import combine
from accord.errors import ContractError
from accord.server import Server

_DEFAULT_NAME: Final = "server"

HELP: Final = (
    f"MODULE:NAME or FILE.py:NAME of a Server (NAME is `server` if left out); {databases.HELP};"
    " django:SETTINGS of a Django REST framework project; sheets, which fills character sheets"
)
DJANGO: Final = "django"
PEER_HELP: Final = "somebody else's server: a URL, or a command line in quotes"
READER: Final = "reader"
"""The target that has no tools, and reads replies over HTTP."""
SHEETS: Final = "sheets"
"""The target that fills character sheets."""
_RESERVED: Final = frozenset({READER, SHEETS, DJANGO})
"""Names that mean the same whatever files and modules there are; `./NAME` is the file."""

_URL: Final = re.compile(r"([a-z][a-z0-9+.-]*)://", re.I)
_ADDRESS: Final = re.compile(r"(?:[\w.-]+|\[[0-9a-f:]+\]):\d+(?:/.*)?", re.I)
_SERVERS: Final = frozenset({"http", "https"})
_MODULE: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*(?::.*)?")


def is_peer(target: str) -> bool:
    """Whether a target is somebody else's server, not a Server of ours to load.

    It is if it is a URL, or a command line: several words, or a program whose name no module could
    have (`mcp-server-time`, `./serve`). A Python file is not, whatever blanks are in its path, nor
    is a reserved name or a database. A URL of an unknown kind is an error.
    """
    if target in _RESERVED or databases.is_database(target):
        return False
    if _is_url(target):
        return True
    place = target.partition(":")[0]
    file = _python_file(place)
    if file is not None and (file.is_file() or len(place.split()) == 1):
        return False
    return len(target.split()) > 1 or (_MODULE.fullmatch(target) is None and _is_program(target))


def _is_url(target: str) -> bool:
    """Whether a target is a server by its URL."""
    found = _URL.match(target)
    if found is not None and found[1].lower() not in _SERVERS:
        raise ContractError(
            f"{found[1]}:// is nothing that is known here: http:// and https:// are MCP servers,"
            " sqlite:/// and postgresql:// databases"
        )
    return found is not None


def _python_file(place: str) -> Path | None:
    """The Python file that a path names, which may leave out `.py` if it has a slash."""
    if place.endswith(".py"):
        return Path(place)
    if "/" not in place or Path(place).is_file():
        return None
    file = Path(f"{place}.py")
    return file if file.is_file() else None


def _is_program(name: str) -> bool:
    from shutil import which  # seldom asked for, and slow to load

    return which(name) is not None


def is_reader(target: str) -> bool:
    """Whether the target is the reader."""
    return target == READER


def require_tools(*targets: str) -> None:
    """Raise where one of them has none by its nature, and never will have."""
    if any(map(is_reader, targets)):
        raise ContractError(
            "the reader has no tools: accord read reads replies, and so does"
            " accord serve reader --http 127.0.0.1:8000"
        )


def is_sheets(target: str) -> bool:
    """Whether the target fills character sheets."""
    return target == SHEETS


def load(
    targets: Sequence[str],
    *,
    database: Mapping[str, Any] = MappingProxyType({}),
    starts: bool = False,
    sheets: Mapping[str, Any] = MappingProxyType({}),
    **configuration: Any,
) -> Server:
    """The server that a target names, or all of them as one; see `Server.configure`.

    `database` is what was said of those that are databases; with `starts` they get ready at once.
    `sheets` is what was said of the target of that name.
    """
    for target in targets:
        _require_ours(target)
    repeated = [target for target in targets if targets.count(target) > 1]
    if repeated:
        raise ContractError(f"{repeated[0]} is named twice")
    key = configuration.get("key")
    said = dict(database)
    if configuration.get("max_bytes") is not None:
        said["max_bytes"] = configuration["max_bytes"]
    servers = {
        target: databases.load(target, said, key, starts=starts)
        if databases.is_database(target)
        else _load_one(target, sheets)
        for target in targets
    }
    for server in servers.values():
        server.configure(**configuration)
    combined = combine(servers)
    combined.configure(**configuration)
    return combined


def _require_ours(target: str) -> None:
    if is_peer(target):
        from accord.cli.visible import visible

        raise ContractError(
            f"{visible(target)} is somebody else's server, not one of ours: accord tools, call and"
            " inspect take it"
        )


def from_anywhere(target: str) -> str:
    """A target that means the same in every folder: where a file is meant, with its whole path."""
    if target in _RESERVED:
        return target
    if databases.is_database(target):
        return databases.absolute_target(target)
    place, colon, name = target.partition(":")
    if place == DJANGO and name:
        return target
    file = _python_file(place)
    if file is not None:
        return str(file.absolute()) + colon + name
    try:
        spec = importlib.util.find_spec(place)
    except (ImportError, ValueError):
        return target
    origin = None if spec is None or spec.origin is None else Path(spec.origin)
    if origin is None or not origin.is_relative_to(Path.cwd()) or "." in place:
        return target
    return f"{origin}{colon}{name}"


def is_found_here_alone(target: str) -> bool:
    """Whether a target has no path that `from_anywhere` could give it, but a name in this folder.

    Such are a Django project and a module inside a package.
    """
    place, _, name = from_anywhere(target).partition(":")
    if place == DJANGO and name:
        place = name
    elif _MODULE.fullmatch(target) is None or "." not in place:
        return False
    return PathFinder.find_spec(place.partition(".")[0], [str(Path.cwd())]) is not None


def _load_one(target: str, sheets: Mapping[str, Any]) -> Server:
    if is_reader(target):
        return Server(READER)
    if is_sheets(target):
        from accord.cli.sheet_server import sheet_server  # an extra, which others have no use for

        return sheet_server(**sheets)
    return _load_module(target)


def _load_module(target: str) -> Server:
    place, _, name = target.partition(":")
    if place == DJANGO:
        return _load_project(name)
    path = (name or _DEFAULT_NAME).split(".")
    file = _python_file(place)
    if file is None:
        _require_module(target, place)
    try:
        sys.path.insert(0, str(Path.cwd()))
        module = importlib.import_module(place) if file is None else _import_file(file)
        found: Any = module
        for part in path:
            found = getattr(found, part, None)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a stranger's module may raise anything
        from accord.cli.reasons import reason  # seldom asked for

        raise ContractError(f"cannot import {target}: {reason(error)}") from error
    if isinstance(found, Server):
        return found
    raise ContractError(f"{target}: {_what_is_there(place, module, '.'.join(path), found)}")


def _require_module(target: str, place: str) -> None:
    """Raise where what is meant is something else than a module."""
    if _ADDRESS.fullmatch(target):
        raise ContractError(f"{target} is no module; for a server there say http://{target}")
    if ("." in place or "/" in place) and Path(place).is_file():
        raise ContractError(f"{place} is neither a Python file (.py) nor a database (.db, .sqlite)")
    if _MODULE.fullmatch(target) is None:
        raise ContractError(
            f"{target!r} is no module, no URL (http://…), and no program of that name is found here"
        )


def _load_project(settings: str) -> Server:
    """A Django project by its settings."""
    if not settings:
        raise ContractError(f"{DJANGO} needs the settings of a project: {DJANGO}:shop.settings")
    try:
        from accord.django.load import load  # before the folder, which may have a django.py

        sys.path.insert(0, str(Path.cwd()))

        return load(settings)
    except (KeyboardInterrupt, ContractError):
        raise
    except BaseException as error:  # a stranger's project may raise anything
        from accord.cli.reasons import reason  # seldom asked for

        raise ContractError(f"cannot load {DJANGO}:{settings}: {reason(error)}") from error


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    name = "accord_target_" + str(path.resolve()).replace(".", "_")  # not that of another module
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module


def _what_is_there(place: str, module: Any, name: str, found: object) -> str:
    servers = [key for key, value in vars(module).items() if isinstance(value, Server)]
    fault = f"there is no {name!r}" if found is None else f"{name!r} is no accord.Server"
    if not servers:
        return f"{fault}, and {place} has no accord.Server at all"
    return f"{fault}; {place} has {', '.join(servers)}"
