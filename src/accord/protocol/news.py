"""Changes of a server as messages to those who want to hear of them."""

from typing import Any, Final

import msgspec
from msgspec import UNSET

from accord.model.changes import Change, Updated
from accord.protocol.messages import Id, Wanted, notification
from accord.protocol.results import SUBSCRIPTION

_LISTS: Final = {
    "tools": "notifications/tools/list_changed",
    "prompts": "notifications/prompts/list_changed",
    "resources": "notifications/resources/list_changed",
}
_UPDATED: Final = "notifications/resources/updated"
_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"


def news(change: Change) -> bytes:
    """A change, for a peer that has begun with a handshake."""
    if isinstance(change, Updated):
        return notification(_UPDATED, {"uri": change.uri})
    return notification(_LISTS[change.kind], UNSET)


def acknowledged(subscription: Id, wanted: Wanted) -> bytes:
    """The first message of a subscription: what will be told."""
    params = {"_meta": {SUBSCRIPTION: subscription}, "notifications": wanted}
    return notification(_ACKNOWLEDGED, params)


def news_for(subscription: Id, wanted: Wanted, change: Change) -> bytes | None:
    """A change, for one subscription; None if it is not among what is wanted."""
    if not is_wanted(wanted, change):
        return None
    params: dict[str, Any] = {"_meta": {SUBSCRIPTION: subscription}}
    if isinstance(change, Updated):
        return notification(_UPDATED, params | {"uri": change.uri})
    return notification(_LISTS[change.kind], params)


def is_wanted(wanted: Wanted, change: Change) -> bool:
    """Whether a client wants to hear of this."""
    if isinstance(change, Updated):
        return change.uri in (wanted.resource_subscriptions or ())
    return bool(msgspec.structs.asdict(wanted)[f"{change.kind}_list_changed"])
