"""Servers behind a URL that answer in all the ways there are, and in some that there should not be."""

import asyncio
import json
from typing import Any

import pytest

from accord.client.peer import Peer, connect
from accord.errors import PeerError
from client.connections import descriptors, run, text
from peers.scripted_server import (
    NOTE,
    Answer,
    Request,
    ScriptedServer,
    call,
    call_in_handshake_era,
    calling,
    event,
    handshake,
    replying,
    scripted_server,
    stateless,
    with_peer,
)

# What is answered


@pytest.mark.parametrize("begin", [handshake, stateless])
def test_a_stream_is_read_up_to_the_answer(begin: Answer) -> None:
    async def answer(request: Request) -> None:
        reply = request.envelope({"content": [{"text": "streamed"}]})
        await request.stream(b": hello\n\n", event(NOTE), event(b"odd", event="x"), event(reply))
        await request.until_left()  # it never ends by itself

    async def say(peer: Peer, server: ScriptedServer) -> tuple[str, list[Any], list[bytes]]:
        words = await call(peer, server)
        noise = [each.raw for each in peer.messages if each.direction == "noise"]
        return words, list(peer.notifications), noise

    words, notes, noise = with_peer(calling(answer, begin), say)
    assert (words, [note["params"] for note in notes], noise) == (
        "streamed",
        [{"data": "hi"}],
        [b"odd"],
    )


def test_raw_is_what_came_to_the_byte() -> None:
    raw = b'{ "id":%d,\t"jsonrpc":"2.0", "result":{"a":1.0, "b":"\\u00fc\xc3\xbc"} }'

    async def answer(request: Request) -> None:
        await request.reply(200, raw % request.message["id"], "Application/JSON; charset=utf-8")

    async def say(peer: Peer, server: ScriptedServer) -> bytes:
        reply = await peer.call("hello")
        assert reply.result == {"a": 1.0, "b": "üü"}
        return reply.raw

    found = with_peer(calling(answer), say)
    assert found == raw % json.loads(found)["id"]


@pytest.mark.parametrize("status", [200, 400, 404, 500])
def test_an_error_is_a_reply_whatever_its_status_and_id(status: int) -> None:
    async def answer(request: Request) -> None:
        await request.reply(
            status, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"x"}}'
        )

    async def say(peer: Peer, server: ScriptedServer) -> Any:
        return (await peer.call("hello")).error["code"]

    assert with_peer(calling(answer, stateless), say) == -32602


async def end_without_answer(request: Request) -> None:
    await request.stream(event(NOTE))
    await request.end()


async def break_off(request: Request) -> None:
    await request.write(
        b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
    )
    await request.end()


async def say_nothing(request: Request) -> None:
    await request.end()


async def speak_nonsense(request: Request) -> None:
    await request.write(b"nonsense\r\n\r\n")
    await request.end()


async def send_too_much(request: Request) -> None:
    await request.reply(200, b"[" + b" " * 200_000 + b"]")


async def stream_too_much(request: Request) -> None:
    await request.stream(b"data: " + b"x" * 200_000)
    await request.until_left()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            replying(200, b'{"jsonrpc":"2.0","id":999,"result":{}}'),
            "answered with HTTP 200: ",
        ),
        (replying(200, b"[]"), r"answered with HTTP 200: \[\]"),
        (replying(200, b"", "text/html"), "answered with HTTP 200$"),
        (replying(202, b""), "answered with HTTP 202$"),
        (replying(503, b"busy", "text/plain"), "answered with HTTP 503: busy"),
        (end_without_answer, "ended its response to tools/call without a reply"),
        (break_off, "could not reach http://.*/mcp: "),
        (say_nothing, "could not reach http://.*/mcp: "),
        (speak_nonsense, "could not reach http://.*/mcp: "),
        (send_too_much, "sent more than 100000 bytes"),
        (stream_too_much, "an event is longer than 100000 bytes"),
    ],
)
@pytest.mark.parametrize("begin", [handshake, stateless])
def test_what_is_not_an_answer_is_an_error_and_the_next_call_works(
    answer: Answer, sentence: str, begin: Answer
) -> None:
    async def once(request: Request) -> None:
        is_bad = request.rpc == "tools/call" and request.message["params"]["name"] == "bad"
        await (answer if is_bad else begin)(request)

    async def say(peer: Peer, server: ScriptedServer) -> str:
        with pytest.raises(PeerError, match=sentence):
            await peer.call("bad")
        return await call(peer, server)

    assert with_peer(once, say, max_bytes=100_000) == "well"


@pytest.mark.parametrize(
    ("method", "times"), [("tools/call", 1), ("tools/list", 2), ("x-vendor/charge", 1)]
)
def test_only_a_request_that_changes_nothing_is_sent_again_if_its_connection_ends(
    method: str, times: int
) -> None:
    async def answer(request: Request) -> None:
        await (request.end() if request.rpc == method else stateless(request))

    async def say(peer: Peer, server: ScriptedServer) -> int:
        with pytest.raises(PeerError, match="closed the connection without a response"):
            await peer.request(method, {"name": "hello", "arguments": {}})
        return len(server.asked(method))

    assert with_peer(answer, say) == times


def test_a_notification_that_is_refused_is_reported() -> None:
    async def answer(request: Request) -> None:
        await (request.reply(400) if request.rpc == "notifications/odd" else handshake(request))

    async def say(peer: Peer, server: ScriptedServer) -> None:
        await peer.notify("notifications/odd")

    with pytest.raises(PeerError, match="answered with HTTP 400"):
        with_peer(answer, say)


# Time


@pytest.mark.parametrize("begin", [handshake, stateless])
@pytest.mark.parametrize("is_stream", [True, False])
def test_a_call_that_takes_too_long_is_taken_back(begin: Answer, is_stream: bool) -> None:
    async def main() -> tuple[Any, list[Any]]:
        left = asyncio.Event()

        async def wait(request: Request) -> None:
            if is_stream:
                await request.stream(event(NOTE))
            await request.until_left()
            left.set()

        async with scripted_server(calling(wait, begin)) as server:
            async with connect(server.url, timeout=5) as peer:
                with pytest.raises(PeerError, match=r"^tools/call was not answered within 2 s$"):
                    await peer.call("hello", within=2)  # the server must have it by then
                await asyncio.wait_for(left.wait(), 30)
            called = server.asked("tools/call")[0].message["id"]
            notices = [each.message["params"] for each in server.asked("notifications/cancelled")]
        return called, notices

    called, notices = run(main())
    assert notices == ([{"requestId": called}] if begin is handshake else [])


# The end


@pytest.mark.parametrize("begin", [handshake, stateless])
def test_no_descriptor_is_left(begin: Answer) -> None:
    async def main() -> None:
        async with scripted_server(begin) as server:

            async def one() -> int:
                async with connect(server.url) as peer:
                    await asyncio.gather(*(peer.call("hello") for _ in range(5)))
                await server.deserted()
                return descriptors()

            assert len({await one() for _ in range(4)}) == 1

    run(main())


@pytest.mark.parametrize("begin", [handshake, stateless])
def test_pending_requests_fail_when_the_connection_closes(begin: Answer) -> None:
    async def main() -> str:
        called = asyncio.Event()

        async def wait(request: Request) -> None:
            called.set()
            await request.until_left()

        async with scripted_server(calling(wait, begin)) as server:
            async with connect(server.url) as peer:
                waiting = asyncio.create_task(peer.call("hello"))
                await called.wait()
            await asyncio.wait([waiting])
            return str(waiting.exception())

    assert run(main()) == "this connection was closed before the reply arrived"


def test_an_answer_may_come_on_another_stream() -> None:
    async def main() -> str:
        opened: asyncio.Future[Request] = asyncio.get_running_loop().create_future()

        async def answer(request: Request) -> None:
            if request.method == "GET":
                await request.stream()
                opened.set_result(request)
                await request.until_left()
            elif request.rpc == "tools/call":
                reply = request.envelope({"content": [{"text": "elsewhere"}]})
                await (await opened).write(event(reply))
                await request.until_left()
            else:
                await handshake(request)

        return await call_in_handshake_era(answer)

    assert run(main()) == "elsewhere"


def test_many_calls_at_once_are_answered() -> None:
    async def say(peer: Peer, server: ScriptedServer) -> set[str]:
        replies = await asyncio.gather(*(peer.call("hello") for _ in range(50)))
        return {text(reply) for reply in replies}

    assert with_peer(stateless, say, timeout=30) == {"well"}
