"""Stores by their names on the command line: `memory`, `sqlite:PATH`, `redis://HOST:PORT/N`."""

from typing import Final

from accord.errors import ContractError
from accord.tasks.memory import MemoryStore
from accord.tasks.store import TaskStore

MEMORY: Final = "memory"
_SQLITE: Final = "sqlite:"
_REDIS: Final = ("redis://", "rediss://", "unix://")


def store_named(name: str, server: str) -> TaskStore:
    """Return the store of a name for a server, not opened yet; raise if it is not valid."""
    if name == MEMORY:
        return MemoryStore()
    if name.startswith(_SQLITE) and name != _SQLITE:
        from accord.tasks.sqlite import SQLiteStore  # loads SQLite

        return SQLiteStore(name.removeprefix(_SQLITE), server)
    if name.startswith(_REDIS):
        from accord.tasks.redis import RedisStore  # an extra

        return RedisStore(name, server)
    raise ContractError(
        f"the store must be memory, sqlite:PATH or redis://HOST:PORT/N, not {name!r}"
    )
