"""An event loop in a thread of its own, for the calls of other threads: WSGI and Django.

Lifespans run there, and the async tools beside them, since connections belong to the loop that has
opened them. One loop serves all servers of the process, so that servers may share a part. It starts
at need, and ends with the interpreter. Other async tools run on the thread of their call.
"""

import asyncio
import atexit
import concurrent.futures.thread  # its own function at exit has to run after ours
import logging
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from accord.errors import ContractError
from accord.serve.shutdown import DEFAULT_GRACE
from accord.serve.threadsafe import captured, resolve_threadsafe

log: logging.Logger = logging.getLogger("accord")

T = TypeVar("T")
RunHere = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs a blocking function in the thread that waits for the coroutine; to be awaited."""

_MARGIN: Final = 0.5  # seconds for the loop to close once its tasks have ended


class LoopThread:
    """Runs coroutines of other threads on one event loop, in a daemon thread."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        """The loop, once it was needed."""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self._waiting: set[concurrent.futures.Future[Any]] = set()

    def run(self, start: Callable[[RunHere], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine on the loop and return its value.

        It is made by `start`, which is given a function that runs blocking functions in this
        thread: connections of Django's ORM, for one, belong to a thread. The coroutine runs in a
        copy of this thread's context, and is cancelled if this thread is interrupted.
        """
        loop = self._start()
        if threading.current_thread() is self._thread:
            raise ContractError("a blocking call on the event loop would wait for itself")
        work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        coroutine = start(lambda function: _run_there(work.put, function))
        future: concurrent.futures.Future[T] | None = None
        try:  # an interrupt may come as soon as the coroutine runs
            future = asyncio.run_coroutine_threadsafe(coroutine, loop)
            self._waiting.add(future)
            future.add_done_callback(lambda _: work.put(None))
            while (function := work.get()) is not None:
                function()
            return future.result()
        except concurrent.futures.CancelledError:
            raise asyncio.CancelledError from None
        except BaseException:
            if future is not None:
                future.cancel()
            raise
        finally:
            if future is not None:
                self._waiting.discard(future)

    def stop(self, seconds: float = DEFAULT_GRACE) -> None:
        """Cancel the tasks of the loop, which ends lifespans, and end it within so many seconds."""
        if self._pid != os.getpid():  # forked: the thread is in the parent
            return
        with self._lock:
            loop, thread = self.loop, self._thread
            self.loop = self._thread = None
        if loop is None or thread is None or threading.current_thread() is thread:
            return
        with suppress(RuntimeError):  # it is closed
            loop.call_soon_threadsafe(lambda: loop.create_task(_end(loop, seconds)))
        thread.join(seconds + _MARGIN)
        for future in list(self._waiting):  # of tasks that do not end
            future.cancel()

    def _start(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self.loop is None:
                loop = self.loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(loop,), name="accord-loop", daemon=True
                )
                self._thread.start()
                _register_at_exit(self.stop)
            return self.loop


def run_on_own_loop(start: Callable[[RunHere], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine on a new loop in this thread and return its value; see `LoopThread.run`.

    The loop is stopped while a blocking function runs: Django's ORM refuses to work inside a loop.
    """
    work: deque[Callable[[], None]] = deque()
    with asyncio.Runner() as runner:
        loop = runner.get_loop()

        def request(function: Callable[[], None]) -> None:
            work.append(function)
            loop.stop()

        task = loop.create_task(start(lambda function: _run_there(request, function)))
        task.add_done_callback(lambda _: loop.stop())
        try:
            while not task.done():
                loop.run_forever()
                while work:
                    work.popleft()()
        except BaseException:
            if task.done() and not task.cancelled():
                task.exception()  # it is this one; asyncio would log it again
            raise
        return task.result()


async def _run_there(put: Callable[[Callable[[], None]], None], function: Any) -> Any:
    """Run a function in the thread that takes what is put, and return its value."""
    loop = asyncio.get_running_loop()
    finished: asyncio.Future[Callable[[], Any]] = loop.create_future()
    context = copy_context()

    def run() -> None:
        if not finished.done():  # else cancelled
            resolve_threadsafe(finished, captured(partial(context.run, function)))

    put(run)
    return (await finished)()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    while not loop.is_closed():
        try:
            loop.run_forever()
        except BaseException:  # SystemExit of a tool
            log.exception("a task of a tool tried to end the server")
        else:
            with suppress(Exception):
                loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()


async def _end(loop: asyncio.AbstractEventLoop, seconds: float) -> None:
    """Cancel all other tasks, wait for them, and stop the loop."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=seconds)
    loop.stop()


def _register_at_exit(function: Callable[[], None]) -> None:
    """Call a function when the interpreter exits, before it waits for threads that are not daemons.

    A connection that the lifespan closes may have such a thread, and `atexit` comes after it.
    """
    register = getattr(threading, "_register_atexit", atexit.register)
    with suppress(RuntimeError):  # the interpreter exits already
        register(function)


_shared = LoopThread()


def loop_thread() -> LoopThread:
    """Return the loop thread of this process."""
    return _shared


def _reset() -> None:
    global _shared  # noqa: PLW0603 - the parent's thread does not exist in a forked process
    _shared = LoopThread()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_reset)
