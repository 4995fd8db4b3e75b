"""Tools that block: threads for them, a bound on how many wait, and what a cancellation does."""

import pytest

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
