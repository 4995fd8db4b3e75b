"""Serves the app with uvicorn, on loopback unless hosts are allowed."""

import asyncio
import math
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final, NamedTuple

from accord.errors import ContractError, LifespanError
from accord.serve.http.access import AccessLog
from accord.serve.http.app import App, OtherRoute
from accord.serve.http.settings import Settings
from accord.serve.lifespan import CALLS_SHARE
from accord.server import Server

try:
    import uvicorn

    from accord.serve.http.connection import Connections, HTTPApp
except ImportError as error:
    raise ContractError("HTTP needs an extra: pip install 'accord-mcp[http]'") from error

__all__ = ["AccessLog", "Address", "Settings", "host", "listening", "serve"]

Lifespan = Callable[[Any, Any, Any], Awaitable[None]]

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_BACKLOG: Final = 2048


class Address(NamedTuple):
    """A host and a port to listen on."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse `127.0.0.1:8000`, `[::1]:8000`, or a port alone."""
        host, _, port = text.rpartition(":")
        if ":" in host and not (host.startswith("[") and host.endswith("]")):
            raise ContractError(f"{text!r} is not an address; put an IPv6 address in brackets")
        if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
            raise ContractError(f"{text!r} is not an address; use 127.0.0.1:8000")
        return cls(host.strip("[]") or "127.0.0.1", int(port))

    @property
    def url(self) -> str:
        """The URL for a client on this machine."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def serve(
    server: Server,
    address: Address,
    settings: Settings,
    access: AccessLog | None = None,
    *,
    page: OtherRoute | None = None,
    ready: Callable[[str], None] = lambda _: None,
    on_end: Callable[[float], None] = lambda _: None,
) -> None:
    """Serve until a signal comes; then let open calls finish. Raise if the lifespan fails.

    `ready` is given the URL once requests are served; `on_end` is as for stdio.
    """
    with listening(address, settings.allow_hosts) as (listener, where):
        app = App(server, settings, access, page)
        url = where.url + settings.path
        host = _Uvicorn(app, settings, on_end, lambda: ready(url))
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


@contextmanager
def listening(
    address: Address, allow_hosts: tuple[str, ...] = ()
) -> Iterator[tuple[socket.socket, Address]]:
    """Open a listening socket; gives it with its address, since port 0 lets the system choose."""
    if address.host not in _LOOPBACK and not allow_hosts:
        raise ContractError(
            f"{address.host!r} can be reached from elsewhere; name the hosts it may answer to with"
            " --allow-host, or listen on 127.0.0.1"
        )
    with _listen(address) as listener:
        yield listener, Address(address.host, listener.getsockname()[1])


def _config(app: HTTPApp, settings: Settings, lifespan: Lifespan) -> uvicorn.Config:
    return uvicorn.Config(
        lifespan,
        interface="asgi3",
        http=Connections(app, settings),  # type: ignore[arg-type]  # called like a class, and no more
        lifespan="on",
        ws="none",
        log_config=None,  # its records go where all others go, and are bounded there
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=math.ceil(settings.grace),
    )


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except (OSError, UnicodeError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise ContractError(
            f"cannot listen on {address.host}:{address.port}: {reason}; try another port"
        ) from error
    listener.listen(_BACKLOG)
    return listener


class _Uvicorn(uvicorn.Server):
    """uvicorn's server, which also stops the app as soon as a signal comes."""

    def __init__(
        self,
        app: HTTPApp,
        settings: Settings,
        on_end: Callable[[float], None],
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(_config(app, settings, self._live))
        self.failure: str | None = None
        """How the lifespan failed at its end."""
        self._start: asyncio.Task[None] | None = None
        self._app = app
        self._grace = settings.grace
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
        await super().startup(sockets)
        self._ready()

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
        """Shut down gracefully, at once on a second signal; uvicorn would raise it again."""
        self._on_end(0 if self.should_exit else self._grace)
        self._app.stop(at_once=self.should_exit)
        start = self._start
        if start is not None and not start.done():
            start.get_loop().call_soon_threadsafe(start.cancel)
        self.force_exit = self.should_exit
        self.should_exit = True
