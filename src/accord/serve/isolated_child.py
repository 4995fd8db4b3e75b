"""The child process of `isolated`: calls functions by name until its input ends or it is idle."""

import contextlib
import importlib
import select
from typing import Final

from accord.child_process import end_with_parent, read_frames, take_pipes, write_frame
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

    source, target = take_pipes()
    _limit_memory()
    with contextlib.suppress(BrokenPipeError):  # the parent is gone
        write_frame(target, OK)
        _serve(source, target)


def _serve(source: int, target: int) -> None:
    frames = read_frames(source)
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
