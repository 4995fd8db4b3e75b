"""A connection to Redis or Valkey that never blocks for long, and tells failures as StoreError."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import asynccontextmanager, suppress
from time import time
from typing import Any, Final, TypeVar

from accord.errors import ContractError, StoreError

try:
    from redis.asyncio import ConnectionPool, Redis, RedisCluster
    from redis.asyncio.connection import parse_url
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import RedisClusterException, RedisError, ResponseError
except ImportError as _error:
    from accord.extras import missing

    raise ContractError(missing("a Redis store", "redis")) from _error

T = TypeVar("T")
DEFAULT_SECONDS: Final = 0.9
"""Time limit of a command, and to connect."""
_CONNECTIONS: Final = 16  # at most, beside those that wait for messages
FAILURES: Final = (RedisError, RedisClusterException, OSError, TimeoutError)
"""What the clients that `RedisClient.waiting` gives raise."""


class RedisClient:
    """Commands to one Redis, or to a cluster."""

    def __init__(self, url: str, seconds: float = DEFAULT_SECONDS) -> None:
        """`url` is redis://, rediss:// or unix://; `seconds` is the time limit of a command."""
        self._url = url
        self.seconds = seconds
        self._redis: Any = None
        self._offset = 0.0
        """Seconds by which Redis's clock is ahead of this one."""
        self._room = asyncio.Semaphore(_CONNECTIONS)

    async def open(self) -> None:
        """Connect; raise StoreError if that is not possible."""
        if self._redis is not None:
            return
        try:
            redis: Any = Redis.from_url(self._url, **self._options(self.seconds))
            if await self._is_cluster(redis):
                await redis.aclose()
                redis = RedisCluster.from_url(self._url, **self._options(self.seconds))
                await self._in_time(redis.initialize())
        except (ValueError, RedisClusterException) as error:
            raise StoreError(
                f"the store {_without_password(self._url)} is not valid: {error}"
            ) from error
        self._redis = redis
        await self.set_clock()

    async def _is_cluster(self, redis: Any) -> bool:
        try:
            found = await self._in_time(redis.info("cluster"))
        except StoreError:
            await redis.aclose()
            raise
        return bool(found.get("cluster_enabled"))

    async def close(self) -> None:
        """Disconnect."""
        redis, self._redis = self._redis, None
        if redis is not None:
            with suppress(*FAILURES):
                await redis.aclose()

    @property
    def is_open(self) -> bool:
        """True until `close`."""
        return self._redis is not None

    async def run(self, *command: Any) -> Any:
        """Return the reply to a command; raise StoreError if there is none in time."""
        return await self._in_time(self._open_redis.execute_command(*command))

    async def send(self, *commands: tuple[Any, ...]) -> list[Any]:
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

    async def set_clock(self) -> None:
        """Measure how far Redis's clock is ahead: machines may disagree on the time."""
        seconds, microseconds = await self._in_time(self._open_redis.time())
        self._offset = seconds + microseconds / 1e6 - time()

    def now(self) -> float:
        """Return the time by Redis's clock."""
        return time() + self._offset

    @property
    def is_cluster(self) -> bool:
        """True if the keys are on several nodes."""
        return isinstance(self._redis, RedisCluster)

    @asynccontextmanager
    async def waiting(self, key: str) -> AsyncIterator[Any]:
        """Give a client of redis-py without a time limit, to wait for messages; see FAILURES.

        On a cluster, it is one of the node that has the key now.
        """
        options = {**parse_url(self._url), **self._options(None)}
        if isinstance(self._redis, RedisCluster):
            node: Any = self._redis.get_node_from_key(key)
            options |= {"host": node.host, "port": node.port}
        redis = Redis.from_pool(ConnectionPool(**options))
        try:
            yield redis
        finally:
            with suppress(*FAILURES):
                await redis.aclose()

    def failure(self, error: BaseException) -> StoreError:
        """Return the error for a command that failed; a ResponseError is Redis's own refusal."""
        where = _without_password(self._url)
        if isinstance(error, ResponseError):
            return StoreError(f"the task store {where} refuses: {error}")
        reason = "no answer in time" if isinstance(error, TimeoutError) else str(error)
        return StoreError(f"the task store {where} cannot be reached: {reason}")

    @staticmethod
    def _options(seconds: float | None) -> dict[str, Any]:
        return {
            "socket_timeout": seconds,
            "socket_connect_timeout": DEFAULT_SECONDS,
            "retry": Retry(NoBackoff(), 1),  # a connection that was idle may be gone
            "decode_responses": False,
        }

    @property
    def _open_redis(self) -> Any:
        if self._redis is None:
            raise StoreError("the task store is closed")
        return self._redis

    async def _in_time(self, work: Awaitable[T]) -> T:
        """Await a command, at most for the time limit; raise StoreError if it fails."""
        try:
            async with asyncio.timeout(self.seconds), self._room:
                return await work
        except FAILURES as error:
            raise self.failure(error) from error
        finally:
            if isinstance(work, Coroutine):
                work.close()  # it may not have begun


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
