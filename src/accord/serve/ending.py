"""The end of a process that serves: no tool can hold it up."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_LAST_BREATH: Final = 0.5  # seconds for Python to end by itself once the time is up


def exit_within(seconds: float) -> None:
    """End the process in any case: a tool may block the loop, or hold on to a thread."""
    _watchdog(seconds)


@contextmanager
def ending_in_time() -> Iterator[Callable[[float], None]]:
    """The same for as long as the block lasts: who leaves it in time has the process back."""
    watchdogs: list[threading.Timer] = []
    try:
        yield lambda seconds: watchdogs.append(_watchdog(seconds))
    finally:
        for watchdog in watchdogs:
            watchdog.cancel()


def _watchdog(seconds: float) -> threading.Timer:
    watchdog = threading.Timer(seconds + _LAST_BREATH, os._exit, [0])
    watchdog.daemon = True
    watchdog.start()
    return watchdog
