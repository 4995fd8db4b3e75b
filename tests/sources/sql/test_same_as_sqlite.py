"""The answers to hundreds of SELECTs are those that sqlite3 itself gives."""

import math
import sqlite3
from base64 import b64encode
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sources.sql.shop import Shop, make, serving

TABLES = """
CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, price REAL, stock INTEGER, made TEXT, raw BLOB, kind);
INSERT INTO items VALUES
  (1, 'difference engine', 912.5, 1, '1837-06-01', x'00', 'machine'),
  (2, 'punch cards', 4.2, 900, '1801-01-01 12:30:00', x'0102', 7),
  (3, 'moth trap', 19.99, 0, '1947-09-09', NULL, 1.5),
  (4, 'Zoë''s lamp', -0.0, -3, NULL, x'', NULL),
  (5, '', 1e300, 9223372036854775807, 'never', x'ff00ff', x'41'),
  (6, NULL, NULL, NULL, '2024-02-29', NULL, '007'),
  (7, 'difference engine', 0.1, 2, '2024-12-31 23:59:59', x'61', 'machine');
CREATE TABLE parts (item INTEGER REFERENCES items(id), part TEXT, count INTEGER);
INSERT INTO parts VALUES (1, 'cog', 25000), (1, 'axle', 231), (2, 'card', 80), (9, 'lost', 1);
"""
EXPRESSIONS = """
id¦name¦price¦stock¦made¦raw¦kind¦NULL¦1¦-1.5¦'x'¦x'00'¦id + 1¦stock * 2¦price / 3¦id / 2¦id % 3¦-price
¦price > 1¦name = 'moth trap'¦name IS NULL¦kind IS NOT NULL¦id IN (1, 3, 5)¦id BETWEEN 2 AND 4¦name LIKE '%e%'
¦name GLOB '*e*'¦name || '!'¦upper(name)¦length(name)¦length(raw)¦substr(name, 2, 3)¦replace(name, 'e', 'E')
¦trim(name, 'de')¦instr(name, 'e')¦coalesce(name, 'none')¦ifnull(price, 0)¦nullif(id, 3)¦abs(price)¦round(price, 1)
¦typeof(kind)¦typeof(price)¦hex(raw)¦quote(name)¦quote(raw)¦unicode(name)¦char(65, 66)¦date(made)¦strftime('%Y', made)
¦julianday(made)¦CAST(kind AS TEXT)¦CAST(price AS INTEGER)¦CAST(made AS INTEGER)¦CAST(name AS BLOB)¦iif(id > 3, 'a', 1)
¦CASE kind WHEN 'machine' THEN 1 ELSE name END¦json_array(id, name)¦json_extract('{"a": [1, 2]}', '$.a[1]')
¦(SELECT max(part) FROM parts WHERE item = id)¦EXISTS (SELECT 1 FROM parts WHERE item = id)¦printf('%05d', id)
¦id & 3¦id << 2¦~id¦NOT id¦max(id, 3)¦min(price, 2)¦stock IS 1¦name COLLATE NOCASE = 'MOTH TRAP'¦zeroblob(2)
""".replace("\n", "").split("¦")
SHAPES = [
    "SELECT {} AS v, name FROM items ORDER BY id",
    "SELECT id FROM items WHERE {} ORDER BY id DESC",
    "SELECT {} AS v, count(*) AS n FROM items GROUP BY 1 ORDER BY 1, 2",
    "SELECT max(v) AS a, min(v) AS b, count(v) AS c FROM (SELECT {} AS v FROM items)",
    "SELECT DISTINCT {} AS v FROM items ORDER BY v",
    "WITH c(v) AS (SELECT {} FROM items) SELECT v FROM c WHERE v IS NOT NULL ORDER BY v LIMIT 4 OFFSET 1",
    "SELECT id, row_number() OVER (ORDER BY {}, id) AS n FROM items ORDER BY id",
    "SELECT id, {} AS v, part FROM items LEFT JOIN parts ON item = id ORDER BY id, part",
]
OTHERS = [
    "SELECT * FROM items",
    "SELECT i.*, p.part FROM items i JOIN parts p ON p.item = i.id ORDER BY p.part",
    "SELECT count(*) AS n, sum(count) AS s, avg(count) AS a, total(count) AS t FROM parts",
    "SELECT item, group_concat(part, '; ') AS p FROM (SELECT * FROM parts ORDER BY part) GROUP BY item",
    "SELECT item, sum(count) OVER (ORDER BY item ROWS UNBOUNDED PRECEDING) AS s FROM parts ORDER BY item, s",
    "SELECT 1 AS a UNION SELECT 2 UNION SELECT 1 ORDER BY a",
    "SELECT item FROM parts INTERSECT SELECT id FROM items",
    "SELECT item FROM parts EXCEPT SELECT id FROM items",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i * 2 FROM n WHERE i < 1000) SELECT * FROM n",
    'SELECT key, value, type FROM json_each(\'{"a": 1, "b": [true, null]}\')',
    "SELECT name FROM sqlite_master ORDER BY name",
    "VALUES (1, 'a'), (2, NULL)",
]
QUERIES = [shape.format(each) for each, shape in product(EXPRESSIONS, SHAPES)] + OTHERS


def plain(value: Any) -> Any:
    """A value of sqlite3 as JSON has it here."""
    if isinstance(value, bytes):
        return {"$blob": b64encode(value).decode()}
    if isinstance(value, float) and math.isinf(value):
        return {"$real": "Infinity" if value > 0 else "-Infinity"}
    return value


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("same") / "items.db", TABLES)


@pytest.fixture(scope="module")
def shop(path: Path) -> Iterator[Shop]:
    with serving(path) as served:
        yield served


def test_there_are_enough_of_them() -> None:
    assert len(set(QUERIES)) >= 500


def test_every_answer_is_sqlite3s_own(shop: Shop, path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    for query in QUERIES:
        expected = [
            {name: plain(row[name]) for name in row.keys()}  # noqa: SIM118 - a Row is not a dict
            for row in connection.execute(query)
        ]
        found = shop.query(query)
        assert found == expected, query
        assert [*map(list, found)] == [*map(list, expected)], "and the columns in their order"
    connection.close()
