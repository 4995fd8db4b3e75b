"""`accord install`: adds a server to the configuration file of an MCP client."""

import argparse
import difflib
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkstemp
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from accord.cli import databases, targets
from accord.cli.main import parser_of
from accord.cli.options import sheet_options
from accord.cli.serve import require_stdio
from accord.cli.targets import Target
from accord.cli.terminal import StatusLine, stdout_to_stderr, visible
from accord.errors import ContractError
from accord.server import Server

EXAMPLES: Final = """\
  accord install claude-desktop shop:server
  accord install vscode shop.py --name shop --yes
  accord install cursor shop:server --print
  accord install claude-code shop:server --serve='--profile envelope'
"""
_INDENT: Final = re.compile(r"^( +|\t+)\S", re.M)


class MCPClient(NamedTuple):
    """An MCP client, and the format of its configuration file."""

    title: str
    file: Callable[[], Path]
    member: str = "mcpServers"
    """The member of the file that has the servers, by name."""
    extra: Mapping[str, Any] = MappingProxyType({})
    """Members of an entry beside the command."""
    afterwards: str = ""
    """The next step for the user."""


def _desktop() -> Path:
    name = Path("Claude/claude_desktop_config.json")
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support" / name
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", Path.home() / "AppData/Roaming")) / name
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / name


CLIENTS: Final = MappingProxyType(
    {
        "claude-desktop": MCPClient(
            "Claude Desktop", _desktop, afterwards="Quit Claude Desktop and start it again."
        ),
        "claude-code": MCPClient(
            "Claude Code",
            lambda: Path.cwd() / ".mcp.json",
            extra={"type": "stdio"},
            afterwards="Start claude in this folder, and allow the server when it asks.",
        ),
        "cursor": MCPClient(
            "Cursor",
            lambda: Path.home() / ".cursor/mcp.json",
            afterwards="Cursor starts it by itself; its settings show whether it runs.",
        ),
        "vscode": MCPClient(
            "VS Code",
            lambda: Path.cwd() / ".vscode/mcp.json",
            member="servers",
            extra={"type": "stdio"},
            afterwards="Open this folder in VS Code, and start the server from mcp.json.",
        ),
    }
)


class ConfigFile:
    """A JSON file of a client, changed in one member only; it may not exist yet."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> str:
        """Return the text of the file; empty if there is none."""
        try:
            return self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ContractError(f"could not read {self.path}: {reason}") from error

    def entries(self, member: str) -> dict[str, Any]:
        """Return the entries of a member, by name."""
        return self._entries(self._parsed(self.read()), member)

    def _entries(self, settings: dict[str, Any], member: str) -> dict[str, Any]:
        entries = settings.get(member, {})
        if not isinstance(entries, dict):
            raise ContractError(
                f"{self.path}: {member!r} must be an object; fix it, then run again"
            )
        return entries

    def changed(self, member: str, name: str, entry: Mapping[str, Any]) -> str:
        """Return the text with this entry added to a member, otherwise unchanged."""
        text = self.read()
        settings = self._parsed(text)
        entries = self._entries(settings, member)
        if entries.get(name) == entry:
            return text
        found = {**settings, member: {**entries, name: entry}}
        indent = _INDENT.search(text)
        return json.dumps(found, indent=indent[1] if indent else 2, ensure_ascii=False) + "\n"

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            found = json.loads(text) if text.strip() else {}
        except (ValueError, RecursionError) as error:
            raise ContractError(
                f"{self.path} is not valid JSON and was not changed ({error});"
                " --print shows the entry to add"
            ) from error
        if not isinstance(found, dict):
            raise ContractError(
                f"{self.path} is not a JSON object and was not changed; fix it, then run again"
            )
        return found

    def write(self, text: str) -> Path | None:
        """Replace the file atomically; return the path of the backup, if there was a file."""
        target = self.path.resolve()
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            backup = _backup(target)
            number, beside = mkstemp(dir=target.parent, prefix=f".{target.name}.")
            with os.fdopen(number, "w", encoding="utf-8") as file:
                file.write(text)
            if backup is not None:
                shutil.copymode(target, beside)
            Path(beside).replace(target)
        except OSError as error:
            raise ContractError(f"could not write {self.path}: {error.strerror}") from error
        return backup


def _backup(target: Path) -> Path | None:
    if not target.exists():
        return None
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
    backup = target.with_name(f"{target.name}.{now}.bak")
    shutil.copy2(target, backup)
    return backup


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "client", choices=list(CLIENTS), metavar="CLIENT", help=f"one of {', '.join(CLIENTS)}"
    )
    parser.add_argument("target", metavar="TARGET", help=targets.LOCAL_HELP)
    parser.add_argument(
        "--serve",
        default="",
        metavar="OPTIONS",
        help="options of accord serve, as one argument: --serve='--profile envelope'",
    )
    parser.add_argument(
        "--name",
        help="name of the entry; one of that name is replaced (default: the name of the server or"
        " of the database)",
    )
    parser.add_argument("--print", action="store_true", help="print the entry without writing it")
    parser.add_argument("--yes", action="store_true", help="write without asking")
    parser.add_argument(
        "--file",
        type=Path,
        metavar="FILE",
        help="configuration file (default: that of the client)",
    )


def run(options: argparse.Namespace) -> int:
    """Show the change, ask, and write it; exit code 1 if it is declined."""
    client = CLIENTS[options.client]
    name, entry = _entry(client, options)
    if options.print:
        print(json.dumps({client.member: {name: entry}}, indent=2, ensure_ascii=False))
        return 0
    file = ConfigFile(options.file or client.file())
    if options.name is None:
        _require_free(file, client.member, name, entry)
    before = file.read()
    after = file.changed(client.member, name, entry)
    if before == after:
        print(f"{client.title} has {name} already, in {file.path}")
        return 0
    if not options.yes and (sys.stdin is None or not sys.stdin.isatty()):
        raise ContractError(
            "standard input is not a terminal; use --yes to write, or --print to look"
        )
    _show(file.path, before, after)
    if not (options.yes or _confirm()):
        print("nothing was written", file=sys.stderr)
        return 1
    backup = file.write(after)
    print(f"{client.title} has {name} now, in {file.path}")
    if backup is not None:
        print(f"backup: {backup}")
    print(client.afterwards)
    return 0


def _entry(client: MCPClient, options: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    target = options.target
    arguments = _split(options.serve)
    understood = parser_of("serve").parse_args([target, *arguments])
    given = targets.expand([target], understood)
    if understood.http is not None or any(targets.is_reader(each.target) for each in given):
        raise ContractError("a client starts servers over stdio; HTTP is not supported here")
    require_stdio(understood, given)
    own_name = _name(given, understood)
    served = [targets.from_anywhere(target), *_absolute_paths(arguments)]
    if any(targets.is_sheets(each.target) and not each.sheets for each in given) and (
        understood.out is None
    ):
        served += ["--out", str(Path.cwd())]
    entry = {**client.extra, "command": _command(), "args": ["serve", *served]}
    if targets.needs_this_folder(target):
        entry["env"] = {"PYTHONPATH": str(Path.cwd())}
    return options.name or own_name, entry


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise ContractError(f"--serve={line!r} is not a valid list of options: {error}") from error


def _name(given: Sequence[Target], options: argparse.Namespace) -> str:
    """Return the name of a server; raise if it cannot be served with these options."""
    names = [each.target for each in given]
    database = databases.database_options(options, *names)
    sheets = sheet_options(options, *names)
    sheets.pop("out", None)  # nothing is written yet
    loaded = [each for each in map(_unwritten, given) if not _is_created(each, database)]
    server = _load(loaded, database=database, sheets=sheets) if loaded else None
    is_named = len(given) == 1 and (given[0].name or databases.is_database(names[0]))
    if server is None or is_named:
        return "+".join(each.name or databases.database_name(each.target) for each in given)
    return server.identity.name


def _unwritten(target: Target) -> Target:
    sheets = {name: value for name, value in target.sheets.items() if name != "out"}
    return target._replace(sheets=sheets)


def _is_created(target: Target, options: Mapping[str, Any]) -> bool:
    """True if a database is created when it is served."""
    creates = {**target.database, **options}.get("create")
    is_database = databases.is_database(target.target)
    return bool(is_database and creates and not databases.exists(target.target))


def _load(given: Sequence[Target], **options: Any) -> Server:
    with stdout_to_stderr(), StatusLine(f"loading {' '.join(each.word for each in given)}"):
        return targets.load(given, **options)


def _require_free(file: ConfigFile, member: str, name: str, entry: dict[str, Any]) -> None:
    """Raise if an entry of that name serves another target and --name was not given."""
    match file.entries(member).get(name):
        case None:
            return
        case {"args": ["serve", served, *_]}:
            if served == entry["args"][1]:
                return
            what = f", which serves {visible(str(served))}"
        case _:
            what = ""
    raise ContractError(
        f"{file.path} has another {name!r}{what}; use --name for a separate entry, or"
        f" --name {shlex.quote(name)} to replace it"
    )


def _absolute_paths(arguments: list[str]) -> list[str]:
    """Make the paths in options absolute: a client may start the server in any folder."""
    actions = [action for action in parser_of("serve")._actions if action.type is Path]
    paths = {name for action in actions for name in action.option_strings}
    found = list(arguments)
    for at, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in paths and equals:
            found[at] = f"{name}={Path(value).absolute()}"
        elif at and arguments[at - 1] in paths:
            found[at] = str(Path(argument).absolute())
    return found


def _command() -> str:
    """Return the path of `accord`: a client may have another PATH."""
    found = shutil.which(sys.argv[0]) or shutil.which("accord")
    return os.path.abspath(found) if found else "accord"  # noqa: PTH100 - pathlib keeps the ..


def _show(path: Path, before: str, after: str) -> None:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), str(path), str(path), lineterm="", n=2
    )
    for line in lines:
        print(visible(line))


def _confirm() -> bool:
    print("write this? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
