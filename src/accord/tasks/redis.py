"""Tasks in Redis or Valkey, for the processes of many machines.

A task is a stream of one entry, whose id is the version. Redis refuses an entry whose id is not
greater than the last one, so one XADD is the comparison and the change; with NOMKSTREAM it does not
bring back a task that has expired. Leases are in one sorted set by the time at which they run out,
on Redis's own clock. Each command has one key, so that this works on a cluster too.
"""

import asyncio
from collections.abc import Awaitable, Collection, Coroutine
from contextlib import suppress
from time import time
from typing import Any, Final, TypeVar

from accord.errors import ContractError, StoreError
from accord.model.task import Task
from accord.tasks.store import MAX_DUE, Lease, OnChange, Stored, decode_task, encode_task

try:
    from redis.asyncio import Redis, RedisCluster
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import RedisError, ResponseError
except ImportError as error:
    raise ContractError(
        "the store redis://... needs an extra: pip install 'accord-mcp[redis]'"
    ) from error

T = TypeVar("T")
_SECONDS: Final = 0.9  # to connect, and for one command
_FIRST_PAUSE: Final = 0.05  # seconds before the subscription is opened again
_MAX_PAUSE: Final = 1.0
_VALUE: Final = "t"
_OUTDATED: Final = "smaller than the target stream"  # of the error if the version is another one
_CONNECTIONS: Final = 16  # at most, beside that of the subscription
_BATCH: Final = 1_000  # leases in one command


class RedisStore:
    """Keeps the tasks of one server in Redis, under keys that begin with `accord:SERVER:`."""

    is_shared = True

    def __init__(self, url: str, server: str, seconds: float = _SECONDS) -> None:
        """`url` is redis://, rediss:// or unix://; `seconds` is the time limit of a command."""
        self._url = url
        self._prefix = f"accord:{server}"
        self._seconds = seconds
        self._redis: Any = None
        self._offset = 0.0
        """Seconds by which Redis's clock is ahead of this one."""
        self._room = asyncio.Semaphore(_CONNECTIONS)
        self._on_change: OnChange = lambda *_: None
        self._listener: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect; raise StoreError if that is not possible."""
        if self._redis is not None:
            return
        try:
            redis = self._connect(self._seconds)
            found = await self._in_time(redis.info("cluster"))
            if found.get("cluster_enabled"):
                await redis.aclose()
                redis = RedisCluster.from_url(self._url, **self._options(self._seconds))
                await self._in_time(redis.initialize())
        except ValueError as error:
            raise StoreError(
                f"the store {_without_password(self._url)} is not valid: {error}"
            ) from error
        self._redis = redis
        await self._set_clock()

    async def close(self) -> None:
        """Disconnect."""
        redis, self._redis = self._redis, None
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.gather(self._listener, return_exceptions=True)
            self._listener = None
        if redis is not None:
            with suppress(RedisError, OSError):
                await redis.aclose()

    async def create(self, task: Task, seconds: float) -> None:
        """Keep a new task, with a lease of its owner for so many seconds."""
        key, until = self._key(task.id), repr(self._now() + seconds)
        replies = await self._send(
            ("ZADD", self._leases, until, _member(task.id, task.owner)),
            ("XADD", key, "1-0", _VALUE, encode_task(task)),
            ("PEXPIRE", key, task.ttl_ms),
        )
        for reply in replies:
            if isinstance(reply, Exception) and _OUTDATED not in str(reply):  # sent twice
                raise self._failure(reply)

    async def read(self, task_id: str) -> Stored | None:
        """Return a task, unless it is unknown or its time is over."""
        entries = await self._in_time(self._open_redis.xrevrange(self._key(task_id), count=1))
        if not entries:
            return None
        entry, fields = entries[0]
        return Stored(decode_task(fields[_VALUE.encode()]), int(entry.partition(b"-")[0]))

    async def update(self, task: Task, version: int) -> bool:
        """Replace the task of this version; False if it has another one, or is gone."""
        key, entry = self._key(task.id), f"{version + 1}-0"
        reply, _ = await self._send(
            ("XADD", key, "NOMKSTREAM", "MAXLEN", 1, entry, _VALUE, encode_task(task)),
            ("PUBLISH", self._channel, f"{task.id} {version + 1}"),
        )
        if isinstance(reply, Exception):
            if _OUTDATED in str(reply):
                return False
            raise self._failure(reply)
        if reply is None:
            return False
        self._on_change(task.id, version + 1)
        return True

    async def renew(self, owner: str, task_ids: Collection[str], seconds: float) -> set[str]:
        """Extend the leases of an owner; return the tasks whose lease it has lost."""
        await self._set_clock()
        until, lost, every = self._now() + seconds, set[str](), list(task_ids)
        for start in range(0, len(every), _BATCH):
            batch = every[start : start + _BATCH]
            scores = {_member(each, owner): until for each in batch}
            redis = self._open_redis
            changed = await self._in_time(redis.zadd(self._leases, scores, xx=True, ch=True))
            if changed < len(batch):
                found = await self._in_time(redis.zmscore(self._leases, list(scores)))
                lost |= {each for each, at in zip(batch, found, strict=True) if at is None}
        return lost

    async def release(self, owner: str, task_ids: Collection[str]) -> None:
        """End leases: the tasks are over."""
        members = [_member(each, owner) for each in task_ids]
        for start in range(0, len(members), _BATCH):
            batch = members[start : start + _BATCH]
            await self._in_time(self._open_redis.zrem(self._leases, *batch))

    async def due(self) -> list[Lease]:
        """Return leases that have run out, the oldest first, at most MAX_DUE."""
        await self._set_clock()
        found = await self._in_time(
            self._open_redis.zrangebyscore(self._leases, "-inf", self._now(), 0, MAX_DUE)
        )
        return [Lease(*member.decode().split(" ", 1)) for member in found]

    async def claim(self, lease: Lease, owner: str, seconds: float) -> bool:
        """Take over a lease that has run out; only one of several owners succeeds.

        The new one is there before the old one goes, so that no task is ever without one.
        """
        redis, member = self._open_redis, _member(lease.task_id, owner)
        await self._in_time(redis.zadd(self._leases, {member: self._now() + seconds}))
        if await self._in_time(redis.zrem(self._leases, _member(*lease))):
            return True
        if owner != lease.owner:
            await self._in_time(redis.zrem(self._leases, member))
        return False

    async def watch(self, on_change: OnChange) -> None:
        """Report changes to a function from now on, instead of the one before."""
        self._on_change = on_change
        if self._listener is None:
            listening: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._listener = asyncio.create_task(self._listen(listening))
            with suppress(TimeoutError):
                async with asyncio.timeout(self._seconds):
                    await listening

    async def _listen(self, listening: "asyncio.Future[None]") -> None:
        """Report changes of other processes; connect again for ever."""
        pause = _FIRST_PAUSE
        while self._redis is not None:  # redis-py may take a cancellation for a time limit
            redis = self._connect(None)
            try:
                async with redis.pubsub() as channel:
                    async with asyncio.timeout(self._seconds):
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
            except (RedisError, OSError, TimeoutError):
                await asyncio.sleep(pause)
                pause = min(2 * pause, _MAX_PAUSE)
            finally:
                with suppress(RedisError, OSError):
                    await redis.aclose()

    def _connect(self, seconds: float | None) -> Any:
        return Redis.from_url(self._url, **self._options(seconds))

    @staticmethod
    def _options(seconds: float | None) -> dict[str, Any]:
        return {
            "socket_timeout": seconds,
            "socket_connect_timeout": _SECONDS,
            "retry": Retry(NoBackoff(), 1),  # a connection that was idle may be gone
            "decode_responses": False,
        }

    async def _send(self, *commands: tuple[Any, ...]) -> list[Any]:
        """Run commands in this order, in one round trip but on a cluster; errors are replies."""
        redis = self._open_redis
        if not isinstance(redis, RedisCluster):
            pipe = redis.pipeline(transaction=False)
            for each in commands:
                pipe.execute_command(*each)
            return await self._in_time(pipe.execute(raise_on_error=False))
        replies: list[Any] = []
        for each in commands:
            try:
                replies.append(await self._in_time(redis.execute_command(*each)))
            except StoreError as error:
                if not isinstance(error.__cause__, ResponseError):
                    raise
                replies.append(error.__cause__)
        return replies

    async def _set_clock(self) -> None:
        """Measure how far Redis's clock is ahead: machines may disagree on the time."""
        seconds, microseconds = await self._in_time(self._open_redis.time())
        self._offset = seconds + microseconds / 1e6 - time()

    def _now(self) -> float:
        return time() + self._offset

    def _key(self, task_id: str) -> str:
        return f"{self._prefix}:task:{{{task_id}}}"

    @property
    def _leases(self) -> str:
        return f"{self._prefix}:leases"

    @property
    def _channel(self) -> str:
        return f"{self._prefix}:changes"

    @property
    def _open_redis(self) -> Any:
        if self._redis is None:
            raise StoreError("the task store is closed")
        return self._redis

    async def _in_time(self, work: Awaitable[T]) -> T:
        """Await a command, at most for the time limit; raise StoreError if it fails."""
        try:
            async with asyncio.timeout(self._seconds), self._room:
                return await work
        except (RedisError, OSError, TimeoutError) as error:
            raise self._failure(error) from error
        finally:
            if isinstance(work, Coroutine):
                work.close()  # it may not have begun

    def _failure(self, error: BaseException) -> StoreError:
        """Return the error for a command that failed; a ResponseError is Redis's own refusal."""
        where = _without_password(self._url)
        if isinstance(error, ResponseError):
            return StoreError(f"the task store {where} refuses: {error}")
        reason = "no answer in time" if isinstance(error, TimeoutError) else str(error)
        return StoreError(f"the task store {where} cannot be reached: {reason}")


def _member(task_id: str, owner: str) -> str:
    return f"{task_id} {owner}"


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
