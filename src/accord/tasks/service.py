"""The tasks of one process in a store: reads and changes them, and waits for changes."""

import asyncio
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from hmac import compare_digest
from typing import Final

from accord.model.task import Task
from accord.tasks.store import OnChange, Stored, TaskStore, milliseconds

Step = Callable[[Task, int], Task | None]
"""Returns the next state of a task at a time; None if there is nothing to change."""
_ID_BYTES: Final = 32
_OWNER_BYTES: Final = 8
_DIGEST_BYTES: Final = 16
_MAX_KEY: Final = 64  # of blake2b


class Changed:
    """Tasks that have changed, for one that waits for them."""

    def __init__(self, task_ids: Sequence[str]) -> None:
        self._watched = tuple(task_ids)
        self._names: dict[str, None] = {}
        self._event = asyncio.Event()

    def add(self, *task_ids: str) -> None:
        """Note changes."""
        self._names |= dict.fromkeys(task_ids)
        self._event.set()

    def add_all(self) -> None:
        """Note that any may have changed."""
        self.add(*self._watched)

    async def wait(self) -> list[str]:
        """Return the tasks that have changed since the last call, once there are any."""
        await self._event.wait()
        self._event.clear()
        names, self._names = self._names, {}
        return list(names)


class TaskService:
    """Reads, changes and watches the tasks of a store, on one event loop."""

    def __init__(self, store: TaskStore, on_change: OnChange) -> None:
        """`on_change` is called for each change, those of other processes too."""
        self.store = store
        self.owner: str = secrets.token_hex(_OWNER_BYTES)
        """The name of this process in leases."""
        self._on_change = on_change
        self._watchers: dict[str, set[Changed]] = {}
        self._opening: asyncio.Task[None] | None = None

    async def ready(self) -> None:
        """Open the store, once; raise StoreError if that is not possible."""
        if self._opening is None or (self._opening.done() and self._opening.exception()):
            self._opening = asyncio.create_task(self._open())
        if not self._opening.done():
            await asyncio.shield(self._opening)

    async def _open(self) -> None:
        await self.store.open()
        await self.store.watch(self._receive)

    async def close(self) -> None:
        """Close the store."""
        self._opening = None
        await self.store.close()

    async def find(self, task_id: str, principal: bytes | None) -> Stored | None:
        """Return a task, if it is known and the principal may use it."""
        await self.ready()
        stored = await self.store.read(task_id)
        if stored is None:
            return None
        expected = digest_of(principal, task_id)
        return stored if compare_digest(stored.task.principal, expected) else None

    async def change(self, stored: Stored, step: Step) -> Stored | None:
        """Take a task to its next state; return it, or None if there is none or it is gone.

        `stored` is the last state known; if the task has changed since, the step is taken anew.
        """
        found: Stored | None = stored
        while found is not None:
            new = step(found.task, milliseconds())
            if new is None:
                return None
            if await self.store.update(new, found.version):
                return Stored(new, found.version + 1)
            found = await self.store.read(stored.task.id)
        return None

    @contextmanager
    def watching(self, *task_ids: str) -> Iterator[Changed]:
        """Note changes of tasks for the time of a block."""
        changed = Changed(task_ids)
        for each in task_ids:
            self._watchers.setdefault(each, set()).add(changed)
        try:
            yield changed
        finally:
            for each in task_ids:
                watchers = self._watchers[each]
                watchers.discard(changed)
                if not watchers:
                    del self._watchers[each]

    def _receive(self, task_id: str | None, version: int) -> None:
        if task_id is None:
            for changed in {each for every in self._watchers.values() for each in every}:
                changed.add_all()
        else:
            for changed in self._watchers.get(task_id, ()):
                changed.add(task_id)
        self._on_change(task_id, version)


def new_id() -> str:
    """Return a random id of 256 bits that no command line takes for an option."""
    return f"t{secrets.token_urlsafe(_ID_BYTES)}"


def digest_of(principal: bytes | None, task_id: str) -> bytes:
    """Return the digest of an identity, which differs from task to task; empty for none."""
    if principal is None:
        return b""
    key = task_id.encode()[:_MAX_KEY]
    return blake2b(principal, key=key, digest_size=_DIGEST_BYTES).digest()
