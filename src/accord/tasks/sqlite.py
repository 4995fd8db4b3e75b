"""Tasks in a SQLite file, for the processes of one machine; they survive a restart."""

import asyncio
import json
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from math import inf
from pathlib import Path
from time import time
from typing import Any, Final, TypeVar

import apsw

from accord.errors import StoreError
from accord.model.task import Task
from accord.tasks.store import LEASES, MAX_DUE, PLAIN, Lease, OnChange, Stored, TaskCodec

T = TypeVar("T")
Database = Any
"""An apsw.Connection; None before it is opened."""
_BUSY_MS: Final = 1_000  # for other processes to finish a transaction
_POLL: Final = 0.03  # seconds between looks for changes of other processes
_SCHEMA: Final = """
create table if not exists task (
  server text not null, id text not null, version integer not null, value blob not null,
  expires real not null, changed integer not null, owner text, until real,
  primary key (server, id)
) without rowid;
create index if not exists task_changed on task (changed);
create index if not exists task_until on task (server, until) where until is not null;
create index if not exists task_expires on task (expires);
create table if not exists process (
  server text not null, owner text not null, value blob not null, until real not null,
  primary key (server, owner)
) without rowid;
create table if not exists clock (changes integer not null);
insert into clock select 0 where not exists (select * from clock);
"""
_TICK: Final = "update clock set changes = changes + 1 returning changes"


class SQLiteStore:
    """Keeps the tasks of one server in a file; statements run in a thread of its own."""

    is_shared = True

    def __init__(
        self,
        path: str,
        server: str,
        clock: Callable[[], float] = time,
        codec: TaskCodec = PLAIN,
    ) -> None:
        """Several processes may open the `path`; `server` is the name of the server."""
        self._codec = codec
        self._path = path
        self._server = server
        self._clock = clock
        self._thread: ThreadPoolExecutor | None = None
        self._db: Database = None
        self._on_change: OnChange = lambda *_: None
        self._poll: asyncio.Task[None] | None = None
        self._data_version = 0
        self._seen = 0
        """The last change that was reported."""

    async def open(self) -> None:
        """Open the file, or create it; raise StoreError if that is not possible."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="accord-tasks")
            await self._run(self._open)

    async def close(self) -> None:
        """Close the file."""
        if self._poll is not None:
            self._poll.cancel()
            await asyncio.gather(self._poll, return_exceptions=True)
            self._poll = None
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.submit(self._close)
            thread.shutdown(wait=False)

    async def create(self, task: Task, seconds: float) -> None:
        """Keep a new task, with a lease of its owner for so many seconds."""
        expires = (task.created + task.ttl_ms) / 1000
        value, until = self._codec.encode(task), self._clock() + seconds

        def insert(db: Database) -> None:
            row = (self._server, task.id, value, expires, task.owner, until)
            db.execute("insert into task values (?, ?, 1, ?, ?, 0, ?, ?)", row)

        await self._run(insert, writes=True)

    async def read(self, task_id: str) -> Stored | None:
        """Return a task, unless it is unknown or its time is over."""
        query = "select value, version from task where server = ? and id = ? and expires > ?"
        row = (self._server, task_id, self._clock())
        found = await self._run(lambda db: db.execute(query, row).fetchone())
        task = None if found is None else self._codec.decode(task_id, found[0])
        return None if task is None else Stored(task, found[1])

    async def update(self, task: Task, version: int) -> bool:
        """Replace the task of this version; False if it has another one, or is gone."""
        value, now = self._codec.encode(task), self._clock()

        def replace(db: Database) -> bool:
            change = db.execute(_TICK).fetchone()[0]
            db.execute(
                "update task set value = ?, version = version + 1, changed = ?"
                " where server = ? and id = ? and version = ? and expires > ?",
                (value, change, self._server, task.id, version, now),
            )
            return bool(db.changes())

        is_replaced = await self._run(replace, writes=True)
        if is_replaced:
            self._on_change(task.id, version + 1)
        return is_replaced

    async def renew(self, owner: str, task_ids: Collection[str], seconds: float) -> set[str]:
        """Extend the leases of an owner; return the tasks whose lease it has lost."""
        wanted, until = set(task_ids), self._clock() + seconds

        def extend(db: Database) -> set[str]:
            rows = db.execute(
                "update task set until = ? where server = ? and owner = ? and until is not null"
                " and id in (select value from json_each(?)) returning id",
                (until, self._server, owner, json.dumps([*wanted])),
            )
            return wanted - {row[0] for row in rows}

        return await self._run(extend, writes=True) if wanted else set()

    async def hand_over(self, owner: str, task_ids: Collection[str]) -> None:
        """Let leases run out now, and wake other processes, which take the tasks over."""

        def end(db: Database) -> None:
            change = db.execute(_TICK).fetchone()[0]
            db.execute(
                "update task set until = 0, changed = ? where server = ? and owner = ?"
                " and until is not null and id in (select value from json_each(?))",
                (change, self._server, owner, json.dumps([*task_ids])),
            )

        await self._run(end, writes=True)

    async def release(self, owner: str, task_ids: Collection[str]) -> None:
        """End leases: the tasks are over."""
        rows = [(self._server, each, owner) for each in task_ids]
        statement = "update task set until = null where server = ? and id = ? and owner = ?"
        if rows:
            await self._run(lambda db: db.executemany(statement, rows).fetchall(), writes=True)

    async def due(self) -> list[Lease]:
        """Return leases that have run out, the oldest first, at most MAX_DUE."""
        now = self._clock()
        query = (
            "select id, owner, until = 0 from task where server = ? and until <= ?"
            " order by until limit ?"
        )

        def find(db: Database) -> tuple[list[Lease], bool]:
            rows = db.execute(query, (self._server, now, MAX_DUE)).fetchall()
            old = db.execute("select 1 from task where expires <= ? limit 1", (now,)).fetchone()
            return [
                Lease(each, owner, bool(is_given)) for each, owner, is_given in rows
            ], old is not None

        leases, has_expired = await self._run(find)
        if has_expired:
            remove = "delete from task where expires <= ?"
            await self._run(lambda db: db.execute(remove, (now,)).fetchall(), writes=True)
        return leases

    async def claim(self, lease: Lease, owner: str, seconds: float, *, is_due: bool = True) -> bool:
        """Take over a lease; only one of several owners succeeds."""
        now = self._clock()

        def take(db: Database) -> bool:
            db.execute(
                "update task set owner = ?, until = ?"
                " where server = ? and id = ? and owner = ? and until <= ?",
                (
                    owner,
                    now + seconds,
                    self._server,
                    lease.task_id,
                    lease.owner,
                    now if is_due else inf,
                ),
            )
            return bool(db.changes())

        return await self._run(take, writes=True)

    async def watch(self, on_change: OnChange) -> None:
        """Report changes to a function from now on, instead of the one before."""
        self._on_change = on_change
        if self._poll is None:
            self._data_version, self._seen = await self._run(_position)
            self._poll = asyncio.create_task(self._report_changes())

    async def exchange(self, owner: str, value: bytes, seconds: float) -> dict[str, bytes]:
        """Publish a value of a process for so many seconds; return those of all processes."""
        now = self._clock()

        def replace(db: Database) -> dict[str, bytes]:
            row = (self._server, owner, value, now + seconds)
            db.execute("delete from process where until <= ?", (now,))
            db.execute("insert or replace into process values (?, ?, ?, ?)", row)
            query = "select owner, value from process where server = ?"
            return dict(db.execute(query, (self._server,)).fetchall())

        return await self._run(replace, writes=True)

    async def _report_changes(self) -> None:
        """Report changes of other processes, which SQLite does not tell of."""
        while True:
            await asyncio.sleep(_POLL)
            with suppress(StoreError):
                for task_id, version in await self._run(self._find_changes):
                    self._on_change(task_id, version)

    def _find_changes(self, db: Database) -> list[tuple[str, int]]:
        version = db.pragma("data_version")
        if version == self._data_version:
            return []
        rows = db.execute(
            "select id, version, changed, until from task where changed > ? and server = ?"
            " order by changed",
            (self._seen, self._server),
        ).fetchall()
        self._data_version, self._seen = version, rows[-1][2] if rows else self._seen
        ended = [(LEASES, 0)] if any(row[3] == 0 for row in rows) else []
        return [*(row[:2] for row in rows), *ended]

    def _open(self, _: None) -> None:
        folder = Path(self._path).absolute().parent
        if not folder.is_dir():
            raise StoreError(f"the folder of the task store {self._path} does not exist")
        Path(self._path).touch(mode=0o600)
        db = apsw.Connection(self._path, flags=apsw.SQLITE_OPEN_READWRITE)
        db.set_busy_timeout(_BUSY_MS)
        db.pragma("journal_mode", "wal")
        db.pragma("synchronous", "full")  # a task is durable before a client gets its id
        _transaction(db, lambda db: db.execute(_SCHEMA).fetchall())
        self._db = db

    def _close(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            db.close()

    async def _run(self, work: Callable[[Any], T], *, writes: bool = False) -> T:
        """Run statements in the thread; those that write are one transaction."""
        if self._thread is None:
            raise StoreError("the task store is closed")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._run_here, work, writes)

    def _run_here(self, work: Callable[[Any], T], writes: bool) -> T:
        try:
            return _transaction(self._db, work) if writes else work(self._db)
        except (apsw.Error, OSError) as error:
            raise StoreError(f"the task store {self._path} does not work: {error}") from error


def _transaction(db: Database, work: Callable[[Any], T]) -> T:
    """Run statements in a transaction; `with db` would wait for others without giving way."""
    db.execute("begin immediate")
    try:
        value = work(db)
        db.execute("commit")
    except BaseException:
        if db.in_transaction:
            db.execute("rollback")
        raise
    return value


def _position(db: Database) -> tuple[int, int]:
    (changes,) = db.execute("select changes from clock").fetchone()
    return db.pragma("data_version"), changes
