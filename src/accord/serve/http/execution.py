"""Runs the calls of HTTP requests."""

import asyncio
from collections.abc import Coroutine
from time import perf_counter
from typing import Any, Final

from accord.model.answer import Problem
from accord.protocol import Cancel, Connection, Request
from accord.revisions import Revision
from accord.serve.call import RunningCall
from accord.serve.executor import Executor
from accord.serve.flow_control import OutputGate
from accord.serve.http.access import AccessLog
from accord.serve.http.exchange import Exchange
from accord.serve.http.policy import CallPolicy
from accord.serve.http.replies import response_to
from accord.serve.http.response import Response
from accord.serve.http.settings import Settings
from accord.serve.pending_requests import PendingRequests
from accord.server import Server
from accord.server.dispatcher import Dispatcher
from accord.server.operation import Done
from accord.server.registry import Registry
from accord.telemetry import outcome_label

_DISCONNECT_CHECK: Final = 0.05  # seconds between looks for stateless clients that are gone


class RequestRun:
    """The calls of one request: one, except in the batches of 2025-03-26."""

    has_calls: bool = False
    reply: bytes | None = None
    _unsent = 0
    """Bytes of the reply that the gate counts until the request's task has taken it."""
    _finished: "asyncio.Future[None] | None" = None
    _watcher: "asyncio.Task[None] | None" = None

    def __init__(
        self,
        execution: "Execution",
        connection: Connection,
        exchange: Exchange,
        revision: Revision | None,
    ) -> None:
        self.calls: list[RunningCall] = []
        """The open calls."""
        self.connection = connection
        self.exchange = exchange
        self.revision = revision
        self._execution = execution
        self.began: float = perf_counter() if execution.access is not None else 0.0

    def submit(self, request: Request) -> None:
        """Add a call and submit it to the executor."""
        self.has_calls = True
        execution = self._execution
        call = RunningCall(request, self.connection, self.exchange, self.deliver)
        self.calls.append(call)
        fault = None
        if execution.registry.header_params:
            fault = execution.dispatcher.header_fault(request, self.exchange.fields)
        if fault is None:
            execution.executor.submit(call)
        else:
            self.deliver(call, fault)

    def deliver(self, call: RunningCall, done: Done | None) -> None:
        """Take the outcome of a call; None if it was cancelled."""
        try:
            self.calls.remove(call)
        except ValueError:  # cancelled, and its thread ends only now
            return
        execution = self._execution
        if execution.policy is not None:
            execution.policy.leave(self.exchange, call.request)
        if execution.access is not None:
            execution.log_access(execution.access, call, done, perf_counter() - self.began)
        reply = None if done is None else call.finish(done)
        if reply is not None:
            self.reply = reply
        if self._finished is not None and not self.calls and not self._finished.done():
            self._finished.set_result(None)
            self._unsent = len(self.reply or b"")
            execution.gate.arrive(self._unsent)

    def refuse(self, request: Request, problem: Problem) -> None:
        """Add the reply to a request of a batch that is not executed."""
        self.has_calls = True
        call = RunningCall(request, self.connection, self.exchange)
        self.reply = call.finish(self._execution.dispatcher.refuse(call, problem)) or self.reply

    async def wait(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait until no call is open."""
        if self.calls:
            self._finished = loop.create_future()
            try:
                await self._finished
            finally:
                self._execution.gate.take(self._unsent)

    def cancel(self, call: RunningCall) -> None:
        """Cancel a call; one that does not run in a task ends at once."""
        self._execution.executor.cancel(call)
        if call.task is None:
            self.deliver(call, None)

    def cancel_request(self, cancel: Cancel) -> bool:
        """Cancel the call of a request that the client no longer wants; False if it is not here."""
        for call in self.calls:
            if call.request is cancel.request:
                self.reply = cancel.reply or self.reply
                self.cancel(call)
                return True
        return False

    def cancel_all(self) -> None:
        """Cancel the calls: the client is gone, or the ASGI server has cancelled the request."""
        for call in list(self.calls):
            self.connection.finish(call.request, b"")
            self.cancel(call)

    def watch(self) -> None:
        """Cancel the calls when the client disconnects: in the stateless era that means so."""
        if self.revision is None and self._watcher is None:
            self._watcher = asyncio.create_task(self._cancel_when_gone())

    async def _cancel_when_gone(self) -> None:
        await self.exchange.gone()
        self.cancel_all()

    def end(self) -> None:
        """Stop watching the client."""
        if self._watcher is not None:
            self._watcher.cancel()
            self._watcher = None


class Execution:
    """Runs the calls of all requests, on one event loop at a time."""

    gate: OutputGate
    executor: Executor

    def __init__(
        self,
        server: Server,
        settings: Settings,
        requests: PendingRequests,
        access: AccessLog | None,
        policy: CallPolicy | None = None,
    ) -> None:
        self.dispatcher: Dispatcher = server.dispatcher
        self.registry: Registry = server.registry
        self._settings = settings
        self._requests = requests
        self.access = access
        self.policy = policy
        """Counts the open requests of each caller, if they are limited."""
        self._open: set[RequestRun] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.gate = OutputGate(settings.max_unsent)
        self._watch: asyncio.TimerHandle | None = None
        self.is_closing: bool = False
        self._quiet = asyncio.Event()

    def __del__(self) -> None:
        if self._loop is not None:
            self.executor.stop_threads()

    def close(self, *, at_once: bool = False) -> None:
        """Take no further calls; `at_once` marks the open ones as cancelled: uvicorn ends them."""
        self.is_closing = True
        if at_once:
            for run in self._open:
                for call in run.calls:
                    call.cancelled = True
        if not self._open:
            self._quiet.set()

    def reopen(self) -> None:
        """Take calls again: a test client starts and ends an app several times."""
        self.is_closing = False
        self._quiet = asyncio.Event()

    async def ended(self) -> None:
        """Wait until no call is open, once `close` was called."""
        await self._quiet.wait()
        if self._loop is not None:
            self.executor.close()

    async def abandon(self, seconds: float) -> None:
        """Cancel the open calls and wait for their ends, at most so many seconds."""
        for run in list(self._open):
            run.cancel_all()
        if self._loop is not None:
            await self.executor.drained(seconds)

    def wait(self, run: RequestRun) -> Coroutine[Any, Any, Response | None]:
        """Wait for the calls of a request and return its response; None if that was a stream.

        From now on, not only once this is awaited, the calls can be cancelled.
        """
        loop = self.find_loop()
        self._open.add(run)
        if self._watch is None:
            self._watch = loop.call_later(_DISCONNECT_CHECK, self._watch_clients)
        return self._wait(run, loop)

    async def _wait(self, run: RequestRun, loop: asyncio.AbstractEventLoop) -> Response | None:
        try:
            await run.wait(loop)
        except asyncio.CancelledError:
            run.cancel_all()
            run.exchange.drop()
            raise
        finally:
            self._open.discard(run)
            run.end()
            if self.is_closing and not self._open:
                self._quiet.set()
        if run.exchange.stream is None:
            return response_to(run.reply, run.revision)
        await run.exchange.end_stream(run.reply)
        return None

    def log_access(
        self, access: AccessLog, call: RunningCall, done: Done | None, seconds: float
    ) -> None:
        """Write a call to the access log."""
        name = self.dispatcher.known_name(call.request)
        is_cancelled = done is None or call.cancelled
        ending = "cancelled" if is_cancelled or done is None else outcome_label(done.outcome)
        assert self._loop is not None
        caller = None if call.edge is None else call.edge.caller
        way = self.dispatcher.way_of(call.request)
        access.note(name, ending, seconds, self._loop.call_soon, caller, way)

    def log_exclusion(self, run: RequestRun, request: Request, problem: Problem) -> None:
        """Write a request that is not executed to the access log."""
        if self.access is None:
            return
        name, ending = self.dispatcher.known_name(request), outcome_label(problem)
        seconds = perf_counter() - run.began
        assert self._loop is not None
        self.access.note(name, ending, seconds, self._loop.call_soon, run.exchange.caller)

    def _watch_clients(self) -> None:
        """Watch the clients of stateless calls that take long."""
        self._watch = None
        for run in self._open:
            run.watch()

    def cancel(self, cancel: Cancel) -> None:
        """Cancel a request that the client no longer wants."""
        for run in self._open:
            if run.cancel_request(cancel):
                return

    def find_loop(self) -> asyncio.AbstractEventLoop:
        """Return the running loop; cached, since Python 3.11 makes a system call to find it."""
        if self._loop is None or not self._loop.is_running():
            if self._loop is not None:
                self.gate = OutputGate(self._settings.max_unsent)
                self.executor.stop_threads()
                self.reopen()
            self._loop = asyncio.get_running_loop()
            self._watch = None  # it belongs to the loop before, as do these
            self._open = set()
            self.executor = Executor(
                self.dispatcher,
                self._loop,
                gate=self.gate,
                max_calls=self._settings.max_calls,
                threads=self._settings.threads,
            )
            self._requests.window = self.executor.window
        return self._loop
