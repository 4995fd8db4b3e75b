"""The forms of rows: objects, a table, Markdown; how they are cut, and how the reader reads them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord import Server
from accord.errors import ContractError
from accord.profiles import PROFILES
from accord.reader import read
from accord.revisions import REVISIONS
from accord.sources.sql import Database, Options, sql_tools
from laws import examples
from peer import Peer
from sources.sql.shop import NUMBERS, Shop, make, serving
from sources.sql.test_laws import VALUES

TABLES = """
CREATE TABLE odd (id INTEGER PRIMARY KEY, a, "b ""c|d");
INSERT INTO odd VALUES (1, 'x|y' || char(10) || 'z', NULL), (2, x'00ff', 9e999), (3, '', 0.1);
CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, c);
"""
ODD = "SELECT * FROM odd"
MESSAGE = "Query executed successfully. Found {} rows:\n"
COLUMNS = ["id", "a", 'b "c|d']
ROWS = [
    [1, "x|y\nz", None],
    [2, {"$blob": "AP8="}, {"$real": "Infinity"}],
    [3, "", 0.1],
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("rows") / "shop.db", TABLES)


@pytest.fixture(scope="module")
def shop(path: Path) -> Iterator[Shop]:
    with serving(path) as served:
        yield served


def test_a_table_has_its_columns_once_and_a_list_for_each_row(shop: Shop) -> None:
    assert shop.query(ODD, format="table") == {"columns": COLUMNS, "rows": ROWS}
    text = shop.text("run_query", query=ODD, format="table")
    message, _, json_text = text.partition("\n")
    assert f"{message}\n" == MESSAGE.format(3)
    assert "\n" not in json_text
    assert json.loads(json_text) == {"columns": COLUMNS, "rows": ROWS}


def test_markdown_is_text_and_the_structure_is_the_table(shop: Shop) -> None:
    assert shop.query(ODD, format="markdown") == {"columns": COLUMNS, "rows": ROWS}
    assert shop.text("run_query", query=ODD, format="markdown") == MESSAGE.format(3) + (
        '| id | a | b "c\\|d |\n'
        "| --- | --- | --- |\n"
        "| 1 | x\\|y<br>z | null |\n"
        '| 2 | {"$blob":"AP8="} | {"$real":"Infinity"} |\n'
        "| 3 |  | 0.1 |"
    )


@pytest.mark.parametrize("row_format", ["objects", None])
def test_rows_are_objects_by_default(shop: Shop, row_format: str | None) -> None:
    given = {} if row_format is None else {"format": row_format}
    assert shop.query(ODD, **given) == [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]


CASES: dict[str, tuple[str, list[str], list[list[Any]]]] = {
    "no rows": ("SELECT id, a FROM odd WHERE 0", ["id", "a"], []),
    "one value": ("SELECT 1 AS a", ["a"], [[1]]),
    "repeated names": ("SELECT 1 AS a, 2 AS a", ["a", "a:1"], [[1, 2]]),
    "a name with quotes": ('SELECT 1 AS "a""b"', ['a"b'], [[1]]),
    "all digits": ("SELECT 9223372036854775807 AS a", ["a"], [[2**63 - 1]]),
    "text that is not UTF-8": (
        "SELECT CAST(x'41ff' AS TEXT) AS a, 1 AS b",
        ["a", "b"],
        [[{"$text": "Qf8="}, 1]],
    ),
}


@pytest.mark.parametrize(("query", "columns", "rows"), CASES.values(), ids=list(CASES))
def test_every_result_has_a_table(
    shop: Shop, query: str, columns: list[str], rows: list[list[Any]]
) -> None:
    for row_format in ("table", "markdown"):
        assert shop.query(query, format=row_format) == {"columns": columns, "rows": rows}
    shown = shop.text("run_query", query=query, format="markdown").partition("\n\n")[0]
    assert len(shown.splitlines()) == 3 + len(rows)


def test_a_number_in_markdown_has_all_its_digits(shop: Shop) -> None:
    text = shop.text("run_query", query="SELECT 9223372036854775807 AS a", format="markdown")
    assert text.splitlines()[-1] == "| 9223372036854775807 |"


def test_another_format_is_refused_with_what_there_is(shop: Shop) -> None:
    (field,) = shop.problem("run_query", query=ODD, format="csv")["fields"]
    assert (field["field"], field["error"]) == (
        "format",
        "must be one of objects, table, markdown",
    )


def test_pages_of_a_table_have_the_columns_each_time(shop: Shop) -> None:
    query, rows, cursor = NUMBERS.format(7), [], None
    for expected in (3, 3, 1):
        given: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
        result = shop.call("run_query", query=query, limit=3, format="table", **given)
        found = result["structuredContent"]
        details = result["_meta"]["dev.accord-mcp/answer"]
        assert found["_accord"] == details
        assert (found["columns"], len(found["rows"])) == (["i"], expected)
        rows += found["rows"]
        cursor = result["_meta"]["dev.accord-mcp/answer"]["page"].get("cursor")
    assert (rows, cursor) == ([[n] for n in range(1, 8)], None)


def test_a_database_may_have_compact_rows_by_default(path: Path) -> None:
    with serving(path, rows="compact") as shop:
        assert shop.query("SELECT 1 AS a") == {"columns": ["a"], "rows": [[1]]}
        assert shop.query("SELECT 1 AS a", format="objects") == [{"a": 1}]
        tools = {tool["name"]: tool for tool in shop.peer.ask("tools/list")["result"]["tools"]}
        described = tools["run_query"]["inputSchema"]["properties"]["format"]["description"]
        assert described.endswith("(default table)")
    with pytest.raises(ContractError, match="rows must be objects or compact, not 'csv'"):
        Options(rows="csv")  # type: ignore[arg-type]


# What is too large


@contextmanager
def small(path: Path, max_bytes: int, profile: str = "prose") -> Iterator[Shop]:
    """Serve a database whose answers are cut by the server, not by the worker."""
    database = Database(str(path), Options(max_bytes=1 << 20))
    server = Server("shop", version="1.0", profile=profile, max_bytes=max_bytes)
    for tool in sql_tools(database):
        server.add(tool)
    try:
        yield Shop(server)
    finally:
        database.close()


def collected(shop: Shop, row_format: str, query: str) -> tuple[list[Any], int]:
    """All rows of all pages, and the number of pages; each page has the columns and fits."""
    rows: list[Any] = []
    cursor: str | None = None
    pages = 0
    while pages == 0 or cursor is not None:
        given: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
        reply = shop.peer.call("run_query", query=query, format=row_format, **given)
        result = reply["result"]
        reading = read(reply, "run_query")
        found = reading.value
        assert found["columns"] == ["i", "a"]
        assert all(len(row) == 2 for row in found["rows"])
        text = result["content"][0]["text"]
        shown, _, sentences = text.partition("\n\n")
        assert sentences.startswith(f"{len(found['rows'])} of ")
        assert " rows; " in sentences.splitlines()[0]
        if row_format == "markdown":
            assert len(shown.splitlines()) == 3 + len(found["rows"]), "whole rows only"
        else:
            assert json.loads(shown.partition("\n")[2]) == found
        assert len(text.encode()) <= shop.server.max_bytes
        rows += found["rows"]
        pages += 1
        cursor = None if reading.page is None else reading.page.cursor
    return rows, pages


@pytest.mark.parametrize("row_format", ["table", "markdown"])
def test_an_answer_that_is_too_large_is_cut_between_rows(path: Path, row_format: str) -> None:
    query = f"SELECT i, printf('%.*c', i % 40, '|') AS a FROM ({NUMBERS.format(300)})"
    with small(path, 2_000) as shop:
        rows, pages = collected(shop, row_format, query)
    assert rows == [[i, "|" * max(i % 40, 1)] for i in range(1, 301)]
    assert pages > 3


def test_the_columns_are_never_cut(path: Path) -> None:
    names = [f"a_rather_long_name_of_a_column_{n}" for n in range(60)]
    query = f"SELECT {', '.join(f'{n} AS {name}' for n, name in enumerate(names))}"
    with small(path, 2_600) as shop:
        result = shop.call("run_query", query=query, format="table")
        found = result["structuredContent"]
        assert found["columns"] == names
    with small(path, 1_024) as shop:
        result = shop.call("run_query", query=query, format="table")
        assert result["isError"]
        assert "larger than 1,024 bytes and cannot be cut" in result["content"][0]["text"]


def test_a_row_that_is_too_large_is_left_out_with_a_warning(path: Path) -> None:
    query = "SELECT 1 AS i, printf('%.*c', 3000, 'x') AS a UNION ALL SELECT 2, 'y'"
    with small(path, 1_500) as shop:
        reply = shop.peer.call("run_query", query=query, format="table")
        reading = read(reply, "run_query")
        assert reading.response.data == []
        assert "item 1 of 2 alone is larger, and left out" in reading.warnings[0].message
        cursor = reading.page.cursor if reading.page else None
        reply = shop.peer.call("run_query", query=query, format="table", cursor=cursor)
        assert read(reply, "run_query").response.data == [{"i": 2, "a": "y"}]


def test_compact_rows_fit_more_into_the_same_size(path: Path) -> None:
    query = NUMBERS.format(3_000)
    with serving(path, max_rows=3_000, max_bytes=20_000) as shop:
        objects = shop.query(query)
        table = shop.query(query, format="table")["rows"]
    assert len(table) > 3 * len(objects)


def numbered(rows: list[Any]) -> dict[str, Any]:
    """Two values of each row as parameters: `a0`, `b0`, `a1`, …"""
    names = [(f"a{n}", f"b{n}") for n in range(len(rows))]
    return {
        name: each
        for pair, row in zip(names, rows, strict=True)
        for name, each in zip(pair, row, strict=True)
    }


# The law: read(render(rows)) says the same rows


@settings(max_examples=examples(150))
@given(
    rows=st.lists(st.tuples(VALUES, VALUES), max_size=6),
    profile=st.sampled_from(list(PROFILES)),
    revision=st.sampled_from(list(REVISIONS)),
    row_format=st.sampled_from(["table", "markdown"]),
    limit=st.sampled_from([2, 500]),
)
def test_the_rows_are_read_as_they_were_said(
    shop: Shop, rows: list[Any], profile: str, revision: str, row_format: str, limit: int
) -> None:
    query = " UNION ALL ".join(
        f'SELECT :a{n} AS name, :b{n} AS "the value"' for n in range(len(rows))
    )
    query = query or 'SELECT 1 AS name, 2 AS "the value" WHERE 0'
    params = numbered(rows)
    capabilities = {"extensions": {"dev.accord-mcp/profile": {"name": profile}}}
    peer = Peer(shop.server, revision, capabilities)
    arguments = {"query": query, "params": params, "format": row_format, "limit": limit}
    reply = peer.call("run_query", **arguments)
    expected = [{"name": a, "the value": b} for a, b in rows[:limit]]
    result = reply["result"]
    structure = {name: each for name, each in result.items() if name != "content"}
    texts = {name: each for name, each in result.items() if name != "structuredContent"}
    read_from = [result] if row_format == "table" or "structuredContent" in result else []
    if row_format == "table" or profile != "prose":
        read_from.append(texts)
    if "structuredContent" in result:
        read_from.append(structure)
    for each in read_from:
        reading = read({"jsonrpc": "2.0", "id": 1, "result": each}, "run_query")
        assert reading.response.response_type == "list", (each, reading.rules)
        assert reading.response.data == expected
        assert (reading.page is not None) == (len(rows) > limit)


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12).filter(
    lambda text: text == text.strip() and len(text.splitlines()) < 2 and not {*text} <= set("-=:")
)
"""Words that a cell can hold unchanged; `---` is escaped, and a line break becomes `<br>`."""


@settings(max_examples=examples(100))
@given(rows=st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6), limit=st.integers(1, 7))
def test_words_in_markdown_are_read_back(shop: Shop, rows: list[Any], limit: int) -> None:
    query = " UNION ALL ".join(f"SELECT :a{n} AS name, :b{n} AS word" for n in range(len(rows)))
    params = numbered(rows)
    text = shop.text("run_query", query=query, params=params, limit=limit, format="markdown")
    reading = read({"content": [{"type": "text", "text": text}]}, "run_query")
    expected = [{"name": a, "word": b} for a, b in rows[:limit]]
    assert reading.response.data == expected
    assert (reading.page is not None) == (len(rows) > limit)
