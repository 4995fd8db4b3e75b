"""Resolves targets of the command line: the server, database or program that a word names.

In this order: a reserved name (`sheets`, `reader`, `django:SETTINGS`), a database, a URL, a Python
file (`FILE.py`, or a path with a slash), a command line, a module. `NAME=` before a target gives
its tools a prefix; a file that ends in `.toml` has several targets, each with its options, and one
that ends in `.json` has foreign servers, as MCP clients list them.
"""

import argparse
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from accord.cli import databases
from accord.errors import ContractError, did_you_mean, reason_of
from accord.server import Server, combine

if TYPE_CHECKING:
    from accord.sources.sql import Database

_NO_OPTIONS: Final[Mapping[str, Any]] = MappingProxyType({})

_DEFAULT_NAME: Final = "server"

FORMS: Final = (
    ("shop:server", "the Server `server` in the module shop; `server` is the default"),
    ("shop.py:server", "the Server in a Python file"),
    ("shop.db", "a SQLite database; also sqlite:///shop.db"),
    ("postgresql://user@host/db", "a PostgreSQL database"),
    ("django:shop.settings", "the Django REST framework views of a project"),
    ("sheets", "the tool that fills D&D 5e character sheets"),
    ("https://example.com/mcp", "an MCP server at a URL"),
    ("'npx -y some-server'", "an MCP server that is started by a command line"),
    ("accord.toml", "several targets, each with its options"),
    ("mcp.json", "the MCP servers in the configuration file of a client"),
    ("NAME=TARGET", "a target whose tools and prompts get the prefix NAME_"),
)
"""What a target can be, for help texts."""
HELP: Final = "see Targets below"
LOCAL_HELP: Final = (
    "what the client starts: a Server (shop:server, shop.py), a database (shop.db,"
    " postgresql://user@host/db), django:SETTINGS, sheets, accord.toml or mcp.json"
)
DJANGO: Final = "django"
REMOTE_HELP: Final = "an MCP server: a URL, or a command line in quotes"
READER: Final = "reader"
"""The target that reads replies over HTTP, and has no tools."""
SHEETS: Final = "sheets"
"""The target that fills character sheets."""
_RESERVED: Final = frozenset({READER, SHEETS, DJANGO})
"""Names that are never a file or module; `./NAME` is the file."""

_URL: Final = re.compile(r"([a-z][a-z0-9+.-]*)://", re.I)
_ADDRESS: Final = re.compile(r"(?:[\w.-]+|\[[0-9a-f:]+\]):\d+(?:/.*)?", re.I)
_SERVERS: Final = frozenset({"http", "https"})
_MODULE: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*(?::.*)?")
_NAMED: Final = re.compile(r"([A-Za-z][\w-]*)=(.*)", re.S | re.ASCII)
_UNNAMED: Final = re.compile(r"[^\w-]+", re.ASCII)
CONFIG: Final = ".toml"
"""The suffix of a file with several targets."""
SERVERS_FILE: Final = ".json"
"""The suffix of a file with foreign servers."""


class Target(NamedTuple):
    """A target, its name, and the options that are for it alone."""

    target: str
    name: str | None = None
    word: str = ""
    """The target with its name, as it was given."""
    folder: Path | None = None
    """The folder of its modules, beside the current one."""
    database: Mapping[str, Any] = _NO_OPTIONS
    sheets: Mapping[str, Any] = _NO_OPTIONS
    configuration: Mapping[str, Any] = _NO_OPTIONS
    servers: Path | None = None
    """The file with the foreign servers that it stands for."""

    @property
    def prefix(self) -> str:
        """The prefix of its tools."""
        return "" if self.name is None else f"{self.name}_"


def parse(word: str) -> Target:
    """Return the target of a word, and the name before the first `=` in it, if it has one."""
    found = _NAMED.fullmatch(word)
    if found is None:
        return Target(word, None, word)
    name, target = found.groups()
    if not target:
        raise ContractError(f"{word} has no target; write {name}=shop.db, for example")
    if is_config(target):
        raise ContractError(f"{target} has the names of its targets; write it without {name}=")
    if is_servers_file(target):
        raise ContractError(f"{target} has the names of its servers; write it without {name}=")
    return Target(target, name, word)


def expand(words: Sequence[str], options: argparse.Namespace | None = None) -> list[Target]:
    """Return the targets of several words; a file that ends in `.toml` has several.

    The options at the top of such a file are set in `options`, unless the command line has them.
    """
    found: list[Target] = []
    for word in words:
        if is_config(word):
            from accord.cli.config_file import read_config  # it imports tomllib

            config = read_config(Path(word))
            found += config.targets
            if options is not None:
                config.apply(options)
        elif is_servers_file(word):
            found.append(Target(word, None, word, servers=Path(word)))
        else:
            found.append(parse(word))
    _require_distinct(found)
    return found


def is_config(word: str) -> bool:
    """True if a word is a file with several targets."""
    if not word.endswith(CONFIG) or _URL.match(word) or _NAMED.fullmatch(word):
        return False
    return len(word.split()) == 1 or Path(word).is_file()


def is_servers_file(word: str) -> bool:
    """True if a word is a file with foreign servers."""
    if not word.endswith(SERVERS_FILE) or _URL.match(word) or _NAMED.fullmatch(word):
        return False
    return len(word.split()) == 1 or Path(word).is_file()


def is_foreign(target: Target) -> bool:
    """True if a target is a foreign server, or a file with several."""
    return target.servers is not None or is_remote(target.target)


def _require_distinct(targets: Sequence[Target]) -> None:
    """Raise if two targets have the same name, or are the same without a name."""
    words = [each.word for each in targets]
    names = [each.name for each in targets if each.name is not None]
    for each in targets:
        if each.name is not None and names.count(each.name) > 1:
            raise ContractError(f"two targets are named {each.name}; give each a name of its own")
        if words.count(each.word) > 1:
            raise ContractError(f"{each.word} is named twice")


def is_remote(target: str) -> bool:
    """True if a target is a remote server: a URL or a command line.

    A command line is several words, or a program whose name is not a valid module name
    (`mcp-server-time`, `./serve`). Reserved names, Python files and databases that exist are not
    remote, even with blanks in the path. A URL with an unknown scheme is an error.
    """
    if target in _RESERVED or databases.is_database(target) or is_servers_file(target):
        return False
    if is_url(target):
        return True
    location = target.partition(":")[0]
    file = python_file(location)
    if file is not None and (file.is_file() or len(location.split()) == 1):
        return False
    return len(target.split()) > 1 or (_MODULE.fullmatch(target) is None and _is_program(target))


def is_url(target: str) -> bool:
    """True if a target is the URL of a server."""
    found = _URL.match(target)
    if found is not None and found[1].lower() not in _SERVERS:
        raise ContractError(
            f"{found[1]}:// is not supported: http:// and https:// are MCP servers,"
            " sqlite:/// and postgresql:// databases"
        )
    return found is not None


def python_file(location: str) -> Path | None:
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
    targets: Sequence[Target],
    *,
    database: Mapping[str, Any] = _NO_OPTIONS,
    starts: bool = False,
    sheets: Mapping[str, Any] = _NO_OPTIONS,
    write_scope: str | None = None,
    foreign: Mapping[str, Any] = _NO_OPTIONS,
    **configuration: Any,
) -> Server:
    """Load the server that a target names, or several as one; see `Server.configure`.

    `database` are options for databases, which connect at once with `starts`; `sheets` are options
    for the target of that name, `foreign` those for foreign servers, which are one server together.
    They win over the options that a target has of its own. The tools of databases that write need
    `write_scope`.
    """
    if write_scope is not None:
        _require_database(targets)
    given = {name: value for name, value in configuration.items() if value is not None}
    servers: dict[str, Server] = {}
    explored: dict[str, Database] = {}
    remote = [each for each in targets if is_foreign(each)]
    for each, name in zip(targets, _names(targets), strict=True):
        if each in remote[1:]:
            continue
        options = {**each.configuration, **given}
        try:
            if databases.is_database(each.target):
                local = {**each.database, **database}
                opened = _connect(each, local, options)
                server = databases.server_of(opened, local, _key(options))
                if write_scope is not None:
                    _require_scope(server, write_scope)
                if starts:
                    databases.start(opened, databases.database_name(each.target))
                if opened.options.explore:
                    explored[name] = opened
            elif remote[:1] == [each]:
                from accord.cli.foreign import gateway_server  # it imports asyncio

                server = gateway_server(remote, foreign, given)
            else:
                server = _load_one(each, {**each.sheets, **sheets})
        except ContractError as error:
            raise _with_hint(error, each) from error
        server.configure(**options)
        servers[each.word] = server
    combined = combine(
        servers,
        prefixes={each.word: each.prefix for each in targets if each not in remote},
        advice=_advice(targets),
    )
    if explored:
        combined.include(databases.schema_server(explored))
    combined.configure(**given)
    return combined


def _require_database(targets: Sequence[Target]) -> None:
    if not any(databases.is_database(each.target) for each in targets):
        raise ContractError(
            "--write-scope is for databases; name the scopes of your own tools where they are:"
            " @server.tool(scopes=['shop:write'])"
        )


def _require_scope(server: Server, scope: str) -> None:
    """Let the tools that write need a scope."""
    for tool in list(server.tools.values()):
        if not tool.hints.read_only:
            scoped = msgspec.structs.replace(tool, scopes=[*tool.scopes, scope])
            server.registry.replace(tool, scoped)


def _connect(
    target: Target, options: Mapping[str, Any], configuration: Mapping[str, Any]
) -> "Database":
    if "max_bytes" in configuration:
        options = {**options, "max_bytes": configuration["max_bytes"]}
    return databases.connect(target.target, options)


def _key(configuration: Mapping[str, Any]) -> bytes | None:
    return configuration.get("key") or configuration.get("fallback_key")


def _with_hint(error: ContractError, target: Target) -> ContractError:
    """Return an error with a hint if a file has the name that was read as a name and a target."""
    if target.name is not None and Path(target.word).exists():
        return ContractError(
            f"{error}; {target.word} is the target {target.target} with the name {target.name}:"
            f" for the file write ./{target.word}"
        )
    return error


def _advice(targets: Sequence[Target]) -> str:
    """Return the command line that gives each target a name of its own."""
    named = zip(_names(targets), targets, strict=True)
    return f"give each a name: {' '.join(f'{name}={each.target}' for name, each in named)}"


def _names(targets: Sequence[Target]) -> list[str]:
    """Return a name for each target that no other has: its own, or one of what it is."""
    found: list[str] = []
    for each in targets:
        name = base = each.name or _suggested_name(each.target)
        number = 2
        while name in found:
            name, number = f"{base}{number}", number + 1
        found.append(name)
    return found


def _suggested_name(target: str) -> str:
    if databases.is_database(target):
        found = databases.database_name(target)
    else:
        location, _, name = target.partition(":")
        is_plain = name in ("", _DEFAULT_NAME) or location == DJANGO
        stem = Path(name if location == DJANGO else location).name.removesuffix(".py")
        found = stem.partition(".")[0] if is_plain else f"{stem}-{name}"
    found = _UNNAMED.sub("-", found).strip("-")
    return found if found[:1].isalpha() else f"t{found}"


def from_anywhere(word: str) -> str:
    """Return a target that works in every folder: files get their absolute path."""
    if is_config(word) or is_servers_file(word):
        return str(Path(word).absolute())
    given = parse(word)
    target = _from_anywhere(given.target)
    return target if given.name is None else f"{given.name}={target}"


def below(folder: Path, target: str) -> str:
    """Return a target whose relative paths are those of a folder."""
    if databases.is_database(target, folder):
        return databases.absolute_target(target, folder)
    location, colon, name = target.partition(":")
    is_path = location.endswith(".py") or "/" in location
    file = python_file(str(folder / location)) if is_path else None
    return target if file is None else f"{file}{colon}{name}"


def _from_anywhere(target: str) -> str:
    if target in _RESERVED:
        return target
    if databases.is_database(target):
        return databases.absolute_target(target)
    location, colon, name = target.partition(":")
    if location == DJANGO and name:
        return target
    file = python_file(location)
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


def needs_this_folder(word: str) -> bool:
    """True if a target is a module in this folder that `from_anywhere` cannot make absolute.

    That is a Django project, or a module inside a package.
    """
    if is_config(word) or is_servers_file(word):
        return False
    target = parse(word).target
    location, _, name = _from_anywhere(target).partition(":")
    if location == DJANGO and name:
        location = name
    elif _MODULE.fullmatch(target) is None or "." not in location:
        return False
    return PathFinder.find_spec(location.partition(".")[0], [str(Path.cwd())]) is not None


def _load_one(target: Target, sheets: Mapping[str, Any]) -> Server:
    if is_reader(target.target):
        return Server(READER)
    if is_sheets(target.target):
        from accord.cli.sheet_filler import sheet_server  # an optional extra

        return sheet_server(**sheets)
    if target.folder is not None and target.folder != Path.cwd():
        sys.path.insert(0, str(target.folder))
    return _load_module(target.target)


def _load_module(target: str) -> Server:
    location, _, name = target.partition(":")
    if location == DJANGO:
        return _load_project(name)
    path = (name or _DEFAULT_NAME).split(".")
    file = python_file(location)
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
        guess = _guess(location) if _is_missing(error, location) else ""
        raise ContractError(f"could not import {target}: {reason_of(error)}{guess}") from error
    if isinstance(found, Server):
        return found
    raise ContractError(f"{target}: {_describe_servers(location, module, '.'.join(path), found)}")


def _is_missing(error: BaseException, location: str) -> bool:
    """True if the module or file itself is missing, not one that it imports."""
    if isinstance(error, ModuleNotFoundError):
        return error.name == location.partition(".")[0]
    return isinstance(error, FileNotFoundError) and not Path(location).exists()


def _guess(location: str) -> str:
    """Return a suggestion if a file, module or reserved name is near."""
    try:
        names = os.listdir(Path(location).parent)  # noqa: PTH208 - names alone
    except OSError:
        names = []
    folder, _, name = location.rpartition("/")
    suffix = ".py"
    known = {each if name.endswith(suffix) else each.removesuffix(suffix) for each in names}
    near = did_you_mean(name, {*known, *_RESERVED})
    return near.replace("'", f"'{folder}/", 1) if folder else near


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
        raise ContractError(f"could not load {DJANGO}:{settings}: {reason_of(error)}") from error


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
    fault += did_you_mean(name, servers)
    if not servers:
        return f"{fault}, and {location} has no accord.Server"
    return f"{fault}; {location} has {', '.join(servers)}"
