"""Layouts of JSON in a text: indented, on one line, or as a Markdown table."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

from accord.model.answer import Layout

_BREAKS: Final = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_ESCAPES: Final = str.maketrans({"|": "\\|"} | dict.fromkeys(_BREAKS, "<br>"))
_DASHES: Final = re.compile(r"\s*+:?+[-=]{2,}+:?+\s*+")
"""A text that would make a row the rule below the names."""
_SPECIAL: Final = re.compile(
    rb"\||--|==|\\[nrfu]|" + b"|".join(each.encode() for each in "\x85\u2028\u2029")
)
"""JSON that may have a text to escape."""


class _Table(msgspec.Struct, frozen=True):
    columns: list[str]
    rows: list[list[Any]]


_table = msgspec.json.Decoder(_Table, float_hook=Decimal).decode  # keeps all digits
_encode = msgspec.json.Encoder(decimal_format="number").encode


def _indented(json: bytes) -> str:
    return msgspec.json.format(json, indent=2).decode()


def _markdown(json: bytes) -> str:
    """Return `columns` and `rows` as a Markdown table; a value that is not text is shown as JSON.

    Numbers keep all their digits. A line break in a text is `<br>`.
    """
    table = _table(json)
    show = _shown if _SPECIAL.search(json) is None else _escaped
    rules = ["---"] * len(table.columns)
    lines = [[*map(show, table.columns)], rules, *([*map(show, row)] for row in table.rows)]
    return "\n".join([f"| {' | '.join(cells)} |" for cells in lines])


def _shown(value: Any) -> str:
    return value if type(value) is str else _encode(value).decode()


def _escaped(value: Any) -> str:
    text = _shown(value).replace("\r\n", "\n").translate(_ESCAPES)
    return f"\\{text}" if _DASHES.fullmatch(text) else text


LAYOUTS: Final[Mapping[Layout, Callable[[bytes], str]]] = {
    "indented": _indented,
    "line": bytes.decode,
    "table": _markdown,
}
"""Functions that return the text of JSON in each layout."""
