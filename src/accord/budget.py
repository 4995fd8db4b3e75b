"""A limit on bytes held in memory, shared by several parts of a process."""

import threading


class Budget:
    """The maximum number of bytes that may be held at a time; thread-safe."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._held = 0
        self._lock = threading.Lock()

    @property
    def is_exceeded(self) -> bool:
        """True if more bytes are held than the limit."""
        return self._held > self.limit

    def take(self, size: int) -> bool:
        """Count bytes as held and return True; return False if that would exceed the limit."""
        with self._lock:
            if self._held + size > self.limit:
                return False
            self._held += size
            return True

    def add(self, size: int) -> None:
        """Count bytes as held, also beyond the limit; a negative `size` releases them."""
        with self._lock:
            self._held += size
