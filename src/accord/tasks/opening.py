"""Opens stores by their names: `memory`, `sqlite:PATH`, `redis://HOST:PORT/N`."""

from accord.server.tasks import MEMORY, SQLITE, require_store_name
from accord.tasks.memory import MemoryStore
from accord.tasks.store import PLAIN, TaskCodec, TaskStore


async def require_reachable(name: str) -> None:
    """Raise unless the store of a name can be opened now."""
    store = store_named(name, "")
    try:
        await store.open()
    finally:
        await store.close()


def store_named(name: str, server: str, key: bytes | None = None) -> TaskStore:
    """Return the store of a name for a server, not opened yet; raise if it is not valid.

    What it keeps is encrypted with the `key`, if there is one.
    """
    require_store_name(name)
    if name == MEMORY:
        return MemoryStore()
    codec = PLAIN
    if key is not None:
        from accord.tasks.sealing import Sealer  # an extra

        codec = TaskCodec(Sealer(key), server)
    if name.startswith(SQLITE):
        from accord.tasks.sqlite import SQLiteStore  # loads SQLite

        return SQLiteStore(name.removeprefix(SQLITE), server, codec=codec)
    from accord.tasks.redis import RedisStore  # an extra

    return RedisStore(name, server, codec=codec)
