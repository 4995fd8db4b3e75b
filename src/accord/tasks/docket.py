"""Tasks in docket, a queue on Redis: https://github.com/chrisguidry/docket.

Workers are docket's own: `docket worker --tasks shop:tasks --docket accord-shop --url redis://...`,
where `tasks = docket_tasks(server)`.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from accord.errors import ContractError, StoreError
from accord.extras import missing
from accord.server.tasks import REDIS, QueuedTask
from accord.tasks.redis_client import RedisClient

if TYPE_CHECKING:
    from accord.server import Server

try:
    from docket import Docket
    from redis.exceptions import RedisError
except ImportError as _error:
    raise ContractError(missing("the engine docket", "docket")) from _error

_SECONDS: Final = 0.9  # for a command
_NAME_BYTES: Final = 4
_NAME: Final = "run_task"


def docket_name(server: str) -> str:
    """Return the name of the docket of a server."""
    return f"accord-{server}"


def docket_tasks(server: "Server") -> list[Callable[[str], Awaitable[None]]]:
    """Return the collection of tasks for `docket worker --tasks`."""

    async def run_task(task_id: str) -> None:
        await server.run_task(task_id)

    return [run_task]


class DocketEngine:
    """Puts tasks into a docket on the Redis of the store."""

    def __init__(self, url: str, server: str) -> None:
        if not url.startswith(REDIS):
            raise ContractError(f"the engine docket needs a store redis://..., not {url}")
        self._url = url
        self._name = docket_name(server)
        self._docket: Any = None
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """Connect; raise StoreError if that is not possible."""
        async with self._opening:  # tasks of a worker begin at the same time
            if self._docket is None:
                await self._require_no_cluster()
                self._docket = await self._connect()

    async def _require_no_cluster(self) -> None:
        client = RedisClient(self._url, _SECONDS)
        await client.open()
        is_cluster = client.is_cluster
        await client.close()
        if is_cluster:
            raise StoreError(
                "the engine docket needs a store that is one Redis; this one is a cluster"
            )

    async def _connect(self) -> Any:
        docket = Docket(name=self._name, url=self._url)
        docket.register(_placeholder, [_NAME])
        try:
            async with asyncio.timeout(_SECONDS):
                await docket.__aenter__()
        except (RedisError, OSError, TimeoutError) as error:
            reason = str(error) or "no answer in time"
            raise StoreError(f"docket cannot be reached: {reason}") from error
        return docket

    async def close(self) -> None:
        """Disconnect."""
        docket, self._docket = self._docket, None
        if docket is not None:
            with suppress(RedisError, OSError):
                await docket.__aexit__(None, None, None)

    async def submit(self, task: QueuedTask) -> None:
        """Put a task into the docket; with another key if a worker that had it has died."""
        async with asyncio.timeout(_SECONDS):
            key = task.id if task.attempt == 1 else f"{task.id}.{secrets.token_hex(_NAME_BYTES)}"
            await self._docket.add(_NAME, key=key)(task.id)

    async def withdraw(self, task_id: str) -> None:
        """Remove a task that no worker has begun."""
        async with asyncio.timeout(_SECONDS):
            await self._docket.cancel(task_id)


async def _placeholder(task_id: str) -> None:
    """Stand for the function of the workers, which have it by its name."""
