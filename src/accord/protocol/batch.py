"""Batches of 2025-03-26: an array of messages, answered with an array of replies."""

from typing import Final

import msgspec

from accord.budget import Budget
from accord.errors import INTERNAL_ERROR, Reject
from accord.protocol.diagnosis import diagnose, read_json
from accord.protocol.messages import Id, failure, invalid

_MAX_MESSAGES: Final = 100
_TOO_LARGE: Final = Reject(
    INTERNAL_ERROR, "The replies of open batches are too large; send this request by itself"
)
_decode = msgspec.json.Decoder(list[msgspec.Raw]).decode


class _Reply(msgspec.Struct, frozen=True):
    """The id of a reply."""

    id: Id | None = None


_decode_reply = msgspec.json.Decoder(_Reply).decode


def is_batch(message: bytes) -> bool:
    """True if a message begins as an array."""
    return message.lstrip(b" \t\r\n")[:1] == b"["


def read_batch(message: bytes, *, allowed: bool) -> list[bytes] | bytes | None:
    """Return the messages of a batch, or the reply to a batch that is not valid."""
    members = _members(message)
    if members is None:
        return diagnose(message)
    if not allowed:
        return invalid(None, "batches are part of revision 2025-03-26 alone")
    if not members:
        return invalid(None, "the batch is empty")
    if len(members) > _MAX_MESSAGES:
        return invalid(None, f"a batch has at most {_MAX_MESSAGES} messages")
    return members


def _members(message: bytes) -> list[bytes] | None:
    try:
        message.decode()
        return [bytes(member) for member in _decode(message)]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    import json

    try:  # one member that msgspec refuses must not spoil the others
        return [json.dumps(member).encode() for member in read_json(message)]
    except (ValueError, RecursionError):
        return None


_BUDGET: Final = Budget(16 * 1024 * 1024)
"""Budget of bytes for replies of incomplete batches in this process."""


class Batch:
    """Collects the replies of one batch."""

    def __init__(self) -> None:
        self._replies: list[bytes] = []
        self._size = 0
        self._awaited = 1  # the batch itself, until all its messages have been read

    def __del__(self) -> None:
        _BUDGET.add(-self._size)

    def expect(self) -> None:
        """Expect one more reply."""
        self._awaited += 1

    def add(self, reply: bytes) -> None:
        """Add a reply to the array, or an error in its place if batches hold too much already."""
        if not _BUDGET.take(len(reply)):
            reply = failure(_decode_reply(reply).id, _TOO_LARGE)
        else:
            self._size += len(reply)
        self._replies.append(reply)

    def settle(self) -> bytes | None:
        """Expect one reply less; return the array if it is complete and not empty."""
        self._awaited -= 1
        if self._awaited or not self._replies:
            return None
        replies, self._replies = self._replies, []
        _BUDGET.add(-self._size)
        self._size = 0
        return b"[%b]" % b",".join(replies)
