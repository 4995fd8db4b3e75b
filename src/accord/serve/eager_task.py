"""Run a coroutine up to its first wait, and await the rest of it later.

A call that finishes without waiting then needs no task, no timer and no bookkeeping.
"""

from asyncio import CancelledError
from collections.abc import Awaitable, Coroutine, Generator
from contextvars import Context
from types import CoroutineType
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")


class Gate(Protocol):
    """Holds a coroutine back while closed: see `flow_control.OutputGate`."""

    is_open: bool

    async def wait(self) -> None: ...


class Pending(Generic[T]):
    """A coroutine that has run up to its first wait; awaiting this runs the rest of it.

    Each step runs in `context`, if given, and only while the `gate` is open.
    """

    __slots__ = ("_awaited", "_context", "_gate", "_is_cancelled", "_rest")

    def __init__(
        self,
        rest: Coroutine[Any, Any, T],
        awaited: Any,
        context: Context | None = None,
        gate: Gate | None = None,
    ) -> None:
        self._rest = rest
        self._awaited = awaited
        self._context = context
        self._gate = gate
        self._is_cancelled = False

    def cancel(self) -> None:
        """Cancel the coroutine, as `Task.cancel` would, before this is awaited."""
        if self._awaited is None or not self._awaited.cancel():
            self._is_cancelled = True

    def __await__(self) -> Generator[Any, Any, T]:
        while True:
            step, given = self._rest.send, None
            try:
                if self._is_cancelled:
                    self._is_cancelled = False
                    raise CancelledError
                yield self._awaited
                if self._gate is not None and not self._gate.is_open:
                    yield from self._gate.wait().__await__()
            except BaseException as error:  # noqa: BLE001 - passed on, as `await` does
                step, given = self._rest.throw, error
            try:
                run = self._context
                self._awaited = step(given) if run is None else run.run(step, given)
            except StopIteration as stop:
                result: T = stop.value
                return result


def start(awaitable: Awaitable[T]) -> T | Pending[T]:
    """Run an awaitable up to its first wait: its result, or what is left of it to be awaited."""
    rest: Any = awaitable if type(awaitable) is CoroutineType else _awaiting(awaitable)
    try:
        awaited = rest.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    return Pending(rest, awaited)


async def _awaiting(awaitable: Awaitable[T]) -> T:
    return await awaitable
