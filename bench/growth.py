"""The cost of an Accord call with more tools, earlier calls and pending replies."""

import statistics
from dataclasses import dataclass
from typing import Any

from bench import wire
from bench.child import Child
from bench.contenders import ACCORD, accord_command
from bench.trial import FIRST_CALL, next_numbers, open_session, pipelined
from bench.wire import STATELESS, Era, WrongReplyError

# The era without sessions, where nothing is kept from one request to the next.
ERA: Era = STATELESS
FEW_TOOLS, MANY_TOOLS = 2, 10_000
BATCH = 5_000
BATCHES = 4
FEW_PENDING, MANY_PENDING = 100, 1_000
LISTS = 6


@dataclass(frozen=True)
class Growth:
    """Costs before and after each number grows."""

    few_tools_us: float
    many_tools_us: float
    first_calls_us: float
    later_calls_us: float
    few_pending_us: float
    many_pending_us: float
    first_list_ms: float
    later_list_ms: float
    list_mb: float


def measure_growth() -> Growth:
    with server_with(FEW_TOOLS) as child:
        few = costs_of_calls(child)
    with server_with(MANY_TOOLS) as child:
        many = costs_of_calls(child)
        lists = [cost_of_list(child, number) for number in range(LISTS)]
    return Growth(
        few_tools_us=statistics.mean(few),
        many_tools_us=statistics.mean(many),
        first_calls_us=few[0],
        later_calls_us=few[-1],
        few_pending_us=cost_of_rows(FEW_PENDING),
        many_pending_us=cost_of_rows(MANY_PENDING),
        first_list_ms=lists[0][0],
        later_list_ms=statistics.median(ms for ms, _ in lists[1:]),
        list_mb=lists[0][1] / 1e6,
    )


def server_with(tools: int) -> Child:
    command = accord_command("bench.servers.accord_growth:server")
    return Child(command, {"BENCH_TOOLS": str(tools)})


def costs_of_calls(child: Child) -> list[float]:
    """Return CPU microseconds per call for each batch of calls."""
    open_session(child, ERA, "add")
    numbers = range(FIRST_CALL + 1)
    costs = []
    for _ in range(BATCHES):
        numbers = next_numbers(numbers, BATCH)
        calls = pipelined(child, ERA, "add", numbers)
        wire.check_calls(calls.replies, "add", numbers)
        costs.append(calls.cpu_us)
    return costs


def cost_of_rows(pending: int) -> float:
    """Return CPU microseconds per call of `rows` with this many pending replies."""
    numbers = next_numbers(range(FIRST_CALL + 1), pending)
    with Child(ACCORD.command) as child:
        open_session(child, ERA, "rows")
        calls = pipelined(child, ERA, "rows", numbers)
    wire.check_calls(calls.replies, "rows", numbers)
    return calls.cpu_us


def cost_of_list(child: Child, index: int) -> tuple[float, int]:
    """Return CPU milliseconds and reply bytes of all pages of tools/list."""
    names: set[str] = set()
    size = 0
    params: dict[str, Any] = {}
    cpu = child.cpu_seconds()
    for page in range(MANY_TOOLS):
        number = 1_000_000 * (index + 1) + page
        reply = child.request(wire.request(ERA, number, "tools/list", params))
        result = wire.result_in(reply, number)
        names.update(tool["name"] for tool in result["tools"])
        size += len(reply)
        if "nextCursor" not in result:
            break
        params = {"cursor": result["nextCursor"]}
    if len(names) != MANY_TOOLS:
        raise WrongReplyError(f"tools/list named {len(names)} of {MANY_TOOLS} tools")
    return (child.cpu_seconds() - cpu) * 1e3, size
