"""A server whose tools go wrong in every way that Python has."""

import asyncio
import builtins
import multiprocessing
import os
import time
from dataclasses import dataclass
from typing import Any

from accord import Answer, Problem, Server

server = Server("broken", version="1.0")
SURROGATE = "\ud800"


def _error(name: str) -> BaseException:
    if name == "CancelledError":
        return asyncio.CancelledError()
    error: BaseException = getattr(builtins, name)("secret")
    return error


@server.tool
async def throw(error: str) -> None:
    raise _error(error)


@server.tool
def throw_in_thread(error: str) -> None:
    raise _error(error)


@server.tool
async def leak() -> None:
    raise RuntimeError("cannot log in with password hunter2")


@server.tool
async def fine() -> str:
    return "fine"


@server.tool
def fine_in_thread() -> str:
    return "fine"


@server.tool
async def lone_surrogate() -> str:
    return SURROGATE


@server.tool
def lone_surrogate_in_thread() -> str:
    return SURROGATE


@server.tool
async def lone_surrogate_inside() -> dict[str, str]:
    return {"name": SURROGATE}


@server.tool
async def lone_surrogate_in_problem() -> None:
    raise Problem.not_found(f"No customer {SURROGATE}")


@server.tool
async def lone_surrogate_in_warning() -> Answer[int]:
    return Answer(1, warnings=[f"careful {SURROGATE}"])


@server.tool
async def endless_recursion() -> Any:
    knot: list[Any] = []
    knot.append(knot)
    return knot


@server.tool
async def no_json() -> Any:
    return object()


@server.tool
async def no_block() -> Answer[int]:
    return Answer(1, blocks=[5])  # type: ignore[list-item]


@server.tool
async def other_than_promised() -> int:
    return "five"  # type: ignore[return-value]


@dataclass
class Odd:
    value: int

    def __post_init__(self) -> None:
        raise KeyError(self.value)


@server.tool
async def arguments_that_raise(odd: Odd) -> None:
    """Its arguments fit the schema, and cannot be made all the same."""


@server.tool
async def exit_in_a_subtask() -> None:
    async def leave() -> None:
        raise SystemExit(3)

    task = asyncio.create_task(leave())
    await asyncio.wait([task])


@server.tool
async def stop_the_loop() -> None:
    asyncio.get_running_loop().stop()


@server.tool
async def cancel_every_task() -> None:
    for task in asyncio.all_tasks():
        task.cancel()


@server.tool
async def complain(times: int) -> None:
    """Fail loudly enough to fill a pipe that nobody reads."""
    raise RuntimeError("x" * times)


@server.tool
def fork_and_end_the_child() -> float:
    """How long a forked child takes to end when it is told to."""
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=[30])
    child.start()
    begin = time.monotonic()
    child.terminate()
    child.join()
    return time.monotonic() - begin


@server.tool
def fork_and_return() -> int:
    """Two processes return from this; only one has somebody to tell."""
    return os.fork()


@server.tool
async def fork_and_return_on_the_loop() -> int:
    return os.fork()
