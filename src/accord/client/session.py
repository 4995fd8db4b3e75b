"""One session with a server over any transport: request ids, time limits, cancellation.

`negotiate` finds out the era of the server and agrees on a revision.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from math import inf
from typing import Any, Final, Literal

import msgspec

from accord.client.dispatcher import Dispatcher
from accord.client.messages import (
    SERVER_INFO,
    ClientDescription,
    Disconnected,
    HTTPRefused,
    Outgoing,
    Reply,
    Response,
    TimedOut,
    Transport,
    client_info,
    describe_error,
    outgoing,
    require_seconds,
    response,
)
from accord.errors import (
    HEADER_MISMATCH,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION,
    ContractError,
    PeerError,
)
from accord.revisions import REVISIONS, STATELESS, Revision

Params = Mapping[str, Any] | None
Era = Literal["auto", "handshake", "stateless"]

_ERAS: Final = ("auto", "handshake", "stateless")
_HANDSHAKE: Final = tuple(date for date in reversed(REVISIONS) if date not in STATELESS)
_PROBE_TIMEOUT: Final = 10.0  # seconds without a reply after which the handshake era is assumed


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
        self.client: ClientDescription = ClientDescription(client_info(), capabilities or {})
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
        on_start: Callable[[int], None] | None = None,
    ) -> Reply:
        """Send a request and return its reply.

        After `within` seconds, which may be infinite, the request is cancelled and a PeerError is
        raised; the time limit is extended while the server waits for a response of this client.
        `on_start` is called with the id of the request.
        """
        seconds = self.timeout if within is None else within
        require_seconds("timeout", seconds)
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
            if on_start is not None:
                on_start(request_id)
            return await self._exchange(transport, request, reply, seconds)
        finally:
            self.dispatcher.remove_pending(request_id)
            if reply.done() and not reply.cancelled():
                reply.exception()  # it may have failed after a cancellation; asyncio would log it

    async def _exchange(
        self,
        transport: Transport,
        request: Outgoing,
        reply: "asyncio.Future[Reply]",
        seconds: float,
    ) -> Reply:
        send_now = getattr(transport, "send_now", None)  # of a pipe: it needs no task
        is_sent = send_now is not None and send_now(request)
        exchange = None if is_sent else asyncio.create_task(transport.exchange(request, reply))
        try:
            if exchange is None:
                return await self._within(reply, seconds)
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
            if exchange is not None:
                await _end(exchange)

    def _within(self, reply: "asyncio.Future[Reply]", seconds: float) -> "asyncio.Future[Reply]":
        """Return the reply to a request that was sent, which fails with TimeoutError."""
        if seconds == inf:
            return reply
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle | None = None

        def expire() -> None:
            nonlocal timer
            if self.dispatcher.has_open_requests:
                timer = loop.call_later(seconds, expire)
            elif not reply.done():
                reply.set_exception(TimeoutError())

        def stop(_: "asyncio.Future[Reply]") -> None:
            if timer is not None:
                timer.cancel()

        timer = loop.call_later(seconds, expire)
        reply.add_done_callback(stop)
        return reply

    async def _wait_for_reply(
        self, exchange: "asyncio.Task[None]", reply: "asyncio.Future[Any]", seconds: float
    ) -> None:
        """Wait for the reply; raise the error of the exchange, or TimeoutError."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        expected: set[asyncio.Future[Any]] = {exchange, reply}
        while not reply.done():
            left = max(until - loop.time(), 0)
            done, expected = await asyncio.wait(
                expected, timeout=None if left == inf else left, return_when=asyncio.FIRST_COMPLETED
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
        message = outgoing(method, params, revision=revision)
        sending = asyncio.create_task(self.transport.send(message))
        try:
            await self._wait_for_reply(sending, sending, self.timeout)
            await sending
        except TimeoutError:
            raise TimedOut(method, f"{method} was not accepted within {self.timeout:g} s") from None
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)


async def _end(exchange: "asyncio.Task[None]") -> None:
    """Cancel an exchange whose reply has arrived, or is not wanted any more."""
    if not exchange.done():
        exchange.cancel()
        await asyncio.wait([exchange])
    if not exchange.cancelled():
        exchange.exception()  # the reply has arrived all the same


def _cancel(transport: Transport, request: Outgoing) -> None:
    if request.method != "initialize":  # the one request that must not be cancelled
        params = {"requestId": request.id}
        transport.cancel(
            request, outgoing("notifications/cancelled", params, revision=request.revision)
        )


class Negotiated(msgspec.Struct, frozen=True, kw_only=True):
    """The agreed revision, and what the server reported about itself."""

    revision: Revision
    server: dict[str, Any]
    capabilities: dict[str, Any]
    instructions: str | None


class VersionPreference(msgspec.Struct, frozen=True):
    """The era to try first, and its revision."""

    era: Era
    revision: Revision

    @classmethod
    def from_options(cls, era: Era, date: str | None) -> "VersionPreference":
        """Check the options of `connect`; a revision implies the era."""
        if era not in _ERAS:
            raise ContractError(f"era must be one of {', '.join(_ERAS)}, not {era!r}")
        if date is None:
            date = _HANDSHAKE[0] if era == "handshake" else STATELESS[0]
            return cls(era, REVISIONS[date])
        if date not in REVISIONS:
            raise ContractError(f"revision must be one of {', '.join(REVISIONS)}, not {date!r}")
        actual: Era = "stateless" if REVISIONS[date].stateless else "handshake"
        if era not in ("auto", actual):
            raise ContractError(f"revision {date} belongs to the {actual} era")
        return cls(actual, REVISIONS[date])


async def negotiate(session: Session, preference: VersionPreference) -> Negotiated:
    """Agree on a revision with the server, or raise a PeerError."""
    await session.open()
    if preference.era == "handshake":
        return await initialize(session, preference.revision)
    if preference.era == "stateless":
        found = await _discover(session, preference.revision, session.timeout)
        if isinstance(found, Negotiated):
            return found
        raise PeerError(f"the server does not support revision {preference.revision.date}: {found}")
    return await _probe(session, preference.revision)


async def _probe(session: Session, revision: Revision) -> Negotiated:
    """Try the stateless era, then the handshake era."""
    older = REVISIONS[_HANDSHAKE[0]]
    probe_timeout = min(_PROBE_TIMEOUT, session.timeout / 2)
    try:
        with contextlib.suppress(HTTPRefused):
            found = await _discover(session, revision, probe_timeout)
            if isinstance(found, Negotiated):
                return found
        return await initialize(session, older)
    except Disconnected:
        pass  # some servers exit on an unknown method
    except TimedOut as error:
        if error.method == "initialize":
            raise
    await session.open()
    return await initialize(session, older)


async def _discover(
    session: Session, revision: Revision, within: float, *, retries: int = 1
) -> Negotiated | str:
    """Return the agreed revision, or the reason why the server is not stateless.

    A server that rejects the revision is asked again with one that it supports.
    """
    reply = await session.request("server/discover", {}, revision=revision, within=within)
    supported = _supported_versions(reply)
    if supported is None:
        return (
            f"it answered {describe_error(reply.error)}" if reply.error else "it names no revisions"
        )
    common = next((date for date in STATELESS if date in supported), None)
    if common is None:
        if set(supported).isdisjoint(_HANDSHAKE):
            raise PeerError(f"no common revision: the server supports {', '.join(supported)}")
        return f"it supports {', '.join(supported)}"
    if reply.error is not None and retries:
        return await _discover(session, REVISIONS[common], within, retries=retries - 1)
    if reply.error is not None:
        raise PeerError(f"the server rejected a revision that it supports: {common}")
    result = _object(reply.result)
    return Negotiated(
        revision=REVISIONS[common],
        server=_object(_object(result.get("_meta")).get(SERVER_INFO)),
        capabilities=_object(result.get("capabilities")),
        instructions=_text(result.get("instructions")),
    )


def _supported_versions(reply: Reply) -> list[str] | None:
    """Return the revisions that a stateless server supports; None if it is not stateless."""
    error = _object(reply.error)
    if error.get("code") in (HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY):
        raise PeerError(f"the server rejected the handshake: {describe_error(error)}")
    if error.get("code") == UNSUPPORTED_PROTOCOL_VERSION:
        named = _object(error.get("data")).get("supported")
    else:
        named = _object(reply.result).get("supportedVersions")
    return [str(date) for date in named] if isinstance(named, list) else None


async def initialize(session: Session, revision: Revision) -> Negotiated:
    """Perform the handshake, with that revision or the one that the server prefers."""
    session.dispatcher.accepts_requests = True
    reply = await session.request("initialize", _initialize_params(session, revision.date))
    other = _counter_offer(reply, revision)
    if other is not None:
        reply = await session.request("initialize", _initialize_params(session, other))
    if reply.error is not None:
        raise PeerError(f"the server rejected the handshake: {describe_error(reply.error)}")
    result = _object(reply.result)
    date = result.get("protocolVersion")
    if date not in _HANDSHAKE:
        raise PeerError(f"no common revision: the server supports {date!r}")
    await session.notify("notifications/initialized", revision=REVISIONS[date])
    return Negotiated(
        revision=REVISIONS[date],
        server=_object(result.get("serverInfo")),
        capabilities=_object(result.get("capabilities")),
        instructions=_text(result.get("instructions")),
    )


def _initialize_params(session: Session, date: str) -> dict[str, Any]:
    client = session.client
    return {
        "protocolVersion": date,
        "capabilities": client.capabilities,
        "clientInfo": client.info,
    }


def _counter_offer(reply: Reply, tried: Revision) -> str | None:
    """Return a revision from the error of a server that rejected the one it was sent."""
    named = _object(_object(reply.error).get("data")).get("supported")
    if not isinstance(named, list):
        return None
    return next((date for date in _HANDSHAKE if date in named and date != tried.date), None)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
