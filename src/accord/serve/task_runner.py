"""Runs calls as tasks: keeps their leases, stores their results, answers requests for them.

The calls have an executor of their own, so that long ones do not hold the threads of others. A
process renews the leases of its tasks, and takes over those of processes that have died.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, Final

import msgspec

from accord.errors import ContractError, StoreError
from accord.model import task as states
from accord.model.answer import Problem
from accord.model.caller import CALLER, Caller
from accord.model.context import ClientInfo
from accord.model.task import CANCELLED, Outcome, StoredCall, Task
from accord.model.tool import Tool
from accord.protocol import Request, messages, tasks
from accord.protocol.messages import TaskMetadata
from accord.revisions import REVISIONS
from accord.serve.call import RunningCall
from accord.serve.executor import Executor
from accord.serve.task_call import TaskCall, TaskEdge
from accord.serve.task_run import TaskRun, failure, outcome_of_reply
from accord.serve.thread_runner import DEFAULT_THREADS
from accord.server.dispatcher import Dispatcher
from accord.server.operation import SUCCEEDED, Done, rejected
from accord.server.tasks import MEMORY, QueuedTask
from accord.tasks.engines import Engine, engine_of
from accord.tasks.memory import MemoryStore
from accord.tasks.opening import store_named
from accord.tasks.requests import TaskRequests, unavailable
from accord.tasks.room import Room
from accord.tasks.service import TaskService, digest_of, new_id
from accord.tasks.store import LEASES, Lease, Stored, TaskStore, milliseconds

log: logging.Logger = logging.getLogger("accord")

_RENEWALS: Final = 3  # of a lease, before it runs out
_MAX_RUNS: Final = 3  # of a restartable task
_MAX_STORING: Final = 8  # changes at a time; leases and requests must not wait for all of them
_FIRST_PAUSE: Final = 0.1  # seconds before a result is stored again
_MAX_PAUSE: Final = 2.0
_GRACE_SHARE: Final = 0.8  # of the time to end, for tasks to finish; then they are cancelled
_RETRY: Final = 1.0  # seconds before a store that was away is asked again
_MAX_TAKEN: Final = 100  # tasks of other processes at a time: own leases must not wait for more
_END_CHECK: Final = 0.01
_LOST: Final = "The process that ran this task has ended before the task was done"
_STOPPED: Final = "The server was stopped before the task was done"
_NOT_QUEUED: Final = "The task could not be queued"
_STOP_SECONDS: Final = 5.0  # for a worker that is stopped to store what becomes of its task
_encode = msgspec.json.Encoder().encode
_encode_caller = msgspec.msgpack.Encoder(enc_hook=dict).encode
_decode_caller = msgspec.msgpack.Decoder(Caller).decode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class TaskRunner(TaskRequests):
    """Runs the tasks of a server in this process, on one event loop at a time."""

    loop: asyncio.AbstractEventLoop | None = None
    executor: Executor
    _engine: Engine | None
    _beginning: set[str]
    """Tasks of the engine that are about to run here."""
    _changes: asyncio.Semaphore
    _room: Room

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._settings = dispatcher.task_settings
        self._memory = MemoryStore()
        self._runs: dict[str, TaskRun] = {}
        self._over: list[str] = []
        """Tasks whose leases are to be released with the next renewal."""
        self._background: set[asyncio.Task[Any]] = set()
        self._keeper: asyncio.Task[None] | None = None
        self._is_draining = False
        self._is_closing = False

    async def ready(self) -> None:
        """Open the store and begin to keep leases; raise StoreError if that is not possible."""
        loop = asyncio.get_running_loop()
        if self.loop is not loop:
            self._bind(loop)
        await self.service.ready()
        if self._engine is not None:
            await self._engine.open()
        if self._keeper is None:
            self._keeper = loop.create_task(self._keep_leases(), name="accord-tasks")

    def _bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin on another event loop; what ran on the one before has ended with it."""
        self._settings = self._dispatcher.task_settings
        self.loop, self._is_draining, self._is_closing = loop, False, False
        self._leases_ended = asyncio.Event()
        self._renewing = asyncio.Lock()
        self._runs, self._over, self._background, self._keeper = {}, [], set(), None
        self._beginning = set()
        self._changes = asyncio.Semaphore(_MAX_STORING)
        name, most = self._settings.store, self._settings.max_tasks
        self._room = Room(most, self._settings.max_tasks_per_caller)
        store = self._memory if name == MEMORY else store_of(self._dispatcher)
        self.service: TaskService = TaskService(store, self._on_change)
        self._engine = engine_of(self._settings, self._server)
        self.executor = Executor(
            self._dispatcher, loop, max_calls=2 * most, threads=DEFAULT_THREADS
        )

    @property
    def _server(self) -> str:
        return self._dispatcher.identity.name

    def drain(self) -> None:
        """Leave restartable tasks to other processes, or to the next one; the others go on."""
        if self.loop is None or not self.service.store.is_shared:
            return
        self._is_draining = True
        for run in list(self._runs.values()):
            if self._is_restartable(run.task) and not run.task.is_cancelling:
                self._cancel(run)

    async def close(self, seconds: float, *, waits: bool = True) -> None:
        """End the tasks that run here within so many seconds, and close the store.

        If it `waits`, tasks have most of that time to finish; then they fail.
        """
        if self.loop is not asyncio.get_running_loop() or self._keeper is None:
            return
        self.drain()
        if waits:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds * _GRACE_SHARE):
                    while self._is_busy:  # noqa: ASYNC110 - an event would cost each task
                        await asyncio.sleep(_END_CHECK)
            seconds *= 1 - _GRACE_SHARE
        self._is_closing = True
        self._keeper.cancel()
        for run in list(self._runs.values()):
            self._cancel(run)
        with suppress(TimeoutError, StoreError):
            async with asyncio.timeout(seconds):
                while self._is_busy:  # noqa: ASYNC110 - an event would cost each task
                    await asyncio.sleep(_END_CHECK)
                await self._release()
        keeper, self._keeper, self.loop = self._keeper, None, None
        for task in (keeper, *self._background):
            task.cancel()
        await asyncio.gather(keeper, *self._background, return_exceptions=True)
        self.executor.close()
        self.executor.stop_threads()
        await self.service.close()
        if self._engine is not None:
            await self._engine.close()

    @property
    def _is_busy(self) -> bool:
        """True while tasks run, or are left to other processes."""
        return bool(self._runs) or self._renewing.locked()

    # Calls that become tasks

    async def start(self, call: RunningCall, tool: Tool) -> Done:
        """Run a call as a task; return the reply with the task, or with the result itself."""
        try:
            await self.ready()
        except StoreError as error:
            return rejected(call.request, unavailable(error))
        if self._is_closing:
            raise Problem.unavailable("The server is about to end")
        with self._room.reserve(call.caller_key):
            if self._engine is not None:
                return await self._enqueue(self._engine, call, tool)
            return await self._start(call, tool)

    async def _start(self, call: RunningCall, tool: Tool) -> Done:
        run = self._new_run(call)
        try:
            if tool.after and not isinstance(call.request.params, TaskMetadata):
                return await self._start_after(tool.after, run, call, tool)
            return await self._start_now(run, call, tool)
        except asyncio.CancelledError:  # the client is gone before it knows the task
            self._cancel(run)
            raise

    def _new_run(self, call: RunningCall) -> TaskRun:
        request = msgspec.structs.replace(call.request, retry=None, params=None)
        inner = TaskCall(request, None, call.edge, responses=call.responses)
        inner.known_key = call.caller_key
        run = TaskRun(inner, self.service, self._spawn_bounded, self._cancel)
        inner.deliver = run.deliver
        return run

    async def _start_now(self, run: TaskRun, call: RunningCall, tool: Tool) -> Done:
        run.call.edge = _edge_of(call)
        run.begin()
        try:
            task = await self._store(run, call, tool)
        except StoreError as error:
            run.set_stored(None)
            return rejected(call.request, unavailable(error))
        self._submit(run.call)
        return self._created(call.request, task)

    async def _start_after(
        self, seconds: float, run: TaskRun, call: RunningCall, tool: Tool
    ) -> Done:
        """Wait for the result; make the call a task if it takes longer."""
        assert self.loop is not None
        done: asyncio.Future[Done | None] = self.loop.create_future()
        run.call_when_done(lambda run: _resolve(done, run.done))
        self._submit(run.call)
        await asyncio.wait([done], timeout=seconds)
        if not run.is_done:
            run.begin()
            try:
                task = await self._store(run, call, tool)
            except StoreError:  # the call goes on as any other
                run.set_stored(None)
            else:
                run.call.edge = _edge_of(call)
                return self._created(call.request, task)
        outcome = await done
        if outcome is None:
            raise Problem.unavailable("The call was cancelled")
        return outcome

    def _submit(self, call: TaskCall) -> None:
        assert self.loop is not None
        self.executor.submit(call)
        self.loop.call_soon(self.executor.run_queued)

    async def _store(self, run: TaskRun, call: RunningCall, tool: Tool) -> Task:
        """Store a new task: from then on, any process can tell its state."""
        task = self._new_task(call, tool)
        await self.service.store.create(task, self._settings.lease)
        self._adopt(run, Stored(task, 1))
        return task

    def _adopt(self, run: TaskRun, stored: Stored) -> None:
        """Store the result of a run once it is there."""
        self._runs[stored.task.id] = run
        self._room.add(run.call.caller_key)
        run.set_stored(stored)
        run.call_when_done(self._settle_later)

    def _new_task(self, call: RunningCall, tool: Tool) -> Task:
        task_id, now, request = new_id(), milliseconds(), call.request
        ttl = wanted = int(self._settings.ttl * 1000)
        if isinstance(request.params, TaskMetadata) and request.params.ttl is not None:
            wanted = request.params.ttl
        return Task(
            id=task_id,
            tool=tool.name,
            principal=digest_of(call.principal, task_id),
            created=now,
            updated=now,
            ttl_ms=min(wanted, ttl) if wanted > 0 else ttl,
            poll_ms=int(self._settings.poll * 1000),
            owner=self.service.owner,
            call=_stored_call(call) if tool.restartable else None,
        )

    def _created(self, request: Request, task: Task) -> Done:
        if request.revision.stateless:
            result = tasks.created(task) | {"_meta": self._dispatcher.renderer.stamp}
        else:
            result = {"task": tasks.experimental(task)}
        return Done(SUCCEEDED, messages.reply(request.id, result))

    def _drop(self, run: TaskRun) -> None:
        """Forget a task that does not run here any more."""
        if self._runs.pop(run.task.id, None) is not None:
            self._room.remove(run.call.caller_key)

    # The end of tasks

    def _settle_later(self, run: TaskRun) -> None:
        self._spawn(self._settle(run, run.done))

    async def _settle(self, run: TaskRun, done: Done | None) -> None:
        """Store the outcome of a task, however long the store is away; the first one counts."""
        is_stopped = self._is_draining or run.is_stopped
        if is_stopped and run.call.cancelled and await self._hand_over(run):
            pass
        else:
            outcome = self._outcome(run, done)
            step = partial(states.finished, outcome=outcome, owner=self.service.owner)
            await self._store_outcome(run, step)
            self._over.append(run.task.id)
        run.end()
        self._drop(run)
        if run.settled is not None and not run.settled.done():
            run.settled.set_result(None)

    async def _hand_over(self, run: TaskRun) -> bool:
        """Leave a restartable task to another process; False if it ends here."""
        if not self._is_restartable(run.task):
            return False
        owner = self.service.owner
        try:
            if await run.change(partial(states.released, owner=owner)) is None:
                return False
            async with self._renewing:
                self._drop(run)
                await self.service.store.hand_over(owner, [run.task.id])
        except StoreError:  # its lease runs out
            pass
        return True

    async def _store_outcome(self, run: TaskRun, step: Any) -> None:
        pause, expires = _FIRST_PAUSE, run.task.created + run.task.ttl_ms
        while True:
            try:
                async with self._changes:
                    await run.change(step)
            except StoreError as error:
                if milliseconds() > expires or self.loop is None:
                    log.error("the result of task %s is lost: %s", run.task.tool, error)  # noqa: TRY400
                    return
                await asyncio.sleep(pause)
                pause = min(2 * pause, _MAX_PAUSE)
            else:
                return

    def _outcome(self, run: TaskRun, done: Done | None) -> Outcome:
        if done is not None and not run.call.cancelled:
            return outcome_of_reply(done.reply, self._settings.max_result_bytes)
        is_stopped = (self._is_closing or run.is_stopped) and not run.task.is_cancelling
        return failure(_STOPPED) if is_stopped else CANCELLED

    def _cancel(self, run: TaskRun) -> None:
        """End the call of a task; one in a thread is over for us, whatever the thread does."""
        call = run.call
        if not call.cancelled and not run.is_done:
            self.executor.cancel(call)
            if call.task is None:
                run.deliver(call, None)

    def _on_change(self, task_id: str | None, version: int) -> None:
        if task_id is None:
            self._leases_ended.set()
            self._spawn(self._refresh_all())
        elif task_id == LEASES:
            self._leases_ended.set()
        elif (run := self._runs.get(task_id)) is not None:
            run.report(version)

    async def _refresh_all(self) -> None:
        for run in list(self._runs.values()):
            await run.refresh()

    # Leases

    async def _keep_leases(self) -> None:
        is_away, interval = False, self._settings.lease / _RENEWALS  # being away is logged once
        suspects: set[Lease] = set()
        while not self._is_closing:  # redis-py may take a cancellation for a time limit
            with suppress(TimeoutError):
                async with asyncio.timeout(min(interval / 2, _RETRY) if is_away else interval):
                    await self._leases_ended.wait()
            self._leases_ended.clear()
            try:
                await self._release()
                async with self._renewing:
                    await self._renew()
                suspects = await self._take_over_all(suspects)
            except StoreError as error:
                if not is_away:
                    log.warning("%s", error)
                is_away, suspects = True, set()
            else:
                is_away = False

    async def _take_over_all(self, suspects: set[Lease]) -> set[Lease]:
        """Take over leases that have run out, if that was so at the last look; return the others.

        In between, an owner that could not reach the store can renew them.
        """
        leases = set() if self._is_draining else set(await self.service.store.due())
        ended = [each for each in leases if each in suspects or each.is_handed_over]
        for lease in ended[:_MAX_TAKEN]:
            await self._take_over(lease)
        if len(ended) > _MAX_TAKEN:
            self._leases_ended.set()
        return leases.difference(ended[:_MAX_TAKEN])

    async def _release(self) -> None:
        over = list(self._over)
        if over:
            await self.service.store.release(self.service.owner, over)
            del self._over[: len(over)]

    async def _renew(self) -> None:
        now = milliseconds()
        for run in list(self._runs.values()):
            if now > run.task.created + run.task.ttl_ms:
                self._cancel(run)
        if self._runs:
            owner, lease = self.service.owner, self._settings.lease
            for task_id in await self.service.store.renew(owner, list(self._runs), lease):
                if task_id in self._runs:
                    await self._runs[task_id].refresh()

    async def _take_over(self, lease: Lease) -> None:
        """Run the task of a process that has died again, or let it fail."""
        store, owner, seconds = self.service.store, self.service.owner, self._settings.lease
        if lease.owner == owner:  # this was begun, and the store was away
            if lease.task_id in self._runs or await store.renew(owner, [lease.task_id], seconds):
                return
        elif not await store.claim(lease, owner, seconds):
            return
        stored = await store.read(lease.task_id)
        if stored is not None and not stored.task.is_final:
            if self._engine is not None and self._may_be_queued(stored.task):
                await self._requeue(self._engine, stored)
                return
            if self._may_run_again(stored.task):
                step = partial(states.taken_over, owner=owner)
                again = await self.service.change(stored, step)
                if again is not None:
                    self._run_again(again)
                    return
            else:
                lost = CANCELLED if stored.task.is_cancelling else failure(_LOST)
                step = partial(states.finished, outcome=lost, owner=stored.task.owner)
                await self.service.change(stored, step)
        await store.release(owner, [lease.task_id])

    def _is_restartable(self, task: Task) -> bool:
        tool = self._dispatcher.registry.tools.get(task.tool)
        return task.call is not None and tool is not None and tool.restartable

    def _may_run_again(self, task: Task) -> bool:
        return (
            self._is_restartable(task)
            and task.runs - task.releases < _MAX_RUNS
            and not task.is_cancelling
            and not self._room.is_full
        )

    def _run_again(self, stored: Stored) -> TaskRun:
        call = call_again(stored.task)
        caller = call.caller
        run = TaskRun(call, self.service, self._spawn_bounded, self._cancel)
        call.deliver = run.deliver
        run.begin()
        self._adopt(run, stored)
        token = CALLER.set(caller)
        self._submit(call)
        CALLER.reset(token)
        return run

    # Tasks of an engine

    async def _enqueue(self, engine: Engine, call: RunningCall, tool: Tool) -> Done:
        """Store a task and hand it to the engine; return the reply with the task."""
        task = msgspec.structs.replace(
            self._new_task(call, tool), owner=states.QUEUED, runs=0, call=_stored_call(call)
        )
        try:
            await self.service.store.create(task, task.ttl_ms / 1000)
        except StoreError as error:
            return rejected(call.request, unavailable(error))
        try:
            await engine.submit(_queued(task, 1))
        except BaseException as error:
            self._spawn(self._give_up(Stored(task, 1)))
            if isinstance(error, Exception):
                log.warning("a task of %s could not be queued: %s", tool.name, error)
                raise Problem.unavailable("The task could not be queued; try again later") from None
            raise
        return self._created(call.request, task)

    async def _give_up(self, stored: Stored) -> None:
        """Let a task fail that the engine did not take."""
        step = partial(states.finished_elsewhere, outcome=failure(_NOT_QUEUED))
        with suppress(StoreError):
            await self.service.change(stored, step)
            await self.service.store.release(states.QUEUED, [stored.task.id])

    def withdraw(self, task: Task) -> None:
        """Remove a task that was cancelled from the queue of the engine, if possible."""

        async def withdraw(engine: Engine) -> None:
            try:
                await engine.withdraw(task.id)
            except Exception as error:  # noqa: BLE001 - of any engine
                log.debug("a task of %s stays in its queue: %s", task.tool, error)

        if self._engine is not None:
            self._spawn(withdraw(self._engine))

    async def run_queued(self, task_id: str) -> None:
        """Run a task of the engine to its end, unless it is over or another worker has it."""
        await self.ready()
        if task_id in self._beginning or task_id in self._runs:  # the queue gives it once more
            return
        self._beginning.add(task_id)
        try:
            run = await self._begin_queued(task_id)
        finally:
            self._beginning.discard(task_id)
        if run is None:
            return
        run.settled = asyncio.get_running_loop().create_future()
        try:
            await asyncio.shield(run.settled)
        except asyncio.CancelledError:  # the worker is stopped
            run.is_stopped = True
            self._cancel(run)
            await asyncio.wait([run.settled], timeout=_STOP_SECONDS)
            raise

    async def _begin_queued(self, task_id: str) -> TaskRun | None:
        store, owner = self.service.store, self.service.owner
        stored = await store.read(task_id)
        if stored is None or stored.task.is_final or stored.task.owner != states.QUEUED:
            return None
        tool = stored.task.tool
        if tool not in self._dispatcher.registry.tools:
            raise ContractError(f"the task is one of {tool!r}, which is not a tool here")
        lease = Lease(task_id, states.QUEUED)
        if not await store.claim(lease, owner, self._settings.lease, is_due=False):
            return None
        begun = await self.service.change(stored, partial(states.begun, owner=owner))
        if begun is None:  # it was cancelled, or finished, just now
            await store.release(owner, [task_id])
            return None
        return self._run_again(begun)

    def _may_be_queued(self, task: Task) -> bool:
        """True if a task whose worker has died may be handed to the engine again."""
        has_begun = task.owner != states.QUEUED and task.runs > 0
        is_known = task.call is not None and not task.is_cancelling
        return is_known and (not has_begun or self._may_run_again(task))

    async def _requeue(self, engine: Engine, stored: Stored) -> None:
        """Hand a task to the engine again; its lease is that of this process."""
        queued = await self.service.change(stored, states.queued)
        if queued is None:
            await self.service.store.release(self.service.owner, [stored.task.id])
            return
        task = queued.task
        seconds = max((task.created + task.ttl_ms - milliseconds()) / 1000, 1.0)
        lease = Lease(task.id, self.service.owner)
        await self.service.store.claim(lease, states.QUEUED, seconds, is_due=False)
        try:
            await engine.submit(_queued(task, 2 + task.runs + task.releases))
        except Exception as error:  # noqa: BLE001 - of any engine
            log.warning("a task of %s could not be queued again: %s", task.tool, error)
            await self._give_up(queued)

    def _spawn_bounded(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """Run a change of a task in the background, few of them at a time."""

        async def run() -> None:
            async with self._changes:
                await work()

        self._spawn(run())

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Run a coroutine in the background, until the runner is closed."""
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task


def _resolve(future: "asyncio.Future[Done | None]", done: Done | None) -> None:
    """Set the result of a future, unless its waiter was cancelled."""
    if not future.done():
        future.set_result(done)


def _edge_of(call: RunningCall) -> TaskEdge:
    edge = call.edge
    if edge is None:
        return TaskEdge()
    return TaskEdge(edge.sender, principal=edge.principal, caller=edge.caller, address=edge.address)


def store_of(dispatcher: Dispatcher) -> TaskStore:
    """Return the store of a server, not opened yet."""
    settings = dispatcher.task_settings
    is_sealed = dispatcher.has_given_key and not settings.is_private
    key = dispatcher.key if is_sealed else None
    return store_named(settings.store, dispatcher.identity.name, key)


def _queued(task: Task, attempt: int) -> QueuedTask:
    assert task.call is not None
    return QueuedTask(task.id, task.tool, _decode(task.call.arguments), attempt)


def call_again(task: Task) -> TaskCall:
    """Return the call of a task, as it is stored."""
    before = task.call
    assert before is not None
    revision = REVISIONS[before.revision]
    client = ClientInfo(revision, _decode(before.capabilities), _decode(before.client))
    request = Request(0, client, name=task.tool, arguments=before.arguments)
    caller = None if before.caller is None else _decode_caller(before.caller)
    call = TaskCall(request, None, TaskEdge(caller=caller, address=before.address))
    call.known_key = before.caller_key
    return call


def _stored_call(call: RunningCall) -> StoredCall:
    request, caller = call.request, call.caller
    if caller is not None:  # what functions ask it; the claims stay with the token
        caller = msgspec.structs.replace(caller, claims={})
    return StoredCall(
        request.arguments,
        request.revision.date,
        _encode(request.client.capabilities),
        _encode(request.client.info),
        None if caller is None else _encode_caller(caller),
        call.caller_key,
        call.address,
    )
