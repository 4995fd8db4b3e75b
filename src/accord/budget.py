"""Counts bytes that several parts of a process hold together, against a limit."""

import threading


class Budget:
    """A number of bytes that may be held at a time. Safe in any thread."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._held = 0
        self._lock = threading.Lock()

    @property
    def is_exceeded(self) -> bool:
        """True if more is held than the limit."""
        return self._held > self.limit

    def take(self, size: int) -> bool:
        """Hold some bytes; False if there is no room for them."""
        with self._lock:
            if self._held + size > self.limit:
                return False
            self._held += size
            return True

    def add(self, size: int) -> None:
        """Hold some bytes, also beyond the limit; release them if `size` is negative."""
        with self._lock:
            self._held += size
