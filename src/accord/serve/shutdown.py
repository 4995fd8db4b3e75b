"""Ends the process in time, also if a tool blocks the loop or a thread."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

DEFAULT_GRACE: Final = 5.0
"""Seconds for calls and lifespans to end, unless another time is given."""
_EXIT_SECONDS: Final = 0.5  # for Python to exit by itself once the time is up


class ExitWithin(Protocol):
    """A function that limits the time until the process exits; see `exit_within`."""

    def __call__(self, seconds: float, code: int = 0) -> None: ...


class _Exit:
    """The exit code of a process that does not exit in time."""

    code = 0


def exit_within(seconds: float, code: int = 0) -> None:
    """Exit the process after so many seconds, whatever it does by then.

    The shortest time of several calls counts, and the code of the last one.
    """
    _Exit.code = code
    _watchdog(seconds)


@contextmanager
def ending_in_time() -> Iterator["ExitWithin"]:
    """Give a function like `exit_within` whose time limits end with this block."""
    watchdogs: list[threading.Timer] = []

    def exit_within_block(seconds: float, code: int = 0) -> None:
        _Exit.code = code
        watchdogs.append(_watchdog(seconds))

    try:
        yield exit_within_block
    finally:
        for watchdog in watchdogs:
            watchdog.cancel()


def _watchdog(seconds: float) -> threading.Timer:
    watchdog = threading.Timer(seconds + _EXIT_SECONDS, lambda: os._exit(_Exit.code))
    watchdog.daemon = True
    watchdog.start()
    return watchdog
