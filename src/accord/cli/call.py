"""`accord call`: call one tool and print its answer."""

import argparse
import logging
import os
import signal
import sys
from typing import Any, Final

import msgspec

from accord.answer import Answer, Encoded, Notice, Problem
from accord.cli import targets
from accord.cli.quiet import quiet
from accord.errors import ContractError, Reject
from accord.outcome import Outcome
from accord.profiles import PROFILES, Profile, asking_for
from accord.protocol import Call
from accord.revisions import NEWEST, REVISIONS
from accord.serve import blocking
from accord.tool import Client

EXAMPLES: Final = """\
examples:
  accord call shop:server add '{"a": 2, "b": 3}'
  accord call shop:server orders '{"customer": "ada"}' --json
  accord call shop:server add '{"a": 2, "b": 3}' --profile envelope --json
  echo '{"a": 2, "b": 3}' | accord call shop:server add -
"""
_MOST_NAMED: Final = 32


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    parser.add_argument("target", metavar="TARGET", help=targets.HELP)
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
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the raw tool result; with --profile envelope or generic, the object that it is",
    )
    parser.add_argument(
        "--revision",
        choices=list(REVISIONS),
        default=NEWEST.date,
        help="the MCP revision whose result --json prints (default %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Call the tool; exit code 1 if it failed."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    with quiet():
        server = targets.load([options.target])
    if options.tool not in server.tools:
        known = ", ".join(list(server.tools)[:_MOST_NAMED]) or "none"
        raise ContractError(f"no tool {options.tool!r}; there are: {known}")
    capabilities = {} if options.profile is None else asking_for(options.profile)
    client = Client(REVISIONS[options.revision], capabilities)
    call = Call(1, client, name=options.tool, arguments=_arguments(options.arguments))
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends us, and is no failure of the tool
    with quiet():
        done = blocking.run(server, call)
    if options.profile is not None and isinstance(done.result, msgspec.Raw):
        _print_worded(done.result, PROFILES[options.profile], is_raw=options.json)
    elif options.profile is not None or options.json:
        _print_raw(done.result)
    else:
        _print(done.outcome)
    return 0 if isinstance(done.outcome, Answer) else 1


def _arguments(text: str) -> bytes:
    if text == "-" and sys.stdin is None:
        raise ContractError("standard input is closed; there are no arguments to read from it")
    raw = sys.stdin.buffer.read() if text == "-" else os.fsencode(text)
    try:
        msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ContractError(f"the arguments are no JSON object: {error}") from error
    return raw


def _print_worded(result: msgspec.Raw, profile: Profile, *, is_raw: bool) -> None:
    """The words of a result, as a client would show them."""
    if is_raw and not profile.has_own_shape:
        _print_raw(result)
        return
    blocks = msgspec.json.decode(result)["content"]
    if is_raw:
        print(msgspec.json.format(blocks[0]["text"], indent=2))
        return
    for block in blocks:
        print(block["text"] if block["type"] == "text" else f"[{block['type']}]")


def _print_raw(result: msgspec.Raw | Reject) -> None:
    print(msgspec.json.format(msgspec.json.encode(result), indent=2).decode())


def _print(outcome: Outcome) -> None:
    """The data goes to standard output, what is said about it to standard error."""
    match outcome:
        case Answer(data=Encoded(json)):
            print(msgspec.json.format(json, indent=2).decode(), flush=True)
        case Answer(data=text):
            print(text, flush=True)
        case Problem(message=message) | Reject(message=message):
            print(f"error: {message}", file=sys.stderr)
    for note in _notes(outcome):
        print(note, file=sys.stderr)


def _notes(outcome: Outcome) -> list[str]:
    if isinstance(outcome, Problem):
        return [f"hint: {outcome.remediation}"] if outcome.remediation else []
    if isinstance(outcome, Reject):
        return []
    notices = [notice for notice in outcome.warnings if isinstance(notice, Notice)]
    notes = [f"{notice.severity}: {notice.message}" for notice in notices]
    if outcome.page:
        notes.append(f"page: {msgspec.json.encode(outcome.page).decode()}")
    return notes
