"""The number of open connections of each worker, in memory that all of them share."""

import mmap
import os
from pathlib import Path
from typing import Final

_NONE: Final = 0xFFFF_FFFF
"""The number in the slot of a worker that does not run."""
_SIZE: Final = 4


class ConnectionCounts:
    """A number for each worker, by its slot."""

    def __init__(self, path: Path, workers: int) -> None:
        """Map the file of the numbers; a new one has none."""
        size = workers * _SIZE
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if os.fstat(descriptor).st_size < size:
                os.pwrite(descriptor, b"\xff" * size, 0)
            self._memory = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)
        self._counts = memoryview(self._memory).cast("I")

    def set(self, slot: int, count: int) -> None:
        """Set the number of a worker."""
        self._counts[slot] = count

    def clear(self, slot: int) -> None:
        """Note that a worker has ended."""
        self._counts[slot] = _NONE

    def has_more_than_others(self, slot: int, count: int) -> bool:
        """True if another worker has fewer connections than this one."""
        return any(other < count for number, other in enumerate(self._counts) if number != slot)
