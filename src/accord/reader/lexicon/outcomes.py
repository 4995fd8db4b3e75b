"""The words by which a reply reports the outcome of an action."""

from typing import Final

PARTICIPLES: Final = frozenset(
    """created updated deleted removed added saved sent wrote written moved renamed started stopped
    copied inserted committed uploaded downloaded enabled disabled posted published installed
    applied closed restored archived canceled cancelled scheduled merged pushed pulled cloned
    switched staged reset initialized initialised registered launched navigated clicked typed
    executed assigned filled skipped marked remembered dismissed replaced edited appended cleared
    triggered approved completed queued stored set connected disconnected muted unmuted
    paused resumed played configured opened swiped pressed tapped scrolled selected resized
    rebooted restarted terminated killed deployed provisioned subscribed unsubscribed activated
    deactivated locked unlocked granted revoked linked unlinked attached detached joined left
    invited banned kicked pinned unpinned tagged untagged labeled labelled imported exported
    migrated reverted submitted confirmed recorded tracked ingested indexed reserved
    booked ordered paid refunded transferred shared liked followed unfollowed voted reloaded
    refreshed synced synchronized modified changed adjusted increased decreased toggled turned
    upgraded downgraded released signed generated built resolved acknowledged escalated notified
    forwarded replied commented flagged dispatched emitted invoked purged flushed pruned cleaned
    dropped truncated altered unset patched scaled evicted drained mounted unmounted printed
    hidden shown highlighted focused waited handled accepted snoozed pasted injected
    duplicated mirrored compressed extracted unzipped wiped erased reordered rescheduled reassigned
    promoted demoted suspended unblocked placed starred unstarred forked bookmarked favorited
    packed unpacked rendered displayed drawn upserted authenticated
    """.split()
)
"""Words that report a completed action: `The file was created`."""


def base_forms(word: str) -> tuple[str, ...]:
    """Return the verbs that a word may be a form of: `stop` of `stopped`, `move` of `moving`."""
    for ending in ("ied", "ed", "ing", "en"):
        root = word.removesuffix(ending)
        if root != word and len(root) > 1:
            if ending == "ied":
                return (root + "y",)
            return (root, root + "e", root[:-1]) if root[-1] == root[-2] else (root, root + "e")
    return ()
