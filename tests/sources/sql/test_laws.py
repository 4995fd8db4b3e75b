"""Properties of all values, pages and query texts."""

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.sources.sql.tokenizer import is_blank, tokenize
from laws import examples
from sources.sql.shop import NUMBERS, Shop, make, serving, state
from sources.sql.test_run_query import pages

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
BLOBS = st.binary(max_size=20).map(lambda raw: {"$blob": b64encode(raw).decode()})
VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([{"$real": "Infinity"}, {"$real": "-Infinity"}]),
    TEXT,
    BLOBS,
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    path: Path = tmp_path_factory.mktemp("laws") / "shop.db"
    make(path, "PRAGMA journal_mode = WAL; CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, c);")
    with serving(path) as served:
        yield served


@settings(max_examples=60)
@given(row=st.fixed_dictionaries({"a": VALUES, "b": VALUES, "c": VALUES}))
def test_what_was_written_is_read_back(shop: Shop, row: dict[str, Any]) -> None:
    number = shop.data("insert_row", table_name="t", data=row)["last_insert_id"]
    assert shop.query("SELECT a, b, c FROM t WHERE id = ?", params=[number]) == [row]
    assert shop.query("SELECT :a AS a, :b AS b, :c AS c", params=row) == [row]


@settings(max_examples=40)
@given(
    count=st.integers(0, 60),
    limit=st.integers(1, 30),
    width=st.integers(0, 2_000),
)
def test_the_pages_of_a_query_are_the_query(shop: Shop, count: int, limit: int, width: int) -> None:
    query = (
        f"SELECT i, hex(zeroblob(i * {width} / 2)) AS a FROM ({NUMBERS.format(100)}) LIMIT {count}"
    )
    found = pages(shop, query, limit=limit)
    assert [row["i"] for rows in found for row in rows] == list(range(1, count + 1))
    assert all(len(rows) <= limit for rows in found)


@given(sql=st.text("ab'\"`[]$;:-/*\n ?(1", max_size=30))
def test_the_pieces_of_a_text_are_the_text(sql: str) -> None:
    assert "".join(token.text for token in tokenize(sql)) == sql


@given(
    blanks=st.lists(
        st.sampled_from([" ", ";", "\n", "-- x\n", "/* ; */", "/* unclosed"]), max_size=6
    )
)
def test_blanks_and_comments_are_blank(blanks: list[str]) -> None:
    assert is_blank("".join(blanks))
    assert not is_blank("x" + "".join(blanks))


WORDS = (
    "SELECT INSERT INTO UPDATE DELETE FROM DROP TABLE CREATE TEMP VIEW AS ATTACH DETACH VACUUM PRAGMA"
    " BEGIN COMMIT REINDEX ANALYZE WITH RECURSIVE VALUES EXPLAIN ALTER RENAME TO SET WHERE RETURNING"
    " t x a main query_only journal_mode = WAL 'x.db' 1 * ( ) , ; -- /* */ ? '"
).split()


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Shop, Path]]:
    path = make(
        tmp_path_factory.mktemp("soup") / "shop.db", "CREATE TABLE t (a); INSERT INTO t VALUES (1)"
    )
    with serving(path, read_only=True) as served:
        yield served, path


@settings(max_examples=examples(300))
@given(soup=st.lists(st.sampled_from(WORDS), max_size=9))
def test_no_text_at_all_changes_anything(reader: tuple[Shop, Path], soup: list[str]) -> None:
    shop, path = reader
    before = state(path.parent)
    shop.call("run_query", query=" ".join(soup))
    assert state(path.parent) == before
