"""Requests through a proxy: forwarded without TLS, tunnelled with it."""

import asyncio
import ssl
from contextlib import suppress

import pytest

from accord.client.peer import connect
from accord.http1 import ConnectFailed, HTTPError, Pool
from accord.http1.proxies import Proxies
from client.connections import descriptors, text
from http1.raw_server import (
    OK,
    Authority,
    Peer,
    RawServer,
    Talk,
    both_loops,
    get,
    raw_server,
    run,
)
from http1.test_pool import answer
from peers.scripted_server import scripted_server, stateless

Seen = list[tuple[str, dict[str, str]]]


def forwarding(seen: Seen) -> Talk:
    """A proxy: it answers what it should forward, and opens tunnels."""

    async def talk(peer: Peer) -> None:
        while request := await peer.request():
            first, headers, _ = request
            seen.append((first, headers))
            if first.startswith("CONNECT"):
                await peer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await relay(peer, int(first.split()[1].rpartition(":")[2]))
                return
            await peer.write(OK)

    return talk


async def relay(peer: Peer, port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65_536):
                target.write(data)
                await target.drain()
        target.close()

    await asyncio.gather(copy(peer.reader, writer), copy(reader, peer.writer))


def through(proxy: RawServer, **options: object) -> Pool:
    host = f"{proxy.url.host}:{proxy.url.port}"
    address = f"{proxy.url.scheme}://me:p%40ss@{host}"
    return Pool(proxies=Proxies({"all": address, "no": "past.example"}), **options)  # type: ignore[arg-type]


@both_loops
def test_a_request_without_tls_names_the_whole_url_and_keeps_the_connection(loop: str) -> None:
    seen: Seen = []

    async def main() -> int:
        async with raw_server(forwarding(seen)) as proxy, raw_server(answer) as server:
            pool = through(proxy)
            for _ in range(2):
                assert await get(pool, server.url, b"x") == b"ok"
            await pool.close()
            assert server.connections == 0
            assert seen[0][0] == f"POST {server.url.bare} HTTP/1.1"
            assert seen[0][1]["host"] == server.url.host_header
            return proxy.connections

    assert run(main(), loop) == 1
    assert seen[1][1]["proxy-authorization"] == "Basic bWU6cEBzcw=="


@both_loops
@pytest.mark.parametrize("is_tls_to_proxy", [False, True])
def test_tls_goes_through_a_tunnel_and_the_proxy_sees_no_header_of_the_request(
    is_tls_to_proxy: bool, loop: str, authority: Authority
) -> None:
    seen: Seen = []
    proxy_tls = authority.serving("127.0.0.1") if is_tls_to_proxy else None

    async def main() -> tuple[int, int]:
        async with (
            raw_server(forwarding(seen), tls=proxy_tls) as proxy,
            raw_server(answer, tls=authority.serving("127.0.0.1")) as server,
        ):
            pool = through(proxy, tls=authority.trusted)
            for _ in range(3):
                assert await get(pool, server.url, b"x") == b"ok"
            await pool.close()
            assert seen[0][0] == f"CONNECT {server.url.host_header} HTTP/1.1"
            assert seen[0][1].keys() == {"host", "proxy-authorization"}
            await proxy.deserted()
            return proxy.connections, server.connections

    assert run(main(), loop) == (1, 1)


@both_loops
def test_the_certificate_of_the_server_behind_a_tunnel_is_verified(
    loop: str, authority: Authority
) -> None:
    async def main() -> None:
        async with (
            raw_server(forwarding([])) as proxy,
            raw_server(answer, tls=authority.serving("127.0.0.2")) as server,
        ):
            pool = through(proxy, tls=authority.trusted)
            with pytest.raises(ConnectFailed, match=r"not valid for '127.0.0.1'"):
                await get(pool, server.url)
            await pool.close()
            await proxy.deserted()

    run(main(), loop)


@both_loops
@pytest.mark.parametrize(
    ("response", "sentence"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "the proxy .* with HTTP 407$"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://a/\r\n\r\n", "the proxy .* with HTTP 302$"),
        (b"nonsense\r\n\r\n", "invalid response"),
        (b"", "without a response"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "closed the connection at once|TLS failed"),
    ],
)
def test_a_proxy_that_opens_no_tunnel_is_an_error(
    response: bytes, sentence: str, loop: str, authority: Authority
) -> None:
    async def refuse(peer: Peer) -> None:
        await peer.request()
        await peer.write(response)

    async def main() -> None:
        async with raw_server(refuse) as proxy, raw_server(answer) as server:
            pool = through(proxy, tls=authority.trusted)
            secret = server.url.join(server.url.bare.replace("http", "https"))
            with pytest.raises(HTTPError, match=sentence) as caught:
                await get(pool, secret)
            assert "p%40ss" not in str(caught.value)
            await pool.close()
            await proxy.deserted()

    run(main(), loop)


async def never_answer(peer: Peer) -> None:
    await peer.request()
    await peer.ended()


async def never_shake_hands(peer: Peer) -> None:
    await peer.request()
    await peer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while await peer.reader.read(1_000):
        pass


@both_loops
@pytest.mark.parametrize("talk", [never_answer, never_shake_hands])
def test_opening_a_tunnel_may_be_cancelled(talk: Talk, loop: str, authority: Authority) -> None:
    async def main() -> tuple[int, int]:
        counts = []
        async with raw_server(talk) as proxy, raw_server(answer) as server:
            pool = through(proxy, tls=authority.trusted)
            secret = server.url.join(server.url.bare.replace("http", "https"))
            for _ in range(3):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await get(pool, secret)
                await proxy.deserted()
                await asyncio.sleep(0.05)
                counts.append(descriptors())
            await pool.close()
        return counts[0], counts[-1]

    first, last = run(main(), loop)
    assert last == first


@pytest.mark.usefixtures("_fresh_trust")
def test_the_client_uses_the_proxies_of_the_environment(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: Seen = []

    async def main(tls: ssl.SSLContext | None) -> str:
        async with raw_server(forwarding(seen)) as proxy, scripted_server(stateless, tls) as server:
            monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.url.port}")
            monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
            monkeypatch.setenv("NO_PROXY", "" if tls else "127.0.0.1")
            async with connect(server.url) as peer:
                return text(await peer.call("hello"))

    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    assert run(main(authority.serving("127.0.0.1"))) == "well"
    assert [first.split()[0] for first, _ in seen] == ["CONNECT"]
    assert run(main(None)) == "well"
    assert len(seen) == 1
