"""Asking and telling, over whatever wire there is: ids, time limits, taking a question back."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from accord.connect.faults import Late
from accord.connect.inbox import Inbox
from accord.connect.messages import Answer, Client, Outgoing, Reply, client_info, outgoing, response
from accord.connect.wire import Wire
from accord.errors import PeerError
from accord.revisions import Revision

Params = Mapping[str, Any] | None


class Dialogue:
    """One conversation with one server. `begin` it before anything else."""

    def __init__(
        self,
        open_wire: Callable[[], Awaitable[Wire]],
        inbox: Inbox,
        timeout: float,
        capabilities: Mapping[str, Any] | None = None,
    ) -> None:
        self.inbox = inbox
        self.timeout = timeout
        self.client = Client(client_info(), capabilities or {})
        self._open_wire = open_wire
        self._wire: Wire | None = None

    @property
    def wire(self) -> Wire:
        """The way to the server, as long as there is one."""
        if self._wire is None:
            raise PeerError("this connection is closed")
        return self._wire

    async def open(self) -> None:
        """Reach the server, anew if need be."""
        await self.close()
        self._wire = await self._open_wire()

    async def close(self) -> None:
        """Leave the server; whoever still waits is told."""
        wire, self._wire = self._wire, None
        if wire is not None:
            self.inbox.lose(PeerError("this connection was closed before the answer came"))
            await wire.close()

    async def ask(
        self,
        method: str,
        params: Params = None,
        *,
        revision: Revision | None = None,
        within: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """The reply to a request. After `within` seconds it is taken back, with a PeerError.

        It is given as long again where the server waits for an answer of ours.
        """
        seconds = self.timeout if within is None else within
        wire = self.wire
        identity, answer = self.inbox.expect()
        try:
            request = outgoing(
                method, params, id=identity, revision=revision, client=self.client, headers=headers
            )
            return await self._exchange(wire, request, answer, seconds)
        finally:
            self.inbox.forget(identity)

    async def _exchange(
        self, wire: Wire, request: Outgoing, answer: "asyncio.Future[Reply]", seconds: float
    ) -> Reply:
        exchange = asyncio.create_task(wire.exchange(request, answer))
        try:
            await self._patiently(exchange, answer, seconds)
            return await answer
        except TimeoutError:
            _take_back(wire, request)
            raise Late(
                request.method,
                f"{request.method} was not answered within {seconds:g} s"
                f"{self.inbox.strays}{wire.hint()}",
            ) from None
        except asyncio.CancelledError:
            _take_back(wire, request)
            raise
        finally:
            exchange.cancel()
            await asyncio.gather(exchange, return_exceptions=True)

    async def _patiently(
        self, exchange: "asyncio.Task[None]", answer: "asyncio.Future[Reply]", seconds: float
    ) -> None:
        """Wait for an answer, or raise what came instead, or that nothing came in time."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        expected: set[asyncio.Future[Any]] = {exchange, answer}
        while not answer.done():
            left = max(until - loop.time(), 0)
            done, expected = await asyncio.wait(
                expected, timeout=left, return_when=asyncio.FIRST_COMPLETED
            )
            if exchange in done and not answer.done():
                await exchange
            elif not done and not self.inbox.is_asked:
                raise TimeoutError
            elif not done:
                until += seconds

    async def answer(self, identity: Any, answer: Answer, revision: Revision) -> None:
        """Answer a request of the server's; one that it took back is not answered."""
        if self.inbox.answered(identity):
            await self.wire.send(response(identity, answer, revision))

    async def tell(
        self, method: str, params: Params = None, *, revision: Revision | None = None
    ) -> None:
        """Send a notification."""
        try:
            async with asyncio.timeout(self.timeout):
                await self.wire.send(outgoing(method, params, revision=revision))
        except TimeoutError:
            raise Late(method, f"{method} was not taken within {self.timeout:g} s") from None


def _take_back(wire: Wire, request: Outgoing) -> None:
    if request.method != "initialize":  # the one request that must not be cancelled
        params = {"requestId": request.id}
        wire.cancel(request, outgoing("notifications/cancelled", params, revision=request.revision))
