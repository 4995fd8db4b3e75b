"""Tables in JSON: `columns` and `rows`, as databases reply, are read as a list of objects."""

import json
from typing import Any

import pytest

from accord.reader import read
from accord.reader.reading import Reading

TABLE = {"columns": ["id", "name"], "rows": [[1, "a"], [2, None]]}
OBJECTS = [{"id": 1, "name": "a"}, {"id": 2, "name": None}]
TYPED = [{"name": "id", "type": "int"}, {"name": "name", "type": "text"}]


def reading_of(value: Any, tool: str) -> Reading:
    return read({"content": [{"type": "text", "text": json.dumps(value)}]}, tool)


READ: dict[str, tuple[str, Any, dict[str, Any] | None]] = {
    "a table": ("run_query", TABLE, None),
    "from any tool": ("fetch", TABLE, None),
    "from a tool that gets one thing": ("get_customer", TABLE, None),
    "in a member": ("run_query", {"result": TABLE}, None),
    "with counts": ("query", TABLE | {"rowCount": 2}, {"rowCount": 2}),
    "with types": ("execute_sql", TABLE | {"columns": TYPED}, {"columns": TYPED}),
    "beside the query": ("query", TABLE | {"sql": "SELECT"}, {"sql": "SELECT"}),
}


@pytest.mark.parametrize(("tool", "value", "metadata"), READ.values(), ids=list(READ))
def test_a_table_is_a_list_of_objects(
    tool: str, value: Any, metadata: dict[str, Any] | None
) -> None:
    reading = reading_of(value, tool)
    assert reading.response.response_type == "list"
    assert reading.response.data == OBJECTS
    assert reading.response.metadata == metadata
    assert reading.value == value, "what was sent is kept"


def test_a_table_without_rows_is_an_empty_list_that_keeps_the_columns() -> None:
    reading = reading_of({"columns": ["id"], "rows": []}, "run_query")
    assert (reading.response.data, reading.response.metadata) == ([], {"columns": ["id"]})


OTHERS: dict[str, tuple[str, Any, Any]] = {
    "a row too short": ("query", TABLE | {"rows": [[1, "a"], [2]]}, [[1, "a"], [2]]),
    "rows that are objects": ("query", TABLE | {"rows": [{"id": 1}]}, [{"id": 1}]),
    "a name twice": ("query", {"columns": ["a", "a"], "rows": [[1, 2]]}, [[1, 2]]),
    "columns without a name": ("query", {"columns": [{}], "rows": [[1]]}, [[1]]),
    "names that are numbers": ("query", {"columns": [1], "rows": [[1]]}, [[1]]),
    "the number of columns": ("query", {"columns": 2, "rows": [[1, 2]]}, [[1, 2]]),
}


@pytest.mark.parametrize(("tool", "value", "items"), OTHERS.values(), ids=list(OTHERS))
def test_rows_that_do_not_fit_the_columns_stay_as_they_are(
    tool: str, value: Any, items: Any
) -> None:
    assert reading_of(value, tool).response.data == items


@pytest.mark.parametrize(
    "value",
    [
        {"table": "users", "columns": [{"name": "id", "type": "int"}], "rowCount": 4},
        {"id": 7, "name": "Sprint", "columns": ["todo", "done"], "rows": [["a", "b"]]},
    ],
)
def test_a_thing_that_has_columns_stays_one_thing(value: Any) -> None:
    reading = reading_of(value, "get_board")
    assert (reading.response.response_type, reading.response.data) == ("single", value)


def test_a_row_of_a_markdown_table_is_not_advice() -> None:
    text = "Found 2 rows:\n| level | note |\n| --- | --- |\n| DEBUG | a\\|b |\n| Note |  |"
    reading = read({"content": [{"type": "text", "text": text}]}, "run_query")
    assert reading.response.data == [
        {"level": "DEBUG", "note": "a|b"},
        {"level": "Note", "note": ""},
    ]
