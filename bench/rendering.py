"""The cost of rendering an answer, compared with the msgspec calls that make the same bytes."""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any, Literal, TypedDict

import msgspec

from accord import Answer, Server
from accord.model.context import ClientInfo
from accord.model.tool import Tool
from accord.protocol import Request
from accord.revisions import REVISIONS
from accord.server.outcome import answer_of
from bench.report import number, table, verdict
from bench.servers.data import make_rows
from bench.wire import ERAS, STATELESS, Era, WrongReplyError

Size = Literal["small", "rows"]
Render = Callable[[], bytes]
PROFILES = ("plain", "envelope", "bare", "prose", "generic")
SIZES: tuple[Size, ...] = ("small", "rows")
MAX_EXTRA_US = 4.0
MAX_EXTRA_SHARE = 0.10
ROUNDS = 50
CALLS: dict[Size, int] = {"small": 500, "rows": 40}  # per round

METHOD = """\
In one process, from the value that a tool returns to the bytes of the reply: `{{"sum": 5}}`, and a list of 100
objects of six columns. *msgspec*: the calls that produce these bytes in the fewest steps: encode the data, decode
and escape it as text, indent it for `prose`, and encode the reply around it. *Accord*: the code that renders every
call, including the lookup of profile, revision and size limit. That both give the same bytes is checked first. The
tool declares its return type; checking the result against it is not part of rendering and not included. CPU time,
{rounds} rounds of {small:,} and {rows:,} calls, alternating, the minimum, since load of the machine only adds to it;
the garbage collector is off."""


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
    """Microseconds per call, for each round."""

    accord: list[float] = field(default_factory=list)
    msgspec: list[float] = field(default_factory=list)

    @property
    def extra_us(self) -> float:
        return min(self.accord) - min(self.msgspec)

    @property
    def extra_share(self) -> float:
        return min(self.accord) / min(self.msgspec) - 1


Costs = dict[tuple[str, Era, Size], Cost]


def measure_rendering(rounds: int = ROUNDS) -> Costs:
    cells = list(product(PROFILES, ERAS, SIZES))
    pairs = {cell: (accord_renderer(*cell), msgspec_renderer(*cell)) for cell in cells}
    for cell, (accord, reference) in pairs.items():
        rendered, expected = accord(), reference()
        if rendered != expected:
            raise WrongReplyError(f"{cell}: {rendered[:300]!r} is not {expected[:300]!r}")
    costs: Costs = {cell: Cost() for cell in cells}
    was_on = gc.isenabled()
    gc.disable()
    try:
        for index in range(rounds):
            for cell, (accord, reference) in pairs.items():
                measure_round(
                    costs[cell], accord, reference, CALLS[cell[2]], accord_first=index % 2 == 0
                )
    finally:
        if was_on:
            gc.enable()
    return costs


def measure_round(
    cost: Cost, accord: Render, reference: Render, calls: int, *, accord_first: bool
) -> None:
    runs = [(cost.accord, accord), (cost.msgspec, reference)]
    for figures, render in runs if accord_first else reversed(runs):
        started = time.process_time_ns()
        for _ in range(calls):
            render()
        figures.append((time.process_time_ns() - started) / calls / 1e3)


def accord_renderer(profile: str, era: Era, size: Size) -> Render:
    server = Server("bench", version="1.0", profile=profile)
    server.tool(read_only=True)(small)
    server.tool(read_only=True)(rows)
    tool: Tool = server.tools[size]
    output = msgspec.structs.replace(tool.output, check=bool)  # present, at no cost
    tool = msgspec.structs.replace(tool, output=output)
    request = Request(1, ClientInfo(REVISIONS[era]), name=size)
    renderer = server.dispatcher.renderer
    answer = Answer(VALUES[size])

    def render() -> bytes:
        return renderer.render(request, tool, answer_of(answer, tool))

    return render


# The same bytes with msgspec alone

encode = msgspec.json.Encoder().encode
Raw = msgspec.Raw


class Reply(msgspec.Struct):
    jsonrpc: str
    id: int
    result: dict[str, Any]


SERVER_META = Raw(b'{"io.modelcontextprotocol/serverInfo":{"name":"bench","version":"1.0"}}')


def msgspec_renderer(profile: str, era: Era, size: Size) -> Render:
    value = VALUES[size]
    root = SHAPES.get(profile)
    if root is not None:
        return render_object(root(value, size), is_stateless=era == STATELESS)
    return render_data(
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


def render_object(root: Callable[[], Any], *, is_stateless: bool) -> Render:
    def render() -> bytes:
        json = encode(root())
        result: dict[str, Any] = {
            "content": [{"type": "text", "text": json.decode()}],
            "structuredContent": Raw(json),
        }
        if is_stateless:
            result["resultType"] = "complete"
            result["_meta"] = SERVER_META
        return encode(Reply("2.0", 1, result))

    return render


def render_data(
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
            result["_meta"] = SERVER_META
        return encode(Reply("2.0", 1, result))

    return render


def rendering_parts(costs: Costs, rounds: int = ROUNDS) -> list[str]:
    counts = {"rounds": rounds, "small": CALLS["small"], "rows": CALLS["rows"]}
    how = METHOD.format(**counts)
    return [
        "## Rendering, Accord only",
        rendering_table(costs),
        "## How rendering was measured",
        how,
    ]


def rendering_table(costs: Costs) -> str:
    small_titles = ["small: msgspec µs", "Accord µs", "extra", f"at most {MAX_EXTRA_US:.0f} µs"]
    rows_titles = ["100 rows: msgspec µs", "Accord µs", "extra", f"at most {MAX_EXTRA_SHARE:.0%}"]
    lines: list[Sequence[str]] = [["profile", "era", *small_titles, *rows_titles]]
    for profile, era in product(PROFILES, ERAS):
        few, many = costs[profile, era, "small"], costs[profile, era, "rows"]
        lines.append(
            [
                profile,
                era,
                *minima(few),
                f"{few.extra_us:.2f} µs",
                verdict(few.extra_us, MAX_EXTRA_US),
                *minima(many),
                f"{many.extra_share:.1%}",
                verdict(many.extra_share, MAX_EXTRA_SHARE),
            ]
        )
    return table(lines)


def minima(cost: Cost) -> list[str]:
    return [number(min(cost.msgspec)), number(min(cost.accord))]
