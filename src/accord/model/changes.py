"""What changes while a server is served, and who wants to hear of it."""

from collections.abc import Callable
from threading import Lock
from typing import Any, Literal
from weakref import WeakMethod

import msgspec

Kind = Literal["tools", "prompts", "resources"]
KINDS: tuple[Kind, ...] = ("tools", "prompts", "resources")


class ListChanged(msgspec.Struct, frozen=True):
    """There are other tools, prompts or resources than before."""

    kind: Kind


class Updated(msgspec.Struct, frozen=True):
    """A resource has changed."""

    uri: str


Change = ListChanged | Updated


class Changes:
    """Passes changes on to those who watch, in whatever thread they are told."""

    def __init__(self) -> None:
        self._watchers: list[WeakMethod[Callable[[Change], Any]]] = []
        self._lock = Lock()

    def watch(self, hear: Callable[[Change], Any]) -> None:
        """Call a method with each change, for as long as its object lives."""
        with self._lock:
            self._watchers = [each for each in self._watchers if each() is not None]
            self._watchers.append(WeakMethod(hear))

    def tell(self, change: Change) -> None:
        """Pass a change on. Safe in any thread."""
        for watcher in self._watchers:
            hear = watcher()
            if hear is not None:
                hear(change)
