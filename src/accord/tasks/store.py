"""The protocol of stores: where tasks are kept, for one process or for many."""

from collections.abc import Callable, Collection
from time import time
from typing import Final, NamedTuple, Protocol

import msgspec

from accord.model.task import Task

MAX_DUE: Final = 100
"""Number of leases that `due` returns at most."""

OnChange = Callable[[str | None, int], object]
"""Called on the event loop with the id and version of a task that has changed.

None instead of an id means that any may have: changes were lost.
"""


class Stored(NamedTuple):
    """A task as it is stored, and its version, which each update increases by one."""

    task: Task
    version: int


class Lease(NamedTuple):
    """The right and duty of one process to run a task, for some seconds at a time."""

    task_id: str
    owner: str


class TaskStore(Protocol):
    """Keeps tasks until their `ttl_ms` is over. Raises StoreError if it cannot answer in time.

    A new task has version 1. Updates are reported to `on_change`, those of other processes too;
    reports may be lost, or come late, so they are hints: what holds is what `read` returns.
    """

    is_shared: bool
    """True if other processes may use it."""

    async def open(self) -> None:
        """Connect; raise StoreError if that is not possible."""

    async def close(self) -> None: ...
    async def create(self, task: Task, seconds: float) -> None:
        """Keep a new task, with a lease of its owner for so many seconds."""

    async def read(self, task_id: str) -> Stored | None: ...
    async def update(self, task: Task, version: int) -> bool:
        """Replace the task of this version; False if it has another one, or is gone."""

    async def renew(self, owner: str, task_ids: Collection[str], seconds: float) -> set[str]:
        """Extend the leases of an owner; return the tasks whose lease it has lost."""

    async def release(self, owner: str, task_ids: Collection[str]) -> None:
        """End leases: the tasks are over."""

    async def due(self) -> list[Lease]:
        """Return leases that have run out, the oldest first, at most MAX_DUE."""

    async def claim(self, lease: Lease, owner: str, seconds: float) -> bool:
        """Take over a lease that has run out; only one of several owners succeeds."""

    async def watch(self, on_change: OnChange) -> None:
        """Report changes to a function from now on, instead of the one before."""


def milliseconds() -> int:
    """Return the time now."""
    return int(time() * 1000)


encode_task = msgspec.msgpack.Encoder().encode
decode_task = msgspec.msgpack.Decoder(Task).decode
