"""Resolves targets of the command line: the server, database or program that a word names.

In this order: a reserved name (`sheets`, `reader`, `django:SETTINGS`), a database, a URL, a Python
file (`FILE.py`, or a path with a slash), a command line, a module.
"""

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final

from accord.cli import databases
from accord.errors import ContractError
from accord.server import Server, combine

_DEFAULT_NAME: Final = "server"

HELP: Final = (
    f"MODULE:NAME or FILE.py:NAME of a Server (NAME is `server` if left out); {databases.HELP};"
    " django:SETTINGS of a Django REST framework project; sheets, which fills character sheets"
)
DJANGO: Final = "django"
REMOTE_HELP: Final = "a remote server: a URL, or a command line in quotes"
READER: Final = "reader"
"""The target that reads replies over HTTP, and has no tools."""
SHEETS: Final = "sheets"
"""The target that fills character sheets."""
_RESERVED: Final = frozenset({READER, SHEETS, DJANGO})
"""Names that are never a file or module; `./NAME` is the file."""

_URL: Final = re.compile(r"([a-z][a-z0-9+.-]*)://", re.I)
_ADDRESS: Final = re.compile(r"(?:[\w.-]+|\[[0-9a-f:]+\]):\d+(?:/.*)?", re.I)
_SERVERS: Final = frozenset({"http", "https"})
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
_MODULE: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*(?::.*)?")


def is_remote(target: str) -> bool:
    """True if a target is a remote server: a URL or a command line.

    A command line is several words, or a program whose name is not a valid module name
    (`mcp-server-time`, `./serve`). Reserved names, databases and Python files are not remote, even
    with blanks in the path. A URL with an unknown scheme is an error.
    """
    if target in _RESERVED or databases.is_database(target):
        return False
    if _is_url(target):
        return True
    location = target.partition(":")[0]
    file = _python_file(location)
    if file is not None and (file.is_file() or len(location.split()) == 1):
        return False
    return len(target.split()) > 1 or (_MODULE.fullmatch(target) is None and _is_program(target))


def _is_url(target: str) -> bool:
    """True if a target is the URL of a server."""
    found = _URL.match(target)
    if found is not None and found[1].lower() not in _SERVERS:
        raise ContractError(
            f"{found[1]}:// is not supported: http:// and https:// are MCP servers,"
            " sqlite:/// and postgresql:// databases"
        )
    return found is not None


def _python_file(location: str) -> Path | None:
    """Return the Python file of a path; `.py` may be left out if the path has a slash."""
    if location.endswith(".py"):
        return Path(location)
    if "/" not in location or Path(location).is_file():
        return None
    file = Path(f"{location}.py")
    return file if file.is_file() else None


def _is_program(name: str) -> bool:
    from shutil import which  # slow to import, seldom needed

    return which(name) is not None


def is_reader(target: str) -> bool:
    """True if the target is the reader."""
    return target == READER


def require_tools(*targets: str) -> None:
    """Raise if one of the targets is the reader, which has no tools."""
    if any(map(is_reader, targets)):
        raise ContractError(
            "the reader has no tools; use accord read, or accord serve reader --http 127.0.0.1:8000"
        )


def is_sheets(target: str) -> bool:
    """True if the target fills character sheets."""
    return target == SHEETS


def load(
    targets: Sequence[str],
    *,
    database: Mapping[str, Any] = MappingProxyType({}),
    starts: bool = False,
    sheets: Mapping[str, Any] = MappingProxyType({}),
    **configuration: Any,
) -> Server:
    """Load the server that a target names, or several as one; see `Server.configure`.

    `database` are options for databases, which connect at once with `starts`; `sheets` are options
    for the target of that name.
    """
    for target in targets:
        _require_local(target)
    repeated = [target for target in targets if targets.count(target) > 1]
    if repeated:
        raise ContractError(f"{repeated[0]} is named twice")
    key = configuration.get("key")
    database_options = dict(database)
    if configuration.get("max_bytes") is not None:
        database_options["max_bytes"] = configuration["max_bytes"]
    servers = {
        target: databases.load(target, database_options, key, starts=starts)
        if databases.is_database(target)
        else _load_one(target, sheets)
        for target in targets
    }
    for server in servers.values():
        server.configure(**configuration)
    combined = combine(servers)
    combined.configure(**configuration)
    return combined


def _require_local(target: str) -> None:
    if is_remote(target):
        from accord.cli.terminal import visible

        raise ContractError(
            f"{visible(target)} is a remote server; use it with accord tools, call or inspect"
        )


def from_anywhere(target: str) -> str:
    """Return a target that works in every folder: files get their absolute path."""
    if target in _RESERVED:
        return target
    if databases.is_database(target):
        return databases.absolute_target(target)
    location, colon, name = target.partition(":")
    if location == DJANGO and name:
        return target
    file = _python_file(location)
    if file is not None:
        return str(file.absolute()) + colon + name
    try:
        spec = importlib.util.find_spec(location)
    except (ImportError, ValueError):
        return target
    origin = None if spec is None or spec.origin is None else Path(spec.origin)
    if origin is None or not origin.is_relative_to(Path.cwd()) or "." in location:
        return target
    return f"{origin}{colon}{name}"


def needs_this_folder(target: str) -> bool:
    """True if a target is a module in this folder that `from_anywhere` cannot make absolute.

    That is a Django project, or a module inside a package.
    """
    location, _, name = from_anywhere(target).partition(":")
    if location == DJANGO and name:
        location = name
    elif _MODULE.fullmatch(target) is None or "." not in location:
        return False
    return PathFinder.find_spec(location.partition(".")[0], [str(Path.cwd())]) is not None


def _load_one(target: str, sheets: Mapping[str, Any]) -> Server:
    if is_reader(target):
        return Server(READER)
    if is_sheets(target):
        from accord.cli.sheet_filler import sheet_server  # an optional extra

        return sheet_server(**sheets)
    return _load_module(target)


def _load_module(target: str) -> Server:
    location, _, name = target.partition(":")
    if location == DJANGO:
        return _load_project(name)
    path = (name or _DEFAULT_NAME).split(".")
    file = _python_file(location)
    if file is None:
        _require_module(target, location)
    try:
        sys.path.insert(0, str(Path.cwd()))
        module = importlib.import_module(location) if file is None else _import_file(file)
        found: Any = module
        for part in path:
            found = getattr(found, part, None)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # user code may raise anything
        raise ContractError(f"could not import {target}: {_reason(error)}") from error
    if isinstance(found, Server):
        return found
    raise ContractError(f"{target}: {_describe_servers(location, module, '.'.join(path), found)}")


def _require_module(target: str, location: str) -> None:
    """Raise if the target cannot be a module; the message names what it may be."""
    if _ADDRESS.fullmatch(target):
        raise ContractError(
            f"{target} is not a module; for a server at that address use http://{target}"
        )
    if ("." in location or "/" in location) and Path(location).is_file():
        raise ContractError(
            f"{location} is neither a Python file (.py) nor a database (.db, .sqlite)"
        )
    if _MODULE.fullmatch(target) is None:
        raise ContractError(f"{target!r} is not a module, URL (http://…) or installed program")


def _load_project(settings: str) -> Server:
    """Load a Django project by its settings."""
    if not settings:
        raise ContractError(f"{DJANGO} needs the settings of a project: {DJANGO}:shop.settings")
    try:
        importlib.import_module("accord.django")  # raises if the extra is missing
        import django  # before the folder, which may have a django.py

        sys.path.insert(0, str(Path.cwd()))
        os.environ["DJANGO_SETTINGS_MODULE"] = settings
        django.setup()
        from accord.django.project import server

        return server()
    except (KeyboardInterrupt, ContractError):
        raise
    except BaseException as error:  # user code may raise anything
        raise ContractError(f"could not load {DJANGO}:{settings}: {_reason(error)}") from error


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(f"file {path} does not exist")
    name = "accord_target_" + str(path.resolve()).replace(".", "_")  # unlike any other module
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module


def _describe_servers(location: str, module: Any, name: str, found: object) -> str:
    servers = [key for key, value in vars(module).items() if isinstance(value, Server)]
    fault = f"there is no {name!r}" if found is None else f"{name!r} is not an accord.Server"
    if not servers:
        return f"{fault}, and {location} has no accord.Server"
    return f"{fault}; {location} has {', '.join(servers)}"


def _reason(error: BaseException) -> str:
    """Return the first line of an error, and the last line of the target's own code in it."""
    text = f"{type(error).__name__}: {error}".partition("\n")[0]
    if isinstance(error, SyntaxError) or getattr(error, "location", None):
        return text  # it has the line
    *_, location = ["", *_own_frames(error)]
    return f"{text} ({_relative(location)})" if location else text


def _own_frames(error: BaseException) -> Iterator[str]:
    """Yield `FILE:LINE` of the frames that are not in accord, Python or an installed package."""
    import sysconfig  # slow to import, seldom needed
    import traceback

    foreign = (str(Path(__file__).parents[1]), sysconfig.get_paths()["stdlib"])
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        is_installed = not _INSTALLED.isdisjoint(Path(name).parts)
        if not is_installed and not name.startswith(("<", *foreign)):
            yield f"{name}:{line}"


def _relative(location: str) -> str:
    """Return a path relative to the current folder."""
    return location.removeprefix(f"{Path.cwd()}/")
