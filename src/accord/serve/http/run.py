"""The calls of one request while they run, and who waits for them."""

import asyncio
from collections.abc import Callable

from accord.protocol import Call, Connection
from accord.serve.http.exchange import Exchange
from accord.serve.http.sessions import Session
from accord.serve.http.streams import Stream


class Run:
    """One request's calls: a single one, but for the batches of one revision."""

    def __init__(
        self,
        calls: list[Call],
        connection: Connection,
        exchange: Exchange,
        session: Session | None,
        *,
        is_stateless: bool,
    ) -> None:
        self.calls = calls
        self.connection = connection
        self.is_stateless = is_stateless
        self.reply: bytes | None = None
        """What answers a batch whose last open call was cancelled."""
        self._exchange = exchange
        self._session = session
        self._watcher: asyncio.Task[None] | None = None

    def send(self, message: bytes) -> None:
        """A message that belongs to one of the calls, before its result."""
        self._exchange.push(message, self._session.open_stream if self._session else Stream)

    def watch(self, stop: Callable[[Call], None]) -> None:
        """Stop the calls when the client leaves, which in the stateless era means just that."""
        if self._watcher is None:
            self._watcher = asyncio.create_task(self._stop_when_gone(stop))

    async def _stop_when_gone(self, stop: Callable[[Call], None]) -> None:
        await self._exchange.gone()
        for call in self.connection.abandon():
            stop(call)

    def end(self) -> None:
        """All is done."""
        if self._watcher is not None:
            self._watcher.cancel()
