"""A JSON array of messages, answered with one array once the last of its calls is done."""

from typing import Final

import msgspec

from accord.protocol.diagnosis import diagnose, read_json
from accord.protocol.messages import invalid

_LONGEST: Final = 100
_decode = msgspec.json.Decoder(list[msgspec.Raw]).decode


def read_batch(message: bytes, *, allowed: bool) -> list[bytes] | bytes | None:
    """The messages of a batch, or the reply to one that cannot be taken."""
    members = _members(message)
    if members is None:
        return diagnose(message)
    if not allowed:
        return invalid(None, "batches are part of revision 2025-03-26 alone")
    if not members:
        return invalid(None, "the batch is empty")
    if len(members) > _LONGEST:
        return invalid(None, f"a batch has at most {_LONGEST} messages")
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


class Batch:
    """Collects the replies of one batch."""

    def __init__(self) -> None:
        self._replies: list[bytes] = []
        self._awaited = 1  # the batch itself, until all its messages have been read

    def expect(self) -> None:
        """One more reply will come, or be dropped, later."""
        self._awaited += 1

    def add(self, reply: bytes) -> None:
        """A reply that goes into the array."""
        self._replies.append(reply)

    def settle(self) -> bytes | None:
        """One thing less to wait for. The whole array once nothing is left, if it says anything."""
        self._awaited -= 1
        if self._awaited or not self._replies:
            return None
        return b"[" + b",".join(self._replies) + b"]"
