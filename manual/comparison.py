"""The table of the README that compares servers, from the figures in docs/benchmarks.md."""

import re
from collections.abc import Iterator

ERA = "2026-07-28"
SERVERS = {
    "Accord": "Accord",
    "official SDK": "SDK, high level",
    "its low level": "SDK, low level",
    "FastMCP": "FastMCP",
}
STDIO = {
    "CPU a call, `async def add`, µs": "`add` CPU µs",
    "CPU a call, `def add`, µs": "`def add` CPU µs",
    "CPU a call, 100 rows, µs": "`rows` CPU µs",
    "calls a second, `async def add`": "`add` calls/s",
    "start to first answer, ms": "start ms",
    "memory, MB": "memory MB",
}
HTTP = "CPU a call over HTTP, its fastest mode, µs"
HTTP_NAMES = {"SDK, high level": "SDK"}
Row = dict[str, str]


def made(benchmarks: str) -> str:
    """What is measured, a row each, for each server."""
    stdio = {row["server"]: row for row in _table(benchmarks, "pipelined") if row["era"] == ERA}
    http = list(_table(benchmarks, "Calls over HTTP"))
    lines = [["", *SERVERS], ["---", *["---:"] * len(SERVERS)]]
    for title, column in STDIO.items():
        found = (stdio.get(name, {}).get(column, "–") for name in SERVERS.values())
        lines.append([title, *map(_figure, found)])
    lines.append([HTTP, *(_fastest(http, name) for name in SERVERS.values())])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _table(page: str, heading: str) -> Iterator[Row]:
    """The rows of the first table below a heading that ends like this."""
    _, found, rest = page.partition(f"{heading}\n\n|")
    if not found:
        raise ValueError(f"there is no table below {heading!r}")
    titles, _, *rows = (_cells(line) for line in f"|{rest}".partition("\n\n")[0].splitlines())
    for row in rows:
        yield dict(zip(titles, row, strict=True))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _figure(cell: str) -> str:
    """The number itself, without the ratio behind it."""
    return re.sub(r" \(.*\)$", "", cell)


def _fastest(rows: list[Row], server: str) -> str:
    name = HTTP_NAMES.get(server, server)
    cells = [_figure(row["`add` CPU µs"]) for row in rows if row["server"] == name]
    figures = {float(cell.replace(",", "")): cell for cell in cells if cell[:1].isdigit()}
    return figures[min(figures)] if figures else "–"
