"""`accord install`: write a server into the configuration of an MCP client."""

import argparse
import difflib
import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, Final

from accord.cli import databases, targets
from accord.cli.clients import CLIENTS, Client
from accord.cli.form_arguments import said_of_sheets
from accord.cli.main import parser_of
from accord.cli.patience import Patience
from accord.cli.quiet import quiet
from accord.cli.serve import require_stdio
from accord.cli.settings_file import SettingsFile
from accord.cli.visible import visible
from accord.errors import ContractError
from accord.server import Server

EXAMPLES: Final = """\
examples:
  accord install claude-desktop shop:server
  accord install vscode shop.py --name shop --yes
  accord install cursor shop:server --print
  accord install claude-code shop:server --serve='--profile envelope'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    parser.add_argument(
        "client", choices=list(CLIENTS), metavar="CLIENT", help=f"one of {', '.join(CLIENTS)}"
    )
    parser.add_argument("target", metavar="TARGET", help=targets.HELP)
    parser.add_argument(
        "--serve",
        default="",
        metavar="OPTIONS",
        help="options of accord serve, as one word: --serve='--profile envelope'",
    )
    parser.add_argument(
        "--name",
        help="what the client calls it; an entry of that name is replaced (default: the server's"
        " own name, or that of the database)",
    )
    parser.add_argument("--print", action="store_true", help="print what would be written, only")
    parser.add_argument("--yes", action="store_true", help="write without asking")
    parser.add_argument(
        "--file", type=Path, metavar="FILE", help="the configuration, where it is somewhere else"
    )


def run(options: argparse.Namespace) -> int:
    """Show the change, ask, and write it; exit code 1 if nobody wants it."""
    client = CLIENTS[options.client]
    name, entry = _entry(client, options)
    if options.print:
        print(json.dumps({client.member: {name: entry}}, indent=2, ensure_ascii=False))
        return 0
    file = SettingsFile(options.file or client.file())
    if options.name is None:
        _require_free(file, client.member, name, entry)
    before = file.read()
    after = file.changed(client.member, name, entry)
    if before == after:
        print(f"{client.title} has {name} already, in {file.path}")
        return 0
    if not options.yes and (sys.stdin is None or not sys.stdin.isatty()):
        raise ContractError("nobody is here to ask; say --yes to write it, or --print to look")
    _show(file.path, before, after)
    if not (options.yes or _agree()):
        print("nothing was written", file=sys.stderr)
        return 1
    backup = file.write(after)
    print(f"{client.title} has {name} now, in {file.path}")
    if backup is not None:
        print(f"as it was before: {backup}")
    print(client.afterwards)
    return 0


def _entry(client: Client, options: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    target = options.target
    said = _words(options.serve)
    understood = parser_of("serve").parse_args([target, *said])
    if understood.http is not None or targets.is_reader(target):
        raise ContractError("a client starts what it talks to over stdio; it cannot start HTTP")
    require_stdio(understood)
    own_name = _name(target, understood)
    words = [targets.from_anywhere(target), *_from_anywhere(said)]
    if targets.is_sheets(target) and understood.out is None:
        words += ["--out", str(Path.cwd())]
    entry = {**client.extra, "command": _command(), "args": ["serve", *words]}
    if targets.is_found_here_alone(target):
        entry["env"] = {"PYTHONPATH": str(Path.cwd())}
    return options.name or own_name, entry


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise ContractError(f"--serve={line!r} is no line of options: {error}") from error


def _name(target: str, options: argparse.Namespace) -> str:
    """What a server is called, once it has shown that it can be served with these options."""
    database = databases.database_options(options, target)
    sheets = said_of_sheets(options, target)
    sheets.pop("out", None)  # nothing is to be written yet
    if databases.is_database(target):
        if not database.get("create") or databases.exists(target):
            _load(target, database=database)
        return databases.database_name(target)
    return _load(target, sheets=sheets).identity.name


def _load(target: str, **said: Any) -> Server:
    with quiet(), Patience(f"loading {target}"):
        return targets.load([target], **said)


def _require_free(file: SettingsFile, member: str, name: str, entry: dict[str, Any]) -> None:
    """Raise if an entry of that name serves something else, and nobody has asked for that name."""
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
        f"{file.path} has another {name!r}{what}; say --name for another entry beside it, or"
        f" --name {shlex.quote(name)} to replace it"
    )


def _from_anywhere(words: list[str]) -> list[str]:
    """Options whose paths mean the same in every folder: a client may start us in any."""
    actions = [action for action in parser_of("serve")._actions if action.type is Path]
    paths = {name for action in actions for name in action.option_strings}
    found = list(words)
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in paths and equals:
            found[at] = f"{name}={Path(value).absolute()}"
        elif at and words[at - 1] in paths:
            found[at] = str(Path(word).absolute())
    return found


def _command() -> str:
    """Where we are: a client may have another PATH."""
    found = shutil.which(sys.argv[0]) or shutil.which("accord")
    return os.path.abspath(found) if found else "accord"  # noqa: PTH100 - pathlib keeps the ..


def _show(path: Path, before: str, after: str) -> None:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), str(path), str(path), lineterm="", n=2
    )
    for line in lines:
        print(visible(line))


def _agree() -> bool:
    print("write this? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
