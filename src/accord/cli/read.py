"""`accord read`: somebody's reply, or many of them, as the generic response."""

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

from accord.cli.patience import Patience
from accord.cli.table import table
from accord.cli.visible import visible
from accord.errors import ContractError
from accord.reader import Reading, read
from accord.reader.report import report, to_json

EXAMPLES: Final = """\
examples:
  accord read reply.json --tool discord_list_channels
  accord read reply.json --tool discord_list_channels --table
  some-command | accord read -
  accord read replies.jsonl --lines > responses.jsonl
"""
_MOMENT: Final = 0.2  # seconds between two looks at how far it is
_STDIN: Final = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
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
        help="print how we know it, too: origin, confidence, findings, rules",
    )
    parser.add_argument(
        "--lines",
        action="store_true",
        help="take each line for a reply, even if the first two do not look like it",
    )
    parser.add_argument(
        "--check", action="store_true", help="end with exit code 1 if a reply is an error"
    )


def run(options: argparse.Namespace) -> int:
    """Print what each reply says; whatever the input is, it is a reply."""
    arguments = _object(options.arguments)
    try:
        return _run(options, arguments)
    except MemoryError as error:
        raise ContractError("there is not enough memory for a reply of that size") from error


def _run(options: argparse.Namespace, arguments: dict[str, Any] | None) -> int:
    with _open(options.file) as source:
        head = [] if options.lines else _head(source)
        if options.lines or _are_replies(head):
            failed = _print_lines(chain(head, source), options, arguments)
        else:
            reply = b"".join(head) + source.read()
            with Patience(f"reading {visible(options.file)}"):
                reading = read(reply, options.tool, arguments)
            print_reading(reading, is_table=options.table, is_full=options.full)
            failed = reading.is_failure
    return 1 if options.check and failed else 0


def _open(name: str) -> Any:
    if name == _STDIN:
        if sys.stdin is None:
            raise ContractError("standard input is closed; there is no reply to read from it")
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise ContractError(f"cannot read {name}: {error.strerror}") from error


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ContractError(f"the arguments are no JSON object: {error}") from error


def _head(source: IO[bytes]) -> list[bytes]:
    """The input up to its second line that says something."""
    head: list[bytes] = []
    found = 0
    for line in source:
        head.append(line)
        found += bool(line.strip())
        if found == 2:
            break
    return head


def _are_replies(head: list[bytes]) -> bool:
    """Whether there are several lines, each a JSON document of its own."""
    lines = [line for line in head if line.strip()]
    return len(lines) > 1 and all(map(_is_document, lines))


def _is_document(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict | list)
    except (ValueError, RecursionError):
        return False


def print_reading(reading: Reading, *, is_table: bool = False, is_full: bool = False) -> None:
    """One reply, for a person or as indented JSON."""
    if is_table:
        _print_table(reading, is_full=is_full)
        return
    said = report(reading) if is_full else reading.response
    print(visible(to_json(said, indent=2).decode(), keeps_lines=True))


def _print_table(reading: Reading, *, is_full: bool) -> None:
    for line in table(reading):
        print(line)
    if is_full:
        print(f"origin: {visible(reading.origin)}")
        print(f"confidence: {reading.confidence}")
        for finding in reading.findings:
            print(f"finding: {visible(finding)}")
        print(f"rules: {', '.join(reading.rules)}")


def _print_lines(
    lines: Iterator[bytes], options: argparse.Namespace, arguments: dict[str, Any] | None
) -> bool:
    """Many replies, one at a time; whether one of them is an error."""
    has_failed = False
    progress = _Progress()
    is_live = options.file == _STDIN
    for line in lines:
        if not line.strip():
            continue
        reading = read(line.rstrip(b"\r\n"), options.tool, arguments)
        has_failed = has_failed or reading.is_failure
        if options.table:
            _print_table(reading, is_full=options.full)
            print()
        else:
            said = report(reading) if options.full else reading.response
            print(visible(to_json(said).decode()))
        if is_live:
            print(end="", flush=True)
        progress.step()
    progress.end()
    return has_failed


class _Progress:
    """How many replies were read, where somebody looks on and sees nothing else."""

    def __init__(self) -> None:
        self._count = 0
        self._is_shown = _is_terminal(sys.stderr) and not _is_terminal(sys.stdout)
        self._next = monotonic() + _MOMENT

    def step(self) -> None:
        """One more."""
        self._count += 1
        if self._is_shown and monotonic() >= self._next:
            self._next = monotonic() + _MOMENT
            self._show("")

    def end(self) -> None:
        """All of them."""
        if self._is_shown:
            self._show("\n")

    def _show(self, end: str) -> None:
        print(f"\r{self._count:,} replies read", end=end, file=sys.stderr, flush=True)


def _is_terminal(stream: IO[str] | None) -> bool:
    return stream is not None and stream.isatty()
