"""`accord read`: prints one reply, or many, as the generic response."""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import IO, Any, Final

import msgspec

from accord.cli.reading_output import print_reading, print_table
from accord.cli.terminal import StatusLine, visible
from accord.errors import ContractError
from accord.reader import read
from accord.reader.report import report, to_json

EXAMPLES: Final = """\
examples:
  accord read reply.json --tool discord_list_channels
  accord read reply.json --tool discord_list_channels --table
  some-command | accord read -
  accord read replies.jsonl --lines > responses.jsonl
"""
_INTERVAL: Final = 0.2  # seconds between updates of the count
_STDIN: Final = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a reply, or JSON Lines of many; - reads standard input",
    )
    parser.add_argument("--tool", metavar="NAME", help="the tool that was called")
    parser.add_argument(
        "--arguments", metavar="JSON", help="the arguments it was called with, a JSON object"
    )
    parser.add_argument("--table", action="store_true", help="print a table for a person")
    parser.add_argument(
        "--full",
        action="store_true",
        help="print the origin, confidence, findings and rules, too",
    )
    parser.add_argument(
        "--lines",
        action="store_true",
        help="read each line as a reply, even if the first two are not JSON documents",
    )
    parser.add_argument(
        "--check", action="store_true", help="exit with code 1 if a reply is an error"
    )


def run(options: argparse.Namespace) -> int:
    """Print the reading of each reply; any input is a reply."""
    arguments = _object(options.arguments)
    try:
        return _run(options, arguments)
    except MemoryError as error:
        raise ContractError("the reply is too large for the available memory") from error


def _run(options: argparse.Namespace, arguments: dict[str, Any] | None) -> int:
    with _open(options.file) as source:
        head = [] if options.lines else _head(source)
        if options.lines or _are_replies(head):
            failed = _print_lines(chain(head, source), options, arguments)
        else:
            reply = b"".join(head) + source.read()
            with StatusLine(f"reading {visible(options.file)}"):
                reading = read(reply, options.tool, arguments)
            print_reading(reading, is_table=options.table, is_full=options.full)
            failed = reading.is_failure
    return 1 if options.check and failed else 0


def _open(name: str) -> Any:
    if name == _STDIN:
        if sys.stdin is None:
            raise ContractError("standard input is closed; name a file")
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise ContractError(f"could not read {name}: {error.strerror}") from error


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ContractError(f"--arguments must be a JSON object: {error}") from error


def _head(source: IO[bytes]) -> list[bytes]:
    """Return the input up to its second non-blank line."""
    head: list[bytes] = []
    found = 0
    for line in source:
        head.append(line)
        found += bool(line.strip())
        if found == 2:
            break
    return head


def _are_replies(head: list[bytes]) -> bool:
    """True if there are several lines, each a JSON document."""
    lines = [line for line in head if line.strip()]
    return len(lines) > 1 and all(map(_is_document, lines))


def _is_document(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict | list)
    except (ValueError, RecursionError):
        return False


def _print_lines(
    lines: Iterator[bytes], options: argparse.Namespace, arguments: dict[str, Any] | None
) -> bool:
    """Print many replies, one at a time; return True if one is an error."""
    has_failed = False
    counter = _ReplyCounter()
    is_live = options.file == _STDIN
    for line in lines:
        if not line.strip():
            continue
        reading = read(line.rstrip(b"\r\n"), options.tool, arguments)
        has_failed = has_failed or reading.is_failure
        if options.table:
            print_table(reading, is_full=options.full)
            print()
        else:
            value = report(reading) if options.full else reading.response
            print(visible(to_json(value).decode()))
        if is_live:
            print(end="", flush=True)
        counter.step()
    counter.end()
    return has_failed


class _ReplyCounter:
    """A count of replies on standard error, if only that is a terminal."""

    def __init__(self) -> None:
        self._count = 0
        self._is_shown = _is_terminal(sys.stderr) and not _is_terminal(sys.stdout)
        self._next = monotonic() + _INTERVAL

    def step(self) -> None:
        """Count one more reply."""
        self._count += 1
        if self._is_shown and monotonic() >= self._next:
            self._next = monotonic() + _INTERVAL
            self._show("")

    def end(self) -> None:
        """Print the final count."""
        if self._is_shown:
            self._show("\n")

    def _show(self, end: str) -> None:
        print(f"\r{self._count:,} replies read", end=end, file=sys.stderr, flush=True)


def _is_terminal(stream: IO[str] | None) -> bool:
    return stream is not None and stream.isatty()
