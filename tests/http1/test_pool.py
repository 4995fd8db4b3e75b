"""Requests over sockets: what is kept, what is sent again, what ends, and that nothing hangs."""

import asyncio
import select
import socket
import struct
from collections.abc import Awaitable, Callable

import pytest

from accord.errors import ContractError
from accord.http1 import (
    URL,
    ConnectFailed,
    ConnectionLost,
    HTTPError,
    InvalidURL,
    Pool,
    ProtocolError,
    TooLarge,
    fetch,
)
from accord.http1.connection import Connection
from client.connections import descriptors
from http1.raw_server import OK, Peer, RawServer, Talk, both_loops, get, opened, raw_server, run

LINGER = struct.pack("ii", 1, 0)
"""A connection that is closed with this sends a reset."""


async def answer(peer: Peer) -> None:
    """Answer every request."""
    while await peer.request():
        await peer.write(OK)


def answering(*responses: bytes, then: str = "wait") -> Talk:
    """Answer the requests of a connection by these; then wait, close or reset it."""

    async def talk(peer: Peer) -> None:
        for response in responses:
            if await peer.request() is None:
                return
            await peer.write(response)
        if then == "close after request":
            await peer.request()
        elif then == "reset after request":
            await peer.request()
            reset(peer)
        elif then == "wait":
            await peer.ended()

    return talk


def reset(peer: Peer) -> None:
    """Close a connection so that the other side gets a reset."""
    raw = peer.writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)
    peer.writer.transport.abort()


# Reuse


@both_loops
def test_one_connection_serves_requests_one_after_another(loop: str) -> None:
    async def main() -> tuple[int, int]:
        async with raw_server(answer) as server, opened() as pool:
            for _ in range(5):
                assert await get(pool, server.url, b"{}") == b"ok"
            return server.connections, pool.idle_count

    assert run(main(), loop) == (1, 1)


@both_loops
def test_requests_at_a_time_have_a_connection_each_and_a_limited_number_is_kept(loop: str) -> None:
    async def main() -> tuple[int, int]:
        async with raw_server(answer) as server, opened(max_idle=3) as pool:
            await asyncio.gather(*(get(pool, server.url, b"x") for _ in range(8)))
            return server.connections, pool.idle_count

    assert run(main(), loop) == (8, 3)


@both_loops
@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: timeout=1\r\n\r\nok",
        OK + b"surplus",
        OK + OK,
    ],
)
def test_a_connection_that_may_not_be_reused_is_closed(response: bytes, loop: str) -> None:
    async def main() -> tuple[int, list[bytes]]:
        async with raw_server(answering(response)) as server, opened() as pool:
            bodies = [await get(pool, server.url, b"x") for _ in range(3)]
            return server.connections, bodies

    assert run(main(), loop) == (3, [b"ok"] * 3)


@both_loops
@pytest.mark.parametrize("then", [b"", b"HTTP/1.1 408 Timeout\r\n\r\n"])
def test_a_connection_that_ends_or_speaks_while_it_is_idle_is_not_reused(
    then: bytes, loop: str
) -> None:
    async def main() -> int:
        spoken = asyncio.Event()

        async def talk(peer: Peer) -> None:
            await peer.request()
            await peer.write(OK)
            await asyncio.sleep(0.01)
            await peer.write(then)
            if not then:
                peer.writer.close()
            spoken.set()
            await peer.ended()

        async with raw_server(talk) as server, opened() as pool:
            for _ in range(3):
                spoken.clear()
                assert await get(pool, server.url, b"x") == b"ok"
                await spoken.wait()
            return server.connections

    assert run(main(), loop) == 3


def test_the_end_of_an_idle_connection_is_seen_even_if_the_event_loop_was_busy() -> None:
    assert run(call_after_an_unseen_end(b".")) == b"ok"


@pytest.mark.parametrize("size", [1, 1_000_000])
def test_a_request_of_which_nothing_could_be_sent_is_sent_on_another_connection(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.http1.connection._has_input", lambda _: False)
    assert run(call_after_an_unseen_end(b"x" * size + b".", is_reset=True)) == b"ok"


async def call_after_an_unseen_end(body: bytes, *, is_reset: bool = False) -> bytes:
    """Call twice, with a body that ends in a dot; meanwhile the connection ends unseen."""

    def serve(listener: socket.socket) -> None:
        for _ in range(2):
            accepted, _ = listener.accept()
            with accepted:
                while not accepted.recv(65_536).endswith(b"."):
                    pass
                accepted.sendall(OK)
                if is_reset:
                    accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = URL.parse(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        serving = asyncio.create_task(asyncio.to_thread(serve, listener))
        async with opened() as pool:
            await get(pool, url, b".")
            wait_for_end(pool)
            answer = await get(pool, url, body)
        await serving
        return answer


def wait_for_end(pool: Pool) -> None:
    """Block the event loop until the idle connection has ended."""
    (idle,) = next(iter(pool._idle.values()))
    poll = select.poll()
    poll.register(idle.transport.get_extra_info("socket").fileno(), select.POLLIN)
    assert poll.poll(10_000)


@both_loops
def test_idle_connections_are_closed_after_a_time(loop: str) -> None:
    async def main() -> int:
        async with raw_server(answer) as server, opened(idle_seconds=0.05) as pool:
            await get(pool, server.url)
            await server.deserted()
            await get(pool, server.url)
            return server.connections

    assert run(main(), loop) == 2


# Sent again, or not


@both_loops
@pytest.mark.parametrize("ending", ["close after request", "reset after request"])
@pytest.mark.parametrize(
    ("body", "is_safe", "is_repeated"),
    [(b"x", False, False), (b"x", True, True), (None, False, True)],
)
def test_only_a_safe_request_is_sent_again_if_a_kept_connection_ends(
    ending: str, body: bytes | None, is_safe: bool, is_repeated: bool, loop: str
) -> None:
    async def main() -> tuple[int, bool]:
        async with raw_server(answering(OK, then=ending)) as server, opened() as pool:
            await get(pool, server.url, b"x")
            try:
                await get(pool, server.url, body, is_safe=is_safe)
            except ConnectionLost:
                return server.connections, False
            return server.connections, True

    assert run(main(), loop) == (2 if is_repeated else 1, is_repeated)


@both_loops
@pytest.mark.parametrize("start", [b"H", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n"])
def test_a_request_whose_response_has_begun_is_never_sent_again(start: bytes, loop: str) -> None:
    async def main() -> int:
        talk = answering(OK, start, then="close")
        async with raw_server(talk) as server, opened() as pool:
            await get(pool, server.url)
            with pytest.raises(ConnectionLost):
                await get(pool, server.url, is_safe=True)
            return server.connections

    assert run(main(), loop) == 1


@both_loops
def test_a_safe_request_is_sent_again_once_only(loop: str) -> None:
    async def main() -> int:
        answered: list[bytes] = []

        async def talk(peer: Peer) -> None:
            await peer.request()
            if not answered:
                answered.append(OK)
                await peer.write(OK)
                await peer.request()

        async with raw_server(talk) as server, opened() as pool:
            await get(pool, server.url)
            with pytest.raises(ConnectionLost, match="without a response"):
                await get(pool, server.url)
            return server.connections

    assert run(main(), loop) == 2


# A hostile server


async def endless_headers(peer: Peer) -> None:
    await peer.request()
    await peer.write(b"HTTP/1.1 200 OK\r\n")
    while not peer.writer.is_closing():
        await peer.write(b"X-Header: " + b"x" * 100 + b"\r\n")


async def endless_interim(peer: Peer) -> None:
    await peer.request()
    while not peer.writer.is_closing():
        await peer.write(b"HTTP/1.1 102 Processing\r\n\r\n")


async def endless_extension(peer: Peer) -> None:
    await peer.request()
    await peer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;")
    while not peer.writer.is_closing():
        await peer.write(b"x" * 1_000)


async def endless_body(peer: Peer) -> None:
    await peer.request()
    await peer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while not peer.writer.is_closing():
        await peer.write(b"x" * 10_000)


LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
MISBEHAVING: dict[str, tuple[Talk, type[HTTPError]]] = {
    "endless headers": (endless_headers, ProtocolError),
    "endless interim responses": (endless_interim, ProtocolError),
    "an endless chunk extension": (endless_extension, ProtocolError),
    "an endless body": (endless_body, TooLarge),
    "a long body": (answering(LENGTH % 1_000_001), TooLarge),
    "an absurd length": (answering(LENGTH % 10**19), TooLarge),
    "a TLS alert": (answering(b"\x15\x03\x01\x00\x02\x02\x0a"), ProtocolError),
    "another protocol": (answering(b"SSH-2.0-OpenSSH_9.2\r\n"), ProtocolError),
    "two lengths": (answering(LENGTH[:-2] % 2 + b"Content-Length: 2\r\n\r\nok"), ProtocolError),
    "half a body": (answering(LENGTH % 9 + b"ok", then="close"), ConnectionLost),
    "half a status": (answering(b"HTTP/1.1 20", then="close"), ConnectionLost),
    "an end after the request": (answering(then="close after request"), ConnectionLost),
    "a reset after the request": (answering(then="reset after request"), ConnectionLost),
    "an end at once": (answering(then="close"), ConnectionLost),
}


@both_loops
@pytest.mark.parametrize(("talk", "kind"), MISBEHAVING.values(), ids=MISBEHAVING)
def test_a_server_that_misbehaves_is_an_error_and_its_connection_is_closed(
    talk: Talk, kind: type[HTTPError], loop: str
) -> None:
    async def main() -> int:
        async with raw_server(talk) as server, opened() as pool:
            with pytest.raises(kind):
                await get(pool, server.url, b"x")
            await server.deserted()
            return pool.idle_count

    assert run(main(), loop) == 0


@both_loops
@pytest.mark.parametrize("is_reset", [False, True])
def test_a_server_that_closes_every_connection_at_once_is_an_error_each_time(
    is_reset: bool, loop: str
) -> None:
    """The end may arrive before the request is written, in between, or after it."""
    count = 100

    def serve(listener: socket.socket) -> None:
        for _ in range(count):
            accepted, _ = listener.accept()
            if is_reset:
                accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)
            accepted.close()

    async def main() -> int:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            url = URL.parse(f"http://127.0.0.1:{listener.getsockname()[1]}/")
            serving = asyncio.create_task(asyncio.to_thread(serve, listener))
            failed = 0
            async with opened() as pool:
                for number in range(count):
                    with pytest.raises(HTTPError):
                        await get(pool, url, b"x" * (number % 2 * 100_000))
                    failed += 1
            await serving
            return failed

    assert run(main(), loop) == count


@both_loops
def test_a_connection_that_has_ended_before_the_request_is_an_error(
    loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dial_and_wait(url: URL, proxy: object, connection: Connection, tls: object) -> None:
        ended = asyncio.Event()
        monkeypatch.setattr(connection, "_on_lost", lambda _: ended.set())
        await asyncio.get_running_loop().create_connection(lambda: connection, url.host, url.port)
        await ended.wait()

    async def main() -> None:
        async with raw_server(answering(then="close")) as server, opened() as pool:
            with pytest.raises(ConnectionLost, match="at once"):
                await get(pool, server.url, b"x")

    monkeypatch.setattr("accord.http1.pool.dial", dial_and_wait)
    run(main(), loop)


@both_loops
def test_a_response_before_the_request_is_read_ends_the_connection(loop: str) -> None:
    async def main() -> tuple[bytes, int]:
        async def talk(peer: Peer) -> None:
            await peer.reader.readuntil(b"\r\n\r\n")
            await peer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
            await asyncio.sleep(30)

        async with raw_server(talk) as server, opened() as pool:
            body = await get(pool, server.url, b"x" * 50_000_000)
            return body, pool.idle_count

    assert run(main(), loop) == (b"no", 0)


@both_loops
def test_a_large_request_and_a_large_response_arrive_whole(loop: str) -> None:
    sent = bytes(range(256)) * 20_000

    async def talk(peer: Peer) -> None:
        while request := await peer.request():
            body = request[2]
            await peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    async def main() -> tuple[bool, int]:
        async with raw_server(talk) as server, opened() as pool:
            for _ in range(2):
                response = await pool.open("POST", server.url, {}, sent)
                assert await response.read(len(sent)) == sent
                response.close()
            return response.is_success, server.connections

    assert run(main(), loop) == (True, 1)


# Streams


@both_loops
def test_parts_of_a_stream_are_read_as_they_arrive(loop: str) -> None:
    async def main() -> list[bytes]:
        read = asyncio.Event()

        async def talk(peer: Peer) -> None:
            await peer.request()
            await peer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for part in (b"1\r\na\r\n", b"2\r\nbc\r\n", b"0\r\n\r\n"):
                await peer.write(part)
                await read.wait()
                read.clear()
            await peer.ended()

        async with raw_server(talk) as server, opened() as pool:
            response = await pool.open("GET", server.url, {})
            parts = []
            async for part in response:
                parts.append(part)
                read.set()
            response.close()
            assert pool.idle_count == 1
            return parts

    assert run(main(), loop) == [b"a", b"bc"]


@both_loops
def test_a_stream_that_is_not_read_holds_up_the_server_and_not_the_memory(loop: str) -> None:
    async def main() -> tuple[int, int, bool]:
        written = 0

        async def talk(peer: Peer) -> None:
            nonlocal written
            await peer.request()
            await peer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while not peer.writer.is_closing():
                await peer.write(b"x" * 100_000)
                written += 100_000

        async with raw_server(talk) as server, opened() as pool:
            response = await pool.open("GET", server.url, {})
            while written < (before := written + 1):  # until the server no longer gets on
                await asyncio.sleep(0.1)
                if written < before:
                    break
            held, stuck = len(response._parser.body), written
            read = 0
            async for part in response:
                read += len(part)
                if read > stuck + 1_000_000:
                    break
            response.close()
            await server.deserted()
            return held, stuck, written > stuck

    held, stuck, went_on = run(main(), loop)
    assert held < 1_000_000
    assert stuck < 50_000_000
    assert went_on


@both_loops
def test_a_response_that_is_left_early_closes_its_connection(loop: str) -> None:
    async def main() -> int:
        async with raw_server(endless_body) as server, opened() as pool:
            response = await pool.open("GET", server.url, {})
            assert await anext(response)
            response.close()
            response.close()
            left = [len(part) async for part in response]
            assert len(left) <= 1
            await server.deserted()
            return pool.idle_count

    assert run(main(), loop) == 0


@both_loops
def test_reading_on_while_the_pool_closes_is_an_error(loop: str) -> None:
    async def main() -> None:
        async with raw_server(endless_body) as server, opened() as pool:
            response = await pool.open("GET", server.url, {})
            while len(response._parser.body) < 70_000:  # noqa: ASYNC110 - reading then pauses
                await asyncio.sleep(0.01)
            assert await anext(response)
            closing = asyncio.create_task(pool.close())
            await asyncio.sleep(0)
            with pytest.raises(ConnectionLost):
                await anext(response)
            await closing

    run(main(), loop)


# Cancellation

Stage = Callable[[Peer], Awaitable[None]]


async def before_the_head(peer: Peer) -> None:
    await peer.ended()


async def within_the_head(peer: Peer) -> None:
    await peer.write(b"HTTP/1.1 200 OK\r\nContent-")
    await peer.ended()


async def within_the_body(peer: Peer) -> None:
    await peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok")
    await peer.ended()


@both_loops
@pytest.mark.parametrize("stage", [before_the_head, within_the_head, within_the_body])
@pytest.mark.parametrize("is_reused", [False, True])
def test_a_cancelled_request_leaves_no_connection(stage: Stage, is_reused: bool, loop: str) -> None:
    async def main() -> tuple[int, int, int]:
        reached = asyncio.Event()

        async def talk(peer: Peer) -> None:
            if is_reused:
                await peer.request()
                await peer.write(OK)
            if await peer.request():
                reached.set()
                await stage(peer)

        async with raw_server(talk) as server, opened() as pool:
            if is_reused:
                await get(pool, server.url)
            task = asyncio.create_task(get(pool, server.url, b"x"))
            await reached.wait()
            await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
            await server.deserted()
            return server.connections, server.open, pool.idle_count

    assert run(main(), loop) == (1, 0, 0)


@both_loops
def test_a_request_may_be_cancelled_after_any_step_of_the_event_loop(loop: str) -> None:
    async def main() -> tuple[int, int]:
        async with raw_server(answer) as server:
            before = descriptors()
            async with opened() as pool:
                for steps in range(40):
                    task = asyncio.create_task(get(pool, server.url, b"x"))
                    for _ in range(steps):
                        await asyncio.sleep(0)
                    task.cancel()
                    await asyncio.wait([task])
                    assert await get(pool, server.url, b"y") == b"ok"
            await server.deserted()
            return before, descriptors()

    before, after = run(main(), loop)
    assert after == before


@both_loops
def test_connecting_may_be_cancelled(loop: str) -> None:
    async def main() -> tuple[int, int]:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            address = full.getsockname()
            fillers = [socket.socket() for _ in range(4)]
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(address)
            counts = []
            async with opened() as pool:
                for _ in range(3):  # uvloop opens a file of its own the first time
                    with pytest.raises(TimeoutError):
                        async with asyncio.timeout(0.1):
                            await get(pool, URL.parse(f"http://127.0.0.1:{address[1]}/"))
                    await asyncio.sleep(0.05)
                    counts.append(descriptors())
            for filler in fillers:
                filler.close()
            return counts[0], counts[-1]

    before, after = run(main(), loop)
    assert after == before


@both_loops
def test_closing_the_pool_ends_what_is_under_way_and_what_comes_later(loop: str) -> None:
    async def main() -> tuple[int, int]:
        reached = asyncio.Event()

        async def talk(peer: Peer) -> None:
            await peer.request()
            reached.set()
            await peer.ended()

        async with raw_server(talk) as server:
            before = descriptors()
            async with opened() as pool:
                task = asyncio.create_task(get(pool, server.url, b"x"))
                await reached.wait()
            with pytest.raises(ConnectionLost):
                await task
            with pytest.raises(HTTPError, match="closed"):
                await get(pool, server.url)
            await server.deserted()
            return before, descriptors()

    before, after = run(main(), loop)
    assert after == before


# Addresses


@both_loops
def test_an_ipv6_address_and_a_name_are_reached(loop: str) -> None:
    async def main() -> list[str]:
        hosts: list[str] = []

        async def talk(peer: Peer) -> None:
            while request := await peer.request():
                hosts.append(request[1]["host"])
                await peer.write(OK)

        async with opened() as pool:
            async with raw_server(talk, host="::1") as server:
                await get(pool, server.url)
            async with raw_server(talk, name="LocalHost") as server:  # also has an IPv6 address
                await get(pool, server.url)
        return [host.rpartition(":")[0] for host in hosts]

    assert run(main(), loop) == ["[::1]", "localhost"]


@both_loops
def test_a_dead_address_of_a_name_does_not_hold_up_the_others(
    loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> tuple[float, int, int]:
        running = asyncio.get_running_loop()

        async def find(host: str, port: int) -> list[object]:
            return [
                (socket.AF_INET, full.getsockname()),
                (socket.AF_INET6, ("::1", 1, 0, 0)),
                (socket.AF_INET, ("127.0.0.1", port)),
            ]

        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            fillers = [socket.socket() for _ in range(4)]
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(full.getsockname())
            async with raw_server(answer, name="two.example") as server, opened() as pool:
                monkeypatch.setattr("accord.http1.dial.look_up", find)
                before = descriptors()
                started = running.time()
                await get(pool, server.url)
                seconds = running.time() - started
                await asyncio.sleep(0.01)
                after = descriptors()
            for filler in fillers:
                filler.close()
        return seconds, before, after

    seconds, before, after = run(main(), loop)
    assert seconds < 5
    assert after == before + 2  # both ends of one connection


@both_loops
@pytest.mark.parametrize(
    ("url", "kind", "sentence"),
    [
        ("http://127.0.0.1:1/", ConnectFailed, "^Connection refused$"),
        ("http://localhost:1/", ConnectFailed, "^Connection refused$"),
        ("http://no-such-host.invalid/", ConnectFailed, "not known|No address|resolution"),
        (f"http://{'a' * 64}.example/", ConnectFailed, "the name is invalid"),
        ("ftp://127.0.0.1/", InvalidURL, "not an http"),
    ],
)
def test_what_cannot_be_reached_says_why(
    url: str, kind: type[HTTPError], sentence: str, loop: str
) -> None:
    async def main() -> None:
        async with opened() as pool:
            await get(pool, URL.parse(url))

    with pytest.raises(kind, match=sentence):
        run(main(), loop)


# One request by itself


@both_loops
def test_fetch_is_one_request_within_limits(loop: str) -> None:
    async def redirect(peer: Peer) -> None:
        await peer.request()
        await peer.write(b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 2\r\n\r\nno")
        await peer.ended()

    async def main() -> RawServer:
        async with raw_server(redirect) as server:
            limits = {"seconds": 10.0, "limit": 10}
            found = await fetch("POST", server.url.bare, {"accept": "*/*"}, b"a=b", **limits)  # type: ignore[arg-type]
            assert (found.status, found.headers["location"], found.body) == (302, "/x", b"no")
            with pytest.raises(TooLarge):
                await fetch("GET", server.url.bare, {}, seconds=10, limit=1)
            with pytest.raises(ContractError):
                await fetch("GET", server.url.bare, {"X": "\n"}, seconds=10, limit=1)
            return server

    assert run(main(), loop).connections == 2


@both_loops
def test_fetch_ends_in_time(loop: str) -> None:
    async def silent(peer: Peer) -> None:
        await peer.request()
        await peer.ended()

    async def main() -> None:
        async with raw_server(silent) as server:
            with pytest.raises(TimeoutError):
                await fetch("GET", server.url.bare, {}, seconds=0.05, limit=1)
            await server.deserted()

    run(main(), loop)
