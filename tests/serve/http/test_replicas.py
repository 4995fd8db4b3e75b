"""The links of the processes of several machines, through Redis."""

import asyncio
from collections.abc import Iterable

from accord.serve.http.links import Linked, Used
from accord.serve.http.replicas import Replicas
from accord.serve.http.response import Response
from accord.tasks.redis_client import RedisClient
from redis_server import RedisServer, needs_redis
from tasks.stores import until

pytestmark = needs_redis


class Sessions:
    """Takes the messages of other processes."""

    def __init__(self) -> None:
        self.taken: list[Linked] = []

    def take(self, worker: str, message: Linked) -> None:
        self.taken.append(message)

    def greeting(self) -> Iterable[Linked]:
        return ()

    def lose(self, worker: str) -> None: ...
    def restore(self) -> None: ...
    def refresh(self) -> None: ...


def no_answer(*_: object) -> Response:
    raise AssertionError


async def begin(links: Replicas) -> Sessions:
    """Start links; the sessions that they are for."""
    sessions = Sessions()
    await links.start(sessions, no_answer, {})
    return sessions


async def exchange(one: Replicas, other: Replicas, at_one: Sessions, at_other: Sessions) -> None:
    """Send messages both ways, and wait until all have arrived in order."""
    await until(lambda: one.has(other.name) and other.has(one.name))
    messages = [Used(f"{number}") for number in range(30)]
    for each in messages:
        one.tell(each)
        other.tell(each)
    await until(lambda: at_one.taken == at_other.taken == messages)


def test_a_process_that_begins_anew_sends_and_receives() -> None:
    async def main(url: str) -> None:
        one, other = (Replicas(RedisClient(url), "shop", b"k" * 32) for _ in "ab")
        at_one = await begin(one)
        for _ in range(2):
            await exchange(one, other, at_one, await begin(other))
            await other.close()
            await until(lambda: not one.has(other.name))
            at_one.taken.clear()
        await one.close()

    async def within(url: str) -> None:
        async with asyncio.timeout(20):
            await main(url)

    with RedisServer() as redis:
        asyncio.run(within(redis.url))
