"""One worker: a process that asks the database, and that can be ended whatever it is doing."""

import contextlib
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable
from time import monotonic
from typing import Final

from accord.errors import ContractError
from accord.sources.sql.frames import Ended, Late, Line
from accord.sources.sql.messages import Ready, decode_reply

_MAIN: Final = "from accord.sources.sql.worker import main; main()"
_FAREWELL: Final = 0.1  # seconds
_BOOT: Final = 30.0  # seconds for Python to start, on a machine that is busy


class Worker:
    """A child process that answers one request at a time."""

    def __init__(self, settings: bytes) -> None:
        self._pid, self._line = _spawn()
        self._end = weakref.finalize(self, _abandon, os.getpid(), self._pid, self._line)
        self._is_ready = False
        with contextlib.suppress(Ended, Late):  # then nobody answers either
            self._line.send(settings, monotonic() + _BOOT)

    def ask(self, request: bytes, deadline: float, is_given_up: Callable[[], bool]) -> bytes:
        """The reply to a request, or raise as `Line` does; its start has a time of its own."""
        try:
            if not self._is_ready:
                begun = monotonic()
                self._wait_until_ready()
                deadline += monotonic() - begun
            self._line.send(request, deadline)
        except Ended as error:
            raise NeverAsked from error
        return self._line.receive(deadline, is_given_up)

    def _wait_until_ready(self) -> None:
        """Wait until it can be asked; raise Ended where it cannot."""
        if not isinstance(decode_reply(self._line.receive(monotonic() + _BOOT)), Ready):
            raise Ended
        self._is_ready = True

    def kill(self) -> None:
        """End it at once, and wait for that a little: the system may be slow to let go of it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        reaper = threading.Thread(target=self.close, name="accord-reaper", daemon=True)
        reaper.start()
        reaper.join(_FAREWELL)

    def close(self) -> None:
        """Let it end, and wait for that."""
        if self._end.detach() is not None:
            self._line.close()
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)


class NeverAsked(Exception):
    """A worker that was gone before it could be asked."""


def _spawn() -> tuple[int, Line]:
    if not hasattr(os, "posix_spawn"):
        raise ContractError("databases are served where a process can be spawned: not on Windows")
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    line = Line(ours_in, ours_out)
    try:
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", "-c", _MAIN],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, theirs_in, 0),
                (os.POSIX_SPAWN_DUP2, theirs_out, 1),
            ],
        )
    except OSError:
        line.close()
        raise
    finally:
        os.close(theirs_in)
        os.close(theirs_out)
    return pid, line


def _abandon(owner: int, pid: int, line: Line) -> None:
    """Hang up on a worker that nobody holds any more: it ends by itself once all have hung up."""
    line.close()
    if os.getpid() == owner:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
