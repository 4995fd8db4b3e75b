"""Runs operations: async ones in tasks of the event loop, blocking ones in threads.

A task for each call would add a quarter to the cost of a small call. So one worker task runs queued
operations one after another, each in a copy of its caller's context. An operation that has to wait
keeps its task from then on, and a new worker takes over the queue. Calls do not wait for the next
turn of the loop: `run_queued` runs them at once in the task of the idle worker.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, Final

from accord.model.answer import Problem
from accord.serve.call import RunningCall
from accord.serve.eager_task import Pending
from accord.serve.flow_control import OutputGate, StartWindow
from accord.serve.lifespan import ensure, is_running
from accord.serve.thread_runner import (
    DEFAULT_CAPACITY,
    DEFAULT_THREADS,
    ForkCounter,
    ThreadRunner,
)
from accord.server.dispatcher import Dispatcher
from accord.server.operation import Done, FunctionOperation, Operation, drive, perform
from accord.server.registry import Registry

if TYPE_CHECKING:
    from accord.serve.loop_thread import RunHere

BUSY: Final = Problem.unavailable("Too many calls are open; try again later")
_IDLE: Final = "accord-worker"  # name of a task that waits for a call
_DRAIN_CHECK: Final = 0.01  # seconds between looks at operations that end
_BATCH: Final = 128  # operations that may run before the loop looks at its input again


class _Worker:
    """A task that runs operations."""

    __slots__ = ("idle", "is_entered", "pending", "task")

    task: "asyncio.Task[None]"

    def __init__(self) -> None:
        self.idle: asyncio.Future[None] | None = None
        """Wakes the task while it has nothing to do."""
        self.is_entered: bool = False
        """True while `run_queued` runs operations in the idle task."""
        self.pending: tuple[Operation[RunningCall], Pending[Done]] | None = None
        """The operation that waits in this task."""

    @property
    def is_idle(self) -> bool:
        """True if it waits for an operation."""
        return self.idle is not None and not self.is_entered and not self.idle.done()

    def wake(self) -> None:
        """Let the task go on in the next turn of the loop."""
        if self.idle is not None and not self.idle.done():
            self.idle.set_result(None)


class Executor:
    """Runs the calls of a server, and delivers their outcomes on the event loop."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        loop: asyncio.AbstractEventLoop,
        *,
        gate: OutputGate | None = None,
        max_calls: int = DEFAULT_CAPACITY,
        threads: int = DEFAULT_THREADS,
    ) -> None:
        self._dispatcher = dispatcher
        self._loop = loop
        self._max_calls = max_calls
        self.gate: OutputGate = OutputGate() if gate is None else gate
        self.gate.has_queue = lambda: bool(self._queue)
        self.window: StartWindow = StartWindow(self.gate, loop)
        self.window.on_room = self.wake
        self._threads = ThreadRunner(loop, gate=self.gate, threads=threads, capacity=max_calls)
        self._queue: deque[tuple[Operation[RunningCall], Context]] = deque()
        self._worker: _Worker | None = None
        self._open = 0
        """Number of async operations that are queued or running."""
        self._forks = ForkCounter.count
        self._function_runner = self._run_function  # bound once: this is on the path of every call

    @property
    def open(self) -> int:
        """Number of operations that are queued or running."""
        return self._open + self._threads.pending

    def submit(self, call: RunningCall) -> None:
        """Run a call in a thread, or queue it until `run_queued`."""
        operation = self._dispatcher.prepare(call)
        if isinstance(operation, Done):
            call.deliver(call, operation)
        elif not operation.is_async:
            if not self._threads.submit(operation):
                call.deliver(call, operation.refuse(BUSY))
        elif self._open >= self._max_calls:
            call.deliver(call, operation.refuse(BUSY))
        else:
            self._open += 1
            call.run_function = self._function_runner
            self._queue.append((operation, copy_context()))

    async def _run_function(self, call: RunningCall, function: Callable[[], Any]) -> Any:
        """Run a blocking function in a thread for an async call, and return its value."""
        finished: asyncio.Future[None] = self._loop.create_future()

        def deliver(_: RunningCall, done: Done | None) -> None:
            if not finished.done():
                finished.set_result(None)

        inner = RunningCall(call.request, None, call.edge, deliver)
        operation = FunctionOperation(inner, self._dispatcher, is_async=False, function=function)
        if not self._threads.submit(operation):
            raise Problem.unavailable(BUSY.message)  # its own: raising one adds a traceback to it
        try:
            await finished
        except asyncio.CancelledError:
            inner.cancel()
            self._threads.cancel(inner)
            raise
        return operation.result()

    async def run(self, call: RunningCall) -> Done | None:
        """Run a call and return its outcome; None if it was cancelled.

        Cancelling this cancels the call.
        """
        finished: asyncio.Future[Done | None] = self._loop.create_future()

        def deliver(_: RunningCall, done: Done | None) -> None:
            if not finished.done():
                finished.set_result(done)

        call.deliver = deliver
        self.submit(call)
        self.run_queued()
        try:
            return await finished
        except asyncio.CancelledError:
            self.cancel(call)
            raise

    def run_queued(self, inside: _Worker | None = None) -> None:
        """Run queued operations, each up to its first wait, in the task of the worker.

        The worker itself calls this from `inside`; others only while it is idle. Operations that
        cannot run now run in the next turn of the loop.
        """
        worker, queue, window = inside or self._worker, self._queue, self.window
        if worker is None or (inside is None and not worker.is_idle):
            self.wake()
            return
        task = worker.task
        caller = None if inside is not None else self._enter(worker)
        name = None
        try:
            for _ in range(_BATCH):
                if not queue or not window.has_room or task.cancelling():
                    break
                operation, context = queue.popleft()
                call = operation.call
                if call.cancelled:
                    self._end(operation, None)
                    continue
                call.task = task
                if name != call.request.name:
                    name = call.request.name
                    task.set_name(name)
                run = perform(operation)
                try:
                    awaited = context.run(run.send, None)
                except StopIteration as stop:
                    if ForkCounter.count != self._forks:  # both processes come back here
                        os._exit(0)
                    self._open -= 1
                    call.task = None
                    call.deliver(call, stop.value)
                except BaseException as error:  # noqa: BLE001 - SystemExit, for example
                    self._end(operation, self._abort(operation, error))
                else:
                    worker.pending = operation, Pending(run, awaited, context, self.gate)
                    window.enter()
                    self._worker = None  # it runs this operation from now on
                    break
        finally:
            if inside is None:
                self._leave(worker, caller)
        self.wake()

    def _enter(self, worker: _Worker) -> "asyncio.Task[Any] | None":
        """Make its task the current one, as eager tasks of Python 3.12 do; return the caller's."""
        caller = asyncio.current_task(self._loop)
        if caller is not None:
            asyncio._leave_task(self._loop, caller)
        asyncio._enter_task(self._loop, worker.task)
        worker.is_entered = True
        return caller

    def _leave(self, worker: _Worker, caller: "asyncio.Task[Any] | None") -> None:
        """Make the caller's task the current one again."""
        worker.is_entered = False
        asyncio._leave_task(self._loop, worker.task)
        if caller is not None:
            asyncio._enter_task(self._loop, caller)
        if worker.pending is None:
            worker.task.set_name(_IDLE)
        else:
            worker.wake()

    def wake(self) -> None:
        """Let a worker run the queued operations in the next turn of the loop."""
        if self._worker is None:
            worker = self._worker = _Worker()
            worker.task = asyncio.Task(self._work(worker), loop=self._loop, name=_IDLE)
            worker.task.add_done_callback(self._replace)
        elif self._queue:
            if self.window.has_room:
                self._worker.wake()
            else:
                self.window.watch()

    def _replace(self, task: "asyncio.Task[None]") -> None:
        """Replace the worker if it ends; a callback sees one that is cancelled before it begins."""
        if self._worker is not None and self._worker.task is task:
            self._worker = None
            if self._queue:
                self.wake()

    def cancel(self, call: RunningCall) -> None:
        """Cancel a call; a thread that runs it is replaced by another."""
        call.cancel()
        if call.task is not None:
            call.task.cancel()
        else:
            self._threads.cancel(call)

    async def drained(self, seconds: float) -> None:
        """Wait until no operation runs, at most so many seconds: cancelled ones take a while."""
        end = self._loop.time() + seconds
        while self.open and self._loop.time() < end:  # noqa: ASYNC110 - an event would cost each call
            await asyncio.sleep(_DRAIN_CHECK)

    def close(self) -> None:
        """End the idle worker."""
        if self._worker is not None:
            self._worker.task.cancel()

    def stop_threads(self) -> None:
        """End the threads: the loop has ended, and no outcome can be delivered any more."""
        self._threads.stop()

    async def _work(self, worker: _Worker) -> None:
        """Run queued operations until one has to wait, and that one to its end."""
        worker.task.remove_done_callback(self._replace)
        try:
            while worker.pending is None:
                if self._queue and self.window.has_room and not worker.task.cancelling():
                    self.run_queued(worker)
                    if self._queue and worker.pending is None:
                        await asyncio.sleep(0)
                else:
                    await self._idle(worker)
        except asyncio.CancelledError:
            if worker.pending is None:
                raise
            worker.pending[1].cancel()
        finally:
            self._replace(worker.task)
        operation, pending = worker.pending
        try:
            done: Done | None = await pending
        except BaseException as error:
            if not self._loop.is_running():  # the coroutine is closed
                raise
            done = self._abort(operation, error)
        finally:
            self.window.leave()
        self._end(operation, done)

    async def _idle(self, worker: _Worker) -> None:
        if self._queue:
            self.window.watch()
        worker.idle = self._loop.create_future()
        worker.task.set_name(_IDLE)
        try:
            await worker.idle
        finally:
            worker.idle = None

    def _abort(self, operation: Operation[RunningCall], error: BaseException) -> Done | None:
        if operation.call.cancelled and isinstance(error, asyncio.CancelledError):
            operation.record(None)
            return None
        return operation.fail(error)

    def _end(self, operation: Operation[RunningCall], done: Done | None) -> None:
        if ForkCounter.count != self._forks:  # both processes come back here
            os._exit(0)
        self._open -= 1
        call = operation.call
        call.task = None
        call.deliver(call, done)


def start_blocking(registry: Registry) -> None:
    """Start the lifespans of a server on the loop thread, before `run_blocking`."""
    if registry.has_lifespan:
        from accord.serve.loop_thread import loop_thread

        loop = loop_thread().loop
        if loop is None or not is_running(registry, loop):
            loop_thread().run(lambda _: ensure(registry))


def run_blocking(
    dispatcher: Dispatcher,
    call: RunningCall,
    run_async: Callable[[Coroutine[Any, Any, Done]], Done] | None = None,
) -> Done:
    """Run a call to its end on the current thread: for WSGI, Django and the command line.

    With a lifespan or middleware, what is async runs on the loop thread, else on a loop of its own;
    a blocking tool still runs on the current thread. Or all that is async runs by `run_async`.
    """
    operation = dispatcher.prepare(call)
    if isinstance(operation, Done):
        return operation
    try:
        if not operation.is_async:
            return copy_context().run(drive, perform(operation))
        if run_async is not None:
            return run_async(perform(operation))
        from accord.serve.loop_thread import loop_thread, run_on_own_loop  # seldom needed

        registry = dispatcher.registry
        is_shared = registry.is_wrapped or registry.has_lifespan
        run = loop_thread().run if is_shared else run_on_own_loop
        return run(lambda run_here: _perform(operation, run_here))
    except BaseException as error:  # noqa: BLE001 - SystemExit, or a CancelledError of a tool
        return operation.fail(error)


def _perform(operation: Operation[RunningCall], run_here: "RunHere") -> Coroutine[Any, Any, Done]:
    operation.call.run_function = lambda _, function: run_here(function)
    return perform(operation)


async def run_in_task(dispatcher: Dispatcher, call: RunningCall) -> Done:
    """Run a call to its end in the current task, or in a thread if it is blocking."""
    operation = dispatcher.prepare(call)
    if isinstance(operation, Done):
        return operation
    try:
        if operation.is_async:
            return await perform(operation)
        return await asyncio.to_thread(lambda: drive(perform(operation)))
    except BaseException as error:
        if isinstance(error, GeneratorExit) or (
            isinstance(error, asyncio.CancelledError) and _is_cancelled()
        ):
            raise
        return operation.fail(error)


def _is_cancelled() -> bool:
    """True if the current task was cancelled, and not just the tool raised CancelledError."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
