"""Changes of a server at run time, and their subscribers."""

from collections.abc import Callable, Collection
from threading import Lock
from typing import Any, Literal, NamedTuple, Protocol, Self
from weakref import ReferenceType, WeakMethod

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


class Watcher(Protocol):
    """A client that may subscribe to changes of resources."""

    def wants(self, uri: str) -> bool:
        """True while it is subscribed to changes of a resource."""


class Watch(NamedTuple):
    """The wish of a client to hear of changes of a resource; it does not keep the client alive."""

    watcher: ReferenceType[Watcher]
    uri: str
    """The URI that the client knows."""

    @property
    def is_wanted(self) -> bool:
        """True until the client unsubscribes or is gone."""
        watcher = self.watcher()
        return watcher is not None and watcher.wants(self.uri)


class Listener:
    """A subscription of the stateless era; it wants changes within a `with` block."""

    def __init__(self, uris: Collection[str]) -> None:
        self.uris: Collection[str] = uris

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.uris = ()

    def wants(self, uri: str) -> bool:
        """True while it is open."""
        return uri in self.uris


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
