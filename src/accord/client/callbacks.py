"""Callbacks for the notifications of a server, called one after another."""

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

from accord.client.messages import TimedOut
from accord.errors import PeerError

log: logging.Logger = logging.getLogger("accord")

OnProgress = Callable[[float, float | None, str | None], object]
"""Called with progress, total and message; may be a coroutine function."""
_MAX_WAITING: Final = 1_000  # calls that wait for a slow callback; the oldest are dropped


async def call_listener(listener: Callable[..., object], *arguments: Any) -> None:
    """Call a function, or a coroutine function, and wait for its end."""
    awaited = listener(*arguments)
    if inspect.isawaitable(awaited):
        await awaited


class CallbackQueue:
    """Calls a function, or a coroutine function, in the order of the notifications."""

    def __init__(
        self,
        callback: Callable[..., object],
        tasks: set[asyncio.Task[Any]],
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        """`tasks` holds the task while a coroutine runs; errors are logged without `on_error`."""
        self._callback = callback
        self._tasks = tasks
        self._on_error = _log if on_error is None else on_error
        self._waiting: deque[tuple[Any, ...]] = deque(maxlen=_MAX_WAITING)
        self.task: asyncio.Task[None] | None = None
        """Runs a coroutine of the callback."""

    def call(self, *arguments: Any) -> None:
        """Call the callback, once the calls before have ended."""
        if self.task is not None and not self.task.done():
            self._waiting.append(arguments)
            return
        awaited = self._start(arguments)
        if awaited is not None:
            self.task = asyncio.ensure_future(self._run(awaited))
            self._tasks.add(self.task)
            self.task.add_done_callback(self._tasks.discard)

    def _start(self, arguments: tuple[Any, ...]) -> Awaitable[object] | None:
        try:
            awaited = self._callback(*arguments)
        except Exception as error:  # noqa: BLE001 - of the user's callback
            self._on_error(error)
            return None
        return awaited if inspect.isawaitable(awaited) else None

    async def _run(self, awaited: Awaitable[object] | None) -> None:
        while True:
            if awaited is not None:
                try:
                    await awaited
                except Exception as error:  # noqa: BLE001 - of the user's callback
                    self._on_error(error)
            if not self._waiting:
                return
            awaited = self._start(self._waiting.popleft())


def _log(error: Exception) -> None:
    log.error("a callback failed", exc_info=error)


class ProgressListener:
    """Calls `on_progress` for one request; its first error is raised at the end of the request."""

    def __init__(
        self, on_progress: OnProgress, tasks: set[asyncio.Task[Any]], seconds: float | None
    ) -> None:
        """`seconds` limits the time of the callback after the reply."""
        self._queue = CallbackQueue(on_progress, tasks, self._keep)
        self._seconds = seconds
        self._error: Exception | None = None

    def _keep(self, error: Exception) -> None:
        self._error = self._error or error

    def receive(self, params: dict[str, Any]) -> None:
        """Take the params of a progress notification."""
        progress, total, message = (params.get(each) for each in ("progress", "total", "message"))
        if isinstance(progress, int | float):
            self._queue.call(
                progress,
                total if isinstance(total, int | float) else None,
                message if isinstance(message, str) else None,
            )

    async def finish(self) -> None:
        """Wait for coroutines of the callback, and raise its first error."""
        task = self._queue.task
        if task is not None:
            await asyncio.wait([task], timeout=self._seconds)
            if not task.done():
                raise TimedOut("on_progress", f"on_progress took longer than {self._seconds:g} s")
            if task.cancelled():
                raise PeerError("this connection was closed before on_progress ended")
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Cancel a coroutine of the callback."""
        if self._queue.task is not None:
            self._queue.task.cancel()
