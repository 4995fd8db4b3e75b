"""Event streams: resumed when interrupted, and read while no request is open."""

import asyncio
from typing import Any

import pytest

from accord.client.peer import Peer, connect
from accord.errors import PeerError
from client.connections import run
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
    refused,
    scripted_server,
    stateless,
    with_peer,
)

# Streams that are resumed


def test_a_stream_that_ends_early_is_resumed_from_its_last_event() -> None:
    asked: dict[str, Any] = {}

    async def answer(request: Request) -> None:
        last = request.headers.get("last-event-id")
        if request.rpc == "tools/call":
            asked["reply"] = request.envelope({"content": [{"text": "resumed"}]})
            await request.stream(b"retry: 1\n", event(b"", id="e1"))
            await request.end()
        elif last == "e1":
            await request.stream(event(NOTE, id="e2"))
            await request.end()
        elif last == "e2":
            asked["accept"] = request.headers["accept"]
            await request.stream(event(asked["reply"], id="e3"))
            await request.until_left()
        else:
            await handshake(request)

    assert with_peer(answer, call) == "resumed"
    assert asked["accept"] == "text/event-stream"


def test_a_connection_that_breaks_within_a_stream_is_resumed() -> None:
    asked: dict[str, Any] = {}

    async def answer(request: Request) -> None:
        if request.rpc == "tools/call":
            asked["reply"] = request.envelope({"content": [{"text": "resumed"}]})
            await request.write(
                b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nContent-Length: 9999\r\n\r\n"
                + event(b"", id="e1", retry="1")
            )
            await request.end()
        elif "last-event-id" in request.headers:
            await request.stream(event(asked["reply"]))
            await request.end()
        else:
            await handshake(request)

    assert with_peer(answer, call) == "resumed"


def test_a_stream_that_cannot_be_resumed_is_reported() -> None:
    async def answer(request: Request) -> None:
        if request.rpc == "tools/call":
            await request.stream(event(b"", id="e1", retry="1"))
            await request.end()
        else:
            await handshake(request)

    refused(answer, "answered with HTTP 405", era="handshake")


@pytest.mark.parametrize(
    ("begin", "last"), [(stateless, b"e1"), (handshake, "ü".encode()), (handshake, b"\x01")]
)
def test_a_stream_that_may_not_be_resumed_is_not(begin: Answer, last: bytes) -> None:
    async def answer(request: Request) -> None:
        await request.stream(b"id: %b\ndata:\n\n" % last)
        await request.end()

    async def say(peer: Peer, server: ScriptedServer) -> int:
        with pytest.raises(PeerError, match="ended its response to tools/call without a reply"):
            await peer.call("hello")
        return sum("last-event-id" in each.headers for each in server.requests)

    assert with_peer(calling(answer, begin), say) == 0


# What comes meanwhile


def test_what_belongs_to_no_request_is_heard_and_answered() -> None:
    async def main() -> list[Any]:
        heard = asyncio.Event()
        answered = asyncio.Event()
        said: list[Any] = []

        async def answer(request: Request) -> None:
            if request.method == "GET":
                ping = b'{"jsonrpc":"2.0","id":"p","method":"ping"}'
                await request.stream(event(NOTE), event(ping))
                await request.until_left()
            elif request.body and request.rpc == "None":
                said.append((request.message, request.headers["mcp-session-id"]))
                answered.set()
                await request.reply(202)
            else:
                await handshake(request)

        async with scripted_server(answer) as server:
            listen = lambda _: heard.set()  # noqa: E731
            async with connect(server.url, era="handshake", on_notification=listen) as peer:
                await heard.wait()
                await answered.wait()
                assert [note["params"] for note in peer.notifications] == [{"data": "hi"}]
        return said

    assert run(main()) == [({"jsonrpc": "2.0", "id": "p", "result": {}}, "s1")]


def test_a_request_in_the_middle_of_a_call_is_refused_while_the_call_goes_on() -> None:
    async def main() -> str:
        answered = asyncio.Event()

        async def answer(request: Request) -> None:
            if request.rpc == "tools/call":
                ask = b'{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage"}'
                await request.stream(event(ask))
                await answered.wait()
                await request.write(event(request.envelope({"content": [{"text": "went on"}]})))
                await request.end()
            elif request.body and request.message.get("error", {}).get("code") == -32601:
                answered.set()
                await request.reply(202)
            else:
                await handshake(request)

        return await call_in_handshake_era(answer)

    assert run(main()) == "went on"


def test_a_listening_stream_is_opened_again_if_the_server_says_when() -> None:
    async def main() -> list[str | None]:
        resumed = asyncio.Event()

        async def answer(request: Request) -> None:
            if request.method == "GET" and "last-event-id" in request.headers:
                resumed.set()
                await request.until_left()
            elif request.method == "GET":
                await request.stream(event(NOTE, id="g1", retry="1"))
                await request.end()
            else:
                await handshake(request)

        async with scripted_server(answer) as server:
            async with connect(server.url, era="handshake"):
                await resumed.wait()
            return [each.headers.get("last-event-id") for each in server.asked("GET")]

    assert run(main()) == [None, "g1"]


def test_a_flood_of_requests_does_not_stop_the_call() -> None:
    async def answer(request: Request) -> None:
        if request.rpc == "tools/call":
            pings = [b'{"jsonrpc":"2.0","id":"%d","method":"ping"}' % n for n in range(2_000)]
            reply = request.envelope({"content": [{"text": "went on"}]})
            await request.stream(*map(event, pings), event(reply))
            await request.until_left()
        else:
            await handshake(request)

    assert with_peer(answer, call, era="handshake") == "went on"
