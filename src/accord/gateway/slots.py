"""`CallSlots`: how many requests to an upstream are open at once; others wait in a queue."""

import asyncio
from collections import deque
from typing import Final

from accord.model.answer import Problem

DEFAULT_MAX_CALLS: Final = 100
_MAX_WAITING: Final = 1_000


class CallSlots:
    """Limits the open requests of one upstream; the longest waiting is the next."""

    def __init__(self, server: str, most: int) -> None:
        self._server = server
        self._most = most
        self._taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def is_free(self) -> bool:
        """True if a request need not wait."""
        return self._taken < self._most

    def take(self) -> None:
        """Take a free slot."""
        self._taken += 1

    async def wait(self, seconds: float) -> None:
        """Wait for a slot and take it; raise a Problem if the queue is full, or none gets free."""
        if len(self._waiting) >= _MAX_WAITING:
            raise self._refusal(f"{_MAX_WAITING:,} requests wait already")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            async with asyncio.timeout(seconds):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self.release()  # it was given away in the same moment
            else:
                self._waiting.remove(turn)
            if isinstance(error, TimeoutError):
                raise self._refusal(f"none has ended in {seconds:g} s") from None
            raise

    def release(self) -> None:
        """Give a slot back: to the first that waits."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._taken -= 1

    def _refusal(self, reason: str) -> Problem:
        return Problem.rate_limit(
            f"Server {self._server!r} has {self._most} open requests, its limit, and {reason}",
            code="TOO_MANY_CALLS",
            retry_after=1.0,
        )
