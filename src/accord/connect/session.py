"""One session with a server over any transport: request ids, time limits, cancellation."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from accord.connect.dispatcher import Dispatcher
from accord.connect.messages import (
    ClientDescription,
    Outgoing,
    Reply,
    Response,
    client_info,
    outgoing,
    response,
)
from accord.connect.transport import TimedOut, Transport
from accord.errors import PeerError
from accord.revisions import Revision

Params = Mapping[str, Any] | None


class Session:
    """One session with one server. `negotiate` a revision before sending anything else."""

    def __init__(
        self,
        open_transport: Callable[[], Awaitable[Transport]],
        dispatcher: Dispatcher,
        timeout: float,
        capabilities: Mapping[str, Any] | None = None,
    ) -> None:
        self.dispatcher = dispatcher
        self.timeout = timeout
        self.client = ClientDescription(client_info(), capabilities or {})
        self._open_transport = open_transport
        self._transport: Transport | None = None

    @property
    def transport(self) -> Transport:
        """The open transport; raises a PeerError once the session is closed."""
        if self._transport is None:
            raise PeerError("this connection is closed")
        return self._transport

    async def open(self) -> None:
        """Open a transport to the server; an open one is closed first."""
        await self.close()
        self._transport = await self._open_transport()

    async def close(self) -> None:
        """Close the transport; pending requests fail with a PeerError."""
        transport, self._transport = self._transport, None
        if transport is not None:
            self.dispatcher.fail_all(
                PeerError("this connection was closed before the reply arrived")
            )
            await transport.close()

    async def request(
        self,
        method: str,
        params: Params = None,
        *,
        revision: Revision | None = None,
        within: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send a request and return its reply.

        After `within` seconds the request is cancelled and a PeerError is raised; the time limit
        is extended while the server waits for a response of this client.
        """
        seconds = self.timeout if within is None else within
        transport = self.transport
        request_id, reply = self.dispatcher.add_pending()
        try:
            request = outgoing(
                method,
                params,
                id=request_id,
                revision=revision,
                client=self.client,
                headers=headers,
            )
            return await self._exchange(transport, request, reply, seconds)
        finally:
            self.dispatcher.remove_pending(request_id)

    async def _exchange(
        self,
        transport: Transport,
        request: Outgoing,
        reply: "asyncio.Future[Reply]",
        seconds: float,
    ) -> Reply:
        exchange = asyncio.create_task(transport.exchange(request, reply))
        try:
            await self._wait_for_reply(exchange, reply, seconds)
            return await reply
        except TimeoutError:
            _cancel(transport, request)
            raise TimedOut(
                request.method,
                f"{request.method} was not answered within {seconds:g} s"
                f"{self.dispatcher.unmatched}{transport.diagnostics()}",
            ) from None
        except asyncio.CancelledError:
            _cancel(transport, request)
            raise
        finally:
            exchange.cancel()
            await asyncio.gather(exchange, return_exceptions=True)

    async def _wait_for_reply(
        self, exchange: "asyncio.Task[None]", reply: "asyncio.Future[Reply]", seconds: float
    ) -> None:
        """Wait for the reply; raise the error of the exchange, or TimeoutError."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        expected: set[asyncio.Future[Any]] = {exchange, reply}
        while not reply.done():
            left = max(until - loop.time(), 0)
            done, expected = await asyncio.wait(
                expected, timeout=left, return_when=asyncio.FIRST_COMPLETED
            )
            if exchange in done and not reply.done():
                await exchange
            elif not done and not self.dispatcher.has_open_requests:
                raise TimeoutError
            elif not done:
                until += seconds

    async def respond(self, request_id: Any, answer: Response, revision: Revision) -> None:
        """Respond to a request of the server, unless the server has cancelled it."""
        if self.dispatcher.close_request(request_id):
            await self.transport.send(response(request_id, answer, revision))

    async def notify(
        self, method: str, params: Params = None, *, revision: Revision | None = None
    ) -> None:
        """Send a notification."""
        try:
            async with asyncio.timeout(self.timeout):
                await self.transport.send(outgoing(method, params, revision=revision))
        except TimeoutError:
            raise TimedOut(method, f"{method} was not accepted within {self.timeout:g} s") from None


def _cancel(transport: Transport, request: Outgoing) -> None:
    if request.method != "initialize":  # the one request that must not be cancelled
        params = {"requestId": request.id}
        transport.cancel(
            request, outgoing("notifications/cancelled", params, revision=request.revision)
        )
