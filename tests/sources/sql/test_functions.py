"""Statistics and regular expressions in SQLite: the results of PostgreSQL, and of exact sums."""

import sqlite3
import statistics
from collections.abc import Iterator, Sequence
from contextlib import closing
from fractions import Fraction
from math import isclose, sqrt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laws import examples
from sources.sql.shop import Shop, make, serving

ROWS = (
    "('a', 2, 1), ('a', 4, 3.5), ('a', NULL, 9), ('a', 9, 7), ('b', 5, NULL), ('c', NULL, NULL),"
    " ('d', 3, 3), ('d', 3, 4), ('b', 2, 8), ('b', 7.5, -1)"
)
NUMBERS = st.one_of(
    st.integers(-(2**53), 2**53),
    st.floats(-1e150, 1e150, allow_nan=False),
    st.sampled_from([0.1, 1e-300, 1e100, 19.99]),
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    path: Path = make(
        tmp_path_factory.mktemp("functions") / "shop.db",
        "CREATE TABLE t (i INTEGER PRIMARY KEY, g TEXT, x, y);"
        f"INSERT INTO t (g, x, y) VALUES {ROWS};"
        "CREATE VIEW spread AS SELECT g, stddev(x) AS s FROM t GROUP BY g;",
    )
    with serving(path, read_only=True) as served:
        yield served


def one(shop: Shop, expression: str, params: Sequence[Any] | None = None) -> Any:
    given = {} if params is None else {"params": list(params)}
    (row,) = shop.query(f"SELECT {expression} AS v", **given)
    return row["v"]


# Statistics; a slow test compares them with those of a real PostgreSQL

OF_GROUPS: dict[str, list[float | None]] = {
    "stddev(x)": [13**0.5, (91 / 12) ** 0.5, None, 0.0],
    "stddev_samp(x)": [13**0.5, (91 / 12) ** 0.5, None, 0.0],
    "stddev_pop(x)": [(26 / 3) ** 0.5, (91 / 18) ** 0.5, None, 0.0],
    "variance(x)": [13.0, 91 / 12, None, 0.0],
    "var_samp(x)": [13.0, 91 / 12, None, 0.0],
    "var_pop(x)": [26 / 3, 91 / 18, None, 0.0],
    "covar_pop(y, x)": [43 / 6, -12.375, None, 0.0],
    "covar_samp(y, x)": [10.75, -24.75, None, 0.0],
    "corr(y, x)": [0.9892684579339882, -1.0, None, None],
    "regr_slope(y, x)": [43 / 52, -18 / 11, None, None],
    "regr_intercept(y, x)": [-47 / 156, 124 / 11, None, None],
    "regr_r2(y, x)": [1849 / 1889.333333333333333, 1.0, None, None],
    "mode(x)": [2, 2, None, 3],
    "median(x)": [4.0, 5.0, None, 3.0],
    "percentile_cont(x, 0.25)": [3.0, 3.5, None, 3.0],
    "percentile_disc(x, 0.5)": [4.0, 5.0, None, 3.0],
}


@pytest.mark.parametrize(("expression", "expected"), OF_GROUPS.items(), ids=list(OF_GROUPS))
def test_a_statistic_skips_nulls_and_is_null_without_enough_values(
    shop: Shop, expression: str, expected: list[float | None]
) -> None:
    found = shop.query(f"SELECT {expression} AS v FROM t GROUP BY g ORDER BY g")
    assert [row["v"] for row in found] == [
        value if value is None else pytest.approx(value, rel=1e-14) for value in expected
    ]
    assert one(shop, f"(SELECT {expression} FROM t WHERE i < 0)") is None


@settings(max_examples=examples(60))
@given(values=st.lists(NUMBERS, min_size=2, max_size=12), width=st.integers(1, 5))
def test_a_window_has_the_statistic_of_its_rows_alone(
    shop: Shop, values: list[float], width: int
) -> None:
    frame = f"OVER (ORDER BY key ROWS BETWEEN {width} PRECEDING AND CURRENT ROW)"
    rows = shop.query(
        f"SELECT var_pop(value) {frame} AS v, stddev(value) {frame} AS s, mode(value) {frame} AS m"
        " FROM json_each(?)",
        params=[f"[{', '.join(map(repr, values))}]"],
    )
    for index, row in enumerate(rows):
        some = [Fraction(each) for each in values[max(0, index - width) : index + 1]]
        mean = sum(some) / len(some)
        squares = sum((each - mean) ** 2 for each in some)
        assert row["v"] == float(squares / len(some))
        assert row["s"] == (sqrt(squares / (len(some) - 1)) if len(some) > 1 else None)
        most = max(map(some.count, some))
        assert row["m"] == min(each for each in some if some.count(each) == most)


@settings(max_examples=examples(60))
@given(pairs=st.lists(st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)), min_size=3, max_size=9))  # fmt: skip
def test_a_correlation_is_that_of_pythons_statistics(
    shop: Shop, pairs: list[tuple[int, int]]
) -> None:
    rows = ", ".join(f"({y}, {x})" for y, x in pairs)
    query = f"SELECT corr(column1, column2) AS c, regr_slope(column1, column2) AS s FROM (VALUES {rows})"
    (found,) = shop.query(query)
    ys, xs = zip(*pairs, strict=True)
    if len(set(xs)) == 1:
        assert found == {"c": None, "s": None}
        return
    slope = statistics.linear_regression(xs, ys).slope
    assert isclose(found["s"], slope, rel_tol=1e-9, abs_tol=1e-9)
    if len(set(ys)) == 1:
        assert found["c"] is None
    else:
        assert isclose(found["c"], statistics.correlation(xs, ys), rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(SELECT stddev(v) FROM (SELECT 1e308 AS v UNION ALL SELECT -1e308))", {"$real": "Infinity"}),
        ("(SELECT stddev(v) FROM (SELECT 9e999 AS v UNION ALL SELECT 1))", None),
        ("(SELECT stddev(value) FROM json_each('[9007199254740993, 9007199254740995]'))", 2**0.5),
        ("(SELECT stddev(value) FROM json_each('[\"1\", \"3\"]'))", 2**0.5),
        ("(SELECT mode(value) FROM json_each('[\"b\", \"a\", 2]'))", 2),
        ("(SELECT mode(value) FROM json_each('[\"b\", \"a\"]'))", "a"),
        ("(SELECT max(s) FROM spread)", 3.605551275463989),
        ("(SELECT stddev(DISTINCT value) FROM json_each('[1, 1, 3]'))", 2**0.5),
        ("(SELECT stddev(value) FILTER (WHERE value > 1) FROM json_each('[1, 2, 4]'))", 2**0.5),
    ],
)  # fmt: skip
def test_the_ends_of_the_numbers_and_other_forms(shop: Shop, expression: str, value: Any) -> None:
    expected = pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
    assert one(shop, expression) == expected


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("stddev('x')", "stddev() takes numbers; input is not numeric"),
        ("variance(x'00')", "variance() takes numbers; input is not numeric"),
        ("corr(1, 'x')", "corr() takes numbers; input is not numeric"),
        (
            "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT mode(i) FROM n)",
            "mode() takes different values of at most 16,000,000 bytes",
        ),
        ("median('x')", "input to median() is not numeric"),
        ("corr(1)", "wrong number of arguments to function corr()"),
        ("'x' REGEXP '('", "regexp() cannot use the pattern: missing ), unterminated subpattern at position 0"),
        (f"'x' REGEXP '{'x' * 1001}'", "regexp() takes a pattern of at most 1,000 characters"),
        (f"'x' REGEXP '{'(' * 400}{')' * 400}x'", None),
        ("x'00' REGEXP 'x'", "regexp() takes text, not a blob"),
        ("regexp_like('x', 'x', 'q')", "regexp_like() has no flag 'q'; there are c, g, i, m, n, s and x"),
        (r"regexp_replace('x', 'x', '\1')", "regexp_replace() has no group 1 in its pattern"),
        ("regexp_replace(hex(zeroblob(400000)), '0', 'xx', 'g')", "regexp_replace() would return more than 1,000,000 characters"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_an_error_that_names_the_function(
    shop: Shop, expression: str, words: str | None
) -> None:
    result = shop.call("run_query", query=f"SELECT {expression}")
    assert ("isError" in result) or words is None
    if words is not None:
        assert result["content"][0]["text"] == f"Error executing run_query: {words}"
    assert shop.query("SELECT 1 AS a") == [{"a": 1}]


# Regular expressions

MATCHES: list[tuple[str, Any]] = [
    ("'Zoë' REGEXP '^Zo.$'", 1),
    ("'abc' REGEXP 'B'", 0),
    ("'abc' NOT REGEXP 'b'", 0),
    ("NULL REGEXP 'b'", None),
    ("'abc' REGEXP NULL", None),
    ("12 REGEXP '^[0-9]+$'", 1),
    ("regexp('b', 'abc')", 1),
    ("regexp_like('abc', 'B', 'i')", 1),
    ("regexp_like('a' || char(10) || 'b', '^b$', 'n')", 1),
    ("regexp_like('abc', NULL)", None),
    ("regexp_substr('order 17 of 20', '[0-9]+')", "17"),
    ("regexp_substr('none', '[0-9]+')", None),
    ("regexp_count('banana', 'an')", 2),
    ("regexp_replace('banana', 'an', 'AN')", "bANana"),
    ("regexp_replace('banana', 'an', 'AN', 'g')", "bANANa"),
    (
        r"regexp_replace('2024-05', '([0-9]+)-([0-9]+)', '\2/\1 [\&] \\')",
        r"05/2024 [2024-05] \ "[:-1],
    ),
    ("regexp_replace('abc', 'x', 'y')", "abc"),
    ("regexp_replace('abc', 'x', NULL)", None),
    ("regexp_replace('abc', '', '-', 'g')", "-a-b-c-"),
    ("(SELECT count(*) FROM t WHERE g REGEXP '[ab]')", 7),
]


@pytest.mark.parametrize(("expression", "value"), MATCHES)
def test_regular_expressions_follow_postgresql(shop: Shop, expression: str, value: Any) -> None:
    assert one(shop, expression) == value


def test_functions_are_for_queries_alone(tmp_path: Path) -> None:
    """A CHECK of another program must not be decided by a function of ours of the same name."""
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.create_function("regexp", 2, lambda *_: True, deterministic=True)
        connection.execute("CREATE TABLE t (a CHECK (a REGEXP 'x'))")
    with serving(path) as shop:
        said = shop.error("insert_row", table_name="t", data={"a": "x"})
        assert said == "unknown function: REGEXP()"
        assert shop.query("SELECT 'x' REGEXP 'x' AS a") == [{"a": 1}]
