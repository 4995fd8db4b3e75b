"""More than the server can do or the client can read at once: nobody waits longer than they must."""

import fcntl
import json
import os
import select
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Any

import pytest

import wire
from commands import Popen
from peer import request
from serve.talk import ACCORD, SAMPLES, UNWATCHED, ask, calling, cancel, limited, serving, text

AT_ONCE = 10.0
"""Seconds: far more than a message takes on a busy machine, and far less than the calls here would."""


def test_a_cancellation_behind_six_hundred_queued_calls_is_acted_on_in_time() -> None:
    with serving(env=UNWATCHED, grace=0) as peer:
        peer.send(calling("mine", "wait", name="mine", until="never"))
        ask(peer, "when", name="mine began")
        names = [f"call {number}" for number in range(600)]
        for name in names:
            peer.send(calling(name, "block", name=name, until="go"))
        begin = monotonic()
        cancel(peer, "mine")
        assert ask(peer, "when", name="mine ended") == "CancelledError"
        assert monotonic() - begin < AT_ONCE
        ask(peer, "mark", name="go")
        assert sorted(reply["id"] for reply in peer.replies(600)) == sorted(names)


def test_queued_calls_that_are_all_taken_back_delay_nobody() -> None:
    """They would sleep for minutes, or 25 seconds with a thread for each CPU of a large machine."""
    with serving(env=UNWATCHED, grace=0) as peer:
        names = [f"call {number}" for number in range(600)]
        for name in names:
            peer.send(calling(name, "nap_in_thread", seconds=1.5))
        for name in reversed(names):
            cancel(peer, name)
        begin = monotonic()
        assert ask(peer, "echo", word="served") == "served"
        assert monotonic() - begin < AT_ONCE


def test_calls_that_come_faster_than_they_are_done_are_all_done() -> None:
    """Three times as many as may be open: the rest has to stay in the pipe meanwhile."""
    with limited('{"max_calls": 1300}') as peer:
        for number in range(4_000):
            peer.send(calling(number, "take_turns"))
        assert {text(reply) for reply in peer.replies(4_000, timeout=30)} == {"done"}


@pytest.mark.parametrize("quick", [2_501, 100, 7])
def test_calls_that_wait_for_long_delay_nobody(quick: int) -> None:
    """Also where one of so many is done at once."""
    with serving(env=UNWATCHED, grace=0) as peer:
        for number in range(2_500):
            tool = "when" if (number + 1) % quick else "has"
            peer.send(calling(number, tool, name="never"))
        peer.replies(2_500 // quick)
        assert ask(peer, "has", name="never") == "false"
        begin = monotonic()
        for _ in range(400):  # twenty seconds, if each was delayed
            ask(peer, "has", name="never")
        assert monotonic() - begin < AT_ONCE


def test_a_client_that_reads_again_is_answered_at_once() -> None:
    """It left three megabytes unread while two hundred calls sleep, until the server paused."""
    with _unread_server() as (_, requests, replies):
        sleeping = [calling(n, "nap_in_thread", seconds=600) for n in range(200)]
        _send(requests, *sleeping, calling("large", "text", size=3_000_000))
        pings = _ping_until_nobody_reads(requests)
        received = [_reply(replies) for _ in range(pings + 1)]
        assert [len(text(r)) for r in received if r["id"] == "large"] == [3_000_000]
        begin = monotonic()
        _send(requests, request("ping", id="next"))
        assert _reply(replies)["id"] == "next"
        assert monotonic() - begin < AT_ONCE


def test_a_tool_that_reports_waits_for_a_client_that_does_not_read() -> None:
    """Of twenty megabytes one is kept for it; and all of them come, once it reads."""
    message = calling("large", "report", times=20_000)
    message["params"]["_meta"]["progressToken"] = 1
    with _unread_server() as (child, requests, replies):
        _send(requests, calling("first", "text", size=1))
        replies.readline()
        before = _memory(child)
        _send(requests, message)
        _wait_until_full(replies)
        sleep(0.5)  # in which it would go on
        assert _memory(child) - before < 8_000_000
        said = [json.loads(replies.readline()) for _ in range(20_001)]
    assert [each["params"]["progress"] for each in said[:-1]] == list(range(20_000))
    assert text(said[-1]) == "reported"


def _wait_until_full(pipe: IO[bytes]) -> None:
    """Until there is something in it, and no more comes."""
    before, now = -1, 0
    while not now or now > before:
        sleep(0.1)
        before = now
        now = int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def _memory(child: "subprocess.Popen[bytes]") -> int:
    status = Path(f"/proc/{child.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


@contextmanager
def _unread_server() -> Iterator[tuple["subprocess.Popen[bytes]", IO[bytes], IO[bytes]]]:
    """A server whose replies stay in the pipe until the test reads them, for half a minute at most."""
    pipe = subprocess.PIPE
    command = [ACCORD, "serve", "faulty:blocking", "--grace", "0"]
    with Popen(command, cwd=SAMPLES, env=UNWATCHED, stdin=pipe, stdout=pipe) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        end = threading.Timer(30, child.kill)
        end.start()
        try:
            yield child, child.stdin, child.stdout
        finally:
            end.cancel()
            child.kill()


def _send(stream: IO[bytes], *messages: dict[str, Any]) -> None:
    stream.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
    stream.flush()


def _ping_until_nobody_reads(stream: IO[bytes]) -> int:
    """Return the number of pings that were sent before the pipe stayed full."""
    line = json.dumps(request("ping", id="p" * 4000)).encode() + b"\n"
    sent = 0
    while select.select([], [stream], [], 0.3)[1]:
        os.write(stream.fileno(), line)  # whole: a pipe that takes anything has room for a page
        sent += 1
    return sent


def _reply(stream: IO[bytes]) -> dict[str, Any]:
    reply = wire.decode(stream.readline())
    method, revision = ("tools/call", wire.STATELESS) if reply["id"] == "large" else ("ping", None)
    return wire.check(reply, revision=revision, method=method)
