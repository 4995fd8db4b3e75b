"""Awaiting what seldom has to wait: first as far as it goes at once, then the rest of it.

Whoever knows that nothing had to wait needs no timer, and no entry in any list of what is open.
"""

from collections.abc import Awaitable, Callable, Generator
from contextvars import Context
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Pending(Generic[T]):
    """Something awaitable that had to wait, half run, in the context that it began in, if any."""

    __slots__ = ("_awaited", "_context", "_steps")

    def __init__(
        self, steps: Generator[Any, Any, T], awaited: Any, context: Context | None = None
    ) -> None:
        self._steps = steps
        self._awaited = awaited
        self._context = context

    def __await__(self) -> Generator[Any, Any, T]:
        while True:
            step: Callable[..., Any] = self._steps.__next__
            given: tuple[BaseException, ...] = ()
            try:
                yield self._awaited
            except BaseException as error:  # noqa: BLE001 - passed on, as `await` does
                step, given = self._steps.throw, (error,)
            try:
                run = self._context
                self._awaited = step(*given) if run is None else run.run(step, *given)
            except StopIteration as stop:
                result: T = stop.value
                return result


def start(awaitable: Awaitable[T]) -> T | Pending[T]:
    """What it comes to, if that is known at once; else what is left of it, to be awaited."""
    steps = awaitable.__await__()
    try:
        awaited = next(steps)
    except StopIteration as stop:
        result: T = stop.value
        return result
    return Pending(steps, awaited)
