"""Hands values of threads over to futures of an event loop."""

import asyncio
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


def resolve_threadsafe(future: "asyncio.Future[T]", value: T) -> None:
    """Set the result of a future from another thread, unless it is cancelled or its loop closed."""
    with suppress(RuntimeError):  # the loop is closed
        future.get_loop().call_soon_threadsafe(_resolve, future, value)


def _resolve(future: "asyncio.Future[T]", value: T) -> None:
    if not future.done():
        future.set_result(value)
