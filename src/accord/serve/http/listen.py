"""An HTTP server of our own: the app on uvicorn, on this machine unless told otherwise."""

import asyncio
import math
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final, NamedTuple

from accord.errors import ContractError
from accord.serve.http.access import AccessLog
from accord.serve.http.app import App, Beside
from accord.serve.http.settings import Settings
from accord.server import Server

try:
    import uvicorn

    from accord.serve.http.line import Lines, Served
except ImportError as error:
    raise ContractError("HTTP needs an extra: pip install 'accord-mcp[http]'") from error

__all__ = ["AccessLog", "Address", "Settings", "host", "listening", "serve"]

Lifespan = Callable[[Any, Any, Any], Awaitable[None]]

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_BACKLOG: Final = 2048


class Address(NamedTuple):
    """Where to listen."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """`127.0.0.1:8000`, `[::1]:8000`, or a port alone."""
        host, _, port = text.rpartition(":")
        if ":" in host and not (host.startswith("[") and host.endswith("]")):
            raise ContractError(f"{text!r} is no address; put an IPv6 address in brackets")
        if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
            raise ContractError(f"{text!r} is no address; say 127.0.0.1:8000")
        return cls(host.strip("[]") or "127.0.0.1", int(port))

    @property
    def url(self) -> str:
        """How a client on this machine writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def serve(
    server: Server,
    address: Address,
    settings: Settings,
    access: AccessLog | None = None,
    *,
    page: Beside | None = None,
    ready: Callable[[str], None] = lambda _: None,
    on_end: Callable[[float], None] = lambda _: None,
) -> None:
    """Serve until a signal comes; then let open calls finish.

    `ready` is told the URL once it is served, and a signal would end it well; `on_end` is what it
    is for stdio.
    """
    with listening(address, settings.allow_hosts) as (listener, where):
        app = App(server, settings, access, page)
        url = where.url + settings.path
        _Uvicorn(app, settings, on_end, lambda: ready(url)).run(sockets=[listener])


async def host(
    app: Served,
    listener: socket.socket,
    settings: Settings,
    *,
    on_end: Callable[[float], None] = lambda _: None,
) -> None:
    """Serve some other app on a loop that is running already, until a signal comes."""
    await _Uvicorn(app, settings, on_end).serve(sockets=[listener])


@contextmanager
def listening(
    address: Address, allow_hosts: tuple[str, ...] = ()
) -> Iterator[tuple[socket.socket, Address]]:
    """A socket that listens, and where that is: the port may have been left to the system."""
    if address.host not in _LOOPBACK and not allow_hosts:
        raise ContractError(
            f"{address.host!r} can be reached from elsewhere; name the hosts it may answer to with"
            " --allow-host, or listen on 127.0.0.1"
        )
    with _listen(address) as listener:
        yield listener, Address(address.host, listener.getsockname()[1])


def _config(app: Served, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        _living(app),
        http=Lines(app, settings),  # type: ignore[arg-type]  # called like a class, and no more
        lifespan="on",
        ws="none",
        log_config=None,  # its records go where all others go, and are bounded there
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=math.ceil(settings.grace),
    )


def _living(app: Served) -> Lifespan:
    """An app for as long as it is served; all else comes to it by `Lines`.

    Who is told a second time to end, ends it where it stands. uvicorn would call that a failure.
    """

    async def live(scope: Any, receive: Any, send: Any) -> None:
        with suppress(asyncio.CancelledError):
            await app(scope, receive, send)

    return live


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
    """uvicorn, that tells the app at once when it is to end."""

    def __init__(
        self,
        app: Served,
        settings: Settings,
        on_end: Callable[[float], None],
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(_config(app, settings))
        self._app = app
        self._grace = settings.grace
        self._on_end = on_end
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin, and say so."""
        await super().startup(sockets)
        self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End gracefully, and at once when told again; uvicorn itself would die of the signal."""
        self._on_end(0 if self.should_exit else self._grace)
        self._app.stop(at_once=self.should_exit)
        self.force_exit = self.should_exit
        self.should_exit = True
