"""`accord call`: call one tool and print its answer."""

import argparse
import os
import signal
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from accord.cli import databases, targets
from accord.cli.form_arguments import add_sheet_arguments, said_of_sheets
from accord.cli.keys import add_key_argument, key_of
from accord.cli.logs import log_at_once
from accord.cli.options import add_peer_options, patience
from accord.cli.patience import Patience, tell_progress
from accord.cli.quiet import quiet
from accord.cli.visible import shown, visible
from accord.context import Client
from accord.errors import ContractError
from accord.model.answer import Answer
from accord.profiles import PROFILES, Profile, asking_for
from accord.protocol import Call
from accord.revisions import NEWEST, REVISIONS
from accord.serve import blocking
from accord.serve.listener import Listener

if TYPE_CHECKING:
    from accord.reader import Reading

EXAMPLES: Final = """\
examples:
  accord call shop:server add '{"a": 2, "b": 3}'
  accord call shop:server orders '{"customer": "ada"}' --json
  accord call shop:server add '{"a": 2, "b": 3}' --profile envelope --json
  accord call 'accord serve shop:server' orders '{"customer": "ada"}' --read
  echo '{"a": 2, "b": 3}' | accord call shop:server add -
  accord call shop.db run_query '{"query": "SELECT * FROM users"}'
"""
_MOST_NAMED: Final = 32
_WANTS_PROGRESS: Final = b'{"progressToken": "accord"}'
_FOR_A_PERSON: Final = "generic"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    parser.add_argument("target", metavar="TARGET", help=f"{targets.HELP}; or {targets.PEER_HELP}")
    parser.add_argument("tool", metavar="TOOL", help="the name of the tool")
    parser.add_argument(
        "arguments",
        nargs="?",
        default="{}",
        metavar="ARGUMENTS",
        help="its arguments, a JSON object; - reads them from standard input",
    )
    parser.add_argument(
        "--profile",
        choices=list(PROFILES),
        help="print the answer as this profile words it",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--json",
        action="store_true",
        help="print the raw tool result; with --profile envelope or generic, the object that it is",
    )
    form.add_argument(
        "--read", action="store_true", help="print the generic response, whatever the server says"
    )
    parser.add_argument(
        "--revision",
        choices=list(REVISIONS),
        help=f"the MCP revision to speak (default {NEWEST.date}, or what the peer prefers)",
    )
    add_key_argument(parser)
    add_peer_options(parser, timeout="; of a database, 5")
    databases.add_arguments(parser, timeout=False)
    add_sheet_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Call the tool; exit code 1 if it failed."""
    log_at_once()
    target = options.target
    is_peer = targets.is_peer(target)
    _require_use(options, is_peer=is_peer)
    other = () if databases.is_database(target) else ("timeout",)
    database = databases.database_options(options, target, exclude=other)
    sheets = said_of_sheets(options, target)
    return _call_peer(options) if is_peer else _call(options, database, sheets)


def _require_use(options: argparse.Namespace, *, is_peer: bool) -> None:
    """Refuse what would do nothing."""
    targets.require_tools(options.target)
    if options.header and not is_peer:
        raise ContractError("--header is for somebody else's server; this one is called right here")
    if options.timeout is not None and not (is_peer or databases.is_database(options.target)):
        raise ContractError("--timeout is for a database, or for somebody else's server")
    if options.profile is not None and is_peer:
        raise ContractError("--profile is for a Server of ours; a peer words its answers itself")
    if options.key_file is not None and is_peer:
        raise ContractError("--key-file is for a Server of ours; a peer signs its cursors itself")


def _call(
    options: argparse.Namespace, database: Mapping[str, Any], sheets: Mapping[str, Any]
) -> int:
    """Call a tool of a server that is loaded here."""
    key = key_of(options)
    with quiet(), Patience(f"loading {options.target}"):
        server = targets.load([options.target], database=database, sheets=sheets, key=key)
    if options.tool not in server.tools:
        known = ", ".join(list(server.tools)[:_MOST_NAMED]) or "none"
        raise ContractError(f"no tool {options.tool!r}; there are: {known}")
    client = Client(REVISIONS[options.revision or NEWEST.date], _wants(options))
    call = Call(1, client, name=options.tool, arguments=_arguments(options.arguments))
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends us, and is no failure of the tool
    with quiet(), Patience(f"calling {options.tool}") as waiting:
        call.meta = _WANTS_PROGRESS
        edge = Listener(lambda said: tell_progress(waiting, msgspec.json.decode(said)))
        done = blocking.run(server, call, edge)
    said = msgspec.json.decode(done.reply, type=_Said)
    if options.read:
        _print_reading(_reading(done.reply, call))
    elif options.profile is None and not options.json:
        _print_answer(_reading(done.reply, call))
    elif options.profile is not None and said.error is msgspec.UNSET:
        _print_worded(said.result, PROFILES[options.profile], is_raw=options.json)
    else:
        _print_json(said.result if said.error is msgspec.UNSET else said.error)
    return 0 if isinstance(done.outcome, Answer) else 1


def _wants(options: argparse.Namespace) -> dict[str, Any]:
    """The profile to ask for; where a person reads the answer, one that has a place for it all."""
    if options.profile is None and (options.json or options.read):
        return {}
    return asking_for(options.profile or _FOR_A_PERSON)


class _Said(msgspec.Struct, frozen=True):
    """A reply: one of the two."""

    result: msgspec.Raw = msgspec.Raw(b"null")
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def _reading(reply: bytes, call: Call) -> "Reading":
    from accord.reader import read

    return read(reply, call.name, msgspec.json.decode(call.arguments))


def _call_peer(options: argparse.Namespace) -> int:
    """Call a tool of somebody else's server."""
    from accord.cli import peers
    from accord.reader import read
    from accord.reader.report import to_json

    arguments = msgspec.json.decode(_arguments(options.arguments))
    reply = peers.call(
        options.target,
        options.tool,
        arguments,
        headers=dict(options.header),
        revision=options.revision,
        within=patience(options),
    )
    reading = read(reply.raw, options.tool, arguments)
    if options.json:
        said = reply.result if reply.error is None else reply.error
        print(visible(to_json(said, indent=2).decode(), keeps_lines=True))
    elif options.read:
        _print_reading(reading)
    else:
        _print_answer(reading)
    return 1 if reading.is_failure else 0


def _arguments(text: str) -> bytes:
    if text == "-" and sys.stdin is None:
        raise ContractError("standard input is closed; there are no arguments to read from it")
    raw = sys.stdin.buffer.read() if text == "-" else os.fsencode(text)
    if not raw.strip():
        raise ContractError("the arguments are no JSON object: there is nothing; {} has none")
    try:
        msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ContractError(f"the arguments are no JSON object: {error}") from error
    return raw


def _print_worded(result: msgspec.Raw, profile: Profile, *, is_raw: bool) -> None:
    """The words of a result, as a client would show them."""
    if is_raw and not profile.has_own_shape:
        _print_json(result)
        return
    blocks = msgspec.json.decode(result)["content"]
    if is_raw:
        _print_json(blocks[0]["text"].encode())
        return
    for block in blocks:
        print(shown(block["text"]) if block["type"] == "text" else f"[{block['type']}]")


def _print_json(json: bytes | msgspec.Raw) -> None:
    """JSON, indented; it stays the same JSON where something in it is escaped."""
    indented = msgspec.json.format(bytes(json), indent=2).decode()
    print(visible(indented, keeps_lines=True), flush=True)


def _print_reading(reading: "Reading") -> None:
    from accord.cli.read import print_reading

    print_reading(reading)


def _print_answer(reading: "Reading") -> None:
    from accord.cli.answers import print_answer

    print_answer(reading)
