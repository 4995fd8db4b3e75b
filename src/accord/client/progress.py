"""Progress of one request."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

OnProgress = Callable[[float, float | None, str | None], object]
"""Called with progress, total and message; may be a coroutine function."""


class ProgressListener:
    """Calls `on_progress` for one request; its first error is raised at the end of the request."""

    def __init__(self, on_progress: OnProgress | None) -> None:
        self._on_progress = on_progress
        self._error: Exception | None = None
        self._tasks: list[asyncio.Future[Any]] = []

    def receive(self, params: dict[str, Any]) -> None:
        """Take the params of a progress notification."""
        progress, total, message = (params.get(each) for each in ("progress", "total", "message"))
        if self._on_progress is None or not isinstance(progress, int | float):
            return
        try:
            awaited = self._on_progress(
                progress,
                total if isinstance(total, int | float) else None,
                message if isinstance(message, str) else None,
            )
        except Exception as error:  # noqa: BLE001 - raised by `finish`
            self._error = self._error or error
        else:
            if inspect.isawaitable(awaited):
                self._tasks.append(asyncio.ensure_future(awaited))

    async def finish(self) -> None:
        """Wait for coroutines of the callback, and raise its first error."""
        if self._tasks:
            await asyncio.gather(*self._tasks)
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Cancel coroutines of the callback."""
        for task in self._tasks:
            task.cancel()
