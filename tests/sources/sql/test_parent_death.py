"""A worker does not outlive its server, however that dies and whatever the worker does."""

import asyncio
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from accord.sources.sql import Database, Options
from accord.sources.sql.messages import SelectRows
from commands import Popen
from processes import children, is_gone, ticks_of
from serve.talk import ACCORD
from sources.sql.shop import make
from stdio_peer import StdioPeer

FOR_EVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
ONE_STEP = (  # of SQLite's machine: minutes inside one C function
    "SELECT instr(hex(zeroblob(2000000)), hex(zeroblob(1000000)) || '1')"
)
SECONDS = 1.0
ATTEMPTS = 3  # others may keep the machine busy
THREADS = {"kernel": 1, "thread": 2}


def environment(means: str, folder: Path) -> dict[str, str]:
    """Variables with which a child is ended by the kernel, or by a thread as on other systems."""
    if means == "kernel":
        return dict(os.environ)
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text("import sys; sys.modules['_ctypes'] = None")
    path = [str(folder), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, path))}


def are_gone(pids: list[int]) -> bool:
    """True if processes have ended, whether reaped or not."""
    return all(map(is_gone, pids))


def wait_until(holds: Callable[[], bool], seconds: float = 20) -> float:
    """Wait, and return the seconds that it took."""
    begun = monotonic()
    while not holds():
        assert monotonic() - begun < seconds
        sleep(0.005)
    return monotonic() - begun


@contextmanager
def serving(
    where: Path | str, env: dict[str, str], *words: str
) -> Iterator[tuple[StdioPeer, list[int]]]:
    """A server with a limit of a minute, and its readers, which are idle: one if they start fast."""
    command = [ACCORD, "serve", str(where), "--timeout", "60", "--max-length", "5000000", *words]
    with StdioPeer(command, env=env) as peer:
        peer.initialize()
        call(peer, "run_query", query="SELECT 1")
        yield peer, children(peer.process.pid)


def call(peer: StdioPeer, tool: str, **arguments: Any) -> None:
    reply = peer.request("tools/call", {"name": tool, "arguments": arguments})
    assert "isError" not in reply["result"], reply


def begin(peer: StdioPeer, tool: str, **arguments: Any) -> None:
    params = {"name": tool, "arguments": arguments}
    peer.send({"jsonrpc": "2.0", "id": "begun", "method": "tools/call", "params": params})


def keep_busy(peer: StdioPeer, workers: list[int], query: str) -> None:
    before = sum(map(ticks_of, workers))
    begin(peer, "run_query", query=query)
    wait_until(lambda: sum(map(ticks_of, workers)) > before + 10)


def seconds_after_a_kill(peer: StdioPeer, workers: list[int]) -> float:
    peer.kill()
    return wait_until(lambda: are_gone(workers))


def least(attempt: Callable[[], float]) -> float:
    """The least of some attempts that it takes until one is in time."""
    taken: list[float] = []
    while len(taken) < ATTEMPTS and min(taken, default=SECONDS) >= SECONDS:
        taken.append(attempt())
    return min(taken)


@pytest.mark.parametrize("means", THREADS)
@pytest.mark.parametrize("query", [None, FOR_EVER, ONE_STEP], ids=["idle", "busy", "in one step"])
def test_a_reader_is_gone_a_second_after_its_server_is_killed(
    tmp_path: Path, means: str, query: str | None
) -> None:
    path = make(tmp_path / "shop.db")

    def attempt() -> float:
        with serving(path, environment(means, tmp_path / "site")) as (peer, readers):
            threads = [list(Path(f"/proc/{pid}/task").iterdir()) for pid in readers]
            assert {len(each) for each in threads} == {THREADS[means]}
            if query is not None:
                keep_busy(peer, readers, query)
            return seconds_after_a_kill(peer, readers)

    assert least(attempt) < SECONDS


def test_a_reader_that_is_stopped_is_gone_a_second_after_its_server_is_killed(
    tmp_path: Path,
) -> None:
    path = make(tmp_path / "shop.db")

    def attempt() -> float:
        with serving(path, environment("kernel", tmp_path)) as (peer, readers):
            for reader in readers:
                os.kill(reader, signal.SIGSTOP)
            return seconds_after_a_kill(peer, readers)

    assert least(attempt) < SECONDS


@contextmanager
def changing(path: Path, *words: str) -> Iterator[tuple[StdioPeer, int, sqlite3.Connection]]:
    """A server with a change under way, which waits for a lock; its writer, and who has the lock."""
    with serving(path, dict(os.environ), *words) as (peer, readers):
        call(peer, "insert_row", table_name="posts", data={"title": "first"})
        (writer,) = set(children(peer.process.pid)) - set(readers)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        before = waits_of(writer)
        begin(peer, "insert_row", table_name="posts", data={"title": "second"})
        wait_until(lambda: waits_of(writer) > before + 5)
        yield peer, writer, other
        other.close()


def waits_of(pid: int) -> int:
    """Return the number of context switches: a process that waits for a lock has more and more."""
    return int(
        re.findall(r"^voluntary_\S+\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)[0]
    )


def titles(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    found = [title for (title,) in connection.execute("SELECT title FROM posts ORDER BY id")]
    connection.close()
    return found


def test_a_change_under_way_ends_with_a_server_that_is_killed(tmp_path: Path) -> None:
    paths = iter([make(tmp_path / f"shop{number}.db") for number in range(ATTEMPTS)])

    def attempt() -> float:
        path = next(paths)
        with changing(path) as (peer, writer, other):
            taken = seconds_after_a_kill(peer, [writer])
            other.execute("COMMIT")
        assert titles(path) == ["first"]
        return taken

    assert least(attempt) < SECONDS


def test_a_change_under_way_is_finished_if_its_server_ends_by_itself(tmp_path: Path) -> None:
    path = make(tmp_path / "shop.db")
    with changing(path, "--grace", "0") as (peer, writer, other):
        peer.close_input()
        peer.wait()
        sleep(2 * SECONDS)  # in which a server that was killed would have taken it along
        assert not are_gone([writer])
        other.execute("COMMIT")
        wait_until(lambda: are_gone([writer]))
    assert titles(path) == ["first", "second"]


def test_a_worker_outlives_the_thread_that_it_was_started_from(tmp_path: Path) -> None:
    database = Database(str(make(tmp_path / "shop.db")), Options())
    others = set(children(os.getpid()))
    select = SelectRows("SELECT 1 AS n", None, 1, 0)

    def ask() -> None:
        assert asyncio.run(database.read(select)).json == b'[{"n":1}]'

    for _ in range(3):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    (worker,) = set(children(os.getpid())) - others
    ask()
    assert set(children(os.getpid())) - others == {worker}
    database.close()


def test_a_worker_is_started_from_a_fork_and_ends_with_it(tmp_path: Path) -> None:
    script = """
import asyncio, os, signal, sys
from accord.sources.sql import Database, Options
from accord.sources.sql.messages import SelectRows
from accord.sources.sql.messages import ListTables
database = Database(sys.argv[1], Options())
asyncio.run(database.read(ListTables()))
if os.fork() == 0:
    asyncio.run(database.read(ListTables()))
    print(os.getpid(), flush=True)
    signal.alarm(30)
    signal.pause()
os.wait()
"""
    path = make(tmp_path / "shop.db")

    def attempt() -> float:
        command = [sys.executable, "-c", script, str(path)]
        with Popen(command, stdout=subprocess.PIPE, text=True) as parent:
            assert parent.stdout is not None
            fork = int(parent.stdout.readline())
            workers = children(fork)
            os.kill(fork, signal.SIGKILL)
            taken = wait_until(lambda: are_gone(workers))
        assert workers
        assert parent.returncode == 0
        return taken

    assert least(attempt) < SECONDS


@pytest.mark.parametrize("means", THREADS)
def test_a_child_whose_parent_died_before_it_watched_ends(tmp_path: Path, means: str) -> None:
    unused = 1 << 22  # a process id that Linux does not give
    words = (
        f"import signal, accord.child_process as it; it.end_with_parent({unused}); signal.pause()"
    )
    command = [sys.executable, "-c", words]
    done = subprocess.run(command, env=environment(means, tmp_path), timeout=30)
    assert done.returncode == -signal.SIGKILL
