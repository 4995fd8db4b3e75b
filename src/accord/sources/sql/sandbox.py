"""Limits that the operating system puts on a worker process."""

import resource
from pathlib import Path
from typing import Final

_MAX_MEMORY: Final = 64 * 1024 * 1024  # bytes beyond those in use when the limits are set
MAX_FILE: Final = 256 * 1024 * 1024
"""Maximum size in bytes of a temporary file that a query sorts in."""
_MEMORY_STATISTICS: Final = Path("/proc/self/statm")


def limit_resources(*, writes: bool) -> None:
    """Limit the memory of this process and, unless it `writes`, the size of its files.

    Without /proc, as on macOS, only SQLite's own limit bounds the memory.
    """
    if _MEMORY_STATISTICS.exists():
        pages = int(_MEMORY_STATISTICS.read_text().split()[0])
        _lower(resource.RLIMIT_AS, pages * resource.getpagesize() + _MAX_MEMORY)
    if not writes:
        _lower(resource.RLIMIT_FSIZE, MAX_FILE)


def _lower(kind: int, limit: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard == resource.RLIM_INFINITY or limit < hard:
        resource.setrlimit(kind, (limit, hard))
