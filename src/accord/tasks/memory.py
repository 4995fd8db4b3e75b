"""Tasks in the memory of one process."""

from collections.abc import Callable, Collection
from time import time
from typing import Final

from accord.model.task import Task
from accord.tasks.store import MAX_DUE, Lease, OnChange, Stored

_SWEEP: Final = 256  # new tasks after which expired ones are removed


class _Lease:
    """A lease, and the time at which it runs out."""

    __slots__ = ("owner", "until")

    def __init__(self, owner: str, until: float) -> None:
        self.owner = owner
        self.until = until


class MemoryStore:
    """Keeps tasks in memory; they end with the process."""

    is_shared = False

    def __init__(self, clock: Callable[[], float] = time) -> None:
        self._clock = clock
        self._tasks: dict[str, Stored] = {}
        self._leases: dict[str, _Lease] = {}
        self._created = 0
        self._on_change: OnChange = lambda *_: None

    async def open(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing: another event loop may go on with the tasks."""

    async def create(self, task: Task, seconds: float) -> None:
        """Keep a new task, with a lease of its owner for so many seconds."""
        self._created += 1
        if self._created % _SWEEP == 0:
            self._remove_expired()
        self._tasks[task.id] = Stored(task, 1)
        self._leases[task.id] = _Lease(task.owner, self._clock() + seconds)

    async def read(self, task_id: str) -> Stored | None:
        """Return a task, unless it is unknown or its time is over."""
        stored = self._tasks.get(task_id)
        return None if stored is None or self._is_expired(stored.task) else stored

    async def update(self, task: Task, version: int) -> bool:
        """Replace the task of this version; False if it has another one, or is gone."""
        stored = await self.read(task.id)
        if stored is None or stored.version != version:
            return False
        self._tasks[task.id] = Stored(task, version + 1)
        self._on_change(task.id, version + 1)
        return True

    async def renew(self, owner: str, task_ids: Collection[str], seconds: float) -> set[str]:
        """Extend the leases of an owner; return the tasks whose lease it has lost."""
        until = self._clock() + seconds
        lost: set[str] = set()
        for task_id in task_ids:
            lease = self._leases.get(task_id)
            if lease is None or lease.owner != owner:
                lost.add(task_id)
            else:
                lease.until = until
        return lost

    async def hand_over(self, owner: str, task_ids: Collection[str]) -> None:
        """Let leases run out now."""
        await self.renew(owner, task_ids, 0)

    async def release(self, owner: str, task_ids: Collection[str]) -> None:
        """End leases: the tasks are over."""
        for task_id in task_ids:
            lease = self._leases.get(task_id)
            if lease is not None and lease.owner == owner:
                del self._leases[task_id]

    async def due(self) -> list[Lease]:
        """Return leases that have run out, the oldest first, at most MAX_DUE."""
        now = self._clock()
        ended = [(each.until, name) for name, each in self._leases.items() if each.until <= now]
        return [Lease(name, self._leases[name].owner) for _, name in sorted(ended)[:MAX_DUE]]

    async def claim(self, lease: Lease, owner: str, seconds: float, *, is_due: bool = True) -> bool:
        """Take over a lease; only one of several owners succeeds."""
        now, held = self._clock(), self._leases.get(lease.task_id)
        if held is None or held.owner != lease.owner or (is_due and held.until > now):
            return False
        self._leases[lease.task_id] = _Lease(owner, now + seconds)
        return True

    async def watch(self, on_change: OnChange) -> None:
        """Report changes to a function from now on, instead of the one before."""
        self._on_change = on_change

    async def exchange(self, owner: str, value: bytes, seconds: float) -> dict[str, bytes]:
        """Return the value: no other process has this store."""
        return {owner: value}

    def _is_expired(self, task: Task) -> bool:
        return self._clock() * 1000 >= task.created + task.ttl_ms

    def _remove_expired(self) -> None:
        for name, stored in list(self._tasks.items()):
            if self._is_expired(stored.task):
                del self._tasks[name]
                self._leases.pop(name, None)
