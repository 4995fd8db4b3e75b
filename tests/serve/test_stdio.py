"""Calls over standard input and output: they overlap, can be taken back, and survive bad tools."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from commands import Popen
from processes import is_gone
from serve.http.talk import eventually
from serve.talk import (
    ACCORD,
    SAMPLES,
    UNWATCHED,
    ask,
    calling,
    cancel,
    failure,
    limited,
    serving,
    text,
)
from stdio_peer import StdioPeer

# Overlap


def test_async_calls_run_at_the_same_time() -> None:
    with serving() as peer:
        for number in range(50):
            peer.send(calling(number, "meet", parties=50))
        replies = peer.replies(50)
    assert sorted(reply["id"] for reply in replies) == list(range(50))
    assert {text(reply) for reply in replies} == {"50"}


def test_replies_come_as_calls_finish_not_as_they_came() -> None:
    with serving() as peer:
        peer.send(calling("first", "wait", name="first", until="go"))
        peer.send(calling("second", "mark", name="go"))
        assert [reply["id"] for reply in peer.replies(2)] == ["second", "first"]


def test_two_calls_in_flight_with_one_id_each_get_their_own_answer() -> None:
    with serving() as peer:
        peer.send(calling(1, "wait", name="a", until="a may go"))
        peer.send(calling(1, "wait", name="b", until="b may go"))
        ask(peer, "mark", name="b may go")
        ask(peer, "mark", name="a may go")
        assert [text(reply) for reply in peer.replies(2)] == ["b", "a"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", {}),
        ("server/discover", {}),
        ("tools/call", {"name": "echo", "arguments": {"word": "hi"}}),
        ("tools/call", {"name": "nap", "arguments": {"seconds": 0}}),
    ],
    ids=["tools/list", "server/discover", "a sync tool", "an async tool"],
)
def test_a_blocked_sync_tool_blocks_nobody_else(method: str, params: dict[str, Any]) -> None:
    with serving() as peer:
        peer.send(calling("blocked", "block", name="b", until="go"))
        ask(peer, "when", name="b began")
        assert "result" in peer.modern(method, params)
        ask(peer, "mark", name="go")
        assert text(peer.receive()) == "b"


# Real tasks


def test_a_timeout_inside_an_async_tool_works() -> None:
    with serving() as peer:
        assert ask(peer, "run_out_of_time") == "timed out"


def test_an_async_tool_is_a_task_named_after_it() -> None:
    with serving() as peer:
        assert ask(peer, "task_name") == "task_name"


def test_a_context_variable_set_by_an_async_call_stays_in_that_call() -> None:
    with serving() as peer:
        assert ask(peer, "relabel_task", label="mine") == "set at import"
        assert ask(peer, "relabel_task", label="mine") == "set at import"


# Cancellation


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25", "2026-07-28"])
def test_a_cancelled_async_call_sees_it_and_is_not_answered(revision: str) -> None:
    with serving() as peer:
        if revision != "2026-07-28":
            peer.initialize(revision)
        peer.send(_call_under(revision, "mine", "wait", name="w", until="never"))
        peer.request(*_asking(revision, "when", name="w began"))
        cancel(peer, "mine")
        ended = peer.request(*_asking(revision, "when", name="w ended"))
        assert text(ended) == "CancelledError"
        peer.close_input()
        assert peer.rest() == []
        assert peer.wait() == 0
        assert peer.stderr == ""


def _asking(revision: str, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    message = _call_under(revision, 0, tool, **arguments)
    return message["method"], message["params"]


def _call_under(revision: str, id: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    message = calling(id, tool, **arguments)
    if revision != "2026-07-28":
        del message["params"]["_meta"]
    return message


def test_a_running_sync_call_learns_of_its_cancellation_and_its_result_is_dropped() -> None:
    with serving() as peer:
        peer.send(calling("mine", "block", name="b", until="go"))
        ask(peer, "when", name="b began")
        cancel(peer, "mine")
        ask(peer, "mark", name="go")
        assert ask(peer, "when", name="b ended") == "cancelled"
        peer.close_input()
        assert peer.rest() == []


def test_a_cancellation_of_what_is_not_running_is_ignored() -> None:
    with serving() as peer:
        cancel(peer, "nothing")
        assert ask(peer, "echo", word="hi") == "hi"


def test_cancelling_one_of_many_leaves_the_others() -> None:
    with serving() as peer:
        for name in ("a", "b", "c"):
            peer.send(calling(name, "wait", name=name, until="go"))
        ask(peer, "when", name="c began")
        cancel(peer, "b")
        ask(peer, "when", name="b ended")
        ask(peer, "mark", name="go")
        assert sorted(text(reply) for reply in peer.replies(2)) == ["a", "c"]


def test_calls_that_were_cancelled_take_no_room() -> None:
    with limited('{"max_calls": 2}') as peer:
        for name in ("a", "b", "c"):
            peer.send(calling(name, "wait", name=name, until="never"))
            ask(peer, "when", name=f"{name} began")
            cancel(peer, name)
            assert ask(peer, "when", name=f"{name} ended") == "CancelledError"
        assert ask(peer, "nap", seconds=0) == "rested"


def test_calls_that_are_cancelled_before_they_begin_take_no_room() -> None:
    """Call and cancellation arrive in one piece."""
    with limited('{"max_calls": 2}') as peer:
        for name in ("a", "b", "c"):
            cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
            call = calling(name, "wait", name=name, until="never")
            _send_in_one_piece(peer, [call, {**cancelled, "params": {"requestId": name}}])
            peer.modern("tools/list")
        assert ask(peer, "nap", seconds=0) == "rested"
        peer.close_input()
        assert peer.rest() == []


def test_async_calls_beyond_the_limit_are_unavailable_until_there_is_room_again() -> None:
    with limited('{"max_calls": 2}') as peer:
        for name in ("a", "b"):
            peer.send(calling(name, "wait", name=name, until="b began"))
        for name in ("c", "d"):
            peer.send(calling(name, "meet", parties=2))
        replies = {reply["id"]: reply for reply in peer.replies(4)}
        assert [text(replies[name]) for name in ("a", "b")] == ["a", "b"]
        assert "Too many calls" in failure(replies["c"])
        assert "Too many calls" in failure(replies["d"])
        assert ask(peer, "nap", seconds=0) == "rested"


def test_a_task_that_ends_a_cancelled_call_with_an_error_is_not_reported() -> None:
    with serving() as peer:
        peer.send(calling("mine", "fail_when_cancelled"))
        ask(peer, "when", name="stuck")
        cancel(peer, "mine")
        peer.close_input()
        assert peer.rest() == []
        assert peer.wait() == 0
    assert peer.stderr == ""


# Tools that go wrong


@pytest.fixture(scope="module")
def broken() -> Iterator[StdioPeer]:
    """One server for all of them: it has to survive the lot."""
    with serving("faulty:raising") as peer:
        yield peer


RAISED = [
    "ValueError",
    "SystemExit",
    "KeyboardInterrupt",
    "GeneratorExit",
    "StopIteration",
    "StopAsyncIteration",
    "CancelledError",
    "RecursionError",
    "MemoryError",
]


@pytest.mark.parametrize("tool", ["throw", "throw_in_thread"])
@pytest.mark.parametrize("error", RAISED)
def test_whatever_a_tool_raises_is_masked_and_the_server_goes_on(
    broken: StdioPeer, tool: str, error: str
) -> None:
    reply = broken.modern("tools/call", {"name": tool, "arguments": {"error": error}})
    assert failure(reply) == "Error executing tool: Internal error"
    assert ask(broken, "fine") == "fine"
    assert ask(broken, "fine_in_thread") == "fine"


UNSAYABLE = [
    "lone_surrogate",
    "lone_surrogate_inside",
    "lone_surrogate_in_problem",
    "lone_surrogate_in_warning",
    "lone_surrogate_in_thread",
    "no_json",
    "no_block",
    "other_than_promised",
    "arguments_that_raise",
]


@pytest.mark.requirement("mcp.tools.output-schema")
@pytest.mark.parametrize("tool", UNSAYABLE)
def test_an_answer_that_cannot_be_worded_is_an_internal_error(broken: StdioPeer, tool: str) -> None:
    arguments = {"odd": {"value": 1}} if tool == "arguments_that_raise" else {}
    reply = broken.modern("tools/call", {"name": tool, "arguments": arguments})
    assert _words_of_failure(reply) == "Internal error"
    assert ask(broken, "fine") == "fine"
    assert ask(broken, "fine_in_thread") == "fine"


def test_an_answer_that_contains_itself_is_a_failure_that_says_so(broken: StdioPeer) -> None:
    reply = broken.modern("tools/call", {"name": "endless_recursion", "arguments": {}})
    assert "more than 100 levels deep, or contains itself" in _words_of_failure(reply)
    assert ask(broken, "fine") == "fine"


def _words_of_failure(reply: dict[str, Any]) -> str:
    if "error" in reply:
        return str(reply["error"]["message"])
    return failure(reply).removeprefix("Error executing tool: ")


def test_what_stands_behind_a_call_that_breaks_is_served() -> None:
    """They arrive in one piece, as a client that pipelines sends them."""
    messages = [
        calling(1, "fine"),
        calling(2, "arguments_that_raise", odd={"value": 1}),
        calling(3, "lone_surrogate"),
        calling(4, "throw", error="KeyboardInterrupt"),
        calling(5, "fine"),
    ]
    with serving("faulty:raising") as peer:
        _send_in_one_piece(peer, messages)
        assert sorted(reply["id"] for reply in peer.replies(5)) == [1, 2, 3, 4, 5]


def _send_in_one_piece(peer: StdioPeer, messages: list[dict[str, Any]]) -> None:
    peer.send(b"".join(json.dumps(message).encode() + b"\n" for message in messages))


def test_the_cause_of_an_internal_error_is_on_stderr_and_not_on_the_wire() -> None:
    with serving("faulty:raising") as peer:
        reply = peer.modern("tools/call", {"name": "leak", "arguments": {}})
        peer.close_input()
        peer.wait()
    assert "hunter2" in peer.stderr
    assert "Traceback" in peer.stderr
    assert "hunter2" not in str(reply)
    assert "faulty.py" not in str(reply)


@pytest.mark.parametrize(
    "tool",
    ["exit_in_a_subtask", "interrupt_in_a_subtask", "stop_the_loop", "cancel_every_task"],
)
def test_no_task_of_a_tool_ends_the_server(tool: str) -> None:
    with serving("faulty:raising") as peer:
        peer.send(calling("odd", tool))
        for _ in range(3):
            assert ask(peer, "fine") == "fine"


def test_a_loop_that_a_tool_stops_again_and_again_has_no_more_tasks_after_it() -> None:
    with serving("faulty:raising") as peer:
        before = int(ask(peer, "count_tasks"))
        for _ in range(5):
            ask(peer, "stop_the_loop")
        assert int(ask(peer, "count_tasks")) <= before


def test_a_stderr_that_nobody_reads_does_not_hold_the_server() -> None:
    command = [ACCORD, "serve", "faulty:raising"]
    pipe = subprocess.PIPE
    with Popen(command, cwd=SAMPLES, env=UNWATCHED, stdin=pipe, stdout=pipe, stderr=pipe) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for number in range(50):
            child.stdin.write(
                json.dumps(calling(number, "complain", times=10_000)).encode() + b"\n"
            )
        child.stdin.write(json.dumps(calling("last", "fine")).encode() + b"\n")
        child.stdin.flush()
        replies = [json.loads(child.stdout.readline()) for _ in range(51)]
        child.kill()
    assert replies[-1]["id"] == "last"


def test_a_forked_child_ends_when_it_is_told_to() -> None:
    with serving("faulty:raising") as peer:
        assert float(ask(peer, "fork_and_end_the_child")) < 20, "it would sleep for 30 s"


@pytest.mark.parametrize("tool", ["fork_and_return", "fork_and_return_on_the_loop"])
def test_a_forked_child_that_returns_says_nothing_and_ends(tool: str) -> None:
    with serving("faulty:raising") as peer:
        child = int(ask(peer, tool))
        assert child > 0
        assert ask(peer, "fine") == "fine"
        peer.close_input()
        assert peer.rest() == []
    assert eventually(lambda: is_gone(child))
