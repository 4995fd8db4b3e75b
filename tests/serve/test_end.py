"""How a server ends: it finishes what is open, within a grace period, and then it goes."""

import json
import signal
import subprocess
from time import monotonic

import pytest

from serve.talk import ACCORD, HERE, ask, calling, serving, text
from stdio_peer import StdioPeer

GRACE = 0.3
AT_ONCE = 2
"""Seconds within which a process can have gone on a busy machine."""

FOREVER = 30
"""A grace period that no test waits for."""

STUBBORN = [
    "sleep_in_task",
    "sleep_in_thread",
    "spin_in_thread",
    "refuse_to_be_cancelled",
    "await_asyncios_thread",
    "leave_a_thread_behind",
    "leave_an_executor_behind",
    "leave_a_task_behind",
]
ENDS = [signal.SIGTERM, signal.SIGINT]


def _get_stuck(peer: StdioPeer, tool: str) -> None:
    peer.send(calling("stuck", tool))
    ask(peer, "when", name="stuck")


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


@pytest.mark.parametrize("tool", STUBBORN)
def test_nothing_holds_the_end_of_input_longer_than_the_grace(tool: str) -> None:
    with serving(grace=GRACE) as peer:
        _get_stuck(peer, tool)
        begin = monotonic()
        peer.close_input()
        assert peer.wait(GRACE + AT_ONCE) == 0
    if tool.startswith(("sleep", "spin", "refuse", "await")):
        assert monotonic() - begin > GRACE, "the call was to have its grace period"


@pytest.mark.parametrize("tool", [*STUBBORN, "block_the_loop"])
def test_nothing_holds_a_sigterm_longer_than_the_grace(tool: str) -> None:
    with serving(grace=GRACE) as peer:
        peer.send(calling("stuck", tool))
        if tool == "block_the_loop":
            assert _line_on_stderr(peer) == "stuck\n"
        else:
            ask(peer, "when", name="stuck")
        peer.process.send_signal(signal.SIGTERM)
        assert peer.wait(GRACE + AT_ONCE) == 0


def _line_on_stderr(peer: StdioPeer) -> str:
    while "\n" not in peer.stderr:
        assert peer.process.poll() is None
    return peer.stderr


@pytest.mark.parametrize("tool", STUBBORN)
def test_a_second_sigterm_ends_it_at_once(tool: str) -> None:
    with serving(grace=FOREVER) as peer:
        _get_stuck(peer, tool)
        begin = monotonic()
        while peer.process.poll() is None and monotonic() - begin < AT_ONCE:
            peer.process.send_signal(signal.SIGTERM)
            _wait_a_little(peer)
        assert peer.process.poll() is not None


def _wait_a_little(peer: StdioPeer) -> None:
    """Two signals that come together count as one."""
    try:
        peer.process.wait(0.1)
    except subprocess.TimeoutExpired:
        return


# Nobody is there to hear


@pytest.mark.parametrize("tool", [None, "sleep_in_task", "sleep_in_thread"])
def test_a_peer_that_closes_our_output_ends_the_server(tool: str | None) -> None:
    command = [ACCORD, "serve", "workshop", "--grace", str(FOREVER)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=HERE, stdin=pipe, stdout=pipe, stderr=pipe) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        messages = [calling("stuck", tool)] if tool else []
        messages.append(calling(1, "echo", word="up"))
        child.stdin.write(b"".join(json.dumps(m).encode() + b"\n" for m in messages))
        child.stdin.flush()
        child.stdout.readline()
        child.stdout.close()
        child.stdin.write(json.dumps(calling(2, "echo", word="hi")).encode() + b"\n")
        child.stdin.flush()
        try:
            assert child.wait(AT_ONCE) == 0
            assert child.stderr.read() == b""
        finally:
            child.kill()


def test_a_peer_that_reads_no_more_does_not_hold_the_end() -> None:
    command = [ACCORD, "serve", "workshop", "--grace", str(GRACE)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=HERE, stdin=pipe, stdout=pipe) as child:
        assert child.stdin is not None
        child.stdin.write(json.dumps(calling(1, "text", size=10_000_000)).encode() + b"\n")
        child.stdin.close()
        try:
            assert child.wait(GRACE + AT_ONCE) == 0
        finally:
            child.kill()
