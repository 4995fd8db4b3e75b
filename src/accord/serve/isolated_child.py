"""The child process of `isolated`: calls functions by name until its input ends or it is idle."""

import contextlib
import importlib
import os
import select
import sys
from typing import Final

from accord.frames import frames_from, write_frame
from accord.parent_death import end_with_parent
from accord.serve.isolated import NO_MEMORY, OK, TOO_LARGE, Function

MAX_MEMORY: Final = 1024 * 1024 * 1024
"""Bytes of address space that the child may have."""
MAX_RESULT: Final = 64 * 1024 * 1024 - 1
"""Bytes that a result may have."""
_IDLE_SECONDS: Final = 60.0  # after which the child ends; the parent starts another when needed


def main(parent: int) -> None:
    """Answer calls on the pipes that are standard input and output."""
    end_with_parent(parent)
    import accord.reader  # noqa: F401 - slow to import, which is not part of a call's time

    source, target = _take_pipes()
    _limit_memory()
    with contextlib.suppress(BrokenPipeError):  # the parent is gone
        write_frame(target, OK)
        _serve(source, target)


def _serve(source: int, target: int) -> None:
    frames = frames_from(source)
    while select.select([source], [], [], _IDLE_SECONDS)[0]:
        name, payload = next(frames, None), next(frames, None)
        if name is None or payload is None:
            return
        write_frame(target, _answer(_function(name.decode()), payload))


def _answer(function: Function, payload: bytes) -> bytes:
    try:
        result = function(payload)
        return OK + result if len(result) <= MAX_RESULT else TOO_LARGE
    except MemoryError:
        return NO_MEMORY


def _function(name: str) -> Function:
    module, _, function = name.partition(":")
    found: Function = getattr(importlib.import_module(module), function)
    return found


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not everywhere
        return
    with contextlib.suppress(ValueError, OSError):  # a lower limit is set already
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))


def _take_pipes() -> tuple[int, int]:
    """Return the pipes; what prints reaches standard error instead."""
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    sys.stdout = sys.stderr
    return source, target
