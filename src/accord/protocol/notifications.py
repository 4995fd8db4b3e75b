"""Notifications of changes: to sessions, and to subscriptions of the stateless era."""

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


def session_notification(change: Change) -> bytes:
    """Return the notification of a change for a session."""
    if isinstance(change, Updated):
        return notification(_UPDATED, {"uri": change.uri})
    return notification(_LISTS[change.kind], UNSET)


def acknowledgement(subscription: Id, wanted: Wanted) -> bytes:
    """Return the first message of a subscription, which lists the changes that it will get."""
    params = {"_meta": {SUBSCRIPTION: subscription}, "notifications": wanted}
    return notification(_ACKNOWLEDGED, params)


def subscription_notification(subscription: Id, wanted: Wanted, change: Change) -> bytes | None:
    """Return the notification of a change for a subscription; None if it is not wanted."""
    if not is_wanted(wanted, change):
        return None
    params: dict[str, Any] = {"_meta": {SUBSCRIPTION: subscription}}
    if isinstance(change, Updated):
        return notification(_UPDATED, params | {"uri": change.uri})
    return notification(_LISTS[change.kind], params)


def is_wanted(wanted: Wanted, change: Change) -> bool:
    """True if a subscription wants this change."""
    if isinstance(change, Updated):
        return change.uri in (wanted.resource_subscriptions or ())
    return bool(msgspec.structs.asdict(wanted)[f"{change.kind}_list_changed"])
