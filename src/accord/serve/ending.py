"""The end of a process that serves: no tool can hold it up."""

import os
import threading
from typing import Final

_LAST_BREATH: Final = 0.5  # seconds for Python to end by itself once the time is up


def exit_within(seconds: float) -> None:
    """End the process in any case: a tool may block the loop, or hold on to a thread."""
    watchdog = threading.Timer(seconds + _LAST_BREATH, os._exit, [0])
    watchdog.daemon = True
    watchdog.start()
