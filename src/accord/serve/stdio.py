"""MCP over standard input and output, one message a line."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable, Generator, Mapping
from typing import Any, Final, NamedTuple

from accord.model.answer import Problem
from accord.model.changes import Change
from accord.model.questions import Question
from accord.protocol import Call, Cancel, Lines
from accord.protocol.messages import Wanted
from accord.serve.flow_control import DEFAULT_MAX_UNSENT, OutputGate, ReadThrottle
from accord.serve.pending_requests import PendingRequests
from accord.serve.pipes import Input, Output, Pipes, keep_from_forks
from accord.serve.task_runner import TaskRunner
from accord.serve.thread_runner import DEFAULT_CAPACITY, DEFAULT_THREADS, ThreadRunner
from accord.server import Server
from accord.server.operation import Done

log = logging.getLogger("accord")

AT_A_TERMINAL: Final = (
    "MCP on standard input and output, for a client that starts it; Ctrl-C ends it"
)
"""Shown to a person who starts the server at a terminal."""
_LARGE: Final = 4096  # bytes of a request that is worth counting while its call is open
_FULL: Final = 1 << 20  # unsent bytes at which calls that report progress wait for the peer


class Settings(NamedTuple):
    """Limits of a stdio server."""

    grace: float = 5.0
    """Seconds that calls in flight have to finish once the input ends."""
    max_request: int = 4 * 1024 * 1024
    max_calls: int = DEFAULT_CAPACITY
    threads: int = DEFAULT_THREADS
    answer_seconds: float = 300.0
    """Time limit for responses to the server's own requests."""
    max_unsent: int = DEFAULT_MAX_UNSENT
    """Bytes of unsent replies above which no call starts until the client has read."""


_DEFAULTS: Final = Settings()


def serve(
    server: Server,
    pipes: Pipes,
    settings: Settings = _DEFAULTS,
    *,
    on_end: Callable[[float], None] = lambda _: None,
) -> None:
    """Serve one peer until its input ends or a signal comes; then let open calls finish.

    `on_end` is given the seconds that are left as soon as the end begins: the grace period, or 0
    if the peer is gone or a second signal comes.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        session = _Session(server, pipes, settings, on_end, loop)
        _handle_signals(session)
        keep_from_forks(pipes)
        session.start()
        while not session.is_over:
            try:
                loop.run_until_complete(session.wait())
            except (SystemExit, RuntimeError, asyncio.CancelledError):
                log.exception("a task of a tool tried to end the server")


def _handle_signals(session: "_Session") -> None:
    def stop(*_: Any) -> None:  # not through the loop, which a tool may be blocking
        session.announce_end()
        session.loop.call_soon_threadsafe(session.stop)

    with contextlib.suppress(ValueError):  # only the main thread can handle signals
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)


class _Session:
    """The session of one peer on two pipes; the Edge of its calls."""

    def __init__(
        self,
        server: Server,
        pipes: Pipes,
        settings: Settings,
        on_end: Callable[[float], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.loop = loop
        self.is_over = False
        self._server = server
        self._settings = settings
        self._on_end = on_end
        self._is_ending = False
        self._connection = server.connect()
        self._lines = Lines(settings.max_request)
        self._input = Input(pipes.reader, self.loop, self._take)
        gate = OutputGate(settings.max_unsent)
        self._output = Output(
            pipes.writer,
            self.loop,
            on_unsent=gate.update,
            on_progress=self._regulate,
            on_broken=self._disconnect,
        )
        self._tasks = TaskRunner(self.loop, self._finish, gate=gate, capacity=settings.max_calls)
        self._threads = ThreadRunner(
            self.loop,
            self._finish_thread,
            gate=gate,
            threads=settings.threads,
            capacity=settings.max_calls,
        )
        self._throttle = ReadThrottle(
            self.loop,
            self._input,
            gate,
            lambda: self._tasks.open + self._threads.pending,
            max_open=settings.max_calls // 2,
        )
        self._requests = PendingRequests(
            server, settings.answer_seconds, self._announce, self._is_full
        )
        self._requests.bind(self.loop)
        self._requests.window = self._tasks.window
        self._drained = _Drained()
        self.tell = self._output.send  # part of Edge; one call less
        self._ended = asyncio.Event()
        self._quiet = asyncio.Event()

    def start(self) -> None:
        """Start reading."""
        self._input.start()

    async def wait(self) -> None:
        """Wait for the end of the session and for its open calls. May be awaited again."""
        await self._ended.wait()
        self._input.stop()
        self._regulate()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.grace):
                await self._quiet.wait()
        self._abandon()
        self.is_over = True

    def stop(self) -> None:
        """End the session once its open calls are answered."""
        self._ended.set()
        self._requests.end()

    def push(self, message: bytes) -> "_Drained | None":
        """Send a notification of a call; what is returned is to be awaited before the next."""
        self._output.send(message)
        if not self._is_full():
            return None
        self._drained.clear()
        return self._drained

    @property
    def sender(self) -> None:
        """None: there is no HTTP request."""

    @property
    def principal(self) -> None:
        """None: there is only one client."""

    def detach(self, seconds: float) -> None:
        """Do nothing: there is no stream to detach from."""

    async def ask(self, call: Call, questions: Mapping[str, Question]) -> dict[str, bytes]:
        """Send requests to the peer and wait for its responses."""
        return await self._requests.ask(self._connection, call, questions)

    async def hold(self, call: Call, wanted: Wanted) -> None:
        """Send changes to a subscription until it ends."""
        await self._requests.hold(call, wanted)

    def _announce(self, change: Change) -> None:
        """Send a change to a peer of the handshake era."""
        message = self._connection.news(change)
        if message is not None:
            self.push(message)

    def _is_full(self) -> bool:
        """True if the peer has to read before more is sent."""
        return self._output.backlog > _FULL

    def announce_end(self) -> None:
        """Start the grace period; a second call ends it."""
        self._on_end(0 if self._is_ending else self._settings.grace)
        self._is_ending = True

    def _disconnect(self) -> None:
        self._on_end(0)
        self._abandon()

    def _abandon(self) -> None:
        """End now and cancel the open calls."""
        self._ended.set()
        self._quiet.set()
        for call in self._connection.abandon():
            self._stop(call)

    def _take(self, chunk: bytes) -> None:
        for line in self._lines.feed(chunk) if chunk else self._lines.end():
            events = self._connection.receive(line)
            for event in events:
                if isinstance(event, Call):
                    assert isinstance(line, bytes)  # no call comes in a line that is too long
                    self._start(event, len(line) // len(events))
                elif isinstance(event, bytes):
                    self._output.send(event)
                elif isinstance(event, Cancel):
                    self._cancel(event)
                else:
                    self._requests.answer(event)
        if not chunk:
            self.announce_end()
            self.stop()
        self._throttle.note_read()
        self._regulate()

    def _regulate(self) -> None:
        """Pause or resume reading, release calls that wait for the output, notice the end."""
        self._requests.catch_up()
        if not self._is_full():
            self._drained.set()
        if self._ended.is_set():
            if self._connection.is_idle and not self._output.backlog:
                self._quiet.set()
            return
        self._throttle.regulate(self._output.backlog)

    def _start(self, call: Call, size: int) -> None:
        call.edge = self
        if size > _LARGE:
            self._throttle.hold(call, size)
        job = self._server.prepare(call)
        if isinstance(job, Done):
            self._finish(call, job)
        elif not (self._tasks if job.is_async else self._threads).submit(job):
            busy = Problem.unavailable("Too many calls are open; try again later")
            self._finish(call, job.refuse(busy))

    def _finish(self, call: Call, done: Done | None) -> None:
        if self._throttle.held:
            self._throttle.release(call)
        reply = None if done is None else self._connection.finish(call, done.reply)
        if reply is not None:
            self._output.send(reply)
        if self._input.paused:
            self._regulate()

    def _finish_thread(self, call: Call, done: Done | None) -> None:
        self._finish(call, done)
        if done is not None:
            self._threads.release(done)

    def _cancel(self, cancel: Cancel) -> None:
        cancel.call.drop_arguments()
        self._stop(cancel.call)
        if cancel.reply is not None:
            self._output.send(cancel.reply)

    def _stop(self, call: Call) -> None:
        (self._threads if call.running is None else self._tasks).cancel(call)


class _Drained(asyncio.Event):
    """Set while the peer reads its output; calls that send notifications await it."""

    def __await__(self) -> Generator[Any, None, object]:
        return self.wait().__await__()
