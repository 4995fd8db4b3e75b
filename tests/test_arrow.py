"""`accord.integrations.arrow`: replies in, readings out, inside of DuckDB and Ray Data."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from accord import ContractError, read
from accord.integrations.arrow import SCHEMA, read_batches, read_table
from accord.integrations.columns import COLUMNS, row_of
from doc_pages import FILE, ROOT, blocks
from laws import examples
from processes import children, is_gone

REPLIES = [
    b'{"users": [{"id": 1}], "total": 5}',
    b'{"success": false, "error": "no"}',
    b'{"success": true, "messageId": "9"}',
    b"sunny",
    b"",
    b'{"a": "\\ud800"}',
    b"\xff\xfe",
    b'{"total": 1e400, "offset": 99999999999999999999, "items": [1]}',
]


def rows(replies: list[Any], tool: str | None = None) -> list[dict[str, Any]]:
    """The rows of replies, read one by one."""
    names = [column.name for column in COLUMNS]
    return [
        {n: _plain(v) for n, v in zip(names, row_of(read(reply, tool)), strict=True)}
        for reply in replies
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def batch(replies: list[Any], **columns: Any) -> pa.RecordBatch:
    return pa.record_batch({"reply": replies, **columns})


TYPES = [pa.binary(), pa.large_binary(), pa.binary_view(), pa.dictionary(pa.int8(), pa.binary())]


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_there_is_a_row_for_each_reply(kind: pa.DataType, jobs: int) -> None:
    plain = pa.array(REPLIES, pa.binary())
    column = plain.dictionary_encode() if pa.types.is_dictionary(kind) else plain.cast(kind)
    found = read_batches([pa.record_batch({"reply": column})], jobs=jobs).read_all()
    assert found.schema == SCHEMA
    assert found.to_pylist() == rows(REPLIES)


def test_texts_are_read_as_bytes_are() -> None:
    texts = [reply.decode() for reply in REPLIES[:6]]
    assert read_table(pa.table({"reply": texts})).to_pylist() == rows(texts)


def test_structs_are_decoded_replies() -> None:
    replies = [
        {"content": [{"type": "text", "text": "[1, 2]"}], "isError": False},
        {"content": [{"type": "text", "text": "no such row"}], "isError": True},
    ]
    found = read_table(pa.table({"reply": pa.array(replies)}))
    assert found["response_type"].to_pylist() == ["list", "error"]
    assert found["data"].to_pylist() == ["[1,2]", None]


@pytest.mark.parametrize("jobs", [1, 2])
def test_tool_and_arguments_of_the_call_are_used(jobs: int) -> None:
    table = pa.table(
        {
            "answer": ['{"rowcount": 1}'] * 4,
            "name": ["query", "query", None, "get_row"],
            "given": ['{"sql": "DELETE FROM a"}', '{"sql": "SELECT 1"}', "[1]", None],
        }
    )
    found = read_batches(table, reply="answer", tool="name", arguments="given", jobs=jobs)
    table = found.read_all()
    assert table["response_type"].to_pylist()[0] == "action"
    assert table["response_type"].to_pylist()[1] != "action"
    assert table["tool_name"].to_pylist() == ["query", "query", "unknown", "get_row"]
    wrong = "the arguments are not a JSON object; they were not used"
    assert [wrong in findings for findings in table["findings"].to_pylist()] == [
        *(False, False, True, False)
    ]


@pytest.mark.parametrize("jobs", [1, 2])
def test_columns_are_passed_on_before_those_of_the_reading(jobs: int) -> None:
    ids = list(range(20_000))
    table = pa.table(
        {"id": ids, "reply": [b"[%d]" % n for n in ids], "at": pa.array(ids).cast("float")}
    )
    found = read_batches(table, keep=["at", "id"], jobs=jobs).read_all()
    assert found.schema == pa.schema([("at", pa.float32()), ("id", pa.int64()), *SCHEMA])
    assert found["id"].to_pylist() == ids
    assert found["data"].to_pylist() == [f"[{n}]" for n in ids]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            {"reply": "answer"},
            "the column 'answer' is missing, or not unique; there are reply, data",
        ),
        ({"tool": "name"}, "the column 'name' is missing, or not unique; there are reply, data"),
        ({"keep": ["id"]}, "the column 'id' is missing, or not unique; there are reply, data"),
        ({"keep": ["data"]}, "the result would have 'data' twice; rename the column"),
        ({"keep": ["reply", "reply"]}, "the result would have 'reply' twice; rename the column"),
    ],
)
def test_a_wrong_column_is_an_error_before_anything_is_read(
    names: dict[str, Any], message: str
) -> None:
    with pytest.raises(ContractError) as error:
        read_batches(pa.table({"reply": ["1"], "data": ["2"]}), **names)
    assert str(error.value) == message


def test_a_stream_without_rows_has_the_schema() -> None:
    table = pa.table({"reply": pa.array([], pa.string()), "id": pa.array([], pa.int64())})
    assert read_table(table, keep=["id"]).schema == pa.schema([("id", pa.int64()), *SCHEMA])
    with pytest.raises(ContractError, match="there are no record batches"):
        read_batches([])


@pytest.mark.parametrize(("jobs", "ahead"), [(1, 0), (2, 8)])
def test_batches_are_read_when_they_are_asked_for(jobs: int, ahead: int) -> None:
    taken = 0

    def endless() -> Iterator[pa.RecordBatch]:
        nonlocal taken
        while True:
            taken += 1
            yield batch([b"[%d]" % taken])

    before = {*children(os.getpid())}
    found = read_batches(endless(), jobs=jobs)
    assert taken <= 1
    for number in range(1, 31):
        assert found.read_next_batch()["data"].to_pylist() == [f"[{number}]"]
        assert taken <= number + 1 + ahead
    started = {*children(os.getpid())} - before
    assert len(started) == (0 if jobs == 1 else jobs)
    found.close()
    del found
    assert all(map(is_gone, started))


def test_large_batches_are_read_in_parts() -> None:
    large = batch([b"[1]"] * 10_000)
    sizes = [part.num_rows for part in read_batches([large])]
    assert sum(sizes) == 10_000
    assert max(sizes) <= 4_096
    wide = batch([b" " * 40_000_000 + b"[1]"] * 2)
    assert [part.num_rows for part in read_batches([wide])] == [1, 1]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
NAMED = st.dictionaries(
    st.sampled_from(
        "error message success status total offset limit hasMore nextCursor page items data code"
        " before after next content isError toolName responseType pagination warnings meta".split()
    ),
    VALUES,
)


@settings(max_examples=examples(300))
@given(st.lists(st.one_of(st.binary(), st.text().map(json.dumps), VALUES, NAMED).map(
    lambda value: value if isinstance(value, bytes) else json.dumps(value).encode()
), min_size=1, max_size=5))  # fmt: skip
def test_whatever_the_replies_the_rows_say_what_the_readings_say(replies: list[bytes]) -> None:
    found = read_table(pa.table({"reply": pa.array(replies, pa.binary())}))
    assert found.to_pylist() == rows(replies)
    for row, reply in zip(found.to_pylist(), replies, strict=True):
        response = read(reply).response
        assert (row["response_type"] == "error") is (row["error_code"] is not None)
        data = None if row["data"] is None else msgspec.json.decode(row["data"])
        assert json.dumps(data) == json.dumps(response.to_dict().get("data"))


# Engines


def test_duckdb_streams_readings_of_its_own_table() -> None:
    db = duckdb.connect()
    db.sql("""
        CREATE TABLE log AS SELECT i AS id, 'list_users' AS tool,
        CASE WHEN i % 10 = 0 THEN '{"success": false, "error": "no"}' ELSE '{"users": [' || i || ']}' END AS reply
        FROM range(20_000) AS numbers(i)
    """)
    replies = db.cursor().sql("SELECT id, tool, reply FROM log WHERE id < 15_000")
    readings = read_batches(replies, tool="tool", keep=["id"])
    assert readings.schema.names[0] == "id"
    found = db.sql("""
        SELECT response_type, count(*), sum(item_count)::INT, max(id)
        FROM readings GROUP BY 1 ORDER BY 1
    """)
    assert found.fetchall() == [("error", 1_500, None, 14_990), ("list", 13_500, 13_500, 14_999)]


def test_duckdb_joins_readings_with_what_they_are_of() -> None:
    db = duckdb.connect()
    db.sql("CREATE TABLE log AS SELECT 1 AS id, '{\"users\": [7]}' AS reply, 'Ada' AS who")
    readings = read_batches(db.cursor().sql("FROM log"), keep=["id"], jobs=2)
    assert len(readings.schema.names) == 1 + len(SCHEMA)
    found = db.sql("SELECT who, data->>0, rules FROM log JOIN readings USING (id)").fetchall()
    assert found == [("Ada", "7", list(read(b'{"users": [7]}').rules))]


UNSHARE = ["unshare", "--map-root-user", "--net", "--pid", "--mount-proc", "--fork", "--kill-child"]


@pytest.mark.long
@pytest.mark.timeout(300)
def test_ray_maps_the_reader_over_a_dataset(tmp_path: Path) -> None:
    """The script of the documentation, in a network that has only a loopback interface."""
    pytest.importorskip("ray")
    if shutil.which("unshare") is None or subprocess.run([*UNSHARE, "true"]).returncode:
        pytest.skip("Ray listens on all interfaces, and unshare cannot make a network without any")
    page = blocks((ROOT / "docs/reading.md").read_text())
    (script,) = (block.text for block in page if block.text.startswith("# read_corpus.py\n"))
    assert FILE.match(script)
    (tmp_path / "read_corpus.py").write_text(script)
    (tmp_path / "in").mkdir()
    for part in range(4):
        ids = range(part * 5_000, part * 5_000 + 5_000)
        table = pa.table(
            {"id": ids, "tool": ["list_users"] * 5_000, "reply": [f"[{n}]" for n in ids]}
        )
        parquet.write_table(table, tmp_path / f"in/{part}.parquet")
    with tempfile.TemporaryDirectory(dir="/tmp") as sockets:  # their names must be short
        own = {"HOME": str(tmp_path), "RAY_TMPDIR": sockets, "RAY_USAGE_STATS_ENABLED": "0"}
        loopback = str(ROOT / "tests/loopback.py")
        done = subprocess.run(
            [*UNSHARE, sys.executable, loopback, "read_corpus.py", "in", "out"],
            cwd=tmp_path,
            env=os.environ | own,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    assert done.returncode == 0, done.stdout
    found = parquet.read_table(tmp_path / "out").sort_by("id")
    assert found.schema.names == ["id", *SCHEMA.names]
    assert found["id"].to_pylist() == [*range(20_000)]
    assert found["data"].to_pylist() == [f"[{n}]" for n in range(20_000)]
    assert set(found["response_type"].to_pylist()) == {"list"}
