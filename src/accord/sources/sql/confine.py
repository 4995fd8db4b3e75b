"""What the operating system holds a worker to, whatever a library does."""

import resource
from pathlib import Path
from typing import Final

_MEMORY: Final = 64 * 1024 * 1024
DISK: Final = 256 * 1024 * 1024
_STATISTICS: Final = Path("/proc/self/statm")


def confine(*, writes: bool) -> None:
    """From here on take no more than so much memory, and of disk, to sort for a query, so much.

    Without /proc, as on macOS, memory has SQLite's own limit alone.
    """
    if _STATISTICS.exists():
        pages = int(_STATISTICS.read_text().split()[0])
        _lower(resource.RLIMIT_AS, pages * resource.getpagesize() + _MEMORY)
    if not writes:
        _lower(resource.RLIMIT_FSIZE, DISK)


def _lower(kind: int, limit: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard == resource.RLIM_INFINITY or limit < hard:
        resource.setrlimit(kind, (limit, hard))
