"""The protocol of stores: where tasks are kept, for one process or for many."""

import logging
from collections.abc import Callable, Collection
from time import time
from typing import Final, NamedTuple, Protocol

import msgspec

from accord.model.task import Task
from accord.signing import BadSignature

log: logging.Logger = logging.getLogger("accord")

_UNREADABLE: Final = (
    "The store has tasks that cannot be read here, and that are unknown to clients: they have"
    " another key (--key-file, or Server(key=...)), or another program has changed them"
)

MAX_DUE: Final = 1_000
"""Number of leases that `due` returns at most."""

OnChange = Callable[[str | None, int], object]
"""Called on the event loop with the id and version of a task that has changed.

None instead of an id means that any may have: changes were lost. LEASES means that leases have
run out.
"""
LEASES: Final = ""


class Stored(NamedTuple):
    """A task as it is stored, and its version, which each update increases by one."""

    task: Task
    version: int


class Lease(NamedTuple):
    """The exclusive right of one process to run a task, for some seconds at a time."""

    task_id: str
    owner: str
    is_handed_over: bool = False
    """True if its owner wants another process to run the task."""


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

    async def hand_over(self, owner: str, task_ids: Collection[str]) -> None:
        """Let leases run out now, and wake other processes, which take the tasks over."""

    async def release(self, owner: str, task_ids: Collection[str]) -> None:
        """End leases: the tasks are over."""

    async def due(self) -> list[Lease]:
        """Return leases that have run out, the oldest first, at most MAX_DUE."""

    async def claim(self, lease: Lease, owner: str, seconds: float, *, is_due: bool = True) -> bool:
        """Take over a lease; only one of several owners succeeds.

        It must have run out, unless `is_due` is False: then its owner gives it away.
        """

    async def watch(self, on_change: OnChange) -> None:
        """Report changes to a function from now on, instead of the one before."""

    async def exchange(self, owner: str, value: bytes, seconds: float) -> dict[str, bytes]:
        """Publish a value of a process for so many seconds; return those of all processes."""


def milliseconds() -> int:
    """Return the time now."""
    return int(time() * 1000)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Task).decode


class Sealing(Protocol):
    """Encrypts values: see `accord.tasks.sealing`."""

    def seal(self, purpose: str, value: bytes) -> bytes: ...
    def open(self, purpose: str, sealed: bytes) -> bytes: ...


class TaskCodec:
    """Encodes tasks for a store, encrypted if there is a key for that."""

    def __init__(self, sealing: Sealing | None = None, server: str = "") -> None:
        """A value is valid for the server of this name, and for its own task alone."""
        self._sealing = sealing
        self._server = server
        self._has_warned = False

    def encode(self, task: Task) -> bytes:
        """Return the bytes of a task."""
        value = _encode(task)
        return value if self._sealing is None else self._sealing.seal(self._for(task.id), value)

    def decode(self, task_id: str, value: bytes) -> Task | None:
        """Return the task of some bytes; None if they have another key, or were changed."""
        try:
            if self._sealing is not None:
                value = self._sealing.open(self._for(task_id), value)
            return _decode(value)
        except (BadSignature, msgspec.MsgspecError):
            if not self._has_warned:
                self._has_warned = True
                log.warning("%s", _UNREADABLE)
            return None

    def _for(self, task_id: str) -> str:
        return f"task {self._server} {task_id}"


PLAIN: Final = TaskCodec()
"""Encrypts nothing."""
