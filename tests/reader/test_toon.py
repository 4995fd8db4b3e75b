"""Token-Oriented Object Notation, and what only looks like it."""

from typing import Any

import pytest

from accord.reader import read

VALUES: dict[str, tuple[str, Any]] = {
    "rows": ("users[2]{id,name}:\n  1,Ada\n  2,Bob", {"users": [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}]}),
    "rows at the root": ("[1]{id}:\n  1", [{"id": 1}]),
    "values on the line": ("tags[3]: a,b,c", {"tags": ["a", "b", "c"]}),
    "no values": ("tags[0]:", {"tags": []}),
    "a quoted cell": ('x[1]{a,b}:\n  "1, \\"2\\"",3', {"x": [{"a": '1, "2"', "b": 3}]}),
    "empty cells": ("x[2]{a,b}:\n  1,\n  ,2", {"x": [{"a": 1, "b": ""}, {"a": "", "b": 2}]}),
    "tabs": ("x[1\t]{a\tb}:\n  1\ttwo words", {"x": [{"a": 1, "b": "two words"}]}),
    "bars": ("x[2|]: a,b|c", {"x": ["a,b", "c"]}),
    "members beside it": ("size: 2\nuser:\n  name: Ada\n  ok: true\nx[1]: null", {"size": 2, "user": {"name": "Ada", "ok": True}, "x": [None]}),
    "items": (
        "x[2]:\n  - id: 1\n    tags[1]: a\n  - [2]: 1,2",
        {"x": [{"id": 1, "tags": ["a"]}, [1, 2]]},
    ),
}  # fmt: skip
NONE = [
    "Found[2]: two things in a sentence\nand a line that is none",
    "x[2]{a,b}:\n  1,2,3",
    "see [1]: https://example.org\nand more words",
    "x[1]:\n  no dash",
]


@pytest.mark.parametrize(("text", "value"), VALUES.values(), ids=VALUES)
def test_a_text_is_read_as_the_value_that_it_stands_for(text: str, value: Any) -> None:
    reading = read({"content": [{"type": "text", "text": text}]}, "get_thing")
    assert reading.value == value
    assert reading.rules[0] == "toon"


@pytest.mark.parametrize("text", NONE)
def test_what_is_another_notation_stays_text(text: str) -> None:
    assert "toon" not in read({"content": [{"type": "text", "text": text}]}, "get_thing").rules
