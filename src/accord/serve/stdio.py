"""MCP over standard input and output, one message a line."""

import asyncio
import contextlib
import signal
from collections.abc import Callable
from typing import Final, NamedTuple

from accord.answer import Problem
from accord.protocol import Call, Cancel, Lines, Outcome
from accord.serve.pipes import Input, Output, Pipes
from accord.serve.pool import DEFAULT_CAPACITY, DEFAULT_THREADS, Pool
from accord.server import Server, Work

_FULL: Final = 1 << 20  # unsent bytes at which we stop reading until the peer has read
_BUSY: Final = 256  # calls waiting for a thread at which we let some finish before we read on
_PATIENCE: Final = 0.05  # but not longer than this: what comes next may be a cancellation


class Settings(NamedTuple):
    """How a stdio server behaves at its limits."""

    grace: float = 5.0
    """Seconds that calls in flight have to finish once the input ends."""
    max_request: int = 4 * 1024 * 1024
    max_calls: int = DEFAULT_CAPACITY
    threads: int = DEFAULT_THREADS


_USUAL: Final = Settings()


def serve(
    server: Server,
    pipes: Pipes,
    settings: Settings = _USUAL,
    *,
    on_end: Callable[[], None] = lambda: None,
) -> None:
    """Serve one peer until its input ends or SIGTERM comes; then let open calls finish.

    `on_end` is called as soon as the end begins.
    """
    asyncio.run(_serve(server, pipes, settings, on_end))


async def _serve(
    server: Server, pipes: Pipes, settings: Settings, on_end: Callable[[], None]
) -> None:
    session = _Session(server, pipes, settings)
    with contextlib.suppress(NotImplementedError):  # Windows has no such signals
        for number in (signal.SIGTERM, signal.SIGINT):
            session.loop.add_signal_handler(number, session.stop)
    await session.serve(on_end)


class _Session:
    """One peer on two pipes."""

    def __init__(self, server: Server, pipes: Pipes, settings: Settings) -> None:
        self.loop = asyncio.get_running_loop()
        self._server = server
        self._settings = settings
        self._connection = server.connect()
        self._lines = Lines(settings.max_request)
        self._input = Input(pipes.reader, self.loop, self._take)
        self._output = Output(pipes.writer, self.loop, self._lost)
        self._pool = Pool(
            server,
            self.loop,
            self._finish,
            threads=settings.threads,
            capacity=settings.max_calls,
        )
        self._tasks = 0
        self._ended = asyncio.Event()
        self._quiet = asyncio.Event()

    async def serve(self, on_end: Callable[[], None]) -> None:
        self._input.start()
        await self._ended.wait()
        on_end()
        self._input.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.grace):
                if not self._connection.is_idle:
                    await self._quiet.wait()
                await self._output.drain()
        for call in self._connection.abandon():
            _stop(call)

    def stop(self) -> None:
        """End: first gracefully, and at once when asked again."""
        if self._ended.is_set():
            self._quiet.set()
        self._ended.set()

    def _lost(self) -> None:
        """The peer is gone: nobody waits for the calls that are open."""
        self.stop()
        self.stop()

    def _take(self, chunk: bytes) -> None:
        for line in self._lines.feed(chunk) if chunk else self._lines.end():
            for event in self._connection.receive(line):
                if isinstance(event, Call):
                    self._start(event)
                elif isinstance(event, bytes):
                    self._output.send(event)
                else:
                    self._cancel(event)
        if not chunk:
            self.stop()
        elif self._output.backlog > _FULL or self._pool.pending > _BUSY:
            self._input.pause()
            self.loop.call_later(_PATIENCE, self._input.resume)

    def _start(self, call: Call) -> None:
        work = self._server.prepare(call)
        if not isinstance(work, Work):
            self._finish(call, work)
        elif not (self._spawn(work) if work.tool.is_async else self._pool.submit(work)):
            self._finish(call, Problem.unavailable("Too many calls are open; try again later"))

    def _spawn(self, work: Work) -> bool:
        if self._tasks >= self._settings.max_calls:
            return False
        self._tasks += 1
        call = work.call
        call.running = asyncio.Task(self._run(work), loop=self.loop, name=call.name)
        return True

    async def _run(self, work: Work) -> None:
        outcome = await self._server.run(work)
        self._tasks -= 1
        self._finish(work.call, outcome)

    def _cancel(self, cancel: Cancel) -> None:
        _stop(cancel.call)
        if cancel.reply is not None:
            self._output.send(cancel.reply)

    def _finish(self, call: Call, outcome: Outcome) -> None:
        reply = self._connection.finish(call, outcome)
        if reply is not None:
            self._output.send(reply)
        if self._input.paused and self._pool.pending < _BUSY // 2:
            self._input.resume()
        if self._ended.is_set() and self._connection.is_idle:
            self._quiet.set()


def _stop(call: Call) -> None:
    if call.running is not None:
        call.running.cancel()
