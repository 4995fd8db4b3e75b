"""`accord read`: prints one reply, or many, as the generic response, a table, or the answer."""

import argparse
import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import IO, Any, Final

import msgspec

from accord.cli.terminal import StatusLine, for_stdout, visible
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
_INTERVAL: Final = 0.2  # seconds between updates of the count
_STDIN: Final = "-"
_GAP: Final = "  "
_MIN_COLUMNS: Final = 40
_MIN_WIDTH: Final = 6  # of a column that is shortened
_UNBOUNDED: Final = sys.maxsize
_KINDS: Final = ("list", "tool_catalog")
_NO_CODE: Final = "error"  # the reader's code for an error without one
# These members of a failure are in the heading already.
_IN_HEADING: Final = frozenset("error message success ok status code isError is_error".split())


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


def print_reading(reading: Reading, *, is_table: bool = False, is_full: bool = False) -> None:
    """Print one reading, as a table or as indented JSON."""
    if is_table:
        print_table(reading, is_full=is_full)
        return
    value = report(reading) if is_full else reading.response
    print(visible(to_json(value, indent=2).decode(), keeps_lines=True))


def print_table(reading: Reading, *, is_full: bool) -> None:
    """Print one reading as a table; `is_full` adds how it was read."""
    for line in table(reading):
        print(line)
    if is_full:
        print(f"origin: {visible(reading.origin)}")
        print(f"confidence: {reading.confidence}")
        for finding in reading.findings:
            print(f"finding: {visible(finding)}")
        print(f"rules: {', '.join(reading.rules)}")


def print_answer(reading: Reading) -> None:
    """Print the data to standard output, messages and warnings to standard error."""
    attachments = (reading.response.metadata or {}).get("attachments", ())
    if not reading.is_failure and not (reading.value is None and attachments):
        print(_data(reading.value), flush=True)
    for line in _failure(reading) if reading.is_failure else _message(reading):
        print(line, file=sys.stderr)
    for line in _notes(reading, attachments):
        print(line, file=sys.stderr)


def _data(value: Any) -> str:
    if isinstance(value, str):
        return for_stdout(value)
    return visible(to_json(value, indent=2).decode(), keeps_lines=True)


def _failure(reading: Reading) -> Iterator[str]:
    """Yield the error message, the wrong fields, the remediation and the time to wait."""
    error, summary = reading.response.error, reading.response.message or ""
    message = error.message if error else summary
    yield f"error: {visible(message, keeps_lines=True)}"
    if summary and summary != message:
        yield f"message: {visible(summary)}"
    details = error.details if error and isinstance(error.details, dict) else {}
    hint = details.get("remediation")
    printed = f"{message}\n{hint}"
    for field, fault in _fields(details):
        if fault not in printed:
            yield f"field: {visible(f'{field} {fault}')}"
    if isinstance(hint, str) and hint:
        yield f"hint: {visible(hint, keeps_lines=True)}"
    seconds = details.get("retryAfter", details.get("retry_after"))
    if isinstance(seconds, int | float) and f"{seconds:.3g} s" not in printed:
        yield f"retry: in {seconds:.3g} s"


def _fields(details: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield field errors, as named in the generic response or in response-v2."""
    errors = details.get("validationErrors") or details.get("fields")
    for each in errors if isinstance(errors, list) else ():
        match each:
            case {"field": str(field), "error": str(fault)}:
                yield field, fault


def _message(reading: Reading) -> Iterator[str]:
    message, value = reading.response.message, reading.value
    if message and not (isinstance(value, str) and message in value):
        yield f"message: {visible(message)}"


def _notes(reading: Reading, attachments: Any) -> Iterator[str]:
    for notice in reading.warnings:
        yield f"{notice.severity}: {visible(notice.message, keeps_lines=True)}"
    if reading.page:
        yield f"page: {visible(to_json(reading.page).decode())}"
    if reading.is_partial:
        yield "partial: only a part could be done"
    if reading.is_truncated:
        yield "truncated: there is more than is shown"
    for attachment in attachments:
        yield f"attachment: {visible(to_json(attachment).decode())}"


def table(reading: Reading, columns: int | None = None) -> Iterator[str]:
    """Yield a heading, then one row per item or member."""
    room = columns or _available_columns()
    yield _shorten(_heading(reading), room)
    response = reading.response
    if response.response_type in _KINDS:
        yield from _rows(response.data or [], room)
    elif response.error is not None:
        yield from _details(response.error.details, room)
    elif isinstance(response.data, dict) and response.data.keys() == {"text"}:
        yield from _text(str(response.data["text"]))
    elif isinstance(response.data, dict):
        yield from _members(response.data, room)
    for attachment in _attachments(response.metadata or {}):
        yield _shorten(f"attachment: {attachment}", room)
    if reading.page is not None:
        yield f"page: {visible(to_json(reading.page).decode())}"
    for warning in reading.warnings:
        yield f"{warning.severity}: {visible(warning.message)}"


def _available_columns() -> int:
    """Return the columns of the terminal; unlimited in a pipe, unless COLUMNS is set."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    if not is_terminal and "COLUMNS" not in os.environ:
        return _UNBOUNDED
    return max(shutil.get_terminal_size().columns, _MIN_COLUMNS)


def _members(value: Mapping[str, Any], room: int) -> Iterator[str]:
    if value:
        yield from _grid([(visible(name), _cell(each)) for name, each in value.items()], room)


def _details(details: Mapping[str, Any] | str, room: int) -> Iterator[str]:
    """Yield the details of a failure beside its code and message."""
    if isinstance(details, str):
        yield from _text(details)
    else:
        yield from _members({n: each for n, each in details.items() if n not in _IN_HEADING}, room)


def _text(text: str) -> Iterator[str]:
    return (visible(line, keeps_lines=True) for line in text.splitlines())


def _attachments(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Describe images, audio, links and resources in one line each."""
    attachments = metadata.get("attachments")
    for block in attachments if isinstance(attachments, list) else ():
        if isinstance(block, dict):
            inner = block.get("resource")
            about = {**block, **inner} if isinstance(inner, dict) else block
            size = about.get("bytes")
            parts = [about.get(name) for name in ("type", "mimeType", "name", "uri")]
            parts.append(None if size is None else f"{size} bytes")
            yield visible(" ".join(str(part) for part in parts if part is not None))


def _heading(reading: Reading) -> str:
    response = reading.response
    text = str(response.response_type)
    if response.error is not None:
        text += "" if response.error.code == _NO_CODE else f" {response.error.code}"
    elif response.summary is not None:
        text += f", {_count(reading)}"
    elif response.status not in (None, "success"):
        text += f", {response.status}"
    message = f": {' '.join(response.message.split())}" if response.message else ""
    return visible(f"{response.tool_name}: {text}{message}")


def _count(reading: Reading) -> str:
    summary = reading.response.summary
    assert summary is not None
    count = "1 item" if summary.returned == 1 else f"{summary.returned} items"
    if summary.total is not None and summary.total != summary.returned:
        count += f" of {summary.total}"
    return count + (", and more" if summary.has_more else "")


def _rows(items: Sequence[Any], room: int) -> Iterator[str]:
    """Yield rows: a column per member of objects, one column for other items."""
    if not items:
        return
    names: dict[str, None] = {}
    for item in items:
        if not isinstance(item, dict):
            yield from _grid([(_cell(each),) for each in items], room)
            return
        names.update(dict.fromkeys(item))
    shown, left = _fitting(list(names), room)
    head = tuple(visible(name) for name in shown)
    yield from _grid([head, *(_row(item, shown) for item in items)], room)
    if left:
        yield _shorten(f"{_GAP}not shown: {', '.join(map(visible, left))}", room)


def _row(item: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(_cell(item[name]) if name in item else "" for name in names)


def _fitting(names: list[str], room: int) -> tuple[list[str], list[str]]:
    """Split columns into those that fit and those that do not."""
    most = max((room - len(_GAP)) // (_MIN_WIDTH + len(_GAP)), 1)
    return names[:most], names[most:]


def _grid(rows: Sequence[tuple[str, ...]], room: int) -> Iterator[str]:
    """Yield aligned rows; the widest columns are shortened until all fit."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    over = sum(widths) + len(_GAP) * len(widths) - room
    while over > 0 and max(widths) > _MIN_WIDTH:
        widest = max(widths)
        second = max((width for width in widths if width < widest), default=0)
        many = widths.count(widest)
        cut = max(min(-(-over // many), widest - max(second, _MIN_WIDTH)), 1)
        widths = [width - cut if width == widest else width for width in widths]
        over -= cut * many
    for row in rows:
        cells = [_padded(_shorten(cell, w), w) for cell, w in zip(row, widths, strict=True)]
        yield (_GAP + _GAP.join(cells)).rstrip()


def _cell(value: Any) -> str:
    return visible(value if isinstance(value, str) else to_json(value).decode())


def _width(text: str) -> int:
    """Return the number of terminal columns of a text."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) == "Me":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _shorten(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    head, used = [], 0
    for character in text:
        used += _columns(character)
        if used > width - 1:
            break
        head.append(character)
    return "".join(head) + "…"


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
