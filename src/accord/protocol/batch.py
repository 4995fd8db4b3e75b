"""A JSON array of messages, answered with one array once the last of its calls is done."""


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
