"""How a server ends: it finishes what is open, within a grace period, and then it goes."""

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from time import monotonic
from typing import IO, NamedTuple

import pytest

from commands import Popen, Process
from serve.talk import ACCORD, ENVIRONMENT, SAMPLES, UNWATCHED, ask, calling, serving, text
from stdio_peer import StdioPeer
from wire import Message

GRACE = 0.3
AT_ONCE = 15
"""Seconds within which a process can have gone on a busy machine."""

FOREVER = 45
"""A grace period that no test waits for."""

OPEN = [
    "sleep_in_task",
    "sleep_in_thread",
    "spin_in_thread",
    "refuse_to_be_cancelled",
    "await_asyncios_thread",
]
STUBBORN = [
    *OPEN,
    "leave_a_thread_behind",
    "leave_an_executor_behind",
    "leave_a_task_behind",
]
ENDS = [signal.SIGTERM, signal.SIGINT]


# What is open may finish


def test_calls_in_flight_are_answered_after_the_end_of_input() -> None:
    with serving() as peer:
        peer.send(calling(1, "nap", seconds=0.3))
        peer.send(calling(2, "nap_in_thread", seconds=0.3))
        peer.send(calling(3, "block", name="b", until="w began"))
        peer.send(calling(4, "wait", name="w", until="b began"))
        peer.close_input()
        replies = {reply["id"]: text(reply) for reply in peer.rest() if isinstance(reply, dict)}
        assert peer.wait() == 0
    assert replies == {1: "rested", 2: "rested", 3: "b", 4: "w"}
    assert peer.stderr == ""


@pytest.mark.parametrize("number", ENDS)
def test_calls_in_flight_are_answered_after_a_signal(number: signal.Signals) -> None:
    with serving() as peer:
        peer.send(calling(1, "nap", seconds=0.3))
        peer.send(calling(2, "nap_in_thread", seconds=0.3))
        ask(peer, "echo", word="both have begun")
        peer.process.send_signal(number)
        assert [text(reply) for reply in peer.replies(2)] == ["rested", "rested"]
        assert peer.wait() == 0
    assert peer.stderr == ""


@pytest.mark.parametrize("number", ENDS)
def test_the_end_of_input_after_a_signal_leaves_calls_in_flight_their_time(
    number: signal.Signals,
) -> None:
    with serving() as peer:
        peer.send(calling(1, "nap", seconds=1.5))
        ask(peer, "echo", word="it has begun")
        peer.process.send_signal(signal.SIGSTOP)  # so that both are there in one turn of the loop
        peer.process.send_signal(number)
        peer.close_input()
        peer.process.send_signal(signal.SIGCONT)
        assert text(peer.receive()) == "rested"
        assert peer.wait() == 0


def test_a_message_without_a_last_newline_is_served() -> None:
    with serving() as peer:
        peer.send(json.dumps(calling(1, "echo", word="hi")).encode())
        peer.close_input()
        assert text(peer.receive()) == "hi"
        assert peer.wait() == 0


def test_without_open_calls_it_ends_at_once() -> None:
    with serving(grace=FOREVER) as peer:
        ask(peer, "echo", word="up")
        peer.close_input()
        assert peer.wait(AT_ONCE) == 0


def test_a_call_that_was_cancelled_is_not_waited_for() -> None:
    with serving(grace=FOREVER) as peer:
        for tool in ("wait", "block"):
            peer.send(calling(tool, tool, name=tool, until="never"))
            ask(peer, "when", name=f"{tool} began")
            peer.notify("notifications/cancelled", {"requestId": tool})
        peer.close_input()
        assert peer.wait(AT_ONCE) == 0


# What does not finish is left


class Ended(NamedTuple):
    """The exit code of a stuck server, and the seconds from the signal to its end."""

    code: int
    seconds: float


Telling = Callable[[StdioPeer], object]


def _side_by_side(grace: float, tell: Telling) -> "dict[str, Future[Ended]]":
    """Every stubborn tool in a server of its own, all at the same time."""
    with ThreadPoolExecutor(len(STUBBORN)) as pool:
        return {tool: pool.submit(_end, tool, grace, tell) for tool in STUBBORN}


def _end(tool: str, grace: float, tell: Telling) -> Ended:
    with serving(grace=grace, env=UNWATCHED) as peer:
        peer.send(calling("stuck", tool))
        ask(peer, "when", name="stuck")
        begin = monotonic()
        tell(peer)
        return Ended(peer.wait(GRACE + AT_ONCE), monotonic() - begin)


def _terminate_again_and_again(child: Process) -> None:
    """Two signals that come together count as one, so a second one is sent until it counts."""
    end = monotonic() + AT_ONCE
    while child.poll() is None and monotonic() < end:
        child.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            child.wait(0.1)


@pytest.fixture(scope="module")
def at_end_of_input() -> "dict[str, Future[Ended]]":
    return _side_by_side(GRACE, StdioPeer.close_input)


@pytest.fixture(scope="module")
def at_sigterm() -> "dict[str, Future[Ended]]":
    return _side_by_side(GRACE, lambda peer: peer.process.terminate())


@pytest.fixture(scope="module")
def at_second_sigterm() -> "dict[str, Future[Ended]]":
    return _side_by_side(FOREVER, lambda peer: _terminate_again_and_again(peer.process))


@pytest.mark.parametrize("tool", STUBBORN)
def test_nothing_holds_the_end_of_input_longer_than_the_grace(
    at_end_of_input: "dict[str, Future[Ended]]", tool: str
) -> None:
    assert at_end_of_input[tool].result().code == 0


@pytest.mark.parametrize("tool", STUBBORN)
def test_nothing_holds_a_sigterm_longer_than_the_grace(
    at_sigterm: "dict[str, Future[Ended]]", tool: str
) -> None:
    assert at_sigterm[tool].result().code == 0


@pytest.mark.parametrize("tool", OPEN)
def test_an_open_call_has_its_grace_period(
    at_end_of_input: "dict[str, Future[Ended]]",
    at_sigterm: "dict[str, Future[Ended]]",
    tool: str,
) -> None:
    assert at_end_of_input[tool].result().seconds > GRACE
    assert at_sigterm[tool].result().seconds > GRACE


@pytest.mark.parametrize("tool", STUBBORN)
def test_a_second_sigterm_ends_it_at_once(
    at_second_sigterm: "dict[str, Future[Ended]]", tool: str
) -> None:
    assert at_second_sigterm[tool].result().seconds < AT_ONCE


def test_an_async_tool_that_blocks_the_loop_does_not_hold_a_sigterm() -> None:
    with _started(GRACE) as child:
        _say(child, calling("stuck", "block_the_loop"))
        assert _stream(child.stderr).readline() == b"stuck\n"
        child.send_signal(signal.SIGTERM)
        assert child.wait(GRACE + AT_ONCE) == 0


# Nobody is there to hear


@contextmanager
def _started(grace: float) -> "Iterator[subprocess.Popen[bytes]]":
    """A server whose pipes the test holds itself."""
    command = [ACCORD, "serve", "faulty:blocking", "--grace", str(grace)]
    pipe = subprocess.PIPE
    with Popen(
        command, cwd=SAMPLES, env=ENVIRONMENT, stdin=pipe, stdout=pipe, stderr=pipe
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def _say(child: "subprocess.Popen[bytes]", *messages: Message) -> None:
    _stream(child.stdin).write(b"".join(json.dumps(m).encode() + b"\n" for m in messages))
    _stream(child.stdin).flush()


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


@pytest.fixture(scope="module")
def at_lost_output() -> "dict[str, Future[Ended]]":
    with ThreadPoolExecutor(len(STUBBORN)) as pool:
        return {tool: pool.submit(_lose_output, tool) for tool in ["echo", *STUBBORN]}


def _lose_output(tool: str) -> Ended:
    arguments = {"word": "hi"} if tool == "echo" else {}
    ready = "stuck" if tool in STUBBORN else "w began"
    with _started(GRACE) as child:
        _say(child, calling(1, tool, **arguments), calling(2, "wait", name="w", until=ready))
        while b'"id":2,' not in _stream(child.stdout).readline():
            assert child.poll() is None
        _stream(child.stdout).close()
        begin = monotonic()
        _say(child, calling(3, "echo", word="is anybody there?"))
        return Ended(child.wait(GRACE + AT_ONCE), monotonic() - begin)


@pytest.mark.parametrize("tool", ["echo", *STUBBORN])
def test_a_peer_that_closes_our_output_ends_the_server_whatever_is_open(
    at_lost_output: "dict[str, Future[Ended]]", tool: str
) -> None:
    assert at_lost_output[tool].result().code == 0


def test_a_peer_that_reads_no_more_does_not_hold_the_end() -> None:
    with _started(GRACE) as child:
        _say(child, calling(1, "text", size=10_000_000))
        _stream(child.stdin).close()
        assert child.wait(GRACE + 2 * AT_ONCE) == 0  # ten megabytes are made first


def test_a_second_sigterm_does_not_wait_for_a_peer_that_reads_no_more() -> None:
    with _started(FOREVER) as child:
        _say(child, calling(1, "text", size=10_000_000))
        _stream(child.stdout).read(1)
        _terminate_again_and_again(child)
        assert child.poll() is not None
