"""The cost of middleware and dependencies: a call of `add` with one of each, and without."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

from accord import Answer, Depends, Server
from accord.middleware import Call, Next
from accord.model.context import ClientInfo
from accord.protocol import Request
from accord.revisions import NEWEST
from accord.serve.call import RunningCall
from accord.serve.executor import Executor
from accord.server.operation import Done
from bench.report import number, table, verdict
from bench.wire import WrongReplyError

ROUNDS = 50
CALLS = 1_000  # per round
PLAIN = "`add`"
MOST: dict[str, float | None] = {
    PLAIN: None,
    "with middleware": 1.5,
    "with a dependency": 2.0,
    "with an async generator as dependency": None,
}
"""Microseconds more than a plain call, at most."""

METHOD = """\
`add(a, b)` in one process, from the decoded request to the bytes of the reply, by the executor that all transports use.
The middleware is `return await next(call)`; the dependency a function that returns a number. CPU time, {rounds} rounds
of {calls:,} calls, alternating, the minimum; the garbage collector is off."""


def plain() -> Server:
    server = Server("bench")

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    return server


def with_middleware() -> Server:
    server = plain()

    @server.middleware
    async def pass_on(call: Call, following: Next) -> Answer[Any]:
        return await following(call)

    return server


def with_dependency(provide: Callable[..., Any]) -> Server:
    server = Server("bench")

    @server.tool
    async def add(a: int, b: int, one: Annotated[int, Depends(provide)]) -> int:
        return a + b

    return server


def one() -> int:
    return 1


async def one_later() -> AsyncIterator[int]:
    yield 1


SERVERS: dict[str, Callable[[], Server]] = {
    PLAIN: plain,
    "with middleware": with_middleware,
    "with a dependency": lambda: with_dependency(one),
    "with an async generator as dependency": lambda: with_dependency(one_later),
}
Costs = dict[str, float]
"""Microseconds per call, the minimum over all rounds."""


def measure_calls(rounds: int = ROUNDS) -> Costs:
    return asyncio.run(_measure(rounds))


async def _measure(rounds: int) -> Costs:
    loop = asyncio.get_running_loop()
    request = Request(1, ClientInfo(NEWEST), name="add", arguments=b'{"a":2,"b":3}')
    executors = {name: Executor(make().dispatcher, loop) for name, make in SERVERS.items()}
    replies: list[bytes] = []

    def deliver(_: RunningCall, done: Done | None) -> None:
        replies.append(b"" if done is None else done.reply)

    costs = dict.fromkeys(SERVERS, float("inf"))
    for executor in executors.values():
        executor.wake()
    await asyncio.sleep(0.01)
    was_on = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, executor in executors.items():
                replies.clear()
                started = time.process_time_ns()
                for _ in range(CALLS):
                    executor.submit(RunningCall(request, None, None, deliver))
                    executor.run_queued()
                taken = (time.process_time_ns() - started) / CALLS / 1e3
                costs[name] = min(costs[name], taken)
                if len(replies) != CALLS or b'"structuredContent":5' not in replies[-1]:
                    raise WrongReplyError(f"{name}: {replies[-1:]!r}")
            await asyncio.sleep(0)
    finally:
        if was_on:
            gc.enable()
        for executor in executors.values():
            executor.close()
    return costs


def calls_parts(costs: Costs, rounds: int = ROUNDS) -> list[str]:
    """Return the section as Markdown."""
    rows = []
    for name, most in MOST.items():
        extra = costs[name] - costs[PLAIN]
        said = "" if most is None else f"at most {most:g}: {verdict(extra, most)}"
        rows.append([name, number(costs[name]), "" if name == PLAIN else number(extra), said])
    return [
        "## Middleware and dependencies",
        METHOD.format(rounds=rounds, calls=CALLS),
        table([["", "µs per call", "more", "target"], *rows]),
    ]
