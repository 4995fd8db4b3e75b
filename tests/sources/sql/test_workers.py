"""A fast worker gets requests ahead of its replies; one that stalls or dies delays no other."""

import asyncio
import errno
import os
import signal
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic, sleep
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.child_process import FrameDecoder, PipeClosed, encode_frame
from accord.model.answer import Problem
from accord.sources.sql import Database, Options
from accord.sources.sql.messages import InsertRow, SelectRows
from accord.sources.sql.worker_process import WorkerProcess
from processes import children, is_gone, ticks_of
from serve.talk import ACCORD
from sources.sql.shop import NUMBERS, make, serving
from stdio_peer import StdioPeer

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


FAST = [SelectRows("SELECT :n AS n", {"n": number}, 10, 0) for number in range(1, 8)]
ANSWERS = [b'[{"n":%d}]' % number for number in range(1, 8)]


class Stalled:
    """A fast worker that executes an endless query, with more requests behind it."""

    def __init__(self, path: Path, timeout: float) -> None:
        self.database = Database(str(path), Options(timeout=timeout))

    async def __aenter__(self) -> Self:
        before = set(children(os.getpid()))
        for _ in range(50):
            await self.database.read(FAST[0])
        (self.worker,) = set(children(os.getpid())) - before
        self.endless = asyncio.create_task(self.database.read(SelectRows(ENDLESS, None, 1, 0)))
        self.behind = asyncio.gather(*map(self.database.read, FAST))
        await asyncio.sleep(0)  # they ask
        return self

    async def __aexit__(self, *_: object) -> None:
        assert [rows.json for rows in await self.behind] == ANSWERS
        self.database.close()


def test_requests_behind_a_stalled_query_go_to_other_workers(tmp_path: Path) -> None:
    async def stall() -> None:
        async with Stalled(make(tmp_path / "shop.db"), timeout=50) as stalled:
            await stalled.behind
            assert not stalled.endless.done()
            stalled.endless.cancel()

    asyncio.run(stall())


def test_requests_behind_a_query_that_kills_its_worker_go_to_other_workers(tmp_path: Path) -> None:
    async def die() -> None:
        async with Stalled(make(tmp_path / "shop.db"), timeout=50) as stalled:
            os.kill(stalled.worker, signal.SIGKILL)
            with pytest.raises(Problem, match="The database worker process has ended"):
                await stalled.endless

    asyncio.run(die())


def test_a_cancelled_call_does_not_cancel_the_requests_behind_it(tmp_path: Path) -> None:
    async def cancel() -> None:
        async with Stalled(make(tmp_path / "shop.db"), timeout=50) as stalled:
            stalled.endless.cancel()
            await stalled.behind
            assert stalled.endless.cancelled()

    asyncio.run(cancel())


def test_a_queued_request_can_be_cancelled(tmp_path: Path) -> None:
    async def cancel() -> None:
        async with Stalled(make(tmp_path / "shop.db"), timeout=50) as stalled:
            more = asyncio.create_task(stalled.database.read(FAST[0]))
            await asyncio.sleep(0)
            more.cancel()
            with pytest.raises(asyncio.CancelledError):
                await more
            stalled.endless.cancel()

    asyncio.run(cancel())


@pytest.mark.slow
def test_of_many_calls_none_is_refused_for_the_length_of_the_queue(tmp_path: Path) -> None:
    """They take longer than the time limit of one together, and each has a worker in time."""
    database = Database(str(make(tmp_path / "shop.db")), Options(timeout=2))
    select = SelectRows(f"SELECT count(*) AS n FROM ({NUMBERS.format(50_000)})", None, 1, 0)

    async def ask_many() -> set[bytes]:
        return {rows.json for rows in await asyncio.gather(*map(database.read, [select] * 300))}

    assert asyncio.run(ask_many()) == {b'[{"n":50000}]'}
    database.close()


def workers_for(path: Path, selects: list[SelectRows]) -> int:
    """Return the number of workers after these concurrent queries."""

    async def ask() -> int:
        before = set(children(os.getpid()))
        database = Database(str(path), Options())
        await asyncio.gather(*map(database.read, selects))
        found = len(set(children(os.getpid())) - before)
        database.close()
        return found

    return asyncio.run(ask())


def test_one_fast_worker_is_enough(tmp_path: Path) -> None:
    """Unless the machine is busy; so we look again."""
    path = make(tmp_path / "shop.db")
    assert any(workers_for(path, FAST * 20) == 1 for _ in range(20))


def test_slow_queries_get_several_workers(tmp_path: Path) -> None:
    slow = SelectRows(f"SELECT count(*) AS n FROM ({NUMBERS.format(100_000)})", None, 1, 0)
    assert workers_for(make(tmp_path / "shop.db"), [slow] * 40) > 1


def test_a_request_that_no_pipe_has_room_for_arrives(tmp_path: Path) -> None:
    path = make(tmp_path / "shop.db")
    with serving(path, max_length=4_000_000, timeout=20) as shop:
        found = shop.query("SELECT length(:x) AS n", params={"x": "x" * 3_000_000})
        assert found == [{"n": 3_000_000}]


def test_event_loops_of_several_threads_ask_side_by_side(tmp_path: Path) -> None:
    database = Database(str(make(tmp_path / "shop.db")), Options())
    together = threading.Barrier(3)

    async def ask_some(first: int) -> list[bytes]:
        together.wait(timeout=30)
        request = (SelectRows("SELECT :n AS n", {"n": first + i}, 10, 0) for i in range(20))
        said = await asyncio.gather(*map(database.read, request))
        together.wait(timeout=30)
        return [rows.json for rows in said]

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda first: asyncio.run(ask_some(first)), (100, 200, 300)))
    for first, said in zip((100, 200, 300), found, strict=True):
        assert said == [b'[{"n":%d}]' % (first + i) for i in range(20)]
    database.close()


def test_a_change_that_is_under_way_is_not_stopped_with_its_call(tmp_path: Path) -> None:
    path = make(tmp_path / "shop.db")
    database = Database(str(path), Options(timeout=20))
    other = sqlite3.connect(path, isolation_level=None)

    def names() -> list[tuple[str]]:
        return other.execute("SELECT name FROM users ORDER BY id").fetchall()

    async def change() -> None:
        await database.write(InsertRow("users", {"name": "first"}))  # it has started by then
        other.execute("BEGIN IMMEDIATE")
        task = asyncio.create_task(database.write(InsertRow("users", {"name": "second"})))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        other.execute("COMMIT")
        await database.write(InsertRow("users", {"name": "third"}))

    asyncio.run(change())
    assert names() == [("John Doe",), ("first",), ("second",), ("third",)]
    other.close()
    database.close()


def test_a_worker_that_can_never_start_is_not_tried_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHOME", str(tmp_path))  # where there is no Python
    database = Database(str(make(tmp_path / "shop.db")), Options())
    with pytest.raises(Problem, match="could not be started"):
        asyncio.run(database.read(SelectRows("SELECT 1", None, 1, 0)))
    database.close()


def test_a_system_that_has_no_room_for_a_worker_is_no_reason_to_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise OSError(errno.EAGAIN, "no more processes")

    database = Database(str(make(tmp_path / "shop.db")), Options())
    with monkeypatch.context() as poor:
        poor.setattr(os, "posix_spawn", refuse)
        with pytest.raises(Problem, match="could not be started"):
            asyncio.run(database.read(FAST[0]))
    assert asyncio.run(database.read(FAST[0])).json == ANSWERS[0]
    database.close()


@given(st.lists(st.binary(max_size=40), max_size=8), st.lists(st.integers(1, 30)))
def test_frames_come_whole_however_a_pipe_cuts_them(bodies: list[bytes], cuts: list[int]) -> None:
    sent = b"".join(map(encode_frame, bodies))
    decoder, found = FrameDecoder(), []
    for cut in [*cuts, len(sent) + 1]:
        found += decoder.feed(sent[:cut])
        sent = sent[cut:]
    assert found == bodies


def test_a_frame_that_is_too_long_to_be_true_ends_it() -> None:
    with pytest.raises(PipeClosed):
        FrameDecoder().feed(b"\xff\xff\xff\xff")


def test_a_worker_that_cannot_start_leaves_no_descriptor_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pipe = os.pipe
    made: list[tuple[int, int]] = []

    def one_pipe() -> tuple[int, int]:
        if made:
            raise OSError(errno.EMFILE, "Too many open files")
        made.append(pipe())
        return made[0]

    monkeypatch.setattr(os, "pipe", one_pipe)
    with pytest.raises(OSError, match="Too many"):
        WorkerProcess(b"")
    for descriptor in made[0]:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


def test_a_request_behind_many_endless_queries_fails_as_busy_in_time(tmp_path: Path) -> None:
    async def wait() -> None:
        database = Database(str(make(tmp_path / "shop.db")), Options(timeout=1))
        await database.read(FAST[0])
        endless = [
            asyncio.create_task(database.read(SelectRows(ENDLESS, None, 1, 0))) for _ in range(120)
        ]
        await asyncio.sleep(0.1)
        async with asyncio.timeout(20):  # they alone would take 30 s
            with pytest.raises(Problem, match="busy"):
                await database.read(FAST[0])
        for task in endless:
            task.cancel()
        await asyncio.gather(*endless, return_exceptions=True)
        database.close()

    asyncio.run(wait())


def test_a_query_that_is_under_way_ends_with_its_database(tmp_path: Path) -> None:
    async def begin_and_close() -> int:
        before = set(children(os.getpid()))
        database = Database(str(make(tmp_path / "shop.db")), Options(timeout=600))
        await database.read(FAST[0])
        request = [SelectRows(ENDLESS, None, 1, 0), *FAST]
        tasks = [asyncio.create_task(database.read(each)) for each in request]
        await asyncio.sleep(0)  # they ask
        (worker,) = set(children(os.getpid())) - before
        database.close()
        for said in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(said, Problem)
            assert "has ended" in said.message
        return worker

    worker = asyncio.run(begin_and_close())
    _wait_until(lambda: not Path(f"/proc/{worker}").exists())  # it was reaped


def test_a_query_that_is_under_way_ends_with_its_server(tmp_path: Path) -> None:
    command = [ACCORD, "serve", str(make(tmp_path / "shop.db")), "--timeout", "600", "--grace", "0"]
    with StdioPeer(command) as peer:
        peer.initialize()
        call = {"name": "run_query", "arguments": {"query": "SELECT 1"}}
        peer.request("tools/call", call)
        workers = children(peer.process.pid)  # one, unless it was slow to start
        call["arguments"] = {"query": ENDLESS}
        peer.send({"jsonrpc": "2.0", "id": "endless", "method": "tools/call", "params": call})
        idle = sum(map(ticks_of, workers))
        _wait_until(lambda: sum(map(ticks_of, workers)) > idle + 20)
    _wait_until(lambda: all(map(is_gone, workers)))


def _wait_until(holds: Callable[[], bool]) -> None:
    end = monotonic() + 40
    while not holds():
        assert monotonic() < end
        sleep(0.01)
