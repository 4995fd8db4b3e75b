"""Stores, tasks, sessions and streams on a Redis cluster of three nodes."""

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from time import sleep
from typing import Any, cast

import pytest

from accord.errors import StoreError
from accord.model.task import Task
from accord.tasks.redis import RedisStore
from accord.tasks.redis_client import RedisClient
from accord.tasks.store import Lease, Stored
from balancer import Balancer
from commands import ACCORD, ENVIRONMENT, SAMPLES
from http_peer import HttpPeer, HttpServer
from redis_server import RedisCluster, needs_redis
from serve.http.talk import HANDSHAKE, eventually
from tasks import test_two_replicas as two
from tasks.replica import Replica, text_of
from tasks.shop import Shop
from tasks.stores import task, until
from tasks.test_serve import begin, end_of

pytestmark = [needs_redis, pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    with RedisCluster() as found:
        yield found


@pytest.fixture(scope="module")
def pair(cluster: RedisCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[two.Pair]:
    """Two replicas behind a balancer, with the cluster."""
    key = tmp_path_factory.mktemp("replicas") / "key"
    with ExitStack() as stack:
        a, b = (stack.enter_context(two.replica(cluster, key)) for _ in "ab")
        balancer = stack.enter_context(Balancer([a.port, b.port]))
        yield two.Pair(cast("Any", cluster), key, a, b, balancer)
    for server in (a, b):
        assert "Traceback" not in server.stderr, server.stderr


def names(count: int) -> list[str]:
    return [f"t{each}" for each in range(count)]


def test_the_keys_of_a_store_are_on_all_nodes(cluster: RedisCluster) -> None:
    async def main() -> None:
        store = RedisStore(cluster.url, "spread")
        await store.open()
        for each in names(30):
            await store.create(task(each), 10)
            assert await store.read(each) == Stored((await read(store, each)), 1)
        await store.close()

    asyncio.run(main())
    counts = [int(each.command("DBSIZE")[1:]) for each in cluster.nodes]
    assert all(counts), counts


async def read(store: RedisStore, name: str) -> Task:
    found = await store.read(name)
    assert found is not None
    return found.task


def test_changes_and_leases_are_those_of_any_store(cluster: RedisCluster) -> None:
    async def main() -> None:
        one, other = (RedisStore(cluster.url, "leases") for _ in "ab")
        told: list[tuple[str | None, int]] = []
        await one.open()
        await other.open()
        await other.watch(lambda *change: told.append(change))
        for each in names(12):
            await one.create(task(each), 0)
            assert await one.update(task(each, message="two"), 1)
            assert not await other.update(task(each, message="late"), 1)
        async with asyncio.timeout(10):
            await until(lambda: set(told) == {(each, 2) for each in names(12)})
        due = await other.due()
        assert {each.task_id for each in due} == set(names(12))
        assert await other.claim(Lease("t0", "a"), "b", 10)
        assert not await one.claim(Lease("t0", "a"), "c", 10)
        assert await one.renew("a", names(12), 10) == {"t0"}
        await one.release("a", names(12))
        assert await other.exchange("b", b"1", 5) == {"b": b"1"}
        await one.close()
        await other.close()

    asyncio.run(main())


def test_a_task_of_one_is_cancelled_and_answered_at_the_other(cluster: RedisCluster) -> None:
    shop = Shop(cluster.url)

    async def main() -> None:
        async with (
            asyncio.timeout(20),
            Replica(shop.server) as a,
            Replica(Shop(cluster.url, like=shop).server) as b,
        ):
            task_id = await a.begin("confirm")
            for _ in range(2):
                asked = await b.until(task_id, "input_required")
                answer = {"action": "accept", "content": {"ok": True}}
                answers = dict.fromkeys(asked["inputRequests"], answer)
                await b.send("tasks/update", {"taskId": task_id, "inputResponses": answers})
            assert text_of(await b.until(task_id)) == "accept accept"
            waiting = await a.begin("wait")
            await b.send("tasks/cancel", {"taskId": waiting})
            assert (await b.until(waiting))["status"] == "cancelled"

    asyncio.run(main())


def test_another_database_than_0_is_refused(cluster: RedisCluster) -> None:
    async def main() -> None:
        with pytest.raises(StoreError, match="cluster"):
            await RedisClient(cluster.url.removesuffix("/0") + "/3").open()

    asyncio.run(main())


def test_docket_refuses_a_cluster_with_one_line(cluster: RedisCluster) -> None:
    pytest.importorskip("docket")
    done = subprocess.run(
        [ACCORD, "serve", "queued:server", "--http", "127.0.0.1:0"],
        cwd=SAMPLES,
        env={**ENVIRONMENT, "STORE": cluster.url},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 2, done.stderr
    assert "docket needs a store that is one Redis; this one is a cluster" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


# Two replicas: what their own tests promise with one Redis


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_session_is_used_at_both_in_turn(pair: two.Pair, revision: str) -> None:
    two.test_04_a_session_is_used_at_both_in_turn(pair, revision)


def test_messages_reach_the_owner(pair: two.Pair, tmp_path: Path) -> None:
    two.test_04_a_question_from_one_is_answered_at_the_other(pair)
    two.test_04_a_cancellation_at_one_stops_the_call_at_the_other(pair, tmp_path)
    two.test_04_a_level_that_is_set_at_one_acts_at_the_other(pair)
    two.test_04_a_session_that_is_deleted_at_one_has_ended_everywhere(pair)


def test_changes_are_told_at_the_other(pair: two.Pair) -> None:
    two.test_03_what_is_disabled_at_one_is_disabled_at_the_other_before_it_is_told(pair)
    two.test_04_a_change_at_one_is_told_to_a_session_that_listens_at_the_other(pair)


def test_a_stream_of_one_is_resumed_at_the_other(pair: two.Pair, tmp_path: Path) -> None:
    two.test_05_a_stream_of_one_is_resumed_at_the_other(pair, tmp_path)


def test_a_stream_of_one_that_was_killed_is_resumed(pair: two.Pair, tmp_path: Path) -> None:
    two.test_05_a_stream_of_one_that_was_killed_is_resumed_at_the_other(pair, tmp_path)


def test_a_node_is_away_for_a_while(cluster: RedisCluster, pair: two.Pair) -> None:
    for node in cluster.nodes[1:]:  # the first one is that of the URL
        node.stop()
        with HttpPeer(pair.a.port, two.LATEST) as client:
            assert client.call("add", a=1, b=2) == "3"
        sleep(3)  # longer than the time limit of nodes for each other
        node.start()
        cluster.wait()
        for server in pair.both:
            assert eventually(partial(is_usable, server), 15)
    assert eventually(partial(is_linked, pair), 15)


def is_linked(pair: two.Pair) -> bool:
    """True if the replicas reach each other; after an outage, that takes some seconds."""
    with suppress(AssertionError):
        two.test_04_a_question_from_one_is_answered_at_the_other(pair)
        return True
    return False


def is_usable(server: HttpServer) -> bool:
    """True if tasks begin and end at a replica."""
    with suppress(KeyError):  # it answers that tasks are not available
        return bool(end_of(server, begin(server, "report", seconds=0))["status"] == "completed")
    return False
