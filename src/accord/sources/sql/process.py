"""One worker: a process that asks the database, and that can be ended whatever it is doing."""

import contextlib
import fcntl
import os
import signal
import sys
import threading
import weakref
from typing import Final

from accord.errors import ContractError
from accord.frames import Ended, Line
from accord.parent_death import release, spawn

_MAIN: Final = (  # Ctrl-C is for whoever started us, also while we are starting
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    "import sys; from accord.sources.sql.worker import main; main(int(sys.argv[1]))"
)
_WIDE: Final = 512 * 1024  # bytes of answers that a pipe has room for


class Worker:
    """A child process that answers on its line, one request after the other."""

    def __init__(self, settings: bytes, *, writes: bool = False) -> None:
        """One that `writes` is left to finish what it does, also when Python ends."""
        self._pid, self.line = _spawn()
        self._end = weakref.finalize(self, _abandon, os.getpid(), self._pid, self.line, writes)
        with contextlib.suppress(Ended):  # whoever listens will notice
            self.line.send(settings)

    def kill(self) -> None:
        """End it at once; the system may be slow to let go of it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        threading.Thread(target=self.close, name="accord-reaper", daemon=True).start()

    def hang_up(self) -> None:
        """Let it end: a change that it is making comes to its end."""
        self._end()

    def close(self) -> None:
        """Let it end, and wait for that."""
        if self._end.detach() is not None:
            self.line.close()
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)


def _spawn() -> tuple[int, Line]:
    if not hasattr(os, "posix_spawn"):
        raise ContractError("databases are served where a process can be spawned: not on Windows")
    theirs_in, ours_out = os.pipe()
    try:
        ours_in, theirs_out = os.pipe()
    except OSError:
        os.close(theirs_in)
        os.close(ours_out)
        raise
    _widen(ours_in)
    line = Line(ours_in, ours_out)
    try:
        pid = spawn(
            [sys.executable, "-P", "-c", _MAIN, str(os.getpid())],
            [(os.POSIX_SPAWN_DUP2, theirs_in, 0), (os.POSIX_SPAWN_DUP2, theirs_out, 1)],
        )
    except OSError:
        line.close()
        raise
    finally:
        os.close(theirs_in)
        os.close(theirs_out)
    return pid, line


def _widen(reader: int) -> None:
    """Let a worker go on while we are busy with what it has answered; where the system can."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):
            fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, _WIDE)


def _abandon(owner: int, pid: int, line: Line, writes: bool) -> None:
    """Hang up on a worker: it ends by itself once all have hung up, and one that reads at once."""
    line.close()
    if os.getpid() == owner:
        with contextlib.suppress(ChildProcessError, ProcessLookupError):
            if writes:
                release(pid)
            else:
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, os.WNOHANG)
