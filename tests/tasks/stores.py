"""The stores that every test of tasks runs with: one table, three rows."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from accord.model.task import Task
from accord.tasks.memory import MemoryStore
from accord.tasks.sqlite import SQLiteStore
from accord.tasks.store import TaskStore, milliseconds
from redis_server import RedisServer, needs_redis

KINDS = ["memory", "sqlite", pytest.param("redis", marks=needs_redis)]
SHARED = KINDS[1:]


class Stores(Protocol):
    """Opens stores that have the same tasks, as several processes would."""

    def __call__(self) -> TaskStore: ...


@contextmanager
def stores_of(kind: str, folder: Path) -> Iterator[Stores]:
    """Give a function that returns another store with the same tasks."""
    if kind == "memory":
        only = MemoryStore()
        yield lambda: only
    elif kind == "sqlite":
        yield lambda: SQLiteStore(str(folder / "tasks.db"), "shop")
    else:
        from accord.tasks.redis import RedisStore

        with RedisServer() as server:
            yield lambda: RedisStore(server.url, "shop")


def run(stores: Stores, test: Callable[..., Coroutine[Any, Any, None]], count: int = 1) -> None:
    """Run a test with so many open stores."""

    async def main() -> None:
        opened = [stores() for _ in range(count)]
        for each in opened:
            await each.open()
        try:
            async with asyncio.timeout(20):
                await test(*opened)
        finally:
            for each in opened:
                await each.close()

    asyncio.run(main())


def task(name: str = "t", *, owner: str = "a", ttl_ms: int = 60_000, **state: Any) -> Task:
    """A task that has just begun."""
    now = milliseconds()
    return Task(
        id=name,
        tool="report",
        created=now,
        updated=now,
        ttl_ms=ttl_ms,
        poll_ms=1_000,
        owner=owner,
        **state,
    )


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something is true of which there is no notification."""
    while not holds():  # noqa: ASYNC110
        await asyncio.sleep(0.01)
