"""A server of raw bytes in the event loop of a test, and what a test needs around it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar

import pytest
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from accord.http1 import URL, Pool, Response
from accord.http1.proxies import Proxies

T = TypeVar("T")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

both_loops = pytest.mark.parametrize("loop", ["asyncio", "uvloop"])


def run(main: Coroutine[Any, Any, T], loop: str = "asyncio") -> T:
    """Run a coroutine on one kind of event loop; nothing may hang."""
    limited = asyncio.wait_for(main, 30)
    return uvloop.run(limited) if loop == "uvloop" else asyncio.run(limited)


class Peer:
    """One connection, as the server sees it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def request(self) -> tuple[str, dict[str, str], bytes] | None:
        """Read a request: its first line, headers and body; None at the end."""
        try:
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        first, *lines = head.strip().split("\r\n")
        headers = {name: value for name, _, value in (line.partition(": ") for line in lines)}
        body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return first, headers, body

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def ended(self) -> bool:
        """Wait until the client closes the connection; False if it sends something."""
        try:
            return await self.reader.read(1) == b""
        except ConnectionError:
            return True


Talk = Callable[[Peer], Awaitable[None]]


class RawServer:
    """A running server, the requests that came, and its connections."""

    def __init__(self, talk: Talk) -> None:
        self.connections = 0
        self.open = 0
        self.requests: list[str] = []
        self.url = URL.parse("http://127.0.0.1")
        self._talk = talk
        self._tasks: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(Peer(reader, writer)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, peer: Peer) -> None:
        self.connections += 1
        self.open += 1
        try:
            await self._talk(peer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            peer.writer.close()

    async def deserted(self) -> None:
        """Wait until no connection is left."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await self.deserted()


@asynccontextmanager
async def raw_server(
    talk: Talk,
    *,
    tls: ssl.SSLContext | None = None,
    host: str = "127.0.0.1",
    name: str | None = None,
) -> AsyncIterator[RawServer]:
    """Serve each connection by `talk`; `name` is the host of the URL, if not the address."""
    server = RawServer(talk)
    listener = await asyncio.start_server(server.accept, host, 0, ssl=tls)
    port = listener.sockets[0].getsockname()[1]
    shown = name or (f"[{host}]" if ":" in host else host)
    server.url = URL.parse(f"{'http' if tls is None else 'https'}://{shown}:{port}/mcp")
    try:
        yield server
    finally:
        listener.close()
        await server.close()


@asynccontextmanager
async def opened(**options: Any) -> AsyncIterator[Pool]:
    """A pool that ignores the proxies of the environment."""
    pool = Pool(**{"proxies": Proxies({}), **options})
    try:
        yield pool
    finally:
        await pool.close()


async def get(pool: Pool, url: URL, body: bytes | None = None, **options: Any) -> bytes:
    """POST a body, or GET, and return the body of the response."""
    response: Response = await pool.open(
        "GET" if body is None else "POST", url, {}, body, **options
    )
    try:
        return await response.read(1_000_000)
    finally:
        response.close()


class Authority:
    """A certificate authority of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        certificate = self._sign(self._name, self._key, x509.BasicConstraints(True, None), True)
        self.file = folder / "authority.pem"
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def trusted(self) -> ssl.SSLContext:
        """A client's context that trusts this authority only."""
        return ssl.create_default_context(cafile=self.file)

    def issue(self, host: str, days: int = 1) -> Path:
        """Write the key and the certificate of a server, named by address or domain."""
        key = ec.generate_private_key(ec.SECP256R1())
        try:
            shown: x509.GeneralName = x509.IPAddress(ip_address(host))
        except ValueError:
            shown = x509.DNSName(host)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
        certificate = self._sign(name, key, x509.SubjectAlternativeName([shown]), False, days)
        path = self._folder / f"{host.replace(':', '_')}.pem"
        secret = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        path.write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
        return path

    def serving(self, host: str, days: int = 1) -> ssl.SSLContext:
        """A server's context with a certificate for this host."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.issue(host, days))
        return context

    def _sign(
        self, name: x509.Name, key: Any, extension: Any, is_authority: bool, days: int = 1
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        ours = self._key.public_key()
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=9))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(extension, critical=is_authority)
            # Python 3.13 refuses certificates without these.
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ours), False)
            .add_extension(usage(is_authority), True)
        )
        return builder.sign(self._key, hashes.SHA256())


def usage(is_authority: bool) -> x509.KeyUsage:
    """What a key may sign: other certificates, or handshakes."""
    return x509.KeyUsage(
        digital_signature=not is_authority,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
