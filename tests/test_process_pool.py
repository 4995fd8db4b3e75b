"""The pool of child processes behind `accord read --jobs`."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from accord.process_pool import Message, ProcessPool, WorkerDied
from processes import children, is_gone


def results(pool: ProcessPool, messages: list[Message]) -> Iterator[Message]:
    """The results of messages, which are submitted as far as there is room."""
    left = iter(messages)
    message = next(left, None)
    while message is not None or not pool.is_idle:
        if message is not None and pool.has_room:
            pool.submit(message)
            message = next(left, None)
        else:
            pool.wait()
        yield from pool.results()


def pool_of(jobs: int) -> ProcessPool:
    return ProcessPool("pool_child", b"{}", jobs)


@pytest.mark.parametrize("jobs", [1, 3])
def test_results_have_the_order_of_the_messages_whatever_their_size(jobs: int) -> None:
    sizes = [0, 1, 40_000_000, 3, 100_000, 0, *range(50)]
    messages = [Message(b"%d" % n, b"x" * size) for n, size in enumerate(sizes)]
    with pool_of(jobs) as pool:
        found = [*results(pool, messages)]
    assert [(header, len(body)) for header, body in found] == [
        (b"%d" % n, size) for n, size in enumerate(sizes)
    ]
    assert all(set(body) <= {ord("X")} for _, body in found)


def test_processes_start_when_there_is_something_to_do() -> None:
    before = children(os.getpid())
    with pool_of(8) as pool:
        assert children(os.getpid()) == before
        assert [*results(pool, [Message(b"", b"a")])] == [(b"", b"A")]
        assert len(children(os.getpid())) == len(before) + 1


def test_the_room_is_bounded() -> None:
    with pool_of(2) as pool:
        submitted = 0
        while pool.has_room:
            pool.submit(Message(b"", b"x" * 1_000_000))
            submitted += 1
        assert submitted == 4
        while pool.has_room is False:
            pool.wait()


def test_a_message_whose_process_dies_is_sent_to_another(tmp_path: Path) -> None:
    messages = [Message(b"%d" % n, b"a" * n) for n in range(20)]
    messages[5] = Message(b"die once", os.fsencode(tmp_path / "mark"))
    with pool_of(2) as pool:
        found = [*results(pool, messages)]
    assert [header for header, _ in found] == [header for header, _ in messages]


def test_a_message_that_kills_two_processes_is_named() -> None:
    messages = [Message(b"%d" % n, b"die" if n == 7 else b"a") for n in range(20)]
    found: list[bytes] = []
    with pool_of(2) as pool, pytest.raises(WorkerDied) as death:
        found.extend(header for header, _ in results(pool, messages))
    assert death.value.message.header == b"7"
    assert death.value.status == 7
    assert found == [b"%d" % n for n in range(len(found))]
    assert len(found) <= 7


def test_no_process_is_left_behind() -> None:
    before = {*children(os.getpid())}
    with pool_of(3) as pool:
        for n in range(3):
            pool.submit(Message(b"%d" % n, b"a"))
        started = {*children(os.getpid())} - before
    assert len(started) == 3
    assert all(map(is_gone, started))
