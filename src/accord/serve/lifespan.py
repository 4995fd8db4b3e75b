"""Runs the lifespans of servers, on the event loop that serves them.

Each is entered and left in one task, as cancel scopes and task groups require. It ends with its
last user: an edge that has started it, such as a stdio session, an ASGI app or a client. Calls
without such an edge start it at need (`ensure`), and it ends with their event loop.
"""

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any, Final

from accord.errors import AccordError, ContractError, LifespanError, location_of, reason_of
from accord.model.scope import Scope
from accord.serve.shutdown import DEFAULT_GRACE
from accord.serve.threadsafe import resolve_threadsafe
from accord.server.lifespan import is_async_manager
from accord.server.registry import Registry

log: logging.Logger = logging.getLogger("accord")

CALLS_SHARE: Final = 0.8
"""Part of the grace period that calls get if a lifespan has to end after them."""
NOT_STARTED: Final = "The server could not start; try again later"
"""The message for clients if a lifespan has failed."""
_STUBBORN: Final = 0.2  # seconds for a lifespan to end once it is cancelled
_LOCK: Final = threading.Lock()  # of Scope.lifespan_run
_NO_YIELD: Final = "generator didn't yield"  # of contextlib
_TWO_YIELDS: Final = "generator didn't stop"


def is_running(registry: Registry, loop: asyncio.AbstractEventLoop) -> bool:
    """True if no lifespan has to be started before a call on this loop."""
    return all(
        scope.lifespan is None
        or (scope.lifespan_run is not None and scope.lifespan_run.is_ready(loop))
        for scope in registry.scopes
    )


async def ensure(registry: Registry) -> None:
    """Start the lifespans that do not run; they end with the running loop."""
    if not is_running(registry, asyncio.get_running_loop()):
        lifespans = Lifespans(registry)
        await lifespans.start()
        lifespans.end_before_sigterm()


class Lifespans:
    """One use of the lifespans of a server and of those it includes, on the running loop."""

    def __init__(
        self, registry: Registry, on_lost: Callable[[LifespanError], None] = lambda _: None
    ) -> None:
        """`on_lost` is called if a lifespan ends while it is used: a task of it has failed."""
        self._registry = registry
        self._on_lost = on_lost
        self._runs: list[_Run] = []

    @property
    def is_used(self) -> bool:
        """True if there are lifespans to leave."""
        return bool(self._runs)

    async def start(self) -> None:
        """Enter the lifespans, the server's own first; raise if one fails, with the others left."""
        try:
            while (scope := self._next()) is not None:
                outer = self._runs[-1] if self._runs else None
                run = await _join(scope)
                run.on_lost.append(self._on_lost)
                self._runs.append(run)
                if outer is not None:
                    outer.inner.append(run)
        except BaseException:
            with suppress(LifespanError):
                await self.stop(DEFAULT_GRACE)
            raise

    def end_before_sigterm(self) -> None:
        """Delay a SIGTERM that the host sends to itself until they have ended."""
        for run in self._runs:
            _sigterm.delay(run.task)

    def _next(self) -> Scope | None:
        """Return a scope to enter; one that has been entered may have included others."""
        entered = {run.scope for run in self._runs}
        for scope in self._registry.scopes:
            if scope.lifespan is not None and scope not in entered:
                return scope
        return None

    async def stop(self, seconds: float) -> None:
        """Leave them in reverse order within so many seconds; raise the first failure."""
        deadline = asyncio.get_running_loop().time() + seconds
        failures: list[LifespanError] = []
        while self._runs:
            run = self._runs.pop()
            run.on_lost.remove(self._on_lost)
            failure = await run.leave(deadline)
            if failure is not None:
                failures.append(failure)
        for failure in failures[1:]:
            log_lifespan(failure)
        if failures:
            raise failures[0]


async def _join(scope: Scope) -> "_Run":
    """Start the lifespan of a scope unless it runs, and become one of its users."""
    loop = asyncio.get_running_loop()
    while True:
        with _LOCK:
            run: _Run | None = scope.lifespan_run
            if run is None or run.is_dead:
                run = scope.lifespan_run = _Run(scope, loop)
        run.require(loop)
        if run.is_ending:
            await asyncio.wait([run.task], timeout=_STUBBORN)  # it may be given up
            continue
        run.users += 1
        try:
            failure = await asyncio.shield(run.entered)
        except asyncio.CancelledError:
            run.forget()
            raise
        if failure is None:
            return run
        raise failure


class _Run:
    """A lifespan that is entered, or about to be."""

    def __init__(self, scope: Scope, loop: asyncio.AbstractEventLoop) -> None:
        assert scope.lifespan is not None
        self.scope = scope
        self.users = 0
        self.is_ending = False
        self.inner: list[_Run] = []
        """Lifespans that have to end before this one."""
        self.on_lost: list[Callable[[LifespanError], None]] = []
        self._lifespan = scope.lifespan
        self._name = scope.lifespan.name
        self._loop = loop
        self._pid = os.getpid()
        self._stop = asyncio.Event()
        self._deadline: float | None = None
        """Time of the loop by which it has to end; None until its users have left."""
        self._failure: LifespanError | None = None
        self.entered: asyncio.Future[Exception | None] = loop.create_future()
        """The failure, if it could not be entered."""
        self.task = loop.create_task(self._hold(), name=f"lifespan of {self._name}")

    @property
    def is_dead(self) -> bool:
        """True if its loop is closed, or belongs to the process that has forked this one."""
        return self._loop.is_closed() or self._pid != os.getpid()

    def is_ready(self, loop: asyncio.AbstractEventLoop) -> bool:
        """True if it is entered on this loop."""
        is_here = self._loop is loop and self._pid == os.getpid()
        return is_here and self.entered.done() and not self.is_ending

    def require(self, loop: asyncio.AbstractEventLoop) -> None:
        """Raise if it runs on another loop."""
        if self._loop is not loop:
            raise ContractError(
                f"the lifespan of {self._name!r} runs on another event loop; serve the server on"
                " one loop, or make a Server for each",
                at=self._lifespan.function,
            )

    def forget(self) -> None:
        """Count a user less that was cancelled; without users, cancel the start."""
        self.users -= 1
        if not self.users and not self.is_ending:
            self.is_ending = True
            self._deadline = self._loop.time() + DEFAULT_GRACE
            self._stop.set()
            if not self.entered.done():
                self.task.cancel()

    async def leave(self, deadline: float) -> LifespanError | None:
        """Count a user less; the last one ends it and returns its failure, if there is one."""
        self.users -= 1
        if self.users or self.task.done():
            return None
        self.is_ending = True
        self._deadline = deadline
        self._stop.set()
        seconds = max(deadline - self._loop.time(), _STUBBORN) + _STUBBORN
        await asyncio.wait([self.task], timeout=seconds)
        if not self.task.done():
            self._release()
            failure = self._too_late()
            log_lifespan(failure)  # its task may prevent all that follows
            return failure
        return self._failure

    async def _hold(self) -> None:
        """Enter the context manager, wait for the last user to leave, and leave it."""
        try:
            manager = await self._enter()
            if manager is None:
                return
            try:
                await self._stop.wait()
            except asyncio.CancelledError:  # the loop ends, or a task group of the lifespan fails
                self._uncancel()
                await self._wait_for_others()
            self.is_ending = True
            await self._exit(manager)
        finally:
            self._release()
            if not self.entered.done():
                self.entered.cancel()

    async def _enter(self) -> Any:
        """Return the context manager once it is entered; None if it failed."""
        try:
            manager = self._lifespan()
            if not is_async_manager(manager):
                manager = _InThread(manager, self._name)
            state = await manager.__aenter__()
        except BaseException as error:
            self.is_ending = True  # the next user starts it again
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            self._release()
            self.entered.set_result(self._start_failure(error))
            return None
        self.scope.state = state
        self.entered.set_result(None)
        return manager

    async def _exit(self, manager: Any) -> None:
        is_lost = self._deadline is None
        if self._deadline is None:
            self._deadline = self._loop.time() + DEFAULT_GRACE
        limit = asyncio.timeout_at(max(self._deadline, self._loop.time() + _STUBBORN))
        try:
            async with limit:
                await manager.__aexit__(None, None, None)
        except BaseException as error:  # noqa: BLE001 - any error of a user's function
            if not limit.expired():
                self._failure = self._end_failure(error)
        if limit.expired():
            self._failure = self._too_late()
        if is_lost:
            self._lose()

    def _lose(self) -> None:
        """Tell the users that it has ended before they have left."""
        if self._failure is not None:
            log_lifespan(self._failure)
        failure = self._failure or self._error("ended by itself")
        for on_lost in list(self.on_lost):
            on_lost(failure)

    async def _wait_for_others(self) -> None:
        """Wait for cancelled tasks and for inner lifespans: the loop cancels all at once."""
        others = {each.task for each in self.inner}
        own = asyncio.current_task()
        for task in asyncio.all_tasks():
            is_lifespan = task.get_name().startswith("lifespan of ")
            if task is not own and task.cancelling() and not is_lifespan:
                others.add(task)
        pending = [task for task in others if not task.done()]
        if pending:
            await asyncio.wait(pending, timeout=DEFAULT_GRACE)

    def _release(self) -> None:
        """Make room for another run of the lifespan."""
        with _LOCK:
            if self.scope.lifespan_run is self:
                self.scope.lifespan_run = None
                self.scope.state = None

    def _uncancel(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.uncancel()

    def _start_failure(self, error: BaseException) -> Exception:
        if isinstance(error, ContractError):
            return error
        if isinstance(error, RuntimeError) and str(error) == _NO_YIELD:
            return ContractError(
                f"the lifespan of {self._name!r} does not yield; yield the state once",
                at=self._lifespan.function,
            )
        return self._error("failed", error)

    def _end_failure(self, error: BaseException) -> LifespanError:
        if isinstance(error, RuntimeError) and str(error) == _TWO_YIELDS:
            return self._error("yields twice; yield the state once")
        return self._error("failed at its end", error)

    def _too_late(self) -> LifespanError:
        return self._error("did not end in time")

    def _error(self, what: str, cause: BaseException | None = None) -> LifespanError:
        text = f"the lifespan of {self._name!r} {what}"
        reason = "" if cause is None else reason_of(cause)
        place = "" if reason.endswith(")") else f" ({location_of(self._lifespan.function)})"
        error = LifespanError(f"{text}: {reason}{place}" if reason else f"{text}{place}")
        error.__cause__ = cause
        return error


class _DelayedSigterm:
    """Delays a second SIGTERM until lifespans have ended that end with their event loop.

    uvicorn handles the signal, shuts down, and sends it to itself again, to die of it before
    asyncio cancels what is left.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._handler: Any = None
        """The handler of the host."""

    def delay(self, task: "asyncio.Task[None]") -> None:
        """Delay the signal until a task has ended, if the host handles it."""
        handler = signal.getsignal(signal.SIGTERM)
        if not hasattr(signal, "pthread_sigmask"):  # Windows
            return
        if not callable(handler) or threading.current_thread() is not threading.main_thread():
            return
        if not self._tasks:
            self._handler = handler
            signal.signal(signal.SIGTERM, self._handle)
        self._tasks.add(task)
        task.add_done_callback(self._remove)

    def _handle(self, number: int, frame: Any) -> None:
        self._handler(number, frame)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])

    def _remove(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not self._tasks:
            if signal.getsignal(signal.SIGTERM) == self._handle:
                signal.signal(signal.SIGTERM, self._handler)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])


_sigterm: Final = _DelayedSigterm()


class _InThread:
    """A plain context manager as an async one: it is entered and left in one thread of its own.

    On the thread of the loop it could block the calls of a host that has mounted the server, and
    its end could not be given up. A connection of sqlite3, for one, has to be closed in the thread
    that has opened it.
    """

    def __init__(self, manager: Any, name: str) -> None:
        self._manager = manager
        self._name = name
        self._leave = threading.Event()

    async def __aenter__(self) -> Any:
        loop = asyncio.get_running_loop()
        self._entered: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
        self._left: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
        hold = copy_context().run
        name = f"lifespan of {self._name}"
        threading.Thread(target=hold, args=(self._hold,), name=name, daemon=True).start()
        try:
            state, error = await self._entered
        except asyncio.CancelledError:
            self._leave.set()  # it is left as soon as it is entered
            raise
        if error is not None:
            raise error
        return state

    async def __aexit__(self, *_: object) -> None:
        self._leave.set()
        _, error = await self._left
        if error is not None:
            raise error

    def _hold(self) -> None:
        failure: BaseException | None = None
        try:
            with self._manager as state:
                resolve_threadsafe(self._entered, (state, None))
                self._leave.wait()
        except BaseException as error:  # noqa: BLE001 - SystemExit, for example
            failure = error
        resolve_threadsafe(self._entered, (None, failure))
        resolve_threadsafe(self._left, (None, failure))


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def log_lifespan(failure: AccordError) -> None:
    """Log the failure of a lifespan, with the traceback of its cause."""
    with suppress(Exception):  # a log handler that a tool has broken
        log.error("%s", failure, exc_info=failure.__cause__)
