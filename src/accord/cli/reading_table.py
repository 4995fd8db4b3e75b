"""A reading as a table for a person: a heading, then a row per item or member."""

import os
import shutil
import sys
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from accord.cli.terminal import visible
from accord.reader import Reading
from accord.reader.reading import to_json

_GAP: Final = "  "
_MIN_COLUMNS: Final = 40
_MIN_WIDTH: Final = 6  # of a column that is shortened
_UNBOUNDED: Final = sys.maxsize
_KINDS: Final = ("list", "tool_catalog")
_NO_CODE: Final = "error"  # the reader's code for an error without one
# These members of a failure are in the heading already.
_IN_HEADING: Final = frozenset("error message success ok status code isError is_error".split())


def table(reading: Reading, columns: int | None = None, *, is_full: bool = False) -> Iterator[str]:
    """Yield a heading, then one row per item or member; `is_full` adds how it was read."""
    room = columns or available_columns()
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
    if is_full:
        yield from _evidence(reading)


def _evidence(reading: Reading) -> Iterator[str]:
    yield f"origin: {visible(reading.origin)}"
    yield f"confidence: {reading.confidence}"
    for finding in reading.findings:
        yield f"finding: {visible(finding)}"
    yield f"rules: {', '.join(reading.rules)}"


def available_columns() -> int:
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
            right = {0} if _are_numbers(items) else ()
            yield from _grid([(_cell(each),) for each in items], room, right)
            return
        names.update(dict.fromkeys(item))
    shown, left = _fitting(list(names), room)
    head = tuple(visible(name) for name in shown)
    right = {
        at for at, name in enumerate(shown) if _are_numbers([item.get(name) for item in items])
    }
    yield from _grid([head, *(_row(item, shown) for item in items)], room, right)
    if left:
        yield _shorten(f"{_GAP}not shown: {', '.join(map(visible, left))}", room)


def _row(item: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(_cell(item[name]) if name in item else "" for name in names)


def _are_numbers(values: Sequence[Any]) -> bool:
    """True if all values that are not null are numbers, and there is one."""
    given = [value for value in values if value is not None]
    return bool(given) and all(
        isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in given
    )


def _fitting(names: list[str], room: int) -> tuple[list[str], list[str]]:
    """Split columns into those that fit and those that do not."""
    most = max((room - len(_GAP)) // (_MIN_WIDTH + len(_GAP)), 1)
    return names[:most], names[most:]


def _grid(rows: Sequence[tuple[str, ...]], room: int, right: Collection[int] = ()) -> Iterator[str]:
    """Yield aligned rows; the widest columns are shortened until all fit.

    `right` are the columns that are aligned on their right side.
    """
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
        cells = [
            _padded(_shorten(cell, width), width, is_right=at in right)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
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


def _padded(text: str, width: int, *, is_right: bool) -> str:
    blanks = " " * (width - _width(text))
    return blanks + text if is_right else text + blanks
