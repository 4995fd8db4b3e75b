"""The parent's side of a worker process: starts it, holds the pipe to it, kills it."""

import contextlib
import fcntl
import os
import signal
import sys
import threading
import weakref
from typing import Final

from accord.child_process import FramedPipe, PipeClosed, release, spawn_piped
from accord.errors import ContractError

_MAIN: Final = (  # Ctrl-C is for the parent, also while the child starts
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    "import sys; from accord.sources.sql.worker_main import main; main(int(sys.argv[1]))"
)
_PIPE_SIZE: Final = 512 * 1024  # bytes of replies


class WorkerProcess:
    """A child process that replies on its pipe, to one request after the other."""

    def __init__(self, settings: bytes, *, writes: bool = False) -> None:
        """Start it; one that `writes` may finish its transaction after this process exits."""
        self.pipe: FramedPipe
        self._pid, self.pipe = _spawn()
        self._abandon = weakref.finalize(self, _abandon, os.getpid(), self._pid, self.pipe, writes)
        with contextlib.suppress(PipeClosed):  # reported by the first read
            self.pipe.send(settings)

    def kill(self) -> None:
        """Kill it; a thread waits for the end, which may take the system a while."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        threading.Thread(target=self.close, name="accord-reaper", daemon=True).start()

    def abandon(self) -> None:
        """Close the pipe without waiting; a change in progress is finished."""
        self._abandon()

    def close(self) -> None:
        """Close the pipe, and wait for the end of the process."""
        if self._abandon.detach() is not None:
            self.pipe.close()
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)


def _spawn() -> tuple[int, FramedPipe]:
    if not hasattr(os, "posix_spawn"):
        raise ContractError("databases cannot be served on Windows; use Linux or macOS")
    pid, pipe = spawn_piped([sys.executable, "-P", "-c", _MAIN, str(os.getpid())])
    _enlarge(pipe.reader)
    return pid, pipe


def _enlarge(reader: int) -> None:
    """Enlarge the pipe, where the system can: a worker then goes on while the parent is busy."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):
            fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)


def _abandon(owner: int, pid: int, pipe: FramedPipe, writes: bool) -> None:
    """Close the pipe; kill a reader, and let a writer finish. A fork only closes its copy."""
    pipe.close()
    if os.getpid() == owner:
        with contextlib.suppress(ChildProcessError, ProcessLookupError):
            if writes:
                release(pid)
            else:
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, os.WNOHANG)
