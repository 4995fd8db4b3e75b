"""The cost of pydantic models: a parameter and a result, compared with pydantic alone."""

import gc
import time
from collections.abc import Callable
from typing import Any

import msgspec
from pydantic import BaseModel, TypeAdapter

from accord.model.tool import Tool
from accord.server.outcome import answer_of
from accord.sources.functions import function_tool
from bench.report import number, table, verdict
from bench.wire import WrongReplyError

ROUNDS = 50
CALLS = 500  # per round
LIMIT = 2.0
"""Time of a parameter, at most, as a multiple of pydantic's own validation."""

METHOD = """\
In one process. *Parameter*: from the JSON of all arguments to the values for the function, which has one parameter; *pydantic*
is `TypeAdapter.validate_json` of the JSON of the model alone. *Result*: from the returned model to JSON that is checked
against the output schema; *pydantic* is `TypeAdapter.dump_json`, which checks nothing. The small model has two fields; the
order has five lines of three. CPU time, {rounds} rounds of {calls:,} calls, alternating, the minimum; the garbage collector
is off."""


class Small(BaseModel):
    id: int
    name: str


class Line(BaseModel):
    sku: str
    quantity: int
    price: float


class Order(BaseModel):
    customer: str
    lines: list[Line]


def take_small(x: Small) -> Small:
    return x


def take_order(x: Order) -> Order:
    return x


CASES: dict[str, tuple[Callable[..., Any], BaseModel]] = {
    "a small model": (take_small, Small(id=1, name="ada")),
    "an order": (
        take_order,
        Order(customer="ada", lines=[Line(sku="rope", quantity=2, price=1.5)] * 5),
    ),
}
Costs = dict[str, dict[str, float]]
"""Microseconds, by case and by what is measured: the minimum over all rounds."""


def measure_models(rounds: int = ROUNDS) -> Costs:
    measured = {name: _calls(function_tool(take), value) for name, (take, value) in CASES.items()}
    costs: Costs = {name: dict.fromkeys(calls, float("inf")) for name, calls in measured.items()}
    was_on = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, calls in measured.items():
                for what, call in calls.items():
                    started = time.process_time_ns()
                    for _ in range(CALLS):
                        call()
                    taken = (time.process_time_ns() - started) / CALLS / 1e3
                    costs[name][what] = min(costs[name][what], taken)
    finally:
        if was_on:
            gc.enable()
    return costs


def _calls(tool: Tool, value: BaseModel) -> dict[str, Callable[[], Any]]:
    adapter: TypeAdapter[Any] = TypeAdapter(type(value))
    json = adapter.dump_json(value)
    arguments = msgspec.json.encode({"x": msgspec.Raw(json)})
    if tool.bind(arguments).arguments.x != value:
        raise WrongReplyError(f"{tool.name}: {tool.bind(arguments)!r}")
    if (found := answer_of(value, tool).data) != answer_of(msgspec.Raw(json), tool).data:
        raise WrongReplyError(f"{tool.name}: {found!r}")
    return {
        "validate": lambda: adapter.validate_json(json),
        "bind": lambda: tool.bind(arguments),
        "dump": lambda: adapter.dump_json(value),
        "answer": lambda: answer_of(value, tool),
    }


def models_parts(costs: Costs, rounds: int = ROUNDS) -> list[str]:
    titles = [
        "",
        "parameter: pydantic µs",
        "Accord µs",
        "ratio",
        f"at most {LIMIT:.0f}",
        "result: pydantic µs",
        "Accord µs",
    ]
    lines = [titles]
    for name, cost in costs.items():
        ratio = cost["bind"] / cost["validate"]
        parameter = [number(cost["validate"]), number(cost["bind"]), f"{ratio:.2f}"]
        result = [number(cost["dump"]), number(cost["answer"])]
        lines.append([name, *parameter, verdict(ratio, LIMIT), *result])
    how = METHOD.format(rounds=rounds, calls=CALLS)
    return ["## pydantic models", table(lines), "## How models were measured", how]
