"""Hands results of functions over from threads to futures of an event loop."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


def resolve_threadsafe(future: "asyncio.Future[T]", value: T) -> None:
    """Set the result of a future from another thread, unless it is cancelled or its loop closed."""
    with suppress(RuntimeError):  # the loop is closed
        future.get_loop().call_soon_threadsafe(_resolve, future, value)


def captured(function: Callable[[], T]) -> Callable[[], T]:
    """Run a function; return one that returns its value, or raises its exception, elsewhere."""
    try:
        return partial(_return, function())
    except BaseException as error:  # noqa: BLE001 - raised where the result is needed
        return partial(_raise, error)


def _return(value: T) -> T:
    return value


def _raise(error: BaseException) -> Any:
    raise error


def _resolve(future: "asyncio.Future[T]", value: T) -> None:
    if not future.done():
        future.set_result(value)
