"""Ends the process in time, also if a tool blocks the loop or a thread."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_EXIT_SECONDS: Final = 0.5  # for Python to exit by itself once the time is up


def exit_within(seconds: float) -> None:
    """Exit the process after so many seconds, whatever it does by then."""
    _watchdog(seconds)


@contextmanager
def ending_in_time() -> Iterator[Callable[[float], None]]:
    """Give a function like `exit_within` whose time limits end with this block."""
    watchdogs: list[threading.Timer] = []
    try:
        yield lambda seconds: watchdogs.append(_watchdog(seconds))
    finally:
        for watchdog in watchdogs:
            watchdog.cancel()


def _watchdog(seconds: float) -> threading.Timer:
    watchdog = threading.Timer(seconds + _EXIT_SECONDS, os._exit, [0])
    watchdog.daemon = True
    watchdog.start()
    return watchdog
