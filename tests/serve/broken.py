"""A server whose tools go wrong in every way that Python has."""

import asyncio
import builtins
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
    return Answer(1, blocks=["not a block"])  # type: ignore[list-item]


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
