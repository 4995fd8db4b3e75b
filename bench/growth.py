"""What a call of Accord costs as the tools, and the calls before it, become more."""

import statistics
from dataclasses import dataclass
from typing import Any

from bench import wire
from bench.child import Child
from bench.contenders import ACCORD, accord_command
from bench.trial import FIRST_CALL, following, open_session, pipelined
from bench.wire import STATELESS, Era, WrongReplyError

# The era without a session, where a server is tempted to look its tools up anew for each request.
ERA: Era = STATELESS
FEW_TOOLS, MANY_TOOLS = 2, 10_000
SPAN = 5_000
SPANS = 4
FEW_WAITING, MANY_WAITING = 100, 1_000
LISTINGS = 6


@dataclass(frozen=True)
class Growth:
    few_tools_us: float
    many_tools_us: float
    first_calls_us: float
    later_calls_us: float
    few_waiting_us: float
    many_waiting_us: float
    first_list_ms: float
    later_list_ms: float
    list_mb: float


def measure_growth() -> Growth:
    with server_with(FEW_TOOLS) as child:
        few = costs_of_calls(child)
    with server_with(MANY_TOOLS) as child:
        many = costs_of_calls(child)
        lists = [cost_of_listing(child, number) for number in range(LISTINGS)]
    return Growth(
        few_tools_us=statistics.mean(few),
        many_tools_us=statistics.mean(many),
        first_calls_us=few[0],
        later_calls_us=few[-1],
        few_waiting_us=cost_of_rows(FEW_WAITING),
        many_waiting_us=cost_of_rows(MANY_WAITING),
        first_list_ms=lists[0][0],
        later_list_ms=statistics.median(ms for ms, _ in lists[1:]),
        list_mb=lists[0][1] / 1e6,
    )


def server_with(tools: int) -> Child:
    command = accord_command("bench.servers.accord_growth:server")
    return Child(command, {"BENCH_TOOLS": str(tools)})


def costs_of_calls(child: Child) -> list[float]:
    """CPU microseconds a call, for each span of calls in turn."""
    open_session(child, ERA, "add")
    numbers = range(FIRST_CALL + 1)
    costs = []
    for _ in range(SPANS):
        numbers = following(numbers, SPAN)
        calls = pipelined(child, ERA, "add", numbers)
        wire.check_calls(calls.replies, "add", numbers)
        costs.append(calls.cpu_us)
    return costs


def cost_of_rows(waiting: int) -> float:
    """CPU microseconds a call of `rows`, where so many large replies wait for their reader."""
    numbers = following(range(FIRST_CALL + 1), waiting)
    with Child(ACCORD.command) as child:
        open_session(child, ERA, "rows")
        calls = pipelined(child, ERA, "rows", numbers)
    wire.check_calls(calls.replies, "rows", numbers)
    return calls.cpu_us


def cost_of_listing(child: Child, listing: int) -> tuple[float, int]:
    """CPU milliseconds and reply bytes of the whole tools/list, page by page."""
    names: set[str] = set()
    size = 0
    params: dict[str, Any] = {}
    cpu = child.cpu_seconds()
    for page in range(MANY_TOOLS):
        number = 1_000_000 * (listing + 1) + page
        reply = child.ask(wire.request(ERA, number, "tools/list", params))
        result = wire.result_in(reply, number)
        names.update(tool["name"] for tool in result["tools"])
        size += len(reply)
        if "nextCursor" not in result:
            break
        params = {"cursor": result["nextCursor"]}
    if len(names) != MANY_TOOLS:
        raise WrongReplyError(f"tools/list named {len(names)} of {MANY_TOOLS} tools")
    return (child.cpu_seconds() - cpu) * 1e3, size
