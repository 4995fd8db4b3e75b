"""Which addresses the metadata of a server may name."""

import asyncio
import socket
from typing import Any

import pytest

from accord.auth.fetch import FetchError
from accord.auth.sign_in.addresses import Reach
from accord.auth.sign_in.endpoints import Endpoints
from accord.errors import SignInError

NAMES = {
    "mcp.example": ["93.184.216.34"],
    "as.example": ["93.184.216.35", "2606:2800:220:1::1"],
    "mcp.corp.example": ["10.0.0.5"],
    "as.corp.example": ["192.168.7.7", "fd00::1"],
    "rebound.example": ["93.184.216.36", "127.0.0.1"],
    "mapped.example": ["::ffff:10.0.0.1"],
    "cloud.example": ["169.254.169.254"],
    "shared.example": ["100.64.0.1"],
    "zero.example": ["0.0.0.0"],
}
PUBLIC, PRIVATE, LOCAL = "https://mcp.example/mcp", "https://mcp.corp.example/mcp", "http://127.0.0.1:8000/mcp"  # fmt: skip
NAMED_HTTP = "http://mcp.corp.example/mcp"


@pytest.fixture(autouse=True)
def resolver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolve the names of the table, and addresses to themselves."""

    async def getaddrinfo(self: Any, host: str, port: Any, **_: Any) -> list[Any]:
        if host not in NAMES and not host[0].isdigit() and ":" not in host:
            raise socket.gaierror("unknown")
        return [(0, 0, 0, "", (each, 0)) for each in NAMES.get(host, [host])]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)


@pytest.mark.parametrize(
    ("server", "url", "is_allowed"),
    [
        (PUBLIC, "https://as.example/token", True),
        (PUBLIC, "https://unknown.example/token", True),
        (PUBLIC, "http://as.example/token", False),
        (PUBLIC, "https://as.corp.example/token", False),
        (PUBLIC, "https://rebound.example/token", False),
        (PUBLIC, "https://mapped.example/token", False),
        (PUBLIC, "https://cloud.example/token", False),
        (PUBLIC, "https://shared.example/token", False),
        (PUBLIC, "https://zero.example/token", False),
        (PUBLIC, "https://10.1.2.3/token", False),
        (PUBLIC, "https://[fd00::1]/token", False),
        (PUBLIC, "https://[fec0::1]/token", False),
        (PUBLIC, "https://[::ffff:127.0.0.1]/token", False),
        (PUBLIC, "https://[64:ff9b::a9fe:a9fe]/token", False),
        (PUBLIC, "https://[64:ff9b::7f00:1]/token", False),
        (PUBLIC, "https://[64:ff9b::5db8:d822]/token", True),
        (PUBLIC, "https://[2002:a00:1::1]/token", False),
        (PUBLIC, "https://[::10.0.0.1]/token", False),
        (PUBLIC, "https://[::]/token", False),
        (PUBLIC, "https://127.0.0.1/token", False),
        (PUBLIC, "https://localhost/token", False),
        (PUBLIC, "http://localhost:8080/token", False),
        (PUBLIC, "https://user:pass@as.example/token", False),
        (PUBLIC, "https://as.example/token#x", False),
        (PUBLIC, "https://as.example/to\nken", False),
        (PUBLIC, "https://as.example:port/token", False),
        (PUBLIC, "ftp://as.example/token", False),
        (PUBLIC, "file:///etc/passwd", False),
        (PUBLIC, "//as.example/token", False),
        (PUBLIC, "", False),
        (PRIVATE, "https://as.corp.example/token", True),
        (PRIVATE, "https://as.example/token", True),
        (PRIVATE, "https://rebound.example/token", False),
        (PRIVATE, "https://cloud.example/token", False),
        (PRIVATE, "http://as.corp.example/token", False),
        (NAMED_HTTP, "http://as.corp.example/token", True),
        (NAMED_HTTP, "http://127.0.0.1/token", False),
        (LOCAL, "http://127.0.0.1:9000/token", True),
        (LOCAL, "http://localhost:9000/token", True),
        (LOCAL, "https://as.example/token", True),
        (LOCAL, "https://as.corp.example/token", True),
        (LOCAL, "http://as.example/token", False),
        (LOCAL, "https://cloud.example/token", False),
    ],
)
def test_metadata_leads_no_closer_to_this_machine_than_its_server(
    server: str, url: str, is_allowed: bool
) -> None:
    if is_allowed:
        asyncio.run(Reach(server).require(url))
    else:
        with pytest.raises(SignInError):
            asyncio.run(Reach(server).require(url))


@pytest.mark.parametrize(
    ("server", "seen", "later", "is_accepted"),
    [
        (PUBLIC, "https://as.example", "93.184.216.99", True),
        (PUBLIC, "https://as.example", "127.0.0.1", False),
        (PUBLIC, "https://as.example", "10.0.0.1", False),
        (PUBLIC, "https://as.example", "::1", False),
        (PUBLIC, "https://as.example", "fe80::1%eth0", False),
        (PRIVATE, "https://as.corp.example", "10.0.0.9", True),
        (PRIVATE, "https://as.corp.example", "127.0.0.1", False),
        (LOCAL, "http://127.0.0.1:9000", "127.0.0.1", True),
        (LOCAL, "http://127.0.0.1:9000", "169.254.169.254", False),
    ],
)
def test_the_address_of_a_connection_is_checked_as_well(
    server: str, seen: str, later: str, is_accepted: bool
) -> None:
    reach = Reach(server)
    asyncio.run(reach.require(seen))
    assert reach.accepts(later) is is_accepted


def test_a_name_that_changes_its_address_gets_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first lookups give an address of the internet, that of the connection loopback."""
    received: list[bytes] = []

    async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.read(1))
        writer.transport.abort()

    async def main() -> None:
        inside = await asyncio.start_server(receive, "127.0.0.1", 0)
        port = inside.sockets[0].getsockname()[1]

        async def rebinding(self: Any, host: str, asked: Any, **_: Any) -> list[Any]:
            found = "127.0.0.1" if asked else "93.184.216.34"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (found, asked or 0))]

        monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", rebinding)
        with pytest.raises(FetchError, match="its address is not allowed"):
            await Endpoints(f"http://mcp.example:{port}/mcp").discover(None)
        inside.close()
        await asyncio.sleep(0.05)  # for the handler to end

    asyncio.run(main())
    assert b"".join(received) == b""


def test_a_server_whose_name_moves_to_this_machine_leads_nowhere() -> None:
    async def main() -> None:
        reach = Reach("https://rebound.example/mcp")
        with pytest.raises(SignInError, match="private network"):
            await reach.require("https://rebound.example/.well-known/openid-configuration")

    asyncio.run(main())
