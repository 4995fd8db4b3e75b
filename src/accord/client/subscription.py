"""Changes of a server that a client subscribed to, as an async iterator."""

import asyncio
from typing import Any, Final

from accord.errors import PeerError
from accord.model.changes import KINDS, Change, Kind, ListChanged, Updated

UPDATED: Final = "notifications/resources/updated"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
LISTS: Final[dict[str, Kind]] = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
}
_WANTED: Final[dict[Kind, str]] = {kind: f"{kind}ListChanged" for kind in KINDS}
_MAX_CHANGES: Final = 1_000  # kept until they are read


class Subscription:
    """Iterates over changes; a change that is repeated before it is read is yielded once.

    Raises a PeerError when the connection is lost.
    """

    def __init__(self, uris: tuple[str, ...], lists: tuple[Kind, ...]) -> None:
        self.uris = uris
        self.lists = lists
        self._changes: dict[Change, None] = {}
        self._arrived = asyncio.Event()
        self._is_over = False
        self._error: PeerError | None = None

    @property
    def wanted(self) -> dict[str, Any]:
        """The param of `subscriptions/listen`."""
        wanted: dict[str, Any] = {_WANTED[kind]: True for kind in self.lists}
        return {**wanted, "resourceSubscriptions": list(self.uris)} if self.uris else wanted

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> Change:
        while not self._changes:
            if self._error is not None:
                raise self._error
            if self._is_over:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        change = next(iter(self._changes))
        del self._changes[change]
        return change

    def add(self, change: Change) -> None:
        """Add a change; the oldest is dropped beyond the limit."""
        self._changes[change] = None
        if len(self._changes) > _MAX_CHANGES:
            del self._changes[next(iter(self._changes))]
        self._arrived.set()

    def end(self, error: PeerError | None = None) -> None:
        """End the iteration, after the changes that have arrived; with an error, if given."""
        self._is_over = True
        self._error = error
        self._arrived.set()

    def wants(self, change: Change) -> bool:
        """True if this subscription is for such a change; a URI may be below a subscribed one."""
        if isinstance(change, ListChanged):
            return change.kind in self.lists
        return any(
            change.uri == uri or change.uri.startswith(f"{uri.removesuffix('/')}/")
            for uri in self.uris
        )


class Listener:
    """A subscription of the stateless era, and the future of its acknowledgement."""

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def acknowledge(self, agreed: Any) -> None:
        """Take the acknowledgement, which lists what the server will report."""
        found = agreed if isinstance(agreed, dict) else {}
        uris = found.get("resourceSubscriptions") or ()
        missing = [uri for uri in self.subscription.uris if uri not in uris]
        missing += [kind for kind in self.subscription.lists if not found.get(_WANTED[kind])]
        if self.ready.done():
            return
        if missing:
            self.ready.set_exception(
                PeerError(f"the server does not report changes of {', '.join(missing)}")
            )
        else:
            self.ready.set_result(None)

    def end(self, error: PeerError | None = None) -> None:
        """End the subscription; before it is acknowledged, that is an error."""
        self.subscription.end(error)
        if not self.ready.done():
            self.ready.set_exception(
                error or PeerError("the server ended the subscription before it began")
            )


def change_of(notification: dict[str, Any]) -> Change | None:
    """Return the change that a notification reports, if it reports one."""
    method = notification.get("method")
    if isinstance(method, str) and method in LISTS:
        return ListChanged(LISTS[method])
    if method != UPDATED:
        return None
    uri = params_of(notification).get("uri")
    return Updated(uri) if isinstance(uri, str) else None


def subscription_id(notification: dict[str, Any]) -> int | None:
    """Return the subscription that a notification of the stateless era belongs to."""
    meta = params_of(notification).get("_meta")
    found = meta.get(SUBSCRIPTION_ID) if isinstance(meta, dict) else None
    return found if type(found) is int else None  # a bool is an int, but not an id


def params_of(notification: dict[str, Any]) -> dict[str, Any]:
    """Return the params of a notification; empty if it has none."""
    params = notification.get("params")
    return params if isinstance(params, dict) else {}
