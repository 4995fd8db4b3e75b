"""Runs several worker processes on one port: starts them, replaces them, and ends them together.

The supervisor holds the listening socket, so that no client is refused while workers start, and a
socket pair to each worker. On that a worker says that it is ready, and is told to end; its end of
file tells each side that the other has ended.
"""

import selectors
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any, Final

import msgspec

from accord.child_process import FrameDecoder, encode_frame
from accord.serve.http.balance import ConnectionCounts

COUNTS: Final = "connections"
"""The file of the workers' connection counts."""
END: Final = b"end"
END_NOW: Final = b"end now"
_DIFFERENT: Final = (
    "the workers have servers with different keys or names; give Server the same key and name in"
    " every process, or no key"
)
_MAX_READ: Final = 65_536
_MAX_FAILURES: Final = 5  # starts in a row that may fail
_FIRST_DELAY: Final = 0.5  # seconds before a worker is replaced that ended soon after another
_MAX_DELAY: Final = 30.0
_RETRY_DELAY: Final = 5.0
_RECENT: Final = 60.0  # seconds in which ends of workers count as repeated
KILL_AFTER: Final = 2.0
"""Seconds beyond the grace period."""


class WorkerConfig(msgspec.Struct, frozen=True):
    """The first message to a worker."""

    parent: int
    listener: int
    """The descriptor of the listening socket."""
    host: str
    port: int
    key: bytes
    page_token: str
    folder: str
    """The folder of the workers' sockets."""
    workers: int
    """The number of workers."""
    slot: int
    """The number of this one."""
    is_first: bool
    """True for the first worker, which shows warnings about what it loads."""


class Ready(msgspec.Struct, frozen=True):
    """The message of a worker that serves requests."""

    name: str
    """The name of its server."""
    digest: str
    """Digest of that name and of the key: workers with different ones refuse each other's ids."""


class WorkerProcess:
    """A worker, as its supervisor sees it."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", control: socket.socket, slot: int
    ) -> None:
        self.process = process
        self.slot = slot
        self.control = control
        self.is_ready = False
        self.decoder: FrameDecoder = FrameDecoder()

    def exit_code(self) -> int:
        """Return the exit code; its socket is closed, so that it has ended or is about to."""
        try:
            return self.process.wait(KILL_AFTER)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def tell(self, message: bytes) -> None:
        """Send a message, unless the worker has ended."""
        with suppress(OSError):  # it has ended
            self.control.sendall(encode_frame(message))


class Supervisor:
    """Keeps a number of workers running until a signal comes."""

    def __init__(
        self,
        command: Callable[[int], Sequence[str]],
        count: int,
        config: WorkerConfig,
        *,
        grace: float,
        ready: Callable[[str], None],
        on_end: Callable[[], None],
        say: Callable[[str], None],
    ) -> None:
        """`command` returns the command line of a worker, by the descriptor of its socket.

        `ready` is called with the name of the server once all workers serve, `on_end` when they are
        told to end; `say` writes a line.
        """
        self._command = command
        self._count = count
        self._config = config
        self._grace = grace
        self._ready = ready
        self._on_end = on_end
        self._say = say
        self._workers: dict[int, WorkerProcess] = {}
        self._selector = selectors.DefaultSelector()
        self._signals = 0
        self._handled = 0
        self._counts = ConnectionCounts(Path(config.folder) / COUNTS, count)
        self._is_complete = False
        self._digests: set[str] = set()
        self._failures = 0
        self._ends: list[float] = []
        self._due: list[float] = []
        """When the next workers are started."""
        self._deadline: float | None = None
        """When workers are killed that have not ended."""
        self._code: int | None = None
        """The exit code, once the workers are to end."""

    def run(self) -> int:
        """Run until all workers have ended; return the exit code."""
        with self._waking_on_signals():
            try:
                self._start()
                while not self._is_over():
                    self._turn()
            finally:
                for worker in self._workers.values():
                    worker.process.kill()
                    worker.process.wait()
                self._selector.close()
        return self._code or 0

    def _is_over(self) -> bool:
        return not self._workers and not self._due

    @contextmanager
    def _waking_on_signals(self) -> Iterator[None]:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.setblocking(False)
            theirs.setblocking(False)
            self._selector.register(ours, selectors.EVENT_READ, None)
            before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
            handled = (signal.SIGINT, signal.SIGTERM)
            handlers = {number: signal.signal(number, self._on_signal) for number in handled}
            try:
                yield
            finally:
                signal.set_wakeup_fd(before)
                for number, handler in handlers.items():
                    signal.signal(number, handler)

    def _on_signal(self, number: int, frame: Any) -> None:
        self._signals += 1

    def _turn(self) -> None:
        """Wait for the next event, and handle it."""
        for key, _ in self._selector.select(self._timeout()):
            if key.data is None:
                with suppress(BlockingIOError):
                    key.fileobj.recv(_MAX_READ)  # type: ignore[union-attr]
            else:
                self._receive(key.data)
        while self._handled < self._signals:
            self._handled += 1
            self._end(0)
        now = monotonic()
        if self._deadline is not None and now >= self._deadline:
            self._deadline = None
            for worker in self._workers.values():
                worker.process.kill()
        while self._due and self._due[0] <= now:
            del self._due[0]
            self._start()

    def _timeout(self) -> float | None:
        times = [*self._due[:1], *([] if self._deadline is None else [self._deadline])]
        return max(0.0, min(times) - monotonic()) if times else None

    def _start(self) -> None:
        """Start a worker."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                process = subprocess.Popen(
                    self._command(theirs.fileno()),
                    stdin=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno(), self._config.listener],
                )
            except OSError as error:  # the system has no memory or process left
                ours.close()
                if not self._workers:
                    raise
                self._say(f"a worker could not be started: {error.strerror}; trying again")
                self._due = sorted([*self._due, monotonic() + _RETRY_DELAY])
                return
        taken = {worker.slot for worker in self._workers.values()}
        slot = next(slot for slot in range(self._count) if slot not in taken)
        worker = self._workers[process.pid] = WorkerProcess(process, ours, slot)
        self._selector.register(ours, selectors.EVENT_READ, worker)
        worker.tell(msgspec.json.encode(msgspec.structs.replace(self._config, slot=slot)))
        self._config = msgspec.structs.replace(self._config, is_first=False)

    def _receive(self, worker: WorkerProcess) -> None:
        try:
            data = worker.control.recv(_MAX_READ)
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(worker.control)
            worker.control.close()
            del self._workers[worker.process.pid]
            self._counts.clear(worker.slot)
            self._replace(worker, worker.exit_code())
            return
        for frame in worker.decoder.feed(data):
            worker.is_ready = True
            self._failures = 0
            self._welcome(msgspec.json.decode(frame, type=Ready))

    def _welcome(self, ready: Ready) -> None:
        """Start the others once the first worker serves; announce it once all do."""
        self._digests.add(ready.digest)
        if len(self._digests) > 1 and self._code is None:
            self._say(_DIFFERENT)
            self._end(2)
        if self._is_complete or self._code is not None:
            return
        for _ in range(self._count - len(self._workers) - len(self._due)):
            self._start()
        if sum(worker.is_ready for worker in self._workers.values()) == self._count:
            self._is_complete = True
            self._ready(ready.name)

    def _replace(self, worker: WorkerProcess, code: int) -> None:
        """Replace a worker that has ended, unless all are to end."""
        if self._code is not None:  # an error at the end, which the worker has shown, is ours too
            self._code = self._code or max(code, 0)
            return
        if not worker.is_ready:
            self._failures += 1
            if not self._is_complete and not self._workers:  # its own error is shown already
                self._end(code if code > 0 else 1)
                return
        if self._failures >= _MAX_FAILURES:
            self._say(f"{_MAX_FAILURES} workers in a row could not start; the server ends")
            self._end(1)
            return
        now = monotonic()
        self._ends = [end for end in self._ends if now - end < _RECENT]
        repeated = len(self._ends)
        delay = min(_FIRST_DELAY * 2 ** (repeated - 1), _MAX_DELAY) if repeated else 0.0
        self._ends.append(now)
        self._due = sorted([*self._due, now + delay])
        how = f"was ended by {_signal_name(-code)}" if code < 0 else f"has ended with code {code}"
        when = f" in {delay:g} s" if delay else ""
        self._say(f"worker {worker.process.pid} {how}; another one starts{when}")

    def _end(self, code: int) -> None:
        """End all workers within the grace period; at once if they have been told before."""
        is_first = self._code is None
        self._code = code if self._code is None else self._code
        self._due = []
        self._on_end()
        for worker in self._workers.values():
            worker.tell(END if is_first else END_NOW)
        self._deadline = monotonic() + (self._grace if is_first else 0.0) + KILL_AFTER


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
