"""The calls of one request while they run, and who waits for them."""

import asyncio
from collections.abc import Callable

from accord.protocol import Call, Connection
from accord.revisions import Revision
from accord.serve.eager import Pending
from accord.serve.http.exchange import Exchange
from accord.work import Done, Work

Begun = Done | Pending[Done] | Work
"""A call that is done, one that has to wait, or one that has to run elsewhere."""


class Run:
    """One request's calls: a single one, but for the batches of one revision."""

    def __init__(
        self,
        calls: list[Call],
        connection: Connection,
        exchange: Exchange,
        revision: Revision | None,
        began: float,
        begun: Begun | None = None,
    ) -> None:
        self.calls = calls
        self.connection = connection
        self.exchange = exchange
        self.revision = revision
        self.began = began
        self.begun = begun
        """How far the last of the calls has come, if it was begun."""
        self.reply: bytes | None = None
        """What answers a batch whose last open call was cancelled."""
        self._watcher: asyncio.Task[None] | None = None

    @property
    def is_stateless(self) -> bool:
        """Whether it ends when its client leaves."""
        return self.revision is None

    def watch(self, stop: Callable[[Call], None]) -> None:
        """Stop the calls when the client leaves, which in the stateless era means just that."""
        self._watcher = asyncio.create_task(self._stop_when_gone(stop))

    @property
    def is_watched(self) -> bool:
        """Whether somebody looks whether the client is still there."""
        return self._watcher is not None

    async def _stop_when_gone(self, stop: Callable[[Call], None]) -> None:
        await self.exchange.gone()
        for call in self.calls:
            call.cancelled = True
            stop(call)

    def end(self) -> None:
        """All is done. No cycle may keep what it held: large replies, say."""
        self.begun = None
        if self._watcher is not None:
            self._watcher.cancel()
            self._watcher = None
