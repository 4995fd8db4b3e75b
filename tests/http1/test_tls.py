"""TLS, by an authority of the test: who is trusted, and what is said of those who are not."""

import asyncio
import ssl
from types import SimpleNamespace

import pytest

from accord.client.peer import connect
from accord.errors import PeerError
from accord.http1 import ConnectFailed, HTTPError, Pool
from accord.http1.tls import system_trust
from client.connections import descriptors, text
from http1.raw_server import Authority, Peer, both_loops, get, opened, raw_server, run
from http1.test_pool import answer
from peers.scripted_server import scripted_server, stateless


@both_loops
@pytest.mark.parametrize(("host", "name"), [("127.0.0.1", None), ("localhost", "localhost")])
def test_a_server_with_a_trusted_certificate_is_reached_and_its_connection_kept(
    host: str, name: str | None, loop: str, authority: Authority
) -> None:
    asked: list[str | None] = []
    context = authority.serving(host)
    context.sni_callback = lambda _, server_name, __: asked.append(server_name)

    async def main() -> tuple[int, list[bytes]]:
        async with (
            raw_server(answer, tls=context, name=name) as server,
            opened(tls=authority.trusted) as pool,
        ):
            bodies = [await get(pool, server.url, b"x") for _ in range(3)]
            return server.connections, bodies

    assert run(main(), loop) == (1, [b"ok"] * 3)
    assert asked == [name]


@both_loops
@pytest.mark.parametrize(
    ("host", "days", "is_trusted", "sentence"),
    [
        ("127.0.0.1", 1, False, "certificate is not trusted: .*; name a file .* in SSL_CERT_FILE"),
        ("127.0.0.1", -1, True, "certificate is not trusted: certificate has expired"),
        ("127.0.0.2", 1, True, "is not trusted: .*certificate is not valid for '127.0.0.1'$"),
        ("example.com", 1, True, "is not trusted: .*certificate is not valid for '127.0.0.1'$"),
    ],
)
def test_a_certificate_that_is_not_trusted_is_refused_with_the_reason(
    host: str, days: int, is_trusted: bool, sentence: str, loop: str, authority: Authority
) -> None:
    trust = authority.trusted if is_trusted else system_trust

    async def main() -> None:
        served = authority.serving(host, days)
        async with raw_server(answer, tls=served) as server, opened(tls=trust) as pool:
            with pytest.raises(ConnectFailed, match=sentence):
                await get(pool, server.url)

    run(main(), loop)


@both_loops
def test_tls_where_there_is_none_and_none_where_there_is_are_errors(
    loop: str, authority: Authority
) -> None:
    async def main() -> None:
        async with opened(tls=authority.trusted) as pool:
            async with raw_server(answer, tls=authority.serving("127.0.0.1")) as server:
                plain = server.url.join(server.url.bare.replace("https", "http"))
                with pytest.raises(HTTPError):
                    await get(pool, plain)
            async with raw_server(speak_at_once) as server:
                secret = server.url.join(server.url.bare.replace("http", "https"))
                with pytest.raises(
                    ConnectFailed, match=r"does not speak TLS on this port|TLS failed"
                ):
                    await get(pool, secret)

    run(main(), loop)


async def speak_at_once(peer: Peer) -> None:
    await peer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    await peer.ended()


async def say_nothing(peer: Peer) -> None:
    while await peer.reader.read(1_000):
        pass


@both_loops
def test_a_handshake_may_be_cancelled(loop: str, authority: Authority) -> None:
    async def main() -> tuple[int, int]:
        counts = []
        async with raw_server(say_nothing) as server, opened(tls=authority.trusted) as pool:
            secret = server.url.join(server.url.bare.replace("http", "https"))
            for _ in range(3):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await get(pool, secret)
                await server.deserted()
                await asyncio.sleep(0.05)
                counts.append(descriptors())
        return counts[0], counts[-1]

    first, last = run(main(), loop)
    assert last == first


@both_loops
def test_a_name_with_a_wrong_certificate_leaves_no_socket(loop: str, authority: Authority) -> None:
    async def main() -> tuple[int, int]:
        counts = []
        served = authority.serving("127.0.0.1")
        async with (
            raw_server(answer, tls=served, name="localhost") as server,
            opened(tls=authority.trusted) as pool,
        ):
            for _ in range(3):
                with pytest.raises(ConnectFailed, match="not valid for 'localhost'"):
                    await get(pool, server.url)
                await server.deserted()
                await asyncio.sleep(0.05)
                counts.append(descriptors())
        return counts[0], counts[-1]

    first, last = run(main(), loop)
    assert last == first


@both_loops
def test_nothing_is_left_open_over_tls(loop: str, authority: Authority) -> None:
    async def main() -> tuple[int, int]:
        counts = []
        async with raw_server(answer, tls=authority.serving("127.0.0.1")) as server:
            for _ in range(3):
                async with opened(tls=authority.trusted) as pool:
                    await asyncio.gather(*(get(pool, server.url, b"x") for _ in range(4)))
                await server.deserted()
                await asyncio.sleep(0.05)
                counts.append(descriptors())
        return counts[0], counts[-1]

    first, last = run(main(), loop)
    assert last == first


@pytest.mark.usefixtures("_fresh_trust")
def test_an_authority_may_be_named_in_the_environment(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> str:
        served = authority.serving("127.0.0.1")
        async with scripted_server(stateless, tls=served) as server, connect(server.url) as peer:
            return text(await peer.call("hello"))

    with pytest.raises(PeerError, match=r"could not reach https://.* certificate is not trusted"):
        run(main())
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    system_trust.cache_clear()
    assert run(main()) == "well"


@pytest.mark.usefixtures("_fresh_trust")
def test_certificates_are_loaded_once_and_only_for_tls() -> None:
    async def main() -> list[int]:
        loaded = []
        async with (
            raw_server(answer) as server,
            raw_server(speak_at_once) as other,
            opened() as pool,
        ):
            await get(pool, server.url)
            loaded.append(system_trust.cache_info().misses)
            secret = other.url.join(other.url.bare.replace("http", "https"))
            for each in (pool, Pool()):
                with pytest.raises(HTTPError):
                    await get(each, secret)
            loaded.append(system_trust.cache_info().misses)
        return loaded

    assert run(main()) == [0, 1]


@pytest.mark.usefixtures("_fresh_trust")
def test_certificates_are_found_where_openssl_was_not_built_to_look(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = SimpleNamespace(cafile=None, capath=None)
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: paths)
    monkeypatch.setattr("accord.http1.tls._CA_FILES", ("/no/such/file", str(authority.file)))
    names = [each["subject"] for each in system_trust().get_ca_certs()]
    assert ((("commonName", "test authority"),),) in names


def test_only_current_protocols_and_verified_names_are_accepted() -> None:
    context = system_trust()
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
