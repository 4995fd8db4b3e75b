"""The calls that are open, of all requests: where they run, and how they end."""

import asyncio
from time import perf_counter
from typing import Final

from accord.answer import Problem
from accord.errors import INTERNAL_ERROR, Reject
from accord.protocol import Call, Cancel, Connection
from accord.revisions import Revision
from accord.serve.desk import Desk
from accord.serve.eager import Pending, start
from accord.serve.flow_control import OutputGate, StartWindow
from accord.serve.http.access import AccessLog
from accord.serve.http.exchange import Exchange
from accord.serve.http.replies import response_to
from accord.serve.http.response import Response
from accord.serve.http.run import Begun, Run
from accord.serve.http.settings import Settings
from accord.serve.pool import Pool
from accord.server import Server
from accord.telemetry import outcome_of
from accord.work import Done, Work

_CANCELLED: Final = Done(Reject(INTERNAL_ERROR, "Cancelled"), b"")  # never sent
_BUSY: Final = Problem.unavailable("Too many calls are open; try again later")
_PATIENCE: Final = 0.05  # seconds after which we look whether a stateless caller is still there


class Runs:
    """Runs calls: in the task of their own request, beside it, or in threads."""

    def __init__(
        self, server: Server, settings: Settings, desk: Desk, access: AccessLog | None
    ) -> None:
        self._server = server
        self._settings = settings
        self._most = settings.max_calls
        self._desk = desk
        self._access = access
        self._open: set[Run] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pool: Pool | None = None
        self._limit_output()
        self._watch: asyncio.TimerHandle | None = None
        self.is_closing = False
        self._quiet = asyncio.Event()

    def close(self, *, at_once: bool = False) -> None:
        """No further ones will come; `at_once`, nobody waits for the others."""
        self.is_closing = True
        if at_once:
            for run in self._open:
                for call in run.calls:
                    call.cancelled = True
        if not self._open:
            self._quiet.set()

    async def ended(self) -> None:
        """Wait until there is none any more, once there come no further ones."""
        await self._quiet.wait()

    def answer(
        self, call: Call, connection: Connection, exchange: Exchange, revision: Revision | None
    ) -> Response | Run:
        """What answers a single call, unless it has to wait."""
        access = self._access
        began = perf_counter() if access is not None else 0.0
        done = self._begin(call, exchange)
        if isinstance(done, Done) and exchange.stream is None:
            if access is not None:
                self._note(access, call, done, began)
            reply = connection.finish(call, done.reply)
            return Response(200, reply) if type(reply) is bytes else response_to(reply, revision)
        return Run([call], connection, exchange, revision, began, done)

    def _begin(self, call: Call, exchange: Exchange) -> Begun:
        """Run a call in the task of its own request, as far as it goes without waiting."""
        call.edge = exchange
        exchange.desk = self._desk
        server = self._server
        mismatch = server.mismatch(call, exchange.fields) if server.mirrored else None
        job = mismatch or server.prepare(call)
        if isinstance(job, Done) or not job.is_async:
            return job
        if not self.window.has_room or len(self._open) >= self._most:
            return job
        return start(job.run(), self.gate)

    async def wait(self, run: Run) -> Response | None:
        """Wait for the calls of one request, and give back what answers it."""
        loop = self.find_loop()
        *others, last = run.calls
        begun = run.begun or self._begin(last, run.exchange)
        self._open.add(run)
        if run.is_stateless and self._watch is None:
            self._watch = loop.call_later(_PATIENCE, self._look_after)
        try:
            tasks = [
                asyncio.Task(self._alone(c, run, loop), loop=loop, name=c.name) for c in others
            ]
            for call, task in zip(others, tasks, strict=True):
                call.running = task
            reply = self._settle(run, last, await self._rest(last, begun, loop))
            if tasks:
                await asyncio.wait(tasks)  # which leaves them alone if we are cancelled meanwhile
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

    def _settle(self, run: Run, call: Call, done: Done) -> bytes | None:
        run.calls.remove(call)
        return self._finish(run.connection, call, done, run.began)

    def _drop(self, run: Run) -> None:
        """Whoever serves this app has cancelled a request: nobody is left to answer."""
        for call in run.calls:
            run.connection.finish(call, b"")
            call.cancelled = True
            self._finish(run.connection, call, _CANCELLED, run.began)
            self._stop(call)
        run.exchange.drop()

    async def _rest(self, call: Call, begun: Begun, loop: asyncio.AbstractEventLoop) -> Done:
        """How a call ends that was begun in the task of its own request."""
        if isinstance(begun, Done):
            return begun
        if not isinstance(begun, Pending):
            if len(self._open) > self._most:
                return begun.refuse(_BUSY)
            if not begun.is_async:
                return await self._elsewhere(begun, loop)
        task = call.running = asyncio.current_task(loop)
        before = 0 if task is None else task.cancelling()
        done = await self._run(call, begun)
        call.running = None
        while task is not None and task.cancelling() > before:
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:  # still to come when the tool ended: its own doing
                pass
            else:
                if not call.cancelled:  # so it is the request that was
                    raise asyncio.CancelledError
            task.uncancel()
        return done

    async def _run(self, call: Call, begun: Pending[Done] | Work) -> Done:
        """Run an async call: the rest of it, or all of it as soon as it may start."""
        if not isinstance(begun, Pending):
            try:
                await self.window.wait()
            except asyncio.CancelledError:
                if not call.cancelled:
                    raise
                return _CANCELLED
            started = start(begun.run(), self.gate)
            if isinstance(started, Done):
                return started
            begun = started
        self.window.enter()
        try:
            return await begun
        finally:
            self.window.leave()

    async def _alone(self, call: Call, run: Run, loop: asyncio.AbstractEventLoop) -> Done:
        """Run a call in a task of its own, beside others of a batch."""
        call.edge = run.exchange
        run.exchange.desk = self._desk
        job = self._server.prepare(call)
        if isinstance(job, Done):
            return job
        return await (self._run(call, job) if job.is_async else self._elsewhere(job, loop))

    async def _elsewhere(self, job: Work, loop: asyncio.AbstractEventLoop) -> Done:
        """Run a call in a thread, if there is room."""
        future: asyncio.Future[Done] = loop.create_future()
        job.call.running = future
        pool = self._threads(loop)
        if not pool.submit(job):
            return job.refuse(_BUSY)
        try:
            return await future
        except asyncio.CancelledError:
            if not job.call.cancelled:
                raise
            return _CANCELLED  # and counted where it runs
        finally:
            job.call.running = None  # or a cycle would keep a large reply
            if future.done() and not future.cancelled():
                pool.release(future.result())

    def _finish(self, connection: Connection, call: Call, done: Done, began: float) -> bytes | None:
        if self._access is not None:
            self._note(self._access, call, done, began)
        return connection.finish(call, done.reply)

    def _note(self, access: AccessLog, call: Call, done: Done, began: float) -> None:
        seconds = perf_counter() - began
        name = self._server.known_name(call)
        ending = "cancelled" if call.cancelled else outcome_of(done.outcome)
        access.note(name, ending, seconds, self.find_loop().call_soon)

    def _look_after(self) -> None:
        """Now and then, see to it that calls whose client has left do not go on."""
        self._watch = None
        for run in self._open:
            if run.is_stateless and not run.is_watched:
                run.watch(self._stop)

    def cancel(self, cancel: Cancel) -> None:
        self._stop(cancel.call)
        for run in self._open:
            if cancel.reply is not None and cancel.call in run.calls:
                run.reply = cancel.reply

    def _stop(self, call: Call) -> None:
        if call.running is not None:
            call.running.cancel()
        if self._pool is not None:
            self._pool.abandon(call)

    def find_loop(self) -> asyncio.AbstractEventLoop:
        """The loop, asked for as seldom as can be: Python 3.11 makes a system call of it."""
        if self._loop is None or not self._loop.is_running():
            self._loop = asyncio.get_running_loop()
            self._pool = self._watch = None  # which belonged to another loop
            self._limit_output()
        return self._loop

    def _limit_output(self) -> None:
        self.gate = OutputGate(self._settings.max_unsent)
        self.window = self._desk.window = StartWindow(self.gate)

    def _threads(self, loop: asyncio.AbstractEventLoop) -> Pool:
        if self._pool is None:
            self._pool = Pool(
                loop,
                self._deliver,
                gate=self.gate,
                threads=self._settings.threads,
                capacity=self._settings.max_calls,
            )
        return self._pool

    def _deliver(self, call: Call, done: Done) -> None:
        """Hand the outcome of a thread to the task that waits for it."""
        if call.running is not None and not call.running.done():
            call.running.set_result(done)
        elif self._pool is not None:
            self._pool.release(done)
