"""What it costs to word an answer, beside the msgspec calls that make the same bytes."""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any, Literal, TypedDict

import msgspec

from accord import Answer, Server
from accord.context import Client
from accord.outcome import answer_of
from accord.protocol import Call
from accord.revisions import REVISIONS
from accord.tool import Tool
from bench.report import number, table, verdict
from bench.servers.data import make_rows
from bench.wire import ERAS, STATELESS, Era, WrongReplyError

Size = Literal["small", "rows"]
Render = Callable[[], bytes]
PROFILES = ("plain", "envelope", "bare", "prose", "generic")
SIZES: tuple[Size, ...] = ("small", "rows")
MORE_US = 4.0
MORE_SHARE = 0.10
ROUNDS = 50
TIMES: dict[Size, int] = {"small": 500, "rows": 40}  # a round

HOW = """\
In one process, from the value that a tool returned to the bytes of the reply: `{{"sum": 5}}`, and a list of 100
objects of six columns. *msgspec*: the calls that those bytes need however they are made, in as few steps as can
be: encoding the data, decoding and escaping it as text, indenting it for `prose`, and encoding the reply around
it. *Accord*: `answer_of` and `Server.word`, as every call goes through them, with the profile, the revision and
the size limit looked up. Both give the same bytes, which is checked first. The tool declares what it returns;
that its result is also checked against that is not counted here, since it is no part of the wording. CPU time,
{rounds} rounds of {small:,} and {rows:,} calls with both by turns, the least of each, since what else the machine
does only adds; the garbage collector is off."""


class Sum(TypedDict):
    sum: int


class Row(TypedDict):
    id: int
    customer: str
    product: str
    quantity: int
    price: float
    shipped: bool


def small() -> Sum:
    return {"sum": 5}


def rows() -> list[Row]:
    return msgspec.convert([asdict(row) for row in make_rows()], list[Row])


VALUES: dict[Size, Any] = {"small": small(), "rows": rows()}


@dataclass
class Cost:
    """Microseconds a call, round by round."""

    ours: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)

    @property
    def more_us(self) -> float:
        return min(self.ours) - min(self.bare)

    @property
    def more_share(self) -> float:
        return min(self.ours) / min(self.bare) - 1


Costs = dict[tuple[str, Era, Size], Cost]


def measure_rendering(rounds: int = ROUNDS) -> Costs:
    cells = list(product(PROFILES, ERAS, SIZES))
    pairs = {cell: (by_accord(*cell), by_msgspec(*cell)) for cell in cells}
    for cell, (ours, bare) in pairs.items():
        made, expected = ours(), bare()
        if made != expected:
            raise WrongReplyError(f"{cell}: {made[:300]!r} is not {expected[:300]!r}")
    costs: Costs = {cell: Cost() for cell in cells}
    was_on = gc.isenabled()
    gc.disable()
    try:
        for turn in range(rounds):
            for cell, (ours, bare) in pairs.items():
                measure_turn(costs[cell], ours, bare, TIMES[cell[2]], ours_first=turn % 2 == 0)
    finally:
        if was_on:
            gc.enable()
    return costs


def measure_turn(cost: Cost, ours: Render, bare: Render, times: int, *, ours_first: bool) -> None:
    turns = [(cost.ours, ours), (cost.bare, bare)]
    for figures, render in turns if ours_first else reversed(turns):
        begun = time.process_time_ns()
        for _ in range(times):
            render()
        figures.append((time.process_time_ns() - begun) / times / 1e3)


def by_accord(profile: str, era: Era, size: Size) -> Render:
    server = Server("bench", version="1.0", profile=profile)
    server.tool(read_only=True)(small)
    server.tool(read_only=True)(rows)
    tool: Tool = server.tools[size]
    output = msgspec.structs.replace(tool.output, check=bool)  # there, and free
    tool = msgspec.structs.replace(tool, output=output)
    call = Call(1, Client(REVISIONS[era]), name=size)
    answer = Answer(VALUES[size])

    def render() -> bytes:
        return server.word(call, tool, answer_of(answer, tool)).reply

    return render


# The same bytes, by msgspec alone


encode = msgspec.json.Encoder().encode
Raw = msgspec.Raw


class Reply(msgspec.Struct):
    jsonrpc: str
    id: int
    result: dict[str, Any]


STAMP = Raw(b'{"io.modelcontextprotocol/serverInfo":{"name":"bench","version":"1.0"}}')


def by_msgspec(profile: str, era: Era, size: Size) -> Render:
    value = VALUES[size]
    root = SHAPES.get(profile)
    if root is not None:
        return of_own_shape(root(value, size), is_stateless=era == STATELESS)
    return of_data(
        value,
        is_indented=profile == "prose",
        is_wrapped=size == "rows" and era != STATELESS,
        is_at_root=profile == "bare",
        is_stateless=era == STATELESS,
    )


def envelope(value: Any, size: Size) -> Callable[[], Any]:
    if size == "small":
        return lambda: {
            "success": True,
            "data": value,
            "error": None,
            "meta": {"version": "response-v2"},
        }
    return lambda: {
        "success": True,
        "data": {"items": value},
        "error": None,
        "meta": {"version": "response-v2", "wrapper": "items"},
    }


def generic(value: Any, size: Size) -> Callable[[], Any]:
    kind = "single" if size == "small" else "list"
    return lambda: {"toolName": size, "responseType": kind, "data": value}


SHAPES = {"envelope": envelope, "generic": generic}


def of_own_shape(root: Callable[[], Any], *, is_stateless: bool) -> Render:
    def render() -> bytes:
        json = encode(root())
        result: dict[str, Any] = {
            "content": [{"type": "text", "text": json.decode()}],
            "structuredContent": Raw(json),
        }
        if is_stateless:
            result["resultType"] = "complete"
            result["_meta"] = STAMP
        return encode(Reply("2.0", 1, result))

    return render


def of_data(
    value: Any, *, is_indented: bool, is_wrapped: bool, is_at_root: bool, is_stateless: bool
) -> Render:
    def render() -> bytes:
        json = encode(value)
        shown = msgspec.json.format(json, indent=2) if is_indented else json
        result: dict[str, Any] = {
            "content": [{"type": "text", "text": shown.decode()}],
            "structuredContent": {"result": Raw(json)} if is_wrapped else Raw(json),
        }
        if is_at_root:
            if isinstance(value, dict):
                result.update(value)
            else:
                result["result"] = Raw(json)
        if is_stateless:
            result["resultType"] = "complete"
            result["_meta"] = STAMP
        return encode(Reply("2.0", 1, result))

    return render


# As Markdown


def rendering_parts(costs: Costs, rounds: int = ROUNDS) -> list[str]:
    counts = {"rounds": rounds, "small": TIMES["small"], "rows": TIMES["rows"]}
    how = HOW.format(**counts)
    return [
        "## Rendering, Accord only",
        rendering_table(costs),
        "## How rendering was measured",
        how,
    ]


def rendering_table(costs: Costs) -> str:
    small_titles = ["small: msgspec µs", "Accord µs", "more", f"at most {MORE_US:.0f} µs"]
    rows_titles = ["100 rows: msgspec µs", "Accord µs", "more", f"at most {MORE_SHARE:.0%}"]
    lines: list[Sequence[str]] = [["profile", "era", *small_titles, *rows_titles]]
    for profile, era in product(PROFILES, ERAS):
        few, many = costs[profile, era, "small"], costs[profile, era, "rows"]
        lines.append(
            [
                profile,
                era,
                *least(few),
                f"{few.more_us:.2f} µs",
                verdict(few.more_us, MORE_US),
                *least(many),
                f"{many.more_share:.1%}",
                verdict(many.more_share, MORE_SHARE),
            ]
        )
    return table(lines)


def least(cost: Cost) -> list[str]:
    return [number(min(cost.bare)), number(min(cost.ours))]
