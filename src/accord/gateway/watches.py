"""`Watches`: the resources of an upstream whose changes clients want, and their subscriptions."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final

from accord.errors import PeerError
from accord.gateway.link import Link
from accord.model.changes import Watch
from accord.protocol.messages import MAX_SUBSCRIPTIONS

RELEASE_SECONDS: Final = 5.0
"""Seconds between two looks for resources that no client watches any more."""


class Watches:
    """Subscribes to changes of resources while a client watches them."""

    def __init__(self, run: Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]) -> None:
        """`run` begins a task that ends with the upstream."""
        self._run = run
        self._watches: dict[str, set[Watch]] = {}
        """The wishes of clients, by the URI at the upstream."""
        self._listening: dict[str, asyncio.Task[None]] = {}
        """The subscriptions of the stateless era."""

    def __contains__(self, uri: str) -> bool:
        return uri in self._watches

    def add(self, uri: str, watch: Watch, link: Link | None) -> None:
        """Subscribe to a resource, unless that has been done."""
        if uri in self._watches:
            self._watches[uri].add(watch)
        elif link is not None and len(self._watches) < MAX_SUBSCRIPTIONS:
            self._watches[uri] = {watch}
            self._subscribe(uri, link)

    def move(self, link: Link) -> None:
        """Subscribe to all of them over a new connection."""
        for uri in self._watches:
            self._subscribe(uri, link)

    def release(self, link: Link | None) -> None:
        """Unsubscribe from those that no client watches any more."""
        for uri, watches in list(self._watches.items()):
            wanted = {each for each in watches if each.is_wanted}
            if wanted:
                self._watches[uri] = wanted
                continue
            del self._watches[uri]
            listening = self._listening.pop(uri, None)
            if listening is not None:
                listening.cancel()
            elif link is not None and not link.is_lost:
                self._run(_send(link, "resources/unsubscribe", uri))

    def _subscribe(self, uri: str, link: Link) -> None:
        if not link.revision.stateless:
            self._run(_send(link, "resources/subscribe", uri))
            return
        earlier = self._listening.pop(uri, None)
        if earlier is not None:
            earlier.cancel()
        self._listening[uri] = self._run(_listen(link, uri))


async def _send(link: Link, method: str, uri: str) -> None:
    with suppress(PeerError):
        await link.peer.request(method, {"uri": uri})


async def _listen(link: Link, uri: str) -> None:
    with suppress(PeerError):
        await link.listen({"resourceSubscriptions": [uri]})
