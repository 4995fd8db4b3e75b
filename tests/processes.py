"""Reads /proc: the children, CPU time and end of a process; finds a free port."""

import random
import socket
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


def ticks_of(pid: int) -> int:
    """Return the CPU time of a process in its own code, in hundredths of a second."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


def free_port() -> int:
    """Return a free TCP port that the system does not give to other sockets meanwhile."""
    while True:
        port = random.randrange(10_000, 30_000)  # below the ports that the system chooses
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
