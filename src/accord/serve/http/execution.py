"""Runs the calls of HTTP requests, in tasks and threads."""

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import Final

from accord.errors import INTERNAL_ERROR, Reject
from accord.model.answer import Problem
from accord.protocol import Call, Cancel, Connection
from accord.revisions import Revision
from accord.serve.eager_task import Pending, start
from accord.serve.flow_control import OutputGate, StartWindow
from accord.serve.http.access import AccessLog
from accord.serve.http.exchange import Exchange
from accord.serve.http.replies import response_to
from accord.serve.http.response import Response
from accord.serve.http.settings import Settings
from accord.serve.pending_requests import PendingRequests
from accord.serve.thread_runner import ThreadRunner
from accord.server import Server
from accord.server.operation import Done, Operation
from accord.telemetry import outcome_label

_CANCELLED: Final = Done(Reject(INTERNAL_ERROR, "Cancelled"), b"")  # never sent
_BUSY: Final = Problem.unavailable("Too many calls are open; try again later")
_DISCONNECT_CHECK: Final = 0.05  # seconds between looks for stateless clients that are gone

Started = Done | Pending[Done] | Operation
"""A finished call, one that waits, or one that has not started: it runs in a thread, or later."""


class RequestRun:
    """The calls of one request: one, except in the batches of 2025-03-26."""

    def __init__(
        self,
        calls: list[Call],
        connection: Connection,
        exchange: Exchange,
        revision: Revision | None,
        began: float,
        started: Started | None = None,
    ) -> None:
        self.calls = calls
        self.connection = connection
        self.exchange = exchange
        self.revision = revision
        self.began = began
        self.started = started
        """The last of the calls, if it was started."""
        self.reply: bytes | None = None
        """The reply to a batch whose last open call was cancelled."""
        self._watcher: asyncio.Task[None] | None = None

    @property
    def is_stateless(self) -> bool:
        """True if its calls end when the client disconnects."""
        return self.revision is None

    def watch(self, cancel: Callable[[Call], None]) -> None:
        """Cancel the calls when the client disconnects: in the stateless era that means so."""
        self._watcher = asyncio.create_task(self._cancel_when_gone(cancel))

    @property
    def is_watched(self) -> bool:
        """True if a task waits for the client to disconnect."""
        return self._watcher is not None

    async def _cancel_when_gone(self, cancel: Callable[[Call], None]) -> None:
        await self.exchange.gone()
        for call in self.calls:
            call.cancelled = True
            cancel(call)

    def end(self) -> None:
        """Let go of everything: no reference cycle may keep a large reply."""
        self.started = None
        if self._watcher is not None:
            self._watcher.cancel()
            self._watcher = None


class Execution:
    """Runs the calls of all requests."""

    def __init__(
        self,
        server: Server,
        settings: Settings,
        requests: PendingRequests,
        access: AccessLog | None,
    ) -> None:
        self._server = server
        self._settings = settings
        self._max_calls = settings.max_calls
        self._requests = requests
        self._access = access
        self._open: set[RequestRun] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._threads: ThreadRunner | None = None
        self._reset_flow_control()
        self._watch: asyncio.TimerHandle | None = None
        self.is_closing = False
        self._quiet = asyncio.Event()

    def close(self, *, at_once: bool = False) -> None:
        """Take no further calls; `at_once` also cancels the open ones."""
        self.is_closing = True
        if at_once:
            for run in self._open:
                for call in run.calls:
                    call.cancelled = True
        if not self._open:
            self._quiet.set()

    async def ended(self) -> None:
        """Wait until no call is open, once `close` was called."""
        await self._quiet.wait()

    def answer(
        self, call: Call, connection: Connection, exchange: Exchange, revision: Revision | None
    ) -> Response | RequestRun:
        """Run a single call: its response, or what has to be awaited for that."""
        access = self._access
        began = perf_counter() if access is not None else 0.0
        done = self._begin(call, exchange)
        if isinstance(done, Done) and exchange.stream is None:
            if access is not None:
                self._note(access, call, done, began)
            reply = connection.finish(call, done.reply)
            return Response(200, reply) if type(reply) is bytes else response_to(reply, revision)
        return RequestRun([call], connection, exchange, revision, began, done)

    def _begin(self, call: Call, exchange: Exchange) -> Started:
        """Run a call in the task of its request up to its first wait."""
        call.edge = exchange
        exchange.requests = self._requests
        server = self._server
        mismatch = server.mismatch(call, exchange.fields) if server.mirrored else None
        job = mismatch or server.prepare(call)
        if isinstance(job, Done) or not job.is_async:
            return job
        if not self.window.is_free or len(self._open) >= self._max_calls:
            return job
        return start(job.run(), self.gate)

    async def wait(self, run: RequestRun) -> Response | None:
        """Wait for the calls of a request and return its response; None if that was a stream."""
        loop = self.find_loop()
        *others, last = run.calls
        started = run.started or self._begin(last, run.exchange)
        self._open.add(run)
        if run.is_stateless and self._watch is None:
            self._watch = loop.call_later(_DISCONNECT_CHECK, self._watch_clients)
        try:
            tasks = [
                asyncio.Task(self._run_batched(c, run, loop), loop=loop, name=c.name)
                for c in others
            ]
            for call, task in zip(others, tasks, strict=True):
                call.running = task
            reply = self._settle(run, last, await self._finish_started(last, started, loop))
            if tasks:
                await asyncio.wait(tasks)  # does not cancel them if this task is cancelled
            for call, task in zip(others, tasks, strict=True):
                done = _CANCELLED if task.cancelled() else task.result()
                reply = self._settle(run, call, done) or reply
        except asyncio.CancelledError:
            self._drop(run)
            raise
        finally:
            self._open.discard(run)
            run.end()
            if self.is_closing and not self._open:
                self._quiet.set()
        if run.exchange.stream is None:
            return response_to(reply or run.reply, run.revision)
        await run.exchange.end_stream(reply or run.reply)
        return None

    def _settle(self, run: RequestRun, call: Call, done: Done) -> bytes | None:
        run.calls.remove(call)
        return self._finish(run.connection, call, done, run.began)

    def _drop(self, run: RequestRun) -> None:
        """Cancel the calls of a request that the ASGI server has cancelled."""
        for call in run.calls:
            run.connection.finish(call, b"")
            call.cancelled = True
            self._finish(run.connection, call, _CANCELLED, run.began)
            self._cancel(call)
        run.exchange.drop()

    async def _finish_started(
        self, call: Call, started: Started, loop: asyncio.AbstractEventLoop
    ) -> Done:
        """Run a call to its end in the task of its request."""
        if isinstance(started, Done):
            return started
        if not isinstance(started, Pending):
            if len(self._open) > self._max_calls:
                return started.refuse(_BUSY)
            if not started.is_async:
                return await self._run_in_thread(started, loop)
        task = call.running = asyncio.current_task(loop)
        before = 0 if task is None else task.cancelling()
        done = await self._run(call, started)
        call.running = None
        while task is not None and task.cancelling() > before:
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:  # the call was cancelled as the tool ended
                pass
            else:
                if not call.cancelled:  # so the request was
                    raise asyncio.CancelledError
            task.uncancel()
        return done

    async def _run(self, call: Call, started: Pending[Done] | Operation) -> Done:
        """Run the rest of an async call, or all of it as soon as it may start."""
        if not isinstance(started, Pending):
            try:
                await self.window.wait()
            except asyncio.CancelledError:
                if not call.cancelled:
                    raise
                return _CANCELLED
            result = start(started.run(), self.gate)
            if isinstance(result, Done):
                return result
            started = result
        self.window.enter()
        try:
            return await started
        finally:
            self.window.leave()

    async def _run_batched(
        self, call: Call, run: RequestRun, loop: asyncio.AbstractEventLoop
    ) -> Done:
        """Run a call of a batch in a task of its own."""
        call.edge = run.exchange
        run.exchange.requests = self._requests
        job = self._server.prepare(call)
        if isinstance(job, Done):
            return job
        return await (self._run(call, job) if job.is_async else self._run_in_thread(job, loop))

    async def _run_in_thread(self, job: Operation, loop: asyncio.AbstractEventLoop) -> Done:
        """Run a call in a thread, or refuse it if too many are queued."""
        future: asyncio.Future[Done] = loop.create_future()
        job.call.running = future
        threads = self._thread_runner(loop)
        if not threads.submit(job):
            return job.refuse(_BUSY)
        try:
            return await future
        except asyncio.CancelledError:
            if not job.call.cancelled:
                raise
            return _CANCELLED  # the thread counts it
        finally:
            job.call.running = None  # or a cycle would keep a large reply
            if future.done() and not future.cancelled():
                threads.release(future.result())

    def _finish(self, connection: Connection, call: Call, done: Done, began: float) -> bytes | None:
        if self._access is not None:
            self._note(self._access, call, done, began)
        return connection.finish(call, done.reply)

    def _note(self, access: AccessLog, call: Call, done: Done, began: float) -> None:
        seconds = perf_counter() - began
        name = self._server.known_name(call)
        ending = "cancelled" if call.cancelled else outcome_label(done.outcome)
        access.note(name, ending, seconds, self.find_loop().call_soon)

    def _watch_clients(self) -> None:
        """CallTimer the clients of stateless calls that take long."""
        self._watch = None
        for run in self._open:
            if run.is_stateless and not run.is_watched:
                run.watch(self._cancel)

    def cancel(self, cancel: Cancel) -> None:
        """Cancel a call that the client no longer wants."""
        self._cancel(cancel.call)
        for run in self._open:
            if cancel.reply is not None and cancel.call in run.calls:
                run.reply = cancel.reply

    def _cancel(self, call: Call) -> None:
        if call.running is not None:
            call.running.cancel()
        call.drop_arguments()
        if self._threads is not None:
            self._threads.cancel(call)

    def find_loop(self) -> asyncio.AbstractEventLoop:
        """Return the running loop; cached, since Python 3.11 makes a system call to find it."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        elif not self._loop.is_running():
            self._loop = asyncio.get_running_loop()
            self._threads = self._watch = None  # they belong to the loop before
            self._reset_flow_control()
        return self._loop

    def _reset_flow_control(self) -> None:
        self.gate = OutputGate(self._settings.max_unsent)
        self.window = self._requests.window = StartWindow(self.gate)

    def _thread_runner(self, loop: asyncio.AbstractEventLoop) -> ThreadRunner:
        if self._threads is None:
            self._threads = ThreadRunner(
                loop,
                self._deliver,
                gate=self.gate,
                threads=self._settings.threads,
                capacity=self._settings.max_calls,
            )
        return self._threads

    def _deliver(self, call: Call, done: Done | None) -> None:
        """Pass the outcome of a thread to the task that waits for it."""
        if done is None:
            return
        if call.running is not None and not call.running.done():
            call.running.set_result(done)
        elif self._threads is not None:
            self._threads.release(done)
