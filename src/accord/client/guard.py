"""Ends the process group of a server when this process dies, however it dies."""

import os
import signal
import sys
from contextlib import suppress
from typing import Final

_SHELL: Final = "/bin/sh"
_SCRIPT: Final = 'read -r _; kill -9 "-$0"'  # reads until the pipe to us is closed


class Guard:
    """A shell that waits for the end of a pipe, and then kills a process group."""

    def __init__(self, group: int) -> None:
        """Start it; without a shell there is none, as on Windows."""
        self._pid: int | None = None
        self._pipe = -1
        if sys.platform == "win32" or not os.access(_SHELL, os.X_OK):
            return
        source, self._pipe = os.pipe()
        try:
            self._pid = os.posix_spawn(
                _SHELL,
                [_SHELL, "-c", _SCRIPT, str(group)],
                {},
                file_actions=[(os.POSIX_SPAWN_DUP2, source, 0)],
                setpgroup=0,  # a signal for our own group must not end it first
            )
        finally:
            os.close(source)

    def close(self) -> None:
        """End it without effect."""
        if self._pid is None:
            return
        pid, self._pid = self._pid, None
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(self._pipe)
