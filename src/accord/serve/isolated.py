"""Calls a function on bytes in a child process that can be ended, one call at a time.

Reading a reply holds the GIL inside `re`, so a thread would stop the event loop and could not be
stopped itself. Each event loop has at most one child, started with the first large payload.
"""

import asyncio
import contextlib
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Final

from accord.child_process import FramedPipe, PipeClosed, spawn_piped

Function = Callable[[bytes], bytes]
"""A function of a module; the child imports it by its name."""

IN_PLACE: Final = 32 * 1024
"""Bytes of a payload up to which the function is called in this process."""
SECONDS: Final = 10.0
"""Time limit of a call, unless the caller gives another."""
MAX_WAITING: Final = 32
"""Calls that may wait for the child; one more is Busy."""
OK, NO_MEMORY, TOO_LARGE = b"+", b"m", b"l"
"""The first byte of what the child answers."""

_WAIT_SECONDS: Final = 60.0  # for a turn
_BOOT_SECONDS: Final = 30.0  # for Python to start and import the reader, on a busy machine
_MAIN: Final = (  # Ctrl-C is for the parent, also while the child starts
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    "parent, *sys.path[:] = sys.argv[1:]\n"
    "from accord.serve.isolated_child import main; main(int(parent))"
)
_BUSY: Final = "Too many large replies are waiting to be read; try again later"
_NO_PROCESS: Final = "reading was stopped because no process could be started"
_REASONS: Final = {
    NO_MEMORY: "reading was stopped because it needed too much memory",
    TOO_LARGE: "reading was stopped because its result is too large",
}


class Stopped(Exception):
    """The call has no result; the text says why."""


class Busy(Exception):
    """The call was not begun, because too many others wait."""


async def run_isolated(function: Function, payload: bytes, seconds: float = SECONDS) -> bytes:
    """Return `function(payload)`, from a child process if the payload is large.

    Raises Stopped after `seconds`, or if the child ends without a result; and Busy.
    """
    if len(payload) <= IN_PLACE:
        return function(payload)
    if not hasattr(os, "posix_spawn"):  # Windows: nothing there ends a call
        return await asyncio.to_thread(function, payload)
    return await _worker().run(function, payload, seconds)


def close_isolated() -> None:
    """End the child of the running event loop, if it has one."""
    worker = _workers.pop(asyncio.get_running_loop(), None)
    if worker is not None:
        worker.close()


class _Child:
    """A child process, and the pipes to and from it."""

    def __init__(self) -> None:
        self._pid, self._pipe = _spawn()
        self._abandon = weakref.finalize(self, _abandon, os.getpid(), self._pid, self._pipe)
        self.has_answered = False

    async def receive(self) -> bytes:
        """Return the next frame, or raise PipeClosed."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[bytes] = loop.create_future()
        loop.add_reader(self._pipe.reader, self._read, answer)
        if self._pipe.is_full:
            loop.add_writer(self._pipe.writer, self._write, answer)
        try:
            return await answer
        finally:
            loop.remove_reader(self._pipe.reader)
            loop.remove_writer(self._pipe.writer)

    async def call(self, function: Function, payload: bytes) -> bytes:
        """Return what the child answers, or raise PipeClosed."""
        name = f"{function.__module__}:{function.__qualname__}"
        self._pipe.send(name.encode(), payload)
        answer = await self.receive()
        self.has_answered = True
        return answer

    def _read(self, answer: "asyncio.Future[bytes]") -> None:
        try:
            frames = self._pipe.receive()
        except PipeClosed as error:
            _fail(answer, error)
        else:
            if frames and not answer.done():
                answer.set_result(frames[0])

    def _write(self, answer: "asyncio.Future[bytes]") -> None:
        try:
            self._pipe.flush()
        except PipeClosed as error:
            _fail(answer, error)
        if not self._pipe.is_full:
            asyncio.get_running_loop().remove_writer(self._pipe.writer)

    def kill(self) -> None:
        """End it. A thread waits for that: the system may be slow to free its memory."""
        if self._abandon.detach() is not None:
            self._pipe.close()
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            threading.Thread(target=_reap, args=[self._pid], name="accord-reaper").start()

    def forget(self) -> None:
        """Close the pipes in a process that was forked from the parent."""
        if self._abandon.detach() is not None:
            self._pipe.close()


class _Worker:
    """The child of one event loop, and the calls that wait for it."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._child: _Child | None = None

    async def run(self, function: Function, payload: bytes, seconds: float) -> bytes:
        await self._wait_for_turn()
        try:
            return await self._run(function, payload, seconds)
        finally:
            self._turn.release()

    async def _wait_for_turn(self) -> None:
        if self._waiting >= MAX_WAITING:
            raise Busy(_BUSY)
        self._waiting += 1
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                await self._turn.acquire()
        except TimeoutError:
            raise Busy(_BUSY) from None
        finally:
            self._waiting -= 1

    async def _run(self, function: Function, payload: bytes, seconds: float) -> bytes:
        """Call in the child; once more in a new one if what is left of earlier calls may matter."""
        is_used = self._child is not None and self._child.has_answered
        answer = await self._attempt(function, payload, seconds)
        if is_used and answer[:1] != OK:
            answer = await self._attempt(function, payload, seconds)
        if answer[:1] != OK:
            reason = _REASONS.get(answer[:1], "reading was stopped because its process ended")
            raise Stopped(reason)
        return answer[1:]

    async def _attempt(self, function: Function, payload: bytes, seconds: float) -> bytes:
        """Return the answer of the child, which does not outlive a failure; none if it ended."""
        answer = b""
        try:
            if self._child is None:
                self._child = await _start()
            async with asyncio.timeout(seconds):
                answer = await self._child.call(function, payload)
        except TimeoutError:
            raise Stopped(f"reading was stopped after {seconds:g} seconds") from None
        except PipeClosed:
            pass
        finally:
            if answer[:1] != OK:
                self.close()
        return answer

    def close(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()

    def forget(self) -> None:
        if self._child is not None:
            self._child.forget()


_workers: Final[dict[asyncio.AbstractEventLoop, _Worker]] = {}


def _worker() -> _Worker:
    loop = asyncio.get_running_loop()
    found = _workers.get(loop)
    if found is None:
        for closed in [each for each in _workers if each.is_closed()]:
            _workers.pop(closed).close()
        found = _workers[loop] = _Worker()
    return found


async def _start() -> _Child:
    try:
        child = _Child()
    except OSError as error:
        raise Stopped(_NO_PROCESS) from error
    try:
        async with asyncio.timeout(_BOOT_SECONDS):
            await child.receive()
    except TimeoutError as error:
        child.kill()
        raise Stopped(_NO_PROCESS) from error
    except BaseException:
        child.kill()
        raise
    return child


def _spawn() -> tuple[int, FramedPipe]:
    """Start Python with the modules of this one, and neither its variables nor the folder."""
    import accord

    home = str(Path(accord.__file__).parents[1])
    path = [home, *(each for each in sys.path if each)]
    return spawn_piped([sys.executable, "-I", "-c", _MAIN, str(os.getpid()), *path])


def _fail(answer: "asyncio.Future[bytes]", error: PipeClosed) -> None:
    if not answer.done():
        answer.set_exception(error)


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _abandon(owner: int, pid: int, pipe: FramedPipe) -> None:
    """End a child that is no longer referred to, or with the interpreter."""
    pipe.close()
    if os.getpid() == owner:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        _reap(pid)


def _forget_all() -> None:
    for worker in _workers.values():
        worker.forget()
    _workers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
