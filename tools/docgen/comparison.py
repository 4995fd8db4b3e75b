"""The README's comparison of servers, from the tables in docs/benchmarks.md."""

import re
from collections.abc import Iterator

ERA = "2026-07-28"
SERVERS = {
    "Accord": "Accord",
    "official SDK": "SDK, high level",
    "SDK, low level": "SDK, low level",
    "FastMCP": "FastMCP",
}
ONE_AT_A_TIME = {
    "one call at a time: median latency, µs": "p50 µs",
    "one call at a time: CPU, µs": "`add` CPU µs",
}
PIPELINED = {
    "start to first reply, ms": "start ms",
    "memory, MB": "memory MB",
    "pipelined: CPU per call, µs": "`add` CPU µs",
    "pipelined: CPU per call of a `def` tool, µs": "`def add` CPU µs",
    "pipelined: CPU per call with 100 rows, µs": "`rows` CPU µs",
    "pipelined: calls per second": "`add` calls/s",
}
HTTP = "over HTTP, 16 connections, each server's fastest mode: CPU per call, µs"
HTTP_NAMES = {"SDK, high level": "SDK"}
Row = dict[str, str]


def generate(benchmarks: str) -> str:
    """Return a Markdown table: a row for each figure, a column for each server."""
    http = list(_table(benchmarks, "Calls over HTTP"))
    lines = [
        ["", *SERVERS],
        ["---", *["---:"] * len(SERVERS)],
        *_stdio(list(_table(benchmarks, "one at a time")), ONE_AT_A_TIME),
        [HTTP, *(_fastest(http, name) for name in SERVERS.values())],
        *_stdio(list(_table(benchmarks, "pipelined")), PIPELINED),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _stdio(rows: list[Row], columns: dict[str, str]) -> Iterator[list[str]]:
    servers = {row["server"]: row for row in rows if row["era"] == ERA}
    for title, column in columns.items():
        cells = (servers.get(name, {}).get(column, "–") for name in SERVERS.values())
        yield [title, *map(_figure, cells)]


def _table(page: str, heading: str) -> Iterator[Row]:
    """Yield the rows of the table below the heading that ends with this text.

    Of columns with one title the first counts.
    """
    _, found, tail = page.partition(f"{heading}\n\n|")
    if not found:
        raise ValueError(f"docs/benchmarks.md has no table below {heading!r}")
    titles, _, *rows = (_cells(line) for line in f"|{tail}".partition("\n\n")[0].splitlines())
    for row in rows:
        yield dict(reversed(list(zip(titles, row, strict=True))))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _figure(cell: str) -> str:
    """Return the number in a cell without the ratio that follows it."""
    return re.sub(r" \(.*\)$", "", cell)


def _fastest(rows: list[Row], server: str) -> str:
    name = HTTP_NAMES.get(server, server)
    cells = [_figure(row["`add` CPU µs"]) for row in rows if row["server"] == name]
    figures = {float(cell.replace(",", "")): cell for cell in cells if cell[:1].isdigit()}
    return figures[min(figures)] if figures else "–"
