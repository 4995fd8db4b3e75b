"""What sessions have in Redis: their event streams take no more room there than in the process."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from accord.serve.http.session_store import SessionStore
from accord.serve.http.streams import MAX_BYTES, MOST_EVENTS, Stream
from accord.tasks.redis_client import RedisClient
from redis_server import RedisServer, needs_redis

pytestmark = needs_redis
SEAL = cast("Any", SimpleNamespace(nonce="n"))


def run(test: Callable[[SessionStore, Stream, RedisServer], Coroutine[Any, Any, None]]) -> None:
    """Run a test with a stream that is stored in Redis."""

    async def main(redis: RedisServer) -> None:
        client = RedisClient(redis.url)
        await client.open()
        store, stream = SessionStore(client, "shop", b"k" * 32, 60), Stream("s")
        stream.keep = partial(store.keep, SEAL, "s")
        try:
            await test(store, stream, redis)
        finally:
            await client.close()

    with RedisServer() as redis:
        asyncio.run(main(redis))


@pytest.mark.parametrize(
    ("count", "size", "kept"),
    [(3, 10, 3), (MOST_EVENTS + 50, 10, MOST_EVENTS), (9, 1_000_000, 4), (2, MAX_BYTES + 1, 1)],
    ids=["few", "many", "large", "larger than all room"],
)
def test_redis_has_the_events_that_the_process_keeps(count: int, size: int, kept: int) -> None:
    async def test(store: SessionStore, stream: Stream, redis: RedisServer) -> None:
        for number in range(count):
            stream.append(b"%d" % (number % 10) * size)
            await store.flush()
        found = await store.read_stream(SEAL, "s")
        assert found is not None
        assert (found.first, found.is_closed) == (count - kept, False)
        assert [each[:1] for each in found.events] == [
            b"%d" % (number % 10) for number in range(count - kept, count)
        ]
        stream.close()
        await store.flush()
        ended = await store.read_stream(SEAL, "s")
        assert ended == found._replace(is_closed=True)

    run(test)


def test_events_wait_in_bounded_memory_while_redis_is_away() -> None:
    async def test(store: SessionStore, stream: Stream, redis: RedisServer) -> None:
        redis.stop()
        for _ in range(100):
            stream.append(b"x" * 1_000_000)
        assert sum(len(each.message or b"") for each in store._events) <= 32 * 1024 * 1024
        redis.start()
        await store.flush()
        stream.append(b"last")
        await store.flush()
        found = await store.read_stream(SEAL, "s")
        assert found is not None
        assert found.events[-1] == b"last"

    run(test)
