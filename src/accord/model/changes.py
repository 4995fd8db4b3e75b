"""Changes of a server at run time, and their subscribers."""

from collections.abc import Callable
from threading import Lock
from typing import Any, Literal
from weakref import WeakMethod

import msgspec

Kind = Literal["tools", "prompts", "resources"]
KINDS: tuple[Kind, ...] = ("tools", "prompts", "resources")


class ListChanged(msgspec.Struct, frozen=True):
    """The list of tools, prompts or resources has changed."""

    kind: Kind


class Updated(msgspec.Struct, frozen=True):
    """The content of a resource has changed."""

    uri: str


Change = ListChanged | Updated


class Changes:
    """Notifies subscribers of changes. Thread-safe."""

    def __init__(self) -> None:
        self._subscribers: list[WeakMethod[Callable[[Change], Any]]] = []
        self._lock = Lock()

    def subscribe(self, callback: Callable[[Change], Any]) -> None:
        """Call a method for each change until its object is collected."""
        with self._lock:
            self._subscribers = [each for each in self._subscribers if each() is not None]
            self._subscribers.append(WeakMethod(callback))

    def notify(self, change: Change) -> None:
        """Call all subscribers, in the calling thread."""
        for subscriber in self._subscribers:
            callback = subscriber()
            if callback is not None:
                callback(change)
