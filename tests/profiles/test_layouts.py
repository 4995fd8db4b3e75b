"""Layouts of JSON in a text: what a Markdown table shows of each value."""

import json
from typing import Any

import pytest

from accord.profiles.layouts import LAYOUTS

CELLS: dict[str, tuple[str, str]] = {
    "text": ('"a b"', "a b"),
    "empty text": ('""', ""),
    "null": ("null", "null"),
    "a flag": ("true", "true"),
    "an integer beyond 64 bits": (
        "123456789012345678901234567890",
        "123456789012345678901234567890",
    ),
    "all digits of a decimal": ("0.1000000000000000055511151231", "0.1000000000000000055511151231"),
    "a number in an object": ('{"a": 1.5}', '{"a":1.5}'),
    "a list": ('["a|b"]', '["a\\|b"]'),
    "a bar": ('"a|b"', "a\\|b"),
    "an escaped bar": ('"a\\u007cb"', "a\\|b"),
    "a backslash": ('"a\\\\b"', "a\\b"),
    "a line break": ('"a\\nb"', "a<br>b"),
    "a line break of Windows": ('"a\\r\\nb"', "a<br>b"),
    "an escaped line break": ('"a\\u000ab"', "a<br>b"),
    "a line separator": ('"a\u2028b"', "a<br>b"),
    "dashes": ('"---"', "\\---"),
    "a dash": ('"-"', "-"),
    "a date": ('"2026-01-31"', "2026-01-31"),
    "letters": ('"Zoë 東京"', "Zoë 東京"),
}


@pytest.mark.parametrize(("value", "cell"), CELLS.values(), ids=list(CELLS))
def test_a_cell_of_markdown_is_one_line_without_bars(value: str, cell: str) -> None:
    table = f'{{"columns":["a","b"],"rows":[[{value},"x"]]}}'.encode()
    assert LAYOUTS["table"](table) == f"| a | b |\n| --- | --- |\n| {cell} | x |"


def test_names_of_columns_are_escaped_too() -> None:
    table = b'{"columns":["a|b","c\\nd"],"rows":[]}'
    assert LAYOUTS["table"](table) == "| a\\|b | c<br>d |\n| --- | --- |"


@pytest.mark.parametrize("value", [[], {"a": [1, {"b": "é"}]}, 1])
def test_other_layouts_are_the_same_json(value: Any) -> None:
    raw = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    assert LAYOUTS["line"](raw) == raw.decode()
    assert json.loads(LAYOUTS["indented"](raw)) == value
