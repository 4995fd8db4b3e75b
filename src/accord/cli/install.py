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

from accord.cli import targets
from accord.cli.clients import CLIENTS, Client
from accord.cli.main import parser_of
from accord.cli.patience import Patience
from accord.cli.quiet import quiet
from accord.cli.settings_file import SettingsFile
from accord.cli.visible import visible
from accord.errors import ContractError

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
    parser.add_argument("--name", help="what the client calls it (default: the server's own name)")
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
    if targets.is_peer(options.target):
        raise ContractError(f"{visible(options.target)} is somebody else's server, not one of ours")
    with quiet(), Patience(f"loading {options.target}"):
        server = targets.load([options.target])
    name = options.name or server.identity.name
    try:
        said = shlex.split(options.serve)
    except ValueError as error:
        raise ContractError(f"--serve={options.serve!r} is no line of options: {error}") from error
    words = [targets.from_anywhere(options.target), *_from_anywhere(said)]
    understood = parser_of("serve").parse_args(words)
    if targets.is_sheets(options.target) and understood.out is None:
        words += ["--out", str(Path.cwd())]
    entry = {**client.extra, "command": _command(), "args": ["serve", *words]}
    if targets.is_found_here_alone(options.target):
        entry["env"] = {"PYTHONPATH": str(Path.cwd())}
    return name, entry


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
