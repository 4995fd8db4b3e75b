"""Layouts of JSON in a text: indented, on one line, or as a Markdown table."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from accord.model.answer import Layout

_ESCAPES: Final = str.maketrans(
    {"|": "\\|"} | dict.fromkeys("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029", "<br>")
)
_DASHES: Final = re.compile(r"\s*+:?+[-=]{2,}+:?+\s*+")
"""A text that would make a row the rule below the names."""
_QUOTE: Final = ord('"')


class _Table(msgspec.Struct, frozen=True):
    columns: list[str]
    rows: list[list[msgspec.Raw]]


_table = msgspec.json.Decoder(_Table).decode
_string = msgspec.json.Decoder(str).decode


def _indented(json: bytes) -> str:
    return msgspec.json.format(json, indent=2).decode()


def _markdown(json: bytes) -> str:
    """Return `columns` and `rows` as a Markdown table; a value that is not text is shown as JSON.

    Numbers keep all their digits. A line break in a text is `<br>`.
    """
    table = _table(json)
    names = [_escaped(name) for name in table.columns]
    rules = ["---"] * len(names)
    return "\n".join(map(_line, (names, rules, *([_cell(v) for v in row] for row in table.rows))))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: msgspec.Raw) -> str:
    json = memoryview(value)
    return _escaped(_string(json) if json[0] == _QUOTE else str(json, "utf-8"))


def _escaped(text: str) -> str:
    escaped = text.replace("\r\n", "\n").translate(_ESCAPES)
    return f"\\{escaped}" if _DASHES.fullmatch(escaped) else escaped


LAYOUTS: Final[Mapping[Layout, Callable[[bytes], str]]] = {
    "indented": _indented,
    "line": bytes.decode,
    "table": _markdown,
}
"""Functions that return the text of JSON in each layout."""
