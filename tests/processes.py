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


_given: set[int] = set()


def free_port() -> int:
    """Return a free TCP port that neither the system nor a later call gives to other sockets."""
    choose = random.SystemRandom().randrange  # Hypothesis seeds `random` alike in every worker
    while True:
        port = choose(10_000, 30_000)  # below the ports that the system chooses
        if port in _given:
            continue
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            _given.add(port)
            return port
