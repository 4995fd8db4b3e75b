"""Serves the app with uvicorn, on loopback unless hosts are allowed."""

import asyncio
import logging
import math
import signal
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from accord.errors import ContractError, LifespanError
from accord.serve.http.access import AccessLog
from accord.serve.http.address import Address, listening
from accord.serve.http.app import App
from accord.serve.http.endpoints import NO_FIGURES, OtherRoute
from accord.serve.http.links import Figures
from accord.serve.http.settings import Settings, hosts_of
from accord.serve.lifespan import CALLS_SHARE
from accord.server import Server

if TYPE_CHECKING:
    from accord.serve.http.worker import WorkerPlace

try:
    import uvicorn

    from accord.serve.http.connection import Connections, HTTPApp
except ImportError as _error:
    from accord.extras import missing

    raise ContractError(missing("serving over HTTP", "http")) from _error

__all__ = ["AccessLog", "Address", "Settings", "host", "listening", "serve"]

log: logging.Logger = logging.getLogger("accord")

_MAX_DRAIN: Final = 1.0  # seconds for a new client of a worker that ends to send its request
_ACCEPT_PAUSE: Final = 1.0  # seconds
_TURN: Final = 0.002  # seconds in which a worker with fewer connections may accept the next one
_DRAIN_CHECK: Final = 0.02

Lifespan = Callable[[Any, Any, Any], Awaitable[None]]


def serve(
    server: Server,
    address: Address,
    settings: Settings,
    access: AccessLog | None = None,
    *,
    page: OtherRoute | None = None,
    ready: Callable[[str], None] = lambda _: None,
    on_end: Callable[[float], None] = lambda _: None,
    place: "WorkerPlace | None" = None,
    figures: Figures = NO_FIGURES,
) -> None:
    """Serve until a signal comes; then let open calls finish. Raise if the lifespan fails.

    `ready` is given the URL once requests are served; `on_end` is as for stdio. A worker has a
    `place`, and `figures` for the others.
    """
    given = None if place is None else nullcontext((place.listener, address))
    with given or listening(address, hosts_of(settings)) as (listener, where):
        siblings = None if place is None else place.siblings
        app = App(server, settings, access, page, siblings, figures)
        url = where.url + settings.path
        if settings.tls is not None:
            url = url.replace("http:", "https:", 1)
        host = _Uvicorn(app, settings, on_end, lambda: ready(url), place)
        host.run(sockets=[listener])
        if host.failure is not None:
            raise LifespanError(host.failure)


async def host(
    app: HTTPApp,
    listener: socket.socket,
    settings: Settings,
    *,
    on_end: Callable[[float], None] = lambda _: None,
) -> None:
    """Serve another app on the running loop until a signal comes."""
    await _Uvicorn(app, settings, on_end).serve(sockets=[listener])


def _config(settings: Settings, connections: Connections, lifespan: Lifespan) -> uvicorn.Config:
    return uvicorn.Config(
        lifespan,
        interface="asgi3",
        http=connections,  # type: ignore[arg-type]  # called like a class, and no more
        lifespan="on",
        ws="none",
        log_config=None,  # its records go where all others go, and are bounded there
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=math.ceil(settings.grace),
        ssl_certfile=None if settings.tls is None else settings.tls[0],
        ssl_keyfile=None if settings.tls is None else settings.tls[1],
    )


def _loaded(config: uvicorn.Config) -> uvicorn.Config:
    """Load the certificate, if there is one; raise ContractError if it cannot be used."""
    try:
        config.load()
    except (OSError, ValueError) as error:  # SSLError is an OSError
        raise ContractError(
            f"could not use the certificate {config.ssl_certfile} with the key"
            f" {config.ssl_keyfile}: {error}"
        ) from error
    return config


class _Acceptor:
    """Accepts connections on a socket until it is closed, then those that clients have opened."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listener: socket.socket,
        create: Callable[[], asyncio.Protocol],
        tls: ssl.SSLContext | None,
    ) -> None:
        self._loop = loop
        self._listener = listener
        self._tls = tls
        self._create = create
        self._opening: set[asyncio.Task[Any]] = set()
        self._listener.setblocking(False)

    def accept(self) -> bool:
        """Accept a connection; False if there is none."""
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):  # another one took it
            return False
        connection.setblocking(False)
        opening = self._loop.create_task(self._open(connection))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)
        return True

    async def _open(self, connection: socket.socket) -> None:
        with suppress(OSError):  # the client is gone
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.connect_accepted_socket(self._create, connection, ssl=self._tls)

    def close(self) -> None:
        """Accept the connections that clients have opened, and no more."""
        if self._listener.fileno() >= 0:
            with suppress(OSError):
                while self.accept():
                    pass
            self._listener.close()

    async def wait_closed(self) -> None:
        """Wait for the connections that are being opened, but not for a slow TLS handshake."""
        if self._opening:
            await asyncio.wait(self._opening, timeout=_MAX_DRAIN / 2)


class _SharedAcceptor(_Acceptor):
    """Accepts connections on the socket that workers share.

    A worker that has more connections than another lets that go first: clients keep connections
    open, so that one worker would have most of the work.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        place: "WorkerPlace",
        create: Callable[[], asyncio.Protocol],
        tls: ssl.SSLContext | None,
    ) -> None:
        super().__init__(loop, place.listener, create, tls)
        self._place = place
        self._has_waited = False
        loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        if not self._has_waited and self._place.has_more_connections():
            self._has_waited = True
            self._pause(_TURN)
            return
        self._has_waited = False
        try:
            self.accept()
        except OSError:  # too many descriptors are open
            log.exception("A connection could not be accepted")
            self._pause(_ACCEPT_PAUSE)

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._loop.call_later(seconds, self._resume)

    def _resume(self) -> None:
        if self._listener.fileno() >= 0:
            self._loop.add_reader(self._listener, self._accept)

    def close(self) -> None:
        """Accept the connections that clients have opened, and no more."""
        if self._listener.fileno() >= 0:
            self._loop.remove_reader(self._listener)
        super().close()


class _Uvicorn(uvicorn.Server):
    """uvicorn's server, which also stops the app as soon as a signal comes."""

    def __init__(
        self,
        app: HTTPApp,
        settings: Settings,
        on_end: Callable[[float], None],
        ready: Callable[[], None] = lambda: None,
        place: "WorkerPlace | None" = None,
    ) -> None:
        self._connections = Connections(app, settings)
        super().__init__(_loaded(_config(settings, self._connections, self._live)))
        self.failure: str | None = None
        """How the lifespan failed at its end."""
        self._start: asyncio.Task[None] | None = None
        self._place = place
        self._app = app
        self._grace = settings.grace
        self._drain_seconds = min(_MAX_DRAIN, settings.grace / 2)
        self._on_end = on_end
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the app, listen, then call `ready`; a signal ends the start.

        uvicorn would log the failure of the app, and wait for its start after a signal.
        """
        self._start = asyncio.create_task(self._app.start())
        await asyncio.wait([self._start])
        if self._start.cancelled():
            return
        self._start.result()
        if self._app.has_lifespan:
            calls: Any = self._grace * CALLS_SHARE
            self.config.timeout_graceful_shutdown = calls
        if self._place is None:
            await super().startup(sockets)
        else:
            await super().startup([])
            self._connections.on_count = self._place.set_count
            self._place.set_count(0)
            loop = asyncio.get_running_loop()
            acceptor = _SharedAcceptor(loop, self._place, self._create, self.config.ssl)
            self.servers = [acceptor]  # type: ignore[list-item]  # has what uvicorn uses of a Server
        self._ready()

    def _create(self) -> asyncio.Protocol:
        """Create the protocol of a new connection."""
        return self._connections(server_state=self.server_state)

    async def _live(self, scope: Any, receive: Any, send: Any) -> None:
        """Run the lifespan of the app; requests reach it through `Connections`.

        A second signal cancels it. uvicorn would log that, and a failure, in two more lines.
        """

        async def tell(message: Any) -> None:
            if message["type"] == "lifespan.shutdown.failed":
                self.failure = message["message"]
                message = {"type": "lifespan.shutdown.complete"}
            await send(message)

        with suppress(asyncio.CancelledError):
            await self._app(scope, receive, tell)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Shut down gracefully, at once on a second signal; uvicorn would raise it again.

        A worker is told by its supervisor: signals to the whole group are for that alone.
        """
        at_once = self.should_exit
        if self._place is not None:
            at_once = self._place.ends_at_once
            if sig == signal.SIGINT or (self.should_exit and not at_once):
                return
        if sig == signal.SIGINT:
            self._drain_seconds = 0.0
        self._on_end(0 if at_once else self._grace + self._drain_seconds)
        if at_once or not self._drain_seconds:
            self._app.stop(at_once=at_once)
        start = self._start
        if start is not None and not start.done():
            start.get_loop().call_soon_threadsafe(start.cancel)
        self.force_exit = at_once
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the connections and wait for the calls in flight.

        Other processes go on, behind a balancer or on the same port. So requests on open
        connections are answered for a while: no client is refused that cannot know of the end.
        """
        if not self.force_exit:
            await self._drain(sockets or [])
            self._app.stop()
        await super().shutdown(sockets)

    async def _drain(self, sockets: list[socket.socket]) -> None:
        """Accept no further connections, and answer what comes on the open ones for a while."""
        acceptors: list[Any] = list(self.servers)
        if self._place is None:  # the copies keep connections that were not accepted yet
            loop = asyncio.get_running_loop()
            copies = [each.dup() for each in sockets]
            acceptors = [_Acceptor(loop, each, self._create, self.config.ssl) for each in copies]
            for server in self.servers:
                server.close()
        for each in acceptors:
            each.close()
            await each.wait_closed()
        self._connections.drain()
        self._app.drain()
        end = monotonic() + self._drain_seconds
        while (  # noqa: ASYNC110 - as uvicorn waits
            self._connections.may_bring_requests and monotonic() < end and not self.force_exit
        ):
            await asyncio.sleep(_DRAIN_CHECK)
