"""MCP over standard input and output, one message a line."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from accord.errors import LifespanError
from accord.model.changes import Change
from accord.model.questions import Question
from accord.protocol import Cancel, Lines, Request
from accord.protocol.messages import Wanted
from accord.serve.call import RunningCall
from accord.serve.executor import Executor
from accord.serve.flow_control import DEFAULT_MAX_UNSENT, OutputGate, ReadThrottle
from accord.serve.lifespan import CALLS_SHARE, Lifespans
from accord.serve.pending_requests import PendingRequests
from accord.serve.pipes import Input, Output, Pipes, keep_from_forks
from accord.serve.tasks import close_tasks, offer_tasks, open_rates, open_tasks
from accord.serve.thread_runner import DEFAULT_CAPACITY, DEFAULT_THREADS
from accord.server import Server
from accord.server.operation import Done
from accord.server.tasks import MEMORY

if TYPE_CHECKING:
    from accord.serve.rate_sync import RateSync

log: logging.Logger = logging.getLogger("accord")

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
    """Maximum number of open calls, async and blocking ones each."""
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
    if the peer is gone or a second signal comes. Raise if the lifespan of the server fails.
    """
    with asyncio.Runner(loop_factory=_loop_factory(server)) as runner:
        loop = runner.get_loop()
        session = _Session(server, pipes, settings, on_end, loop)
        _handle_signals(session)
        keep_from_forks(pipes)
        if server.registry.has_lifespan:
            loop.run_until_complete(session.start_lifespans())
            if session.has_ended:
                return
        loop.run_until_complete(session.open_store())
        session.start()
        ended = loop.create_task(session.wait())
        while not session.is_over:
            if ended.done():
                ended = loop.create_task(session.wait())
            try:
                loop.run_until_complete(ended)
            except (SystemExit, KeyboardInterrupt, RuntimeError, asyncio.CancelledError):
                log.exception("a task of a tool tried to end the server")


def _loop_factory(server: Server) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes the loop: uvloop, if it is installed, for a server of other servers.

    Its calls wait for other processes, and the loop is a quarter of their cost. For other servers
    it would be slower to start, and no faster.
    """
    if not server.registry.upstreams:
        return None
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


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
        self._rates: RateSync | None = None
        offer_tasks(server.dispatcher)
        self._connection = server.dispatcher.connect()
        self._calls: dict[Request, RunningCall] = {}
        """The open calls."""
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
        self._executor = Executor(
            server.dispatcher,
            self.loop,
            gate=gate,
            max_calls=settings.max_calls,
            threads=settings.threads,
        )
        self._throttle = ReadThrottle(
            self.loop,
            self._input,
            gate,
            lambda: self._executor.open,
            max_open=settings.max_calls // 2,
        )
        self._requests = PendingRequests(
            server.registry, settings.answer_seconds, self._announce, self._is_full
        )
        self._requests.bind(self.loop)
        self._requests.window = self._executor.window
        self._drained = _Drained()
        self.tell = self._output.send  # part of Edge; one call less
        self._ended = asyncio.Event()
        self._quiet = asyncio.Event()
        self._lifespans = Lifespans(server.registry, self._lose)
        self._lost: LifespanError | None = None
        self._deadline: float | None = None
        """Time of the loop at which the grace period is over."""

    @property
    def has_ended(self) -> bool:
        """True if a signal has come, or the peer is gone."""
        return self._ended.is_set()

    async def start_lifespans(self) -> None:
        """Start the lifespan of the server; a signal ends the start.

        If the peer is gone, the start has to succeed within the grace period.
        """
        gone = self.loop.create_task(self._input.closed())
        ended = self.loop.create_task(self._ended.wait())
        start = self.loop.create_task(self._lifespans.start())
        await asyncio.wait([start, ended, gone], return_when=asyncio.FIRST_COMPLETED)
        if gone.done():
            seconds = self._settings.grace
            await asyncio.wait([start, ended], timeout=seconds, return_when="FIRST_COMPLETED")
        is_late = not start.done() and not self.has_ended
        gone.cancel()
        ended.cancel()
        if not start.done():
            start.cancel()
            await asyncio.wait([start], timeout=self._seconds_left())
        if is_late:
            raise LifespanError("the input ended, and the lifespan did not start in time after it")
        if start.done() and not start.cancelled():
            start.result()

    async def _stop_lifespans(self) -> None:
        """Leave the lifespan of the server, in what is left of the grace period."""
        if self._lifespans.is_used:
            await self._executor.drained(self._seconds_left() / 2)
        await self._lifespans.stop(self._seconds_left())
        if self._lost is not None:
            raise self._lost

    def _seconds_left(self) -> float:
        return self._settings.grace if self._deadline is None else self._deadline - self.loop.time()

    def _lose(self, failure: LifespanError) -> None:
        """End: the lifespan has ended by itself."""
        self._lost = failure
        self.announce_end()
        self.stop()

    async def open_store(self) -> None:
        """Open the store of tasks and rates; raise StoreError if that is not possible."""
        await open_tasks(self._server.dispatcher)
        self._rates = await open_rates(self._server.dispatcher)

    def start(self) -> None:
        """Start reading."""
        self._executor.wake()
        self._input.start()

    async def wait(self) -> None:
        """Wait for the end of the session and for its open calls. May be awaited again."""
        await self._ended.wait()
        self._input.stop()
        self._regulate()
        with contextlib.suppress(TimeoutError):
            share = CALLS_SHARE if self._lifespans.is_used else 1
            async with asyncio.timeout(self._seconds_left() * share):
                await self._quiet.wait()
        self._abandon()
        try:
            if self._rates is not None:
                await self._rates.close()
            await self._close_tasks()
            await self._stop_lifespans()
        finally:
            self.is_over = True

    async def _close_tasks(self) -> None:
        """End the tasks; those in memory at once, as no client can fetch them any more."""
        dispatcher = self._server.dispatcher
        waits = dispatcher.task_settings.store != MEMORY
        await close_tasks(dispatcher, self._seconds_left() / 2, waits=waits)

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

    @property
    def caller(self) -> None:
        """None: a pipe has no tokens."""

    @property
    def address(self) -> None:
        """None: it is on this machine."""

    def detach(self, seconds: float) -> None:
        """Do nothing: there is no stream to detach from."""

    async def ask(self, call: RunningCall, questions: Mapping[str, Question]) -> dict[str, bytes]:
        """Send requests to the peer and wait for its responses."""
        return await self._requests.ask(self._connection, call, questions)

    async def hold(self, call: RunningCall, wanted: Wanted) -> None:
        """Send changes to a subscription until it ends."""
        await self._requests.hold(call, wanted)

    def _announce(self, change: Change) -> None:
        """Send a change to a peer of the handshake era."""
        message = self._connection.notification(change)
        if message is not None:
            self.push(message)

    def _is_full(self) -> bool:
        """True if the peer has to read before more is sent."""
        return self._output.backlog > _FULL

    def announce_end(self) -> None:
        """Start the grace period; a signal during it ends it."""
        seconds = 0 if self._is_ending else self._settings.grace
        self._on_end(seconds)
        self._is_ending = True
        self._deadline = self.loop.time() + seconds

    def _disconnect(self) -> None:
        self._on_end(self._settings.grace if self._lifespans.is_used else 0)
        self._abandon()

    def _abandon(self) -> None:
        """End now and cancel the open calls."""
        self._ended.set()
        self._quiet.set()
        for request in self._connection.abandon():
            self._cancel(request)
        self._executor.close()

    def _take(self, chunk: bytes) -> Callable[[], None]:
        """Take a chunk of input, and return the function that runs the calls in it."""
        for line in self._lines.feed(chunk) if chunk else self._lines.end():
            events = self._connection.receive(line)
            for event in events:
                if isinstance(event, Request):
                    assert isinstance(line, bytes)  # an overlong line has no request
                    if len(line) > _LARGE:
                        self._throttle.hold(event, len(line) // len(events))
                    call = RunningCall(event, self._connection, self, self._finish)
                    self._calls[event] = call
                    self._executor.submit(call)
                elif isinstance(event, bytes):
                    self._output.send(event)
                elif isinstance(event, Cancel):
                    self._cancel(event.request)
                    if event.reply is not None:
                        self._output.send(event.reply)
                else:
                    self._requests.receive(event)
        if not chunk:
            if not self._is_ending:
                self.announce_end()
            self.stop()
        self._throttle.note_read()
        self._regulate()
        return self._executor.run_queued

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

    def _finish(self, call: RunningCall, done: Done | None) -> None:
        request = call.request
        self._calls.pop(request, None)
        if self._throttle.held:
            self._throttle.release(request)
        call.edge = None
        if done is not None and not call.cancelled:
            reply = self._connection.finish(request, done.reply)
            if reply is not None:
                self._output.send(reply)
        if self._input.paused:
            self._regulate()

    def _cancel(self, request: Request) -> None:
        self._throttle.release(request)
        call = self._calls.pop(request, None)
        if call is not None:
            self._executor.cancel(call)


class _Drained(asyncio.Event):
    """Set while the peer reads its output; calls that send notifications await it."""

    def __await__(self) -> Generator[Any, None, object]:
        return self.wait().__await__()
