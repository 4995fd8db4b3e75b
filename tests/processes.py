"""Reads /proc: the children of a process, and whether it has ended."""

from contextlib import suppress
from pathlib import Path


def children(pid: int) -> list[int]:
    """Return the processes that a process has started, in any of its threads."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended
            found += map(int, task.read_text().split())
    return found


def is_gone(pid: int) -> bool:
    """True if a process has ended, reaped or not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # the latter if it ends while it is read
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"
