"""The cost of `run_query`, compared with one process without limits and with the official SDK."""

import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import wire
from bench.child import Child
from bench.contenders import accord_command, python_module
from bench.report import number, ratio, table, verdict
from bench.servers.data import COLUMNS, RECORDS
from bench.wire import HANDSHAKE, WrongReplyError

ROWS_QUERY = "SELECT * FROM orders"
CALLS = {"accord": 1_500, "one process": 2_000, "sdk": 250}
TITLES = {"accord": "Accord", "one process": "one process", "sdk": "SDK, high level"}
WARM_UP = 100
FIRST_ROW_CALLS = 300
MANY = 1_000_000
MAX_ROWS = 500
MAX_CPU_US = 200  # of the server and its worker together
MAX_RATIO = {"sdk": 0.1}
FIRST_ROW_LIMIT = 1.25  # the noise of a shared machine

METHOD = """\
The same 100 rows of six columns, from a table in a file. *Accord*: `run_query` of `accord serve shop.db` over
stdio, pipelined; CPU time of the server and of its worker process. *One process*: a loop that gives the same
results to the same calls with apsw and SQLite's `json_group_array`; it has no limits, no authorizer, no timeout and
no other methods, and shows what they cost. *SDK*: the official `mcp` package with the standard library's sqlite3; it sends text only. Every
reply is checked. *First row*: `limit: 1` on a table of 100 rows and on one of {many:,}, {first} calls each, one at a
time. *Rows read*: a query that fails at a certain row; with `--max-rows {most}` it may fail only if that row is one of
the first {one_more}. Medians of {rounds} rounds."""


@dataclass
class SqlFigures:
    """CPU time, time to the first row, and rows read beyond the limit."""

    cpu_us: dict[str, list[float]] = field(default_factory=dict)
    few_us: list[float] = field(default_factory=list)
    many_us: list[float] = field(default_factory=list)
    reads_one_more: bool = False
    reads_two_more: bool = True


def measure_sql(rounds: int) -> SqlFigures:
    figures = SqlFigures()
    with tempfile.TemporaryDirectory() as folder:
        shop = make_database(Path(folder) / "shop.db")
        for _ in range(rounds):
            for name, command in commands(shop).items():
                figures.cpu_us.setdefault(name, []).append(cost(command, CALLS[name]))
            few, many = first_rows(shop)
            figures.few_us.append(few)
            figures.many_us.append(many)
        figures.reads_one_more = fails_at(shop, MAX_ROWS + 1)
        figures.reads_two_more = fails_at(shop, MAX_ROWS + 2)
    return figures


def make_database(path: Path) -> Path:
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE orders ({', '.join(COLUMNS)})")
    connection.execute(f"CREATE TABLE many ({', '.join(COLUMNS)})")
    connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", RECORDS)
    connection.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
        " INSERT INTO many SELECT i, 'Customer ' || i, 'Product', i % 9, i * 1.25, 0 FROM n",
        [MANY],
    )
    connection.commit()
    connection.close()
    return path


def commands(shop: Path) -> dict[str, tuple[str, ...]]:
    return {
        "accord": accord_command(str(shop)),
        "one process": python_module("sql_one_process", str(shop)),
        "sdk": python_module("sdk_sql_server", str(shop)),
    }


def call(identity: int, **arguments: Any) -> bytes:
    params = {"name": "run_query", "arguments": arguments}
    return wire.request(HANDSHAKE, identity, "tools/call", params)


def cost(command: Sequence[str], calls: int) -> float:
    """Return CPU microseconds per call, child processes included."""
    with Child(command) as child:
        initialize(child)
        requests = b"".join(call(1 + n, query=ROWS_QUERY) for n in range(calls))
        warm_up = b"".join(call(-1 - n, query=ROWS_QUERY) for n in range(WARM_UP))
        child.pipeline(warm_up, WARM_UP)  # until all workers have started
        cpu = tree_seconds(child)
        replies = child.pipeline(requests, calls)
        spent = tree_seconds(child) - cpu
    check_rows(replies, calls)
    return spent / calls * 1e6


def initialize(child: Child) -> None:
    child.request(wire.initialize())
    child.send(wire.initialized())


def tree_seconds(child: Child) -> float:
    return child.cpu_seconds() + sum(map(seconds_of, children_of(child.pid)))


def children_of(pid: int) -> list[int]:
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError):
            found += map(int, path.read_text().split())
    return found


def seconds_of(pid: int) -> float:
    return time.clock_gettime((~pid << 3) | 2)


def check_rows(replies: Sequence[bytes], calls: int) -> None:
    expected = [dict(zip(COLUMNS, record, strict=True)) for record in RECORDS]
    seen = set()
    for reply in replies:
        message = json.loads(reply)
        seen.add(message["id"])
        text = message["result"]["content"][0]["text"]
        if json.loads(text.partition("\n")[2]) != expected:
            raise WrongReplyError(f"unexpected rows: {text[:200]}")
    if len(seen) != calls:
        raise WrongReplyError(f"{len(seen)} of {calls} calls have a reply")


def first_rows(shop: Path) -> tuple[float, float]:
    """Return the median microseconds to the first row of a small and of a large table."""
    with Child(accord_command(str(shop))) as child:
        initialize(child)
        latencies: dict[str, list[float]] = {"orders": [], "many": []}
        for number in range(FIRST_ROW_CALLS):
            for name in latencies:
                message = call(number, query=f"SELECT * FROM {name}", limit=1)
                started = time.perf_counter()
                reply = child.request(message)
                latencies[name].append((time.perf_counter() - started) * 1e6)
                if b"Found 1 rows" not in reply:
                    raise WrongReplyError(f"no first row: {reply[:200]!r}")
    return statistics.median(latencies["orders"]), statistics.median(latencies["many"])


def fails_at(shop: Path, row: int) -> bool:
    """Return True if a query reads as far as a row that it cannot evaluate."""
    query = f"SELECT iif(id = {row}, abs(-9223372036854775807 - 1), id) FROM many"
    with Child(accord_command(str(shop), "--max-rows", str(MAX_ROWS))) as child:
        initialize(child)
        reply = json.loads(child.request(call(1, query=query)))
    return bool(reply["result"].get("isError", False))


def sql_parts(figures: SqlFigures, rounds: int) -> list[str]:
    """Return the figures as Markdown."""
    ours = statistics.median(figures.cpu_us["accord"])
    lines = [["`run_query`, 100 rows", "CPU µs per call", "ratio", "at most", ""]]
    for name, costs in figures.cpu_us.items():
        theirs = statistics.median(costs)
        shown = [TITLES[name], number(theirs)]
        found = ours / theirs
        if name == "accord":
            lines.append([*shown, "", f"{MAX_CPU_US} µs", verdict(ours, MAX_CPU_US)])
        elif name in MAX_RATIO:
            limit = MAX_RATIO[name]
            lines.append([*shown, ratio(found), ratio(limit), verdict(found, limit)])
        else:
            lines.append([*shown, ratio(found), "", ""])
    few, many = statistics.median(figures.few_us), statistics.median(figures.many_us)
    first = ["first row, µs: 100 rows, then 1,000,000", f"{number(few)}, {number(many)}"]
    is_exact = figures.reads_one_more and not figures.reads_two_more
    read = "met" if is_exact else "**missed**"
    lines += [
        [*first, ratio(many / few), ratio(FIRST_ROW_LIMIT), verdict(many / few, FIRST_ROW_LIMIT)],
        [f"rows read beyond the {MAX_ROWS} returned", "1" if is_exact else "?", "", "1", read],
    ]
    how = METHOD.format(
        many=MANY, first=FIRST_ROW_CALLS, most=MAX_ROWS, one_more=MAX_ROWS + 1, rounds=rounds
    )
    return ["## SQL queries", table(lines), "## How queries were measured", how]
