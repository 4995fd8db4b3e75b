"""Starts commands; `accord` from a warm process, unless it depends on how Python starts.

Python and its imports take most of the time of a short command. So each process that runs tests
has a `warm.py` beside it, which forks instead: what comes of it is a process of its own, with its
own descriptors, folder, environment and exit code. tests/cli/test_process.py compares the two.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple

ACCORD = str(Path(sys.executable).with_name("accord"))
TESTS = Path(__file__).parent
PEERS = TESTS / "peers"
SAMPLES = TESTS / "samples"
"""The folder of the sample servers: `accord serve features:pages`."""
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
"""As a client starts a server: with Python's buffers in place."""
_AT_START = ("PYTHON", "COVERAGE", "LC_", "LANG", "LD_")
"""What an interpreter reads of its environment when it starts."""

Stream = int | IO[bytes] | None
Words = Sequence[str | bytes]


def launch_command(transport: str, *servers: str, **settings: Any) -> list[str]:
    """Return the command that serves samples with these settings, in the folder `TESTS`."""
    launch = [sys.executable, "-m", "samples.launch", transport]
    return [*launch, json.dumps(settings), *servers]


class Done(NamedTuple):
    """The exit code, output and errors of a command."""

    code: int
    out: str
    err: str


class Child:
    """A process that the warm one forked: what tests use of `subprocess.Popen`."""

    def __init__(
        self, command: Words, cwd: str, env: Mapping[str, str], streams: Sequence[Stream]
    ) -> None:
        self.returncode: int | None = None
        self._lock = threading.Lock()
        pairs = [_Pair(number, stream) for number, stream in enumerate(streams)]
        self.stdin, self.stdout, self.stderr = (pair.ours for pair in pairs)
        report, told = os.pipe()
        task = {"words": [os.fsdecode(word) for word in command], "cwd": cwd, "env": dict(env)}
        with tempfile.TemporaryFile() as file:
            file.write(json.dumps(task).encode())
            file.seek(0)
            theirs = [pair.theirs for pair in pairs]
            socket.send_fds(_warm(), [b"."], [*theirs, told, file.fileno()])
        for pair in pairs:
            pair.sent()
        os.close(told)
        self._report = os.fdopen(report, "rb", buffering=0)
        self.pid = int(self._report.readline())

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        with self._lock:
            if self.returncode is None and select.select([self._report], [], [], 0)[0]:
                self._take()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended."""
        with self._lock:
            if self.returncode is None:
                if not select.select([self._report], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
                self._take()
        assert self.returncode is not None
        return self.returncode

    def _take(self) -> None:
        with self._report:
            self.returncode = int(self._report.readline())

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class _Pair:
    """The two ends of a standard stream of a child: its own, and ours where it is a pipe."""

    def __init__(self, number: int, stream: Stream) -> None:
        self.ours: Any = None
        self._mine = stream in (subprocess.PIPE, subprocess.DEVNULL)
        if stream == subprocess.PIPE:
            read, write = os.pipe()
            self.theirs = write if number else read
            self.ours = os.fdopen(read, "rb") if number else os.fdopen(write, "wb")
        elif stream == subprocess.DEVNULL:
            self.theirs = os.open(os.devnull, os.O_RDWR)
        else:
            self.theirs = number if stream is None else _descriptor(stream)

    def sent(self) -> None:
        """The child has its end now."""
        if self._mine:
            os.close(self.theirs)


def _descriptor(stream: int | IO[bytes]) -> int:
    return stream if isinstance(stream, int) else stream.fileno()


@cache
def _warm() -> socket.socket:
    """The way to the warm process of this one."""
    ours, theirs = socket.socketpair()
    with theirs:
        warm = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("warm.py")), str(theirs.fileno())],
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
    atexit.register(_end, ours, warm)
    return ours


def _end(ours: socket.socket, warm: subprocess.Popen[bytes]) -> None:
    ours.close()
    warm.wait()


Process = Child | subprocess.Popen[bytes]


def start(
    command: Words,
    *,
    cwd: Any = None,
    env: Mapping[str, str] | None = None,
    stdin: Stream = None,
    stdout: Stream = None,
    stderr: Stream = None,
) -> Process:
    """Start a command as `subprocess.Popen` does."""
    given = ENVIRONMENT if env is None else env
    if command[0] == ACCORD and _at_start(given) == _at_start(ENVIRONMENT):
        return Child(command, str(Path(cwd or ".").absolute()), given, (stdin, stdout, stderr))
    return subprocess.Popen(command, cwd=cwd, env=given, stdin=stdin, stdout=stdout, stderr=stderr)


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in environment.items() if key.startswith(_AT_START)}


class Popen(subprocess.Popen[Any]):
    """A process that ends with its `with` block, if that raises.

    The one of `subprocess` would be waited for, and the time limit of a test raises only once.
    """

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, error, trace)


def run(
    command: Words,
    *,
    cwd: Any = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout: float = 30,
) -> Done:
    """Run a command to its end, where nothing is a terminal."""
    pipe = subprocess.PIPE
    child: Any = start(command, cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=pipe)
    late = threading.Timer(timeout, child.kill)
    late.start()
    with child.stdout, child.stderr, ThreadPoolExecutor(2) as pool:
        pool.submit(_feed, child.stdin, stdin)
        err = pool.submit(child.stderr.read)
        try:
            out = child.stdout.read()
        except BaseException:
            child.kill()
            raise
    late.cancel()
    return Done(child.wait(), out.decode(), err.result().decode())


def _feed(stream: IO[bytes], data: bytes) -> None:
    with suppress(BrokenPipeError), stream:
        stream.write(data)
