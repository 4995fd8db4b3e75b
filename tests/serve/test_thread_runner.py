"""Tools that block: threads for them, a bound on how many wait, and what a cancellation does."""

import json
import os
import threading
from typing import Any

import pytest

import wire
from accord.serve import stdio
from accord.serve.pipes import Pipes
from samples import faulty
from serve.talk import ask, calling, cancel, failure, limited, serving, text


def test_sync_calls_run_at_the_same_time() -> None:
    with serving() as peer:
        for number in range(3):
            peer.send(calling(number, "meet_in_threads"))
        assert sorted(text(reply) for reply in peer.replies(3)) == ["0", "1", "2"]


def test_a_sync_tool_runs_in_a_thread_of_ours() -> None:
    with serving() as peer:
        assert ask(peer, "thread_name") == "accord-tool"


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_more_blocking_calls_than_threads_all_finish(threads: int) -> None:
    with limited(f'{{"threads": {threads}}}') as peer:
        for number in range(20):
            peer.send(calling(number, "block", name=f"call {number}", until="go"))
        ask(peer, "when", name="call 0 began")
        assert ask(peer, "has", name=f"call {threads} began") == "false"
        ask(peer, "mark", name="go")
        replies = peer.replies(20)
    assert {reply["id"]: text(reply) for reply in replies} == {n: f"call {n}" for n in range(20)}


def test_a_call_beyond_the_queue_is_unavailable_until_there_is_room_again() -> None:
    with limited('{"threads": 1, "max_calls": 2}') as peer:
        for name in ("runs", "queued"):
            peer.send(calling(name, "block", name=name, until="go"))
        refused = peer.modern("tools/call", {"name": "echo", "arguments": {"word": "late"}})
        assert "Too many calls" in failure(refused)
        assert ask(peer, "nap", seconds=0) == "rested", "an async tool needs no thread"
        ask(peer, "mark", name="go")
        assert [text(reply) for reply in peer.replies(2)] == ["runs", "queued"]
        assert ask(peer, "echo", word="in time") == "in time"


def test_a_queued_call_that_is_cancelled_never_runs() -> None:
    with limited('{"threads": 1}') as peer:
        for name in ("runs", "queued", "last"):
            peer.send(calling(name, "block", name=name, until="go"))
        cancel(peer, "queued")
        ask(peer, "mark", name="go")
        assert [text(reply) for reply in peer.replies(2)] == ["runs", "last"]
        assert ask(peer, "has", name="queued began") == "false"
        peer.close_input()
        assert peer.rest() == []


def test_a_tool_that_raises_once_it_is_cancelled_costs_no_thread() -> None:
    with limited('{"threads": 1, "max_calls": 2}') as peer:
        for name in ("a", "b", "c"):
            peer.send(calling(name, "give_up", name=name, until=f"{name} may go"))
            ask(peer, "when", name=f"{name} began")
            cancel(peer, name)
            ask(peer, "mark", name=f"{name} may go")
            assert ask(peer, "when", name=f"{name} ended") == "cancelled"
        assert ask(peer, "echo", word="served") == "served"
        peer.close_input()
        assert peer.rest() == []
        peer.wait()
    assert peer.stderr == "", "nobody wants to hear of it any more"


def test_a_context_variable_reaches_the_thread_and_what_a_call_sets_stays_in_that_call() -> None:
    with limited('{"threads": 1}') as peer:
        assert ask(peer, "relabel_thread", label="mine") == "set at import"
        assert ask(peer, "relabel_thread", label="mine") == "set at import"


def test_thousands_of_sync_calls_at_once_are_all_answered() -> None:
    with serving() as peer:
        for number in range(2000):
            peer.send(calling(number, "echo", word=str(number)))
        replies = peer.replies(2000)
    assert {reply["id"]: text(reply) for reply in replies} == {n: str(n) for n in range(2000)}


# Calls that hang though nobody waits for them


@pytest.mark.parametrize("order", [1, -1], ids=["first to last", "last to first"])
def test_calls_that_hang_after_their_cancellation_disable_no_other_tool(order: int) -> None:
    with serving(grace=0) as peer:
        names = [f"call {number}" for number in range(40)]
        for name in names:
            peer.send(calling(name, "block", name=name, until="never"))
        ask(peer, "when", name="call 0 began")
        for name in names[::order]:
            cancel(peer, name)
        assert ask(peer, "echo", word="served") == "served"


def test_so_many_may_hang_and_then_calls_are_unavailable_until_one_ends() -> None:
    """With one thread, four."""
    with limited('{"threads": 1, "grace": 0}') as peer:
        for name in ("a", "b", "c", "d"):
            assert ask(peer, "echo", word="served") == "served"
            peer.send(calling(name, "block", name=name, until=f"{name} may go"))
            ask(peer, "when", name=f"{name} began")
            cancel(peer, name)
        refused = peer.modern("tools/call", {"name": "echo", "arguments": {"word": "late"}})
        assert "Too many calls" in failure(refused)
        assert ask(peer, "nap", seconds=0) == "rested", "an async tool needs no thread"
        ask(peer, "mark", name="a may go")
        ask(peer, "when", name="a ended")
        while "isError" in peer.modern("tools/call", _ECHO)["result"]:
            pass
        assert ask(peer, "echo", word="in time") == "in time"


_ECHO = {"name": "echo", "arguments": {"word": "again"}}


def test_a_call_queued_behind_one_that_hangs_runs_once_that_is_cancelled() -> None:
    with limited('{"threads": 1, "grace": 0}') as peer:
        peer.send(calling("hangs", "block", name="hangs", until="never"))
        peer.send(calling("queued", "echo", word="served"))
        ask(peer, "when", name="hangs began")
        cancel(peer, "hangs")
        assert text(peer.receive()) == "served"


def test_a_call_queued_behind_the_last_that_may_hang_is_not_left_in_silence() -> None:
    with limited('{"threads": 1, "grace": 0}') as peer:
        for name in ("a", "b", "c", "d"):
            peer.send(calling(name, "block", name=name, until="never"))
            ask(peer, "when", name=f"{name} began")
            if name == "d":
                peer.send(calling("queued", "echo", word="served"))
            cancel(peer, name)
        assert peer.receive()["id"] == "queued"


# A system that has no thread to give


@pytest.mark.parametrize("most", [0, 1, 2])
def test_without_threads_calls_wait_or_are_unavailable_and_no_other_message_is_lost(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _allow_threads(most, monkeypatch)
    sync = [calling(n, "echo", word="served") for n in range(5)]
    others = [calling(n, "nap", seconds=0) for n in range(5, 10)]
    replies = _served([message for pair in zip(sync, others, strict=True) for message in pair])
    assert sorted(replies) == list(range(10))
    assert {text(replies[n]) for n in range(5, 10)} == {"rested"}
    if most:
        assert {text(replies[n]) for n in range(5)} == {"served"}
    else:
        assert all("Too many calls" in failure(replies[n]) for n in range(5))


def _allow_threads(most: int, patch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start
    started: list[threading.Thread] = []

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "accord-tool":
            if len(started) == most:
                raise RuntimeError("can't start new thread")
            started.append(thread)
        start(thread)

    patch.setattr(threading.Thread, "start", refuse)


def _served(messages: list[dict[str, Any]]) -> dict[Any, Any]:
    """Return the replies of the sample server in this process, by their ids."""
    (reader, requests), (replies, writer) = os.pipe(), os.pipe()
    with os.fdopen(requests, "wb") as stream:
        stream.writelines(json.dumps(message).encode() + b"\n" for message in messages)
    serving = threading.Thread(target=stdio.serve, args=[faulty.blocking, Pipes(reader, writer)])
    serving.start()
    serving.join(50)
    assert not serving.is_alive()
    os.close(reader)
    os.close(writer)
    with os.fdopen(replies, "rb") as stream:
        found = [wire.check(m, revision=wire.STATELESS, method="tools/call") for m in stream]
    return {reply["id"]: reply for reply in found}
