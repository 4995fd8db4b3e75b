"""Every store keeps the same contract."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import msgspec
import pytest

from accord.errors import ContractError, StoreError
from accord.model.task import Answered, Asked, Outcome, StoredCall, Task, finished
from accord.tasks.memory import MemoryStore
from accord.tasks.opening import store_named
from accord.tasks.service import new_id
from accord.tasks.sqlite import SQLiteStore
from accord.tasks.store import Lease, Stored, TaskStore
from redis_server import RedisServer, needs_redis
from tasks.stores import KINDS, SHARED, Stores, run, stores_of, task

replace = msgspec.structs.replace


@pytest.fixture(params=KINDS)
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    with stores_of(request.param, tmp_path) as found:
        yield found


@pytest.fixture(params=SHARED)
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    with stores_of(request.param, tmp_path) as found:
        yield found


def test_a_task_is_read_as_it_was_created(stores: Stores) -> None:
    new = task(
        principal=b"\0\xff",
        message="Größe 1 von 2",
        asked={"k.1": Asked("k", "d", "elicitation/create", b'{"message":"?"}')},
        answered={"j.1": Answered("j", "e", b"{}")},
        call=StoredCall(b"{}", "2026-07-28", b"{}", b"{}", None, "local", None),
    )

    async def test(store: TaskStore) -> None:
        await store.create(new, 10)
        assert await store.read("t") == Stored(new, 1)
        assert await store.read("u") is None

    run(stores, test)


def test_an_update_counts_only_for_the_version_it_is_made_of(stores: Stores) -> None:
    async def test(store: TaskStore, other: TaskStore) -> None:
        await store.create(task(), 10)
        assert await store.update(task(message="one"), 1)
        assert not await other.update(task(message="two"), 1)
        assert not await other.update(task(message="two"), 7 - 6)
        assert await other.update(task(message="two"), 2)
        found = await store.read("t")
        assert found is not None
        assert (found.task.message, found.version) == ("two", 3)

    run(stores, test, 2)


def test_of_many_updates_at_once_one_wins(stores: Stores) -> None:
    async def test(*opened: TaskStore) -> None:
        await opened[0].create(task(), 10)
        for version in range(1, 6):
            updates = [s.update(task(message=str(i)), version) for i, s in enumerate(opened)]
            assert sorted(await asyncio.gather(*updates)) == [False] * 3 + [True]

    run(stores, test, 4)


def test_an_update_of_an_unknown_task_makes_none(stores: Stores) -> None:
    async def test(store: TaskStore) -> None:
        assert not await store.update(task(), 1)
        assert await store.read("t") is None

    run(stores, test)


def test_a_task_is_kept_for_its_time_and_no_longer(stores: Stores) -> None:
    async def test(store: TaskStore) -> None:
        short = task(ttl_ms=400)
        await store.create(short, 10)
        await store.create(task("long"), 10)
        await asyncio.sleep(0.2)
        assert await store.read("t")
        assert await store.update(replace(short, message="m"), 1)
        await asyncio.sleep(0.3)
        assert await store.read("t") is None
        assert not await store.update(short, 2)
        assert await store.read("long")

    run(stores, test)


def test_a_lease_that_is_renewed_is_not_due(stores: Stores) -> None:
    async def test(store: TaskStore) -> None:
        await store.create(task(), 0.15)
        assert await store.due() == []
        assert await store.renew("a", ["t"], 10) == set()
        await asyncio.sleep(0.2)
        assert await store.due() == []

    run(stores, test)


def test_a_lease_that_ran_out_is_claimed_once(stores: Stores) -> None:
    async def test(*opened: TaskStore) -> None:
        await opened[0].create(task(), 0.05)
        await asyncio.sleep(0.1)
        for each in opened:
            assert await each.due() == [Lease("t", "a")]
        lease = Lease("t", "a")
        claims = [each.claim(lease, str(i), 10) for i, each in enumerate(opened)]
        assert sorted(await asyncio.gather(*claims)) == [False] * 3 + [True]
        assert await opened[0].due() == []
        assert await opened[0].renew("a", ["t"], 10) == {"t"}

    run(stores, test, 4)


def test_the_new_owner_of_a_lease_renews_it(stores: Stores) -> None:
    async def test(store: TaskStore) -> None:
        await store.create(task(), 0)
        assert await store.claim(Lease("t", "a"), "b", 10)
        assert await store.renew("b", ["t", "none"], 10) == {"none"}

    run(stores, test)


def test_a_lease_of_another_owner_is_not_claimed(stores: Stores) -> None:
    async def test(store: TaskStore) -> None:
        await store.create(task(), 0)
        assert not await store.claim(Lease("t", "c"), "b", 10)
        assert await store.due() == [Lease("t", "a")]

    run(stores, test)


def test_a_released_task_is_never_due(stores: Stores) -> None:
    async def test(store: TaskStore) -> None:
        await store.create(task(), 0)
        await store.create(task("u"), 0)
        await store.release("a", ["t", "unknown"])
        await store.release("a", [])
        assert await store.due() == [Lease("u", "a")]

    run(stores, test)


def test_a_result_is_stored_once_however_many_try(stores: Stores) -> None:
    async def finish(store: TaskStore, result: bytes) -> bool:
        while (found := await store.read("t")) is not None:
            new = finished(found.task, 0, outcome=Outcome("completed", result), owner="a")
            if new is None:
                return False
            if await store.update(new, found.version):
                return True
        raise AssertionError("it is gone")

    async def test(*opened: TaskStore) -> None:
        await opened[0].create(task(), 10)
        results = [finish(each, b"%d" % i) for i, each in enumerate(opened)]
        done = await asyncio.gather(*results)
        assert sum(done) == 1
        found = await opened[0].read("t")
        assert found is not None
        assert found.task.result == b"%d" % done.index(True)

    run(stores, test, 8)


def test_a_change_is_told_within_a_tenth_of_a_second(stores: Stores) -> None:
    async def test(store: TaskStore, other: TaskStore) -> None:
        told: asyncio.Queue[tuple[str | None, int]] = asyncio.Queue()
        await other.watch(lambda *change: told.put_nowait(change))
        await store.create(task(), 10)
        for version in (1, 2, 3):
            began = perf_counter()
            assert await store.update(task(message=str(version)), version)
            assert await asyncio.wait_for(told.get(), 1) == ("t", version + 1)
            found = await other.read("t")
            assert found is not None
            assert found.version == version + 1
            assert perf_counter() - began < 0.5  # 0.1 on a machine that is not busy

    run(stores, test, 2)


def test_another_server_in_the_same_store_sees_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        ours, theirs = (SQLiteStore(str(tmp_path / "t.db"), name) for name in ("a", "b"))
        await ours.open()
        await theirs.open()
        await ours.create(task(), 0)
        assert await theirs.read("t") is None
        assert await theirs.due() == []
        await ours.close()
        await theirs.close()

    asyncio.run(main())


def test_tasks_survive_a_restart(shared: Stores) -> None:
    async def first(store: TaskStore) -> None:
        await store.create(task(message="kept"), 0)

    async def second(store: TaskStore) -> None:
        found = await store.read("t")
        assert found is not None
        assert found.task.message == "kept"
        assert await store.due() == [Lease("t", "a")]

    run(shared, first)
    run(shared, second)


def test_a_thousand_leases_are_renewed_and_released(shared: Stores) -> None:
    names = [f"t{i}" for i in range(1_100)]

    async def test(store: TaskStore) -> None:
        for start in range(0, len(names), 50):  # as many as a loaded machine serves in time
            new = [task(each) for each in names[start : start + 50]]
            await asyncio.gather(*(store.create(each, 0) for each in new))
        assert len(await store.due()) == 1_000
        assert await store.renew("a", [*names, "gone"], 10) == {"gone"}
        assert await store.due() == []
        await store.release("a", names)
        assert await store.renew("a", names, 10) == set(names)

    run(shared, test)


def test_a_closed_store_says_so(shared: Stores) -> None:
    async def main() -> None:
        store = shared()
        with pytest.raises(StoreError, match="closed"):
            await store.read("t")

    asyncio.run(main())


def test_a_task_in_memory_is_removed_once_it_has_expired() -> None:
    now = 0.0
    store = MemoryStore(clock=lambda: now)

    async def main() -> None:
        nonlocal now
        old = replace(task(), created=0, ttl_ms=1)
        for i in range(255):
            await store.create(replace(old, id=str(i)), 10)
        now = 1.0
        await store.create(replace(old, id="last", created=1_000), 10)
        assert await store.renew("a", ["0", "last"], 10) == {"0"}

    asyncio.run(main())


def test_expired_tasks_leave_the_file(tmp_path: Path) -> None:
    async def main() -> None:
        store = SQLiteStore(str(tmp_path / "t.db"), "a")
        await store.open()
        await store.create(task(ttl_ms=1), 0)
        await asyncio.sleep(0.01)
        await store.due()
        assert await store.due() == []
        await store.close()

    asyncio.run(main())


@pytest.mark.parametrize("name", ["", "sqlite:", "postgres://x", "memory:", "redis:", "sqlite"])
def test_an_unknown_store_is_refused(name: str) -> None:
    with pytest.raises(ContractError, match="must be memory, sqlite:PATH or redis"):
        store_named(name, "shop")


@pytest.mark.parametrize("path", ["none/tasks.db", "broken.db"])
def test_a_file_that_cannot_be_a_store_fails_at_the_start(tmp_path: Path, path: str) -> None:
    (tmp_path / "broken.db").write_bytes(b"no database" * 100)

    async def main() -> None:
        store = SQLiteStore(str(tmp_path / path), "shop")
        with pytest.raises(StoreError, match="task store"):
            await store.open()
        await store.close()

    asyncio.run(main())


def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    async def main() -> None:
        store = SQLiteStore(str(tmp_path / "t.db"), "shop")
        await store.open()
        await store.close()

    asyncio.run(main())
    assert (tmp_path / "t.db").stat().st_mode & 0o777 == 0o600


@needs_redis
class TestRedis:
    """What only Redis can do to its clients."""

    @pytest.fixture
    def server(self) -> Iterator[RedisServer]:
        with RedisServer() as server:
            yield server

    def test_nothing_there_fails_at_the_start_with_one_line(self) -> None:
        async def main() -> None:
            store = store_named("redis://user:secret@127.0.0.1:1/0", "shop")
            with pytest.raises(StoreError, match="cannot be reached") as error:
                await store.open()
            assert "\n" not in str(error.value)
            assert "secret" not in str(error.value)

        asyncio.run(main())

    def test_away_is_an_error_at_once_and_back_is_fine_again(self, server: RedisServer) -> None:
        async def test(store: TaskStore) -> None:
            told: asyncio.Queue[tuple[str | None, int]] = asyncio.Queue()
            await store.watch(lambda *change: told.put_nowait(change))
            await store.create(task(), 10)
            server.stop()
            began = perf_counter()
            with pytest.raises(StoreError, match="cannot be reached"):
                await store.read("t")
            with pytest.raises(StoreError):
                await store.create(task("u"), 10)
            assert perf_counter() - began < 2
            server.start()
            assert await store.read("t") is None  # it kept nothing
            await store.create(task("u"), 10)
            assert await store.update(task("u", message="m"), 1)
            assert await asyncio.wait_for(told.get(), 5) in ((None, 0), ("u", 2))

        run(lambda: store_named(server.url, "shop"), test)

    def test_slow_is_an_error_within_a_second(self, server: RedisServer) -> None:
        async def test(store: TaskStore) -> None:
            await store.create(task(), 10)
            os.kill(server.pid, signal.SIGSTOP)
            began = perf_counter()
            try:
                with pytest.raises(StoreError, match="no answer in time"):
                    await store.read("t")
                assert perf_counter() - began < 1.5
            finally:
                os.kill(server.pid, signal.SIGCONT)
            assert await store.read("t")

        run(lambda: store_named(server.url, "shop"), test)

    def test_flushed_means_gone_and_nothing_comes_back(self, server: RedisServer) -> None:
        async def test(store: TaskStore) -> None:
            await store.create(task(), 10)
            server.command("FLUSHALL")
            assert await store.read("t") is None
            assert not await store.update(task(), 1)
            assert await store.renew("a", ["t"], 10) == {"t"}
            assert server.command("DBSIZE") == b":0\r\n"

        run(lambda: store_named(server.url, "shop"), test)

    def test_full_refuses_new_tasks(self, server: RedisServer) -> None:
        async def test(store: TaskStore) -> None:
            server.command("CONFIG", "SET", "maxmemory", "1")
            with pytest.raises(StoreError, match="refuses"):
                await store.create(task(), 10)
            assert await store.read("t") is None

        run(lambda: store_named(server.url, "shop"), test)

    def test_a_clock_that_is_wrong_by_a_minute_takes_no_lease(
        self, server: RedisServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from accord.tasks import redis_client

        async def test(store: TaskStore, other: TaskStore) -> None:
            await store.create(task(), 10)
            monkeypatch.setattr(redis_client, "time", lambda: 60 + _now())
            assert await other.due() == []
            monkeypatch.undo()

        from time import time as _now

        run(lambda: store_named(server.url, "shop"), test, 2)

    def test_works_on_a_cluster(self) -> None:
        with RedisServer("--cluster-enabled", "yes") as server:
            assert server.command("CLUSTER", "ADDSLOTSRANGE", "0", "16383") == b"+OK\r\n"

            async def test(store: TaskStore, other: TaskStore) -> None:
                told: asyncio.Queue[tuple[str | None, int]] = asyncio.Queue()
                await other.watch(lambda *change: told.put_nowait(change))
                names = [f"t{i}" for i in range(20)]
                for each in names:
                    await store.create(task(each), 0)
                assert await store.update(task("t7", message="m"), 1)
                assert await asyncio.wait_for(told.get(), 1) == ("t7", 2)
                assert {each.task_id for each in await other.due()} == set(names)
                assert await other.claim(Lease("t1", "a"), "b", 10)
                await store.release("a", names)
                assert await other.renew("b", ["t1", "t2"], 10) == {"t2"}
                found = await other.read("t7")
                assert isinstance(found, Stored)
                assert isinstance(found.task, Task)

            while b"cluster_state:ok" not in server.command("CLUSTER", "INFO"):
                pass
            run(lambda: store_named(server.url, "shop"), test, 2)

    def test_costs_few_commands(self, server: RedisServer) -> None:
        async def test(store: TaskStore) -> None:
            server.command("CONFIG", "RESETSTAT")
            await store.create(task(), 10)
            assert await store.update(task(status="completed"), 1)
            assert await store.read("t")

        run(lambda: store_named(server.url, "shop"), test)
        calls = server.calls()
        assert calls == {"zadd": 1, "xadd": 2, "pexpire": 1, "publish": 1, "xrevrange": 1}


def test_an_id_is_no_option_of_a_command() -> None:
    assert [each for each in (new_id() for _ in range(500)) if not each[0].isalpha()] == []
