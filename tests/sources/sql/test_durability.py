"""Acknowledged changes survive a crash; several processes and many calls do not interfere."""

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from accord.sources.sql import Database, Options
from accord.sources.sql.messages import ListTables
from processes import children, ticks_of
from sources.sql.shop import make, serving
from stdio_peer import StdioPeer

ACCORD = str(Path(sys.executable).with_name("accord"))
INSERTS = 200


def served(path: Path, *words: str) -> StdioPeer:
    return StdioPeer([ACCORD, "serve", str(path), *words])


def insert(number: int) -> dict[str, Any]:
    data = {"id": number, "name": f"number {number}"}
    params = {"name": "insert_row", "arguments": {"table_name": "users", "data": data}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def ids(path: Path) -> set[int]:
    connection = sqlite3.connect(path)
    found = {number for (number,) in connection.execute("SELECT id FROM users")}
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--wal"]], ids=["journal", "wal"])
@pytest.mark.parametrize("acknowledged", [1, 120])
def test_a_kill_during_200_inserts_loses_no_acknowledged_row(
    tmp_path: Path, words: list[str], acknowledged: int
) -> None:
    path = make(tmp_path / "shop.db")
    told = set()
    with served(path, *words, "--timeout", "50") as peer:  # whatever the disk is like
        peer.initialize("2025-06-18")
        for number in range(1000, 1000 + INSERTS):
            peer.send(insert(number))
        for _ in range(acknowledged):
            reply = peer.receive(timeout=50)
            assert reply["result"]["content"][0]["text"].startswith("Row inserted successfully.")
            told.add(reply["id"])
        for pid in [*children(peer.process.pid), peer.process.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        peer.process.wait()
    assert told <= ids(path)
    with served(path) as peer:  # and it goes on from there, whatever was left half done
        peer.initialize("2025-06-18")
        query = {"query": "SELECT count(*) AS n FROM users"}
        result = peer.request("tools/call", {"name": "run_query", "arguments": query})["result"]
        (row,) = result["structuredContent"]["result"]
        assert row["n"] > acknowledged


def with_hot_journal(folder: Path) -> Path:
    """A database whose last change was interrupted after some of it had been written."""
    path = make(folder / "live.db", "CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO t VALUES (?)", [("x" * 3000,)] * 200)
    for suffix in ("", "-journal"):
        shutil.copy(f"{path}{suffix}", f"{folder / 'shop.db'}{suffix}")
    connection.close()
    return folder / "shop.db"


def test_a_change_that_was_interrupted_is_undone_before_anybody_reads(tmp_path: Path) -> None:
    path = with_hot_journal(tmp_path)
    assert Path(f"{path}-journal").stat().st_size > 0
    with serving(path, read_only=True) as shop:
        problem = shop.problem("run_query", query="SELECT * FROM t")
        assert problem["code"] == "NEEDS_RECOVERY"
    with serving(path) as shop:
        assert shop.query("SELECT * FROM t") == [{"a": 1}]
    assert not Path(f"{path}-journal").exists()


def test_several_processes_share_one_file(tmp_path: Path) -> None:
    path = make(tmp_path / "shop.db")

    def fill(first: int) -> list[str]:
        with served(path) as peer:
            peer.initialize("2025-06-18")
            for number in range(first, first + 25):
                peer.send(insert(number))
            return [peer.receive()["result"]["content"][0]["text"] for _ in range(25)]

    with ThreadPoolExecutor() as pool:
        said = [text for texts in pool.map(fill, (1000, 2000, 3000)) for text in texts]
    assert all(text.startswith("Row inserted successfully.") for text in said)
    assert len(ids(path)) == 76


def test_calls_side_by_side_each_get_their_own_rows(tmp_path: Path) -> None:
    path = make(tmp_path / "shop.db")
    with served(path) as peer:
        peer.initialize("2025-06-18")
        for number in range(1, 301):
            query = {"query": "SELECT :n AS n, name FROM users", "params": {"n": number}}
            params = {"name": "run_query", "arguments": query}
            peer.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        replies = peer.replies(300, timeout=30)
    assert len({reply["id"] for reply in replies}) == 300
    for reply in replies:
        text = reply["result"]["content"][0]["text"].partition("\n")[2]
        assert json.loads(text) == [{"n": reply["id"], "name": "John Doe"}]


def test_a_slow_query_delays_no_other_call(tmp_path: Path) -> None:
    path = make(tmp_path / "shop.db")
    slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with served(path, "--timeout", "1.5") as peer:
        peer.initialize("2025-06-18")
        for number, query in ((1, slow), (2, "SELECT 1")):
            params = {"name": "run_query", "arguments": {"query": query}}
            peer.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        assert [reply["id"] for reply in peer.replies(2)] == [2, 1]


@pytest.mark.slow
def test_of_more_slow_queries_than_workers_none_waits_for_longer_than_its_time(
    tmp_path: Path,
) -> None:
    path = make(tmp_path / "shop.db")
    slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with served(path, "--timeout", "1") as peer:
        peer.initialize("2025-06-18")
        for number in range(9):
            params = {"name": "run_query", "arguments": {"query": slow}}
            peer.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        replies = peer.replies(9, timeout=30)
    said = {reply["result"]["content"][0]["text"] for reply in replies}
    stopped = (
        "Error executing run_query: The query took longer than 1 s; it was stopped."
        " Ask for less, or for what an index can find."
    )
    assert stopped in said
    assert said <= {stopped, "Error executing run_query: The database is busy; try again later"}


def test_a_worker_that_died_is_replaced(tmp_path: Path) -> None:
    path = make(tmp_path / "shop.db")
    before = set(children(os.getpid()))
    with serving(path) as shop:
        shop.query("SELECT 1")
        (worker,) = set(children(os.getpid())) - before
        os.kill(worker, signal.SIGKILL)
        os.waitid(os.P_PID, worker, os.WEXITED | os.WNOWAIT)
        assert shop.query("SELECT 1 AS a") == [{"a": 1}]


def test_a_worker_that_died_before_it_was_ready_is_replaced(tmp_path: Path) -> None:
    path = make(tmp_path / "shop.db")
    database = Database(str(path), Options())
    before = set(children(os.getpid()))
    database.start()
    (worker,) = set(children(os.getpid())) - before
    os.kill(worker, signal.SIGKILL)
    assert asyncio.run(database.read(ListTables())).names == ["users", "posts"]
    database.close()


def test_a_fork_lets_go_of_the_workers_of_its_parent(tmp_path: Path) -> None:
    script = """
import asyncio, os, sys
from accord.sources.sql import Database, Options
from accord.sources.sql.messages import ListTables
database = Database(sys.argv[1], Options())
def pipes():
    return sum(os.readlink(f"/proc/self/fd/{fd}").startswith("pipe:") for fd in os.listdir("/proc/self/fd")
               if os.path.exists(f"/proc/self/fd/{fd}"))
before = pipes()
asyncio.run(database.read(ListTables()))
if (child := os.fork()) == 0:
    assert asyncio.run(database.read(ListTables())).names == ["users", "posts"]
    assert pipes() == before + 2, pipes()
    database.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert asyncio.run(database.read(ListTables())).names == ["users", "posts"]
database.close()
assert pipes() == before
"""
    path = make(tmp_path / "shop.db")
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, timeout=50)


def test_a_cancelled_call_is_stopped(tmp_path: Path) -> None:
    path = make(tmp_path / "shop.db")
    slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with served(path, "--timeout", "50") as peer:
        peer.initialize("2025-06-18")
        quick = {"name": "run_query", "arguments": {"query": "SELECT 1"}}
        assert "result" in peer.request("tools/call", quick)
        workers = children(peer.process.pid)  # which have started by now, and have nothing to do
        before = {worker: ticks_of(worker) for worker in workers}
        params = {"name": "run_query", "arguments": {"query": slow}}
        peer.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        while not (busy := [w for w in workers if ticks_of(w) >= before[w] + 20]):
            peer.request("ping")
        peer.notify("notifications/cancelled", {"requestId": 1})
        while busy[0] in children(peer.process.pid):  # the time limit of a test ends this
            peer.request("ping")
        peer.close_input()
        assert peer.wait() == 0
