"""Clients that leave, and calls that are taken back."""

import json
import os
import random
import signal
import socket
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from http_peer import HttpPeer, HttpServer, text_of
from serve.http.talk import ERAS, STATELESS, census, eventually, limited

TIMES = 500

# Taken back


def test_a_client_of_the_stateless_era_that_leaves_has_taken_back_its_call(
    server: HttpServer,
) -> None:
    with HttpPeer(server.port) as client, client.again() as other:
        client.send(client.calling("wait", name="leaving", until="never"))
        other.call("when", name="leaving began")
        client.close()
        assert other.call("when", name="leaving ended") == "CancelledError"


def test_a_client_of_the_stateless_era_that_leaves_is_seen_to_leave_from_a_thread(
    server: HttpServer,
) -> None:
    with HttpPeer(server.port) as client, client.again() as other:
        client.send(client.calling("look_around", name="thread"))
        other.call("when", name="thread began")
        client.close()
        other.call("when", name="thread left")


def test_a_client_of_the_stateless_era_that_leaves_its_stream_has_taken_back_its_call(
    server: HttpServer,
) -> None:
    with HttpPeer(server.port) as client, client.again() as other:
        before = census(other)["tasks"]
        stream = client.post(client.watching("act", scenes=2, until="nobody says"))
        stream.next()
        stream._raw.close()
        client.close()
        assert eventually(lambda: census(other)["tasks"] <= before)


@pytest.mark.parametrize("tool", ["wait", "block"])
@pytest.mark.parametrize("begin", [True, False], ids=["in a session", "without"])
def test_a_client_of_the_handshake_era_that_leaves_has_taken_back_nothing(
    server: HttpServer, tool: str, begin: bool
) -> None:
    name = f"staying {tool} {begin}"
    with HttpPeer(server.port, "2025-11-25", begin=begin) as client, client.again() as other:
        client.send(client.calling(tool, name=name, until=f"{name} left"))
        other.call("when", name=f"{name} began")
        client.close()
        for _ in range(20):  # what a server would notice it notices by now
            other.call("nap", seconds=0.01)
        assert other.call("has", name=f"{name} ended") == "false"
        other.call("mark", name=f"{name} left")
        assert other.call("when", name=f"{name} ended") in ("returned", "wanted")


@pytest.mark.parametrize("tool", ["wait", "block"])
def test_a_notice_in_the_session_takes_back_a_call(server: HttpServer, tool: str) -> None:
    name = f"notice {tool}"
    with HttpPeer(server.port, "2025-11-25") as client, client.again() as other:
        client.send(client.calling(tool, id="c", name=name, until=f"{name} told"))
        other.call("when", name=f"{name} began")
        cancel = other.notify("notifications/cancelled", {"requestId": "c"})
        assert (cancel.status, cancel.body) == (202, b"")
        response = client.receive()
        assert (response.status // 100, response.body) == (2, b""), "it has no answer any more"
        if tool == "block":
            other.call("mark", name=f"{name} told")
        ended = other.call("when", name=f"{name} ended")
        assert ended == ("CancelledError" if tool == "wait" else "cancelled")
        assert client.call("echo", word="next") == "next"


@pytest.mark.parametrize("tool", ["wait", "block"])
def test_a_notice_that_arrives_together_with_its_call_takes_it_back(
    server: HttpServer, tool: str
) -> None:
    name = f"together {tool}"
    with HttpPeer(server.port, "2025-11-25") as client, client.again() as other:
        client.call("echo", word="connected")
        other.call("echo", word="connected")
        os.kill(server.process.pid, signal.SIGSTOP)
        try:
            client.send(client.calling(tool, id="c", name=name, until=f"{name} told"))
            params = {"requestId": "c"}
            other.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        finally:
            os.kill(server.process.pid, signal.SIGCONT)
        assert other.receive().status == 202
        response = client.receive()
        assert (response.status // 100, response.body) == (2, b"")
        other.call("mark", name=f"{name} told")


def test_a_stream_whose_call_is_taken_back_ends_without_a_result(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25") as client, client.again() as other:
        message = client.watching("act", scenes=2, until="nobody says so")
        stream = client.post(message)
        stream.next()
        other.notify("notifications/cancelled", {"requestId": message["id"]})
        assert stream.rest() == []


def test_a_notice_from_another_session_takes_back_nothing(server: HttpServer) -> None:
    with ExitStack() as stack:
        one, two = (stack.enter_context(HttpPeer(server.port, "2025-11-25")) for _ in range(2))
        lines = [stack.enter_context(peer.again()) for peer in (one, two)]
        for peer, line, name in zip((one, two), lines, ("mine", "theirs"), strict=True):
            line.send(peer.calling("wait", id="same", name=name, until=f"{name} may end"))
            peer.call("when", name=f"{name} began")
        two.notify("notifications/cancelled", {"requestId": "same"})
        assert lines[1].receive().body == b""
        one.call("mark", name="mine may end")
        assert lines[0].receive().text == "mine"


@pytest.mark.parametrize("order", [("echo", "wait"), ("wait", "echo")])
def test_a_call_of_a_batch_that_is_taken_back_leaves_the_others_their_answers(
    server: HttpServer, order: tuple[str, str]
) -> None:
    name = "batch " + " ".join(order)
    with (
        HttpPeer(server.port, "2025-03-26") as client,
        client.again() as other,
    ):
        calls = {
            "echo": client.calling("echo", id="e", word="hi"),
            "wait": client.calling("wait", id="w", name=name, until="never"),
        }
        client.send([calls[tool] for tool in order])
        other.call("when", name=f"{name} began")
        other.notify("notifications/cancelled", {"requestId": "w"})
        (reply,) = client.receive().message
        assert (reply["id"], text_of(reply)) == ("e", "hi")


def test_calls_of_a_batch_in_threads_that_are_taken_back_leave_the_others_their_answers(
    server: HttpServer,
) -> None:
    with HttpPeer(server.port, "2025-03-26") as client, client.again() as other:
        names = [f"thread {number} of a batch" for number in range(3)]
        client.send([client.calling("block", id=name, name=name, until="end") for name in names])
        for name in names:
            other.call("when", name=f"{name} began")
        for name in names[:2]:
            other.notify("notifications/cancelled", {"requestId": name})
        other.call("mark", name="end")
        (reply,) = client.receive().message
        assert (reply["id"], text_of(reply)) == (names[2], names[2])


@pytest.mark.parametrize("revision", ERAS)
def test_a_request_that_never_came_whole_is_not_served(server: HttpServer, revision: str) -> None:
    name = f"half a request {revision}"
    with HttpPeer(server.port) as other, HttpPeer(0, revision, begin=False) as words:
        whole = _raw(words, words.calling("mark", name=name), chunked=True)
        before = census(other)
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            connection.sendall(whole.removesuffix(b"0\r\n\r\n"))
        kept = ("tasks", "descriptors")
        assert eventually(lambda: all(census(other)[k] <= before[k] for k in kept))
        assert other.call("has", name=name) == "false"


# Nothing is left behind


@pytest.mark.parametrize("revision", ERAS)
def test_clients_that_leave_at_any_byte_leave_nothing_behind(revision: str) -> None:
    chance = random.Random(500)
    with limited() as server, HttpPeer(server.port, revision) as client:
        calls = [
            _raw(client, client.calling("echo", word="hi")),
            _raw(client, client.calling("echo_later", word="hi")),
            _raw(client, client.watching("say", message="hi")),
            _raw(client, client.request("tools/list")),
        ]
        if revision == STATELESS:
            calls.append(_raw(client, client.calling("nap", seconds=60)))
            calls.append(_raw(client, client.watching("act", scenes=2, until="never")))
        else:
            calls.append(_raw(client, None, "GET"))
        client.call("echo", word="warm")
        before = census(client)
        for _ in range(TIMES // len(ERAS)):
            raw = chance.choice(calls)
            with socket.create_connection(("127.0.0.1", server.port), timeout=30) as leaving:
                if chance.random() < 0.3:  # a reset instead of an orderly end
                    linger = b"\1\0\0\0\0\0\0\0"
                    leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                leaving.sendall(raw[: chance.randint(0, len(raw))])
                if chance.random() < 0.3:
                    leaving.settimeout(0.01)
                    with suppress(TimeoutError):
                        leaving.recv(chance.randint(1, 300))
        kept = ("tasks", "descriptors")
        assert eventually(lambda: all(census(client)[k] <= before[k] for k in kept)), (
            before,
            census(client),
        )
        assert client.call("echo", word="still here") == "still here"
        client.close()
        server.process.terminate()
        server.wait()
        assert server.stderr == ""


def _raw(client: HttpPeer, message: Any, method: str = "POST", *, chunked: bool = False) -> bytes:
    """A request as bytes."""
    body = b"" if message is None else json.dumps(message).encode()
    headers = client.headers_for(message)
    if method == "GET":
        headers |= {"Accept": "text/event-stream", "Content-Type": None}
    if chunked:
        headers["Transfer-Encoding"] = "chunked"
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    else:
        headers["Content-Length"] = str(len(body))
    headers["Host"] = "localhost"
    lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return "\r\n".join([f"{method} /mcp HTTP/1.1", *lines, "", ""]).encode() + body


@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize("tool", ["doze", "doze_in_thread"])
def test_a_client_that_leaves_is_no_error(tool: str, revision: str) -> None:
    with limited() as server, HttpPeer(server.port, revision) as other:
        with other.again() as leaving:
            leaving.send(leaving.calling(tool, name="asleep", seconds=0.2))
            other.call("when", name="asleep")
        other.call("nap", seconds=0.3)
        server.process.terminate()
        server.wait()
        assert server.stderr == ""
