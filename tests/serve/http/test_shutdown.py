"""How a server ends: no new calls, those in flight finish, and nothing holds it for long."""

import re
import signal
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from time import monotonic

import pytest

from http_peer import HttpPeer, text_of
from serve.http.talk import ERAS, STATELESS, eventually, serving
from serve.talk import UNWATCHED

GRACE = 0.3
AT_ONCE = 15
SOON = 20  # for one that may have much to write down at its end, and tools that take ten minutes
FOREVER = 45
STUBBORN = [
    "sleep_in_task",
    "sleep_in_thread",
    "spin_in_thread",
    "refuse_to_be_cancelled",
    "await_asyncios_thread",
    "leave_a_thread_behind",
    "leave_an_executor_behind",
    "leave_a_task_behind",
    "block_the_loop",
]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("revision", ERAS)
def test_calls_in_flight_are_answered_and_no_new_ones_taken(
    revision: str, number: signal.Signals
) -> None:
    with serving("--grace", str(FOREVER), env=UNWATCHED) as server, ExitStack() as stack:
        client = stack.enter_context(HttpPeer(server.port, revision))
        task, thread, speaker = (stack.enter_context(client.again()) for _ in range(3))
        task.send(client.calling("doze", name="task", seconds=0.5))
        thread.send(client.calling("doze_in_thread", name="thread", seconds=0.5))
        stream = speaker.post(client.watching("say_slowly", seconds=0.5))
        stream.next()
        client.call("when", name="task")
        client.call("when", name="thread")
        server.process.send_signal(number)
        assert eventually(lambda: not _answers(client))
        assert [caller.receive().text for caller in (task, thread)] == ["rested", "rested"]
        assert text_of(stream.rest()[-1].message) == "said"
        server.wait(AT_ONCE)
    lines = [line.split()[0] for line in server.stderr.splitlines()]
    assert sorted(lines) == ["doze", "doze_in_thread", "say_slowly", "when", "when"]


def _answers(client: HttpPeer) -> bool:
    """True if a new call is served."""
    try:
        with client.again() as fresh:
            return fresh.ask("tools/list").status == 200
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_exit_code_says_that_all_went_well(number: signal.Signals) -> None:
    with serving(env=UNWATCHED) as server, HttpPeer(server.port) as client:
        client.call("echo", word="up")
        server.process.send_signal(number)
        assert server.wait(AT_ONCE) == 0


@pytest.mark.parametrize("revision", ERAS)
def test_a_second_signal_ends_it_at_once(revision: str) -> None:
    with serving("--grace", str(FOREVER), env=UNWATCHED) as server, ExitStack() as stack:
        client = stack.enter_context(HttpPeer(server.port, revision))
        caller = stack.enter_context(client.again())
        caller.send(client.calling("doze", name="long", seconds=FOREVER))
        client.call("when", name="long")
        server.process.terminate()
        assert eventually(lambda: not _answers(client))
        server.process.terminate()
        server.wait(AT_ONCE)


@pytest.mark.parametrize("is_busy", [False, True], ids=["idle", "busy"])
def test_ctrl_c_twice_in_a_row_leaves_no_traceback(is_busy: bool) -> None:
    with serving("--grace", str(FOREVER), env=UNWATCHED) as server, ExitStack() as stack:
        client = stack.enter_context(HttpPeer(server.port))
        if is_busy:
            stack.enter_context(client.again()).send(
                client.calling("doze", name="a", seconds=FOREVER)
            )
            client.call("when", name="a")
        server.process.send_signal(signal.SIGINT)
        assert eventually(lambda: not _answers(client))
        server.process.send_signal(signal.SIGINT)
        server.wait(AT_ONCE)
    lines = [line.split()[0] for line in server.stderr.splitlines()]
    assert set(lines) <= {"doze", "when"}


def test_with_nothing_open_but_idle_connections_and_streams_it_ends_at_once() -> None:
    with serving("--grace", str(FOREVER), env=UNWATCHED) as server, ExitStack() as stack:
        sessions = [stack.enter_context(HttpPeer(server.port, "2025-11-25")) for _ in range(3)]
        streams = [stack.enter_context(session.again()).listen() for session in sessions]
        stack.enter_context(HttpPeer(server.port)).call("echo", word="idle")
        server.process.terminate()
        assert [stream.rest() for stream in streams] == [[], [], []]
        server.wait(AT_ONCE)


def test_a_client_that_reads_nothing_does_not_hold_it_for_the_whole_grace() -> None:
    size = 15_000_000  # more than the system would keep for it
    with serving("--grace", str(FOREVER), env=UNWATCHED) as server, ExitStack() as stack:
        peers = (HttpPeer(server.port, timeout=FOREVER) for _ in range(2))
        deaf, other = map(stack.enter_context, peers)
        deaf.send(deaf.calling("text", size=size))
        assert len(other.call("text", size=size)) == size
        server.process.terminate()
        server.wait(2 * AT_ONCE)


def _end(tool: str) -> float:
    with serving("--grace", str(GRACE), env=UNWATCHED) as server, ExitStack() as stack:
        peers = [stack.enter_context(HttpPeer(server.port, STATELESS)) for _ in range(2)]
        peers[0].send(peers[0].calling(tool))
        if tool == "block_the_loop":
            server.said(re.compile("stuck"))
        else:
            peers[1].call("when", name="stuck")
        begin = monotonic()
        server.process.terminate()
        server.wait(FOREVER)
        return monotonic() - begin


@pytest.fixture(scope="module")
def at_sigterm() -> "dict[str, Future[float]]":
    with ThreadPoolExecutor(3) as pool:
        return {tool: pool.submit(_end, tool) for tool in STUBBORN}


@pytest.mark.parametrize("tool", STUBBORN)
def test_nothing_holds_a_sigterm_longer_than_the_grace(
    at_sigterm: "dict[str, Future[float]]", tool: str
) -> None:
    assert at_sigterm[tool].result() < GRACE + SOON
