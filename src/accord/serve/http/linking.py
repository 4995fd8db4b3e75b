"""Decides how the processes of a server are linked."""

from typing import TYPE_CHECKING

from accord.serve.http.links import Links
from accord.serve.http.settings import Settings
from accord.serve.http.siblings import Siblings
from accord.server import Server
from accord.server.tasks import REDIS

if TYPE_CHECKING:
    from accord.serve.http.session_store import SessionStore


def links_of(
    server: Server, settings: Settings, siblings: Siblings | None
) -> "tuple[Links | None, SessionStore | None]":
    """Return the links of a process to others, and the store of sessions: with Redis and a key."""
    dispatcher = server.dispatcher
    url, name = dispatcher.task_settings.store, server.identity.name
    if not url.startswith(REDIS):
        return siblings, None
    if not dispatcher.has_given_key:
        return siblings, None
    from accord.serve.http.replicas import Replicas  # an extra
    from accord.serve.http.session_store import SessionStore
    from accord.tasks.redis_client import RedisClient

    client, key = RedisClient(url), dispatcher.key
    store = SessionStore(client, name, key, settings.session_seconds)
    return Replicas(client, name, key, siblings), store
