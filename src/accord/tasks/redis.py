"""Tasks in Redis or Valkey, for the processes of many machines.

A task is a stream of one entry, whose id is the version. Redis refuses an entry whose id is not
greater than the last one, so one XADD is the comparison and the change; with NOMKSTREAM it does not
bring back a task that has expired. Leases are in one sorted set by the time at which they run out,
on Redis's own clock. Each command has one key, so that this works on a cluster too.
"""

import asyncio
import struct
from collections.abc import Collection
from contextlib import suppress
from typing import Any, Final

from accord.model.task import Task
from accord.tasks.redis_client import DEFAULT_SECONDS, FAILURES, RedisClient
from accord.tasks.store import LEASES, MAX_DUE, PLAIN, Lease, OnChange, Stored, TaskCodec

_FIRST_PAUSE: Final = 0.05  # seconds before the subscription is opened again
_MAX_PAUSE: Final = 1.0
_VALUE: Final = "t"
_OUTDATED: Final = "smaller than the target stream"  # of the error if the version is another one
_BATCH: Final = 1_000  # leases in one command
_WRITABLE_MS: Final = 1_000
_TIME: Final = struct.Struct("<d")  # before a value of a process: when it expires


class RedisStore:
    """Keeps the tasks of one server in Redis, under keys that begin with `accord:SERVER:`."""

    is_shared = True

    def __init__(
        self, url: str, server: str, seconds: float = DEFAULT_SECONDS, codec: TaskCodec = PLAIN
    ) -> None:
        """`url` is redis://, rediss:// or unix://; `seconds` is the time limit of a command."""
        self._client = RedisClient(url, seconds)
        self._prefix = f"accord:{server}"
        self._codec = codec
        self._on_change: OnChange = lambda *_: None
        self._listener: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect; raise StoreError if that is not possible."""
        await self._client.open()

    async def close(self) -> None:
        """Disconnect."""
        listener, self._listener = self._listener, None
        await self._client.close()
        if listener is not None:
            listener.cancel()
            await asyncio.gather(listener, return_exceptions=True)

    async def create(self, task: Task, seconds: float) -> None:
        """Keep a new task, with a lease of its owner for so many seconds."""
        client, key = self._client, self._key(task.id)
        replies = await client.send(
            ("ZADD", self._leases, repr(client.now() + seconds), _member(task.id, task.owner)),
            ("XADD", key, "1-0", _VALUE, self._codec.encode(task)),
            ("PEXPIRE", key, task.ttl_ms),
        )
        for reply in replies:
            if isinstance(reply, Exception) and _OUTDATED not in str(reply):  # sent twice
                raise client.failure(reply)

    async def read(self, task_id: str) -> Stored | None:
        """Return a task, unless it is unknown or its time is over."""
        entries = await self._client.run("XREVRANGE", self._key(task_id), "+", "-", "COUNT", 1)
        if not entries:
            return None
        entry, fields = entries[0]
        task = self._codec.decode(task_id, fields[_VALUE.encode()])
        return None if task is None else Stored(task, int(entry.partition(b"-")[0]))

    async def update(self, task: Task, version: int) -> bool:
        """Replace the task of this version; False if it has another one, or is gone."""
        key, entry, value = self._key(task.id), f"{version + 1}-0", self._codec.encode(task)
        reply, _ = await self._client.send(
            ("XADD", key, "NOMKSTREAM", "MAXLEN", 1, entry, _VALUE, value),
            ("PUBLISH", self._channel, f"{task.id} {version + 1}"),
        )
        if isinstance(reply, Exception):
            if _OUTDATED in str(reply):
                return False
            raise self._client.failure(reply)
        if reply is None:
            return False
        self._on_change(task.id, version + 1)
        return True

    async def renew(self, owner: str, task_ids: Collection[str], seconds: float) -> set[str]:
        """Extend the leases of an owner; return the tasks whose lease it has lost."""
        client = self._client
        await client.set_clock()
        until, lost, every = repr(client.now() + seconds), set[str](), list(task_ids)
        for start in range(0, len(every), _BATCH):
            batch = every[start : start + _BATCH]
            members = [_member(each, owner) for each in batch]
            scores = [part for each in members for part in (until, each)]
            changed = await client.run("ZADD", self._leases, "XX", "CH", *scores)
            if changed < len(batch):
                found = await client.run("ZMSCORE", self._leases, *members)
                lost |= {each for each, at in zip(batch, found, strict=True) if at is None}
        return lost

    async def hand_over(self, owner: str, task_ids: Collection[str]) -> None:
        """Let leases run out now, and wake other processes, which take the tasks over."""
        for task_id in task_ids:
            await self._client.run("ZADD", self._leases, "XX", 0, _member(task_id, owner))
        await self._client.run("PUBLISH", self._channel, f"{LEASES} 0")

    async def release(self, owner: str, task_ids: Collection[str]) -> None:
        """End leases: the tasks are over."""
        members = [_member(each, owner) for each in task_ids]
        for start in range(0, len(members), _BATCH):
            await self._client.run("ZREM", self._leases, *members[start : start + _BATCH])

    async def due(self) -> list[Lease]:
        """Return leases that have run out, the oldest first, at most MAX_DUE."""
        client = self._client
        await client.set_clock()
        now = repr(client.now())
        words = ("-inf", now, "WITHSCORES", "LIMIT", 0, MAX_DUE)
        found = await client.run("ZRANGEBYSCORE", self._leases, *words)
        if found:  # while Redis is full, their owners cannot renew them: that raises here, too
            await client.run("SET", f"{self._prefix}:writable", 1, "PX", _WRITABLE_MS)
        return [_lease(member.decode(), float(until)) for member, until in found]

    async def claim(self, lease: Lease, owner: str, seconds: float, *, is_due: bool = True) -> bool:
        """Take over a lease; only one of several owners succeeds.

        The new one is there before the old one goes, so that no task is ever without one.
        """
        client, member = self._client, _member(lease.task_id, owner)
        until = repr(client.now() + seconds)
        is_new = await client.run("ZADD", self._leases, "NX", until, member)
        if owner != lease.owner and await client.run(
            "ZREM", self._leases, _member(lease.task_id, lease.owner)
        ):
            return True
        if is_new:  # else this process has the task already
            await client.run("ZREM", self._leases, member)
        return False

    async def watch(self, on_change: OnChange) -> None:
        """Report changes to a function from now on, instead of the one before."""
        self._on_change = on_change
        if self._listener is None:
            listening: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._listener = asyncio.create_task(self._listen(listening))
            with suppress(TimeoutError):
                async with asyncio.timeout(self._client.seconds):
                    await listening

    async def exchange(self, owner: str, value: bytes, seconds: float) -> dict[str, bytes]:
        """Publish a value of a process for so many seconds; return those of all processes."""
        key, now = f"{self._prefix}:rates", self._client.now()
        replies = await self._client.send(
            ("HSET", key, owner, _TIME.pack(now + seconds) + value),
            ("PEXPIRE", key, int(2000 * seconds)),
            ("HGETALL", key),
        )
        for reply in replies:
            if isinstance(reply, Exception):
                raise self._client.failure(reply)
        fields = _pairs(replies[-1])
        old = [name for name, each in fields.items() if _TIME.unpack_from(each)[0] <= now]
        if old:
            await self._client.send(("HDEL", key, *old))
        return {
            name.decode(): each[_TIME.size :] for name, each in fields.items() if name not in old
        }

    async def _listen(self, listening: "asyncio.Future[None]") -> None:
        """Report changes of other processes; connect again for ever."""
        pause = _FIRST_PAUSE
        while self._client.is_open:  # redis-py may take a cancellation for a time limit
            try:
                async with self._client.waiting(self._channel) as redis, redis.pubsub() as channel:
                    async with asyncio.timeout(self._client.seconds):
                        await channel.subscribe(self._channel)
                    async for message in channel.listen():
                        if message["type"] == "message":
                            task_id, _, version = message["data"].decode().rpartition(" ")
                            self._on_change(task_id, int(version))
                            continue
                        pause = _FIRST_PAUSE
                        if listening.done():
                            self._on_change(None, 0)  # messages may have been lost
                        else:
                            listening.set_result(None)
            except FAILURES:
                await asyncio.sleep(pause)
                pause = min(2 * pause, _MAX_PAUSE)

    def _key(self, task_id: str) -> str:
        return f"{self._prefix}:task:{{{task_id}}}"

    @property
    def _leases(self) -> str:
        return f"{self._prefix}:leases"

    @property
    def _channel(self) -> str:
        return f"{self._prefix}:changes"


def _pairs(reply: Any) -> dict[bytes, bytes]:
    """Return the fields of a hash, which redis-py gives as a dict or as a list."""
    if isinstance(reply, dict):
        return reply
    return dict(zip(reply[::2], reply[1::2], strict=True))


def _member(task_id: str, owner: str) -> str:
    return f"{task_id} {owner}"


def _lease(member: str, until: float) -> Lease:
    task_id, _, owner = member.partition(" ")
    return Lease(task_id, owner, until == 0)
