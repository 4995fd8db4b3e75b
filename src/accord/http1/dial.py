"""Opens a connection: the lookup of the name, the race of its addresses, TLS, a proxy's tunnel."""

import asyncio
import os
import socket
import ssl
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, zip_longest
from typing import Any, Final

from accord.http1.connection import Connection
from accord.http1.errors import ConnectFailed
from accord.http1.tls import describe_tls_error
from accord.http1.url import URL

Address = tuple[socket.AddressFamily, Any]
"""A family, and what `connect` takes."""

_DELAY: Final = 0.25  # seconds between attempts; the recommendation of RFC 8305
_SUCCESS: Final = range(200, 300)


async def dial(
    url: URL, proxy: URL | None, connection: Connection, tls: Callable[[], ssl.SSLContext]
) -> None:
    """Connect to a URL's server; raise ConnectFailed if that is not possible."""
    try:
        with _translated_errors():
            await _connect(proxy or url, connection, tls)
            if proxy is not None and url.is_tls:
                await _open_tunnel(url, proxy, connection)
                await _start_tls(url, connection, tls())
    except BaseException:
        connection.abort()
        raise


async def _connect(url: URL, connection: Connection, tls: Callable[[], ssl.SSLContext]) -> None:
    loop = asyncio.get_running_loop()
    options: dict[str, Any] = {}
    if url.is_tls:
        options = {"ssl": tls(), "server_hostname": _server_name(url)}
    if _is_address(url.host):
        await loop.create_connection(lambda: connection, url.host, url.port, **options)
        return
    found = await _open_socket(url.host, url.port)
    try:
        await loop.create_connection(lambda: connection, sock=found, **options)
    except BaseException:
        found.close()
        raise


async def _start_tls(url: URL, connection: Connection, context: ssl.SSLContext) -> None:
    loop = asyncio.get_running_loop()
    transport = await loop.start_tls(
        connection.transport, connection, context, server_hostname=_server_name(url)
    )
    if transport is None:
        raise ConnectFailed("the connection ended before TLS was started")
    connection.connection_made(transport)


async def _open_tunnel(url: URL, proxy: URL, connection: Connection) -> None:
    host = f"[{url.host}]" if ":" in url.host else url.host
    lines = [f"CONNECT {host}:{url.port} HTTP/1.1", f"host: {host}:{url.port}"]
    if proxy.credentials is not None:
        lines.append(f"proxy-authorization: {proxy.credentials}")
    if not connection.send("CONNECT", "\r\n".join([*lines, "", ""]).encode(), b""):
        raise ConnectFailed(f"the proxy {proxy.bare} closed the connection at once")
    answer = await connection.receive_head()
    if answer.status not in _SUCCESS:
        raise ConnectFailed(f"the proxy {proxy.bare} answered with HTTP {answer.status}")
    connection.begin_tunnel()


def _server_name(url: URL) -> str:
    return url.host.partition("%")[0].rstrip(".")


def _is_address(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host.partition("%")[0])
        except OSError:
            continue
        return True
    return False


# Names with several addresses: a dead one must not hold up the others. asyncio can do this by
# itself, but uvloop cannot.


async def _open_socket(host: str, port: int) -> socket.socket:
    """Connect to the address of a name that answers first, starting with the first one."""
    waiting = deque(interleave(await look_up(host, port)))
    attempts: list[asyncio.Task[socket.socket]] = []
    errors: list[BaseException] = []
    winner = None
    try:
        while waiting or len(errors) < len(attempts):
            if waiting:
                attempts.append(asyncio.create_task(_open_address(waiting.popleft())))
            await asyncio.wait(
                [task for task in attempts if not task.done()] or attempts,
                timeout=_DELAY if waiting else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            ended = [task for task in attempts if task.done()]
            winner = next((task for task in ended if task.exception() is None), None)
            if winner is not None:
                return winner.result()
            errors = [error for task in ended if (error := task.exception()) is not None]
        raise errors[0] if errors else OSError(f"{host} has no address")
    finally:
        _abandon(task for task in attempts if task is not winner)


async def look_up(host: str, port: int) -> list[Address]:
    """Return the addresses of a name."""
    loop = asyncio.get_running_loop()
    infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in infos]


def interleave(addresses: Iterable[Address]) -> list[Address]:
    """Order addresses so that the families take turns; the first stays the first."""
    by_family: dict[int, list[Address]] = {}
    for address in addresses:
        by_family.setdefault(address[0], []).append(address)
    turns = zip_longest(*by_family.values())
    return [address for address in chain.from_iterable(turns) if address is not None]


async def _open_address(address: Address) -> socket.socket:
    family, target = address
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setblocking(False)
        await asyncio.get_running_loop().sock_connect(opened, target)
    except BaseException:
        opened.close()
        raise
    return opened


def _abandon(attempts: Iterable[asyncio.Task[socket.socket]]) -> None:
    for task in attempts:
        if not task.done():
            task.cancel()
        elif not task.cancelled() and task.exception() is None:
            task.result().close()


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except ssl.SSLError as error:
        raise ConnectFailed(describe_tls_error(error)) from error
    except OSError as error:
        raise ConnectFailed(_describe(error), is_refused=error.errno is not None) from error
    except UnicodeError as error:  # of a name that cannot be looked up
        raise ConnectFailed(f"the name is invalid: {error}") from error


def _describe(error: OSError) -> str:
    if error.errno is None:  # asyncio's and uvloop's own
        is_lost = isinstance(error, ConnectionError)
        return "the server closed the connection at once" if is_lost else str(error)
    return os.strerror(error.errno) if error.errno > 0 else str(error.strerror)
