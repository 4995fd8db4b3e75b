"""`accord doctor`: checks the installation, a port, and the configuration of MCP clients."""

import argparse
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from accord.cli.help import style
from accord.cli.install import CLIENTS, ConfigFile, MCPClient
from accord.cli.listing import counted, print_json
from accord.cli.parsing import Parser
from accord.cli.terminal import visible
from accord.cli.values import port
from accord.errors import AccordError
from accord.extras import extras, install_command, version

EXAMPLES: Final = """\
  accord doctor
  accord doctor --port 8080
  accord doctor --json
"""
_HOST: Final = "127.0.0.1"
_PORT: Final = 8000
_MIN_PYTHON: Final = (3, 11)

Status = Literal["ok", "missing", "warning", "error"]
_COLOURS: Final[Mapping[Status, str]] = {
    "ok": "32",
    "missing": "2",
    "warning": "33",
    "error": "31",
}


class Finding(NamedTuple):
    """One thing that was checked."""

    topic: str
    status: Status
    message: str
    advice: str = ""
    """What to do about it."""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "--port",
        type=port,
        default=_PORT,
        metavar="PORT",
        help="the port that a server would use (default %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print the findings as a JSON array")


def run(options: argparse.Namespace) -> int:
    """Print what was found; exit code 1 if something is an error."""
    findings = [*_installation(), *_extras(), *_port(options.port), *_clients()]
    if options.json:
        print_json([each._asdict() for each in findings])
    else:
        _print(findings)
    return 1 if any(each.status == "error" for each in findings) else 0


def _print(findings: list[Finding]) -> None:
    colours, topic = style(), ""
    for each in findings:
        if each.topic != topic:
            print(("\n" if topic else "") + colours.heading(each.topic))
            topic = each.topic
        status = colours.coloured(f"{each.status:8}", _COLOURS[each.status])
        print(f"  {status} {visible(each.message)}")
        if each.advice:
            print(f"           {visible(each.advice)}")
    print(flush=True)
    count = Counter(each.status for each in findings)
    told = [counted(count[name], name) for name in ("error", "warning") if count[name]]
    print(" and ".join(told) if told else "everything is in order")


def _installation() -> Iterator[Finding]:
    """Check the version, Python, and the program on the PATH."""
    topic = "Installation"
    yield Finding(topic, "ok", f"accord {version()} in {Path(__file__).parents[1]}")
    python = ".".join(map(str, sys.version_info[:3]))
    supported = sys.version_info >= _MIN_PYTHON
    advice = "" if supported else "accord supports Python 3.11, 3.12 and 3.13"
    yield Finding(
        topic, "ok" if supported else "error", f"Python {python} at {sys.executable}", advice
    )
    found = shutil.which("accord")
    own = Path(sys.executable).with_name("accord")
    if found is None:
        yield Finding(
            topic,
            "warning",
            "the command accord is not on the PATH",
            f"add {own.parent} to PATH, or write {sys.executable} -m accord",
        )
    elif own.exists() and not _is_same(Path(found), own):
        yield Finding(
            topic,
            "warning",
            f"accord on the PATH is another installation: {found}",
            f"this one is {own}",
        )
    else:
        yield Finding(topic, "ok", f"accord on the PATH: {found}")


def _is_same(path: Path, other: Path) -> bool:
    """True if two paths lead to the same program, also by a link."""
    try:
        return path.resolve() == other.resolve()
    except OSError:
        return False


def _extras() -> Iterator[Finding]:
    """Name the extras, and how to install those that are missing."""
    found = extras()
    installed = [name for name, lacking in found.items() if not lacking]
    yield Finding("Extras", "ok", f"installed: {', '.join(installed) or 'none'}")
    for name, lacking in found.items():
        if lacking:
            what = f"{name}, which requires {', '.join(lacking)}"
            yield Finding("Extras", "missing", what, install_command(name))


def _port(number: int) -> Iterator[Finding]:
    """Check that a server can listen on the port."""
    import socket

    try:
        with socket.create_server((_HOST, number)):
            yield Finding("Port", "ok", f"{_HOST}:{number} is free")
    except OSError as error:
        yield Finding(
            "Port",
            "warning",
            f"cannot listen on {_HOST}:{number}: {os.strerror(error.errno or 0)}",
            f"use another: accord serve … --http {_HOST}:{min(number + 1, 65_535)}",
        )


def _clients() -> Iterator[Finding]:
    """Check the configuration files of the clients that are found."""
    topic = "MCP clients"
    found = [client for client in CLIENTS.values() if client.file().exists()]
    for client in found:
        yield from _client(topic, client)
    if not found:
        yield Finding(topic, "missing", "no configuration file", "accord install adds a server")


def _client(topic: str, client: MCPClient) -> Iterator[Finding]:
    file = ConfigFile(client.file())
    try:
        entries = file.entries(client.member)
    except AccordError as error:
        yield Finding(topic, "error", f"{client.title}: {error}")
        return
    yield Finding(topic, "ok", f"{client.title}: {counted(len(entries), 'server')} in {file.path}")
    for name, entry in entries.items():
        for fault in _faults(entry):
            yield Finding(topic, fault[0], f"{client.title}: {name}: {fault[1]}", *fault[2:])


def _faults(entry: Any) -> Iterator[tuple[Status, str] | tuple[Status, str, str]]:
    """Yield what is wrong with the entry of a server."""
    if not isinstance(entry, dict):
        yield "error", "the entry must be an object"
        return
    command, arguments = entry.get("command"), entry.get("args", [])
    if "url" in entry and command is None:
        url = entry["url"]
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            yield "error", f"url must begin with http:// or https://, not {str(url)!r}"
        return
    if not isinstance(command, str) or not command:
        yield "error", "the entry has neither a command nor a url"
        return
    if not isinstance(arguments, list) or not all(isinstance(each, str) for each in arguments):
        yield "error", "args must be an array of texts"
        return
    if shutil.which(os.path.expandvars(command)) is None:
        yield "error", f"the command {command} is not installed", "run accord install again"
    elif not Path(command).is_absolute():
        yield (
            "warning",
            f"the command {command} is not an absolute path",
            "the client may have another PATH than this terminal",
        )
    yield from _target_faults(command, arguments)


def _target_faults(
    command: str, arguments: list[str]
) -> Iterator[tuple[Status, str] | tuple[Status, str, str]]:
    """Yield what is wrong with the target of `accord serve`."""
    if Path(command).stem != "accord" or arguments[:1] != ["serve"] or len(arguments) < 2:
        return
    file = arguments[1].rpartition("=")[2]
    file = file.partition(":")[0] if ".py" in file else file
    if file.endswith((".py", ".db", ".toml", ".json")) and not Path(file).exists():
        yield "error", f"the target {file} does not exist", "run accord install again"
