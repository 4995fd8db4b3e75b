"""Values and marks in each other are read at any depth."""

from typing import Any

import pytest

from accord.reader import read


@pytest.mark.parametrize("depth", [3, 100, 985, 990, 995, 3_000])
def test_containers_in_containers_are_read_however_deep_they_are(depth: int) -> None:
    text = '{"data":' * depth + '{"a":"b","c":"d"}' + "}" * depth
    read({"content": [{"type": "text", "text": text}]}, "list_users")
    value: Any = {"a": "b", "c": "d"}
    for _ in range(depth):
        value = {"data": value}
    read({"content": [], "structuredContent": value}, "list_users")


@pytest.mark.parametrize("depth", [100, 992, 3_000])
@pytest.mark.parametrize("is_list", [False, True])
@pytest.mark.parametrize("name", ["exception", "error", "reason", "errors", "data", "result", "a"])
def test_a_value_is_read_however_deep_it_is(name: str, is_list: bool, depth: int) -> None:
    value: Any = {name: "x"}
    for _ in range(depth):
        value = {name: [value] if is_list else value}
    for tool in ("get_user", "list_users", "create_user", None):
        read({"content": [], "structuredContent": value}, tool)
        read(value, tool)


def test_marks_within_marks_have_no_end_that_matters() -> None:
    text = "<a-deadbeef>\n" * 5_000 + "x" + "\n</a-deadbeef>" * 5_000
    assert read({"content": [{"type": "text", "text": text}]}, "get_it").value == text
