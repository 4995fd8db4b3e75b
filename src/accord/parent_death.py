"""Ends a child process of ours when its parent dies, however that happens.

The parent starts the child with `spawn`, and tells it its own process id; the child calls
`end_with_parent` with it.
"""

import errno
import os
import signal
import sys
import threading
from collections.abc import Sequence
from queue import SimpleQueue
from time import sleep
from typing import Any, Final

_PR_SET_PDEATHSIG: Final = 1
_INTERVAL: Final = 0.2  # seconds between two looks at the parent

FileAction = tuple[Any, ...]
_Reply = SimpleQueue[int | Exception]
_Request = tuple[list[str], Sequence[FileAction], _Reply]


def end_with_parent(parent: int, *, can_be_released: bool = False) -> None:
    """Have this process killed when its parent dies, whose process id is `parent`.

    On Linux the kernel does that, also to a process that is stopped or inside a C function.
    Elsewhere a thread looks at the parent, and in a child that `can_be_released`: one to which
    the parent called `release` outlives it.
    """
    if can_be_released:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])  # so that it stays pending
    if can_be_released or not _is_killed_by_kernel():
        threading.Thread(target=_watch, args=[parent], name="accord-watch", daemon=True).start()
    elif os.getppid() != parent:  # it died before the kernel was asked
        _end()


def release(child: int) -> None:
    """Let a child that can be released outlive this process."""
    os.kill(child, signal.SIGUSR1)


def _is_killed_by_kernel() -> bool:
    """Ask the kernel to kill this process with its parent, and return whether it will."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        prctl = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):  # a Python without ctypes, or a static one
        return False
    return bool(prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL)) == 0)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        sleep(_INTERVAL)
    if signal.SIGUSR1 not in signal.sigpending():
        _end()


def _end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def spawn(command: list[str], file_actions: Sequence[FileAction]) -> int:
    """Start a child with our environment, like `os.posix_spawn`, and return its process id.

    To the kernel, a child's parent is the thread that started it. So all are started by one
    thread, which lives as long as this process.
    """
    reply: _Reply = SimpleQueue()
    _requests().put((command, file_actions, reply))
    started = reply.get()
    if isinstance(started, Exception):
        raise started
    return started


_lock = threading.Lock()
_queue: SimpleQueue[_Request] | None = None


def _requests() -> SimpleQueue[_Request]:
    """Return the queue of the thread that starts children, once it runs."""
    global _queue  # noqa: PLW0603 - there is one such thread in a process
    with _lock:
        if _queue is None:
            queue: SimpleQueue[_Request] = SimpleQueue()
            thread = threading.Thread(
                target=_start_children, args=[queue], name="accord-spawn", daemon=True
            )
            try:
                thread.start()
            except RuntimeError as error:
                raise OSError(errno.EAGAIN, "No thread could be started") from error
            _queue = queue
        return _queue


def _start_children(queue: SimpleQueue[_Request]) -> None:
    while True:
        command, file_actions, reply = queue.get()
        try:
            pid = os.posix_spawn(command[0], command, os.environ, file_actions=file_actions)
        except (OSError, ValueError, TypeError) as error:
            reply.put(error)
        else:
            reply.put(pid)


def _forget_thread() -> None:
    """A fork has none of its parent's threads."""
    global _lock, _queue
    _lock, _queue = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_thread)
