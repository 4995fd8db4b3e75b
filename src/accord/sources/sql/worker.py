"""The worker process: it owns one connection, and answers what it is asked, one thing at a time."""

import gc
import logging
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import msgspec

from accord.frames import frames_from, write_frame
from accord.model.answer import Problem
from accord.parent_death import end_with_parent
from accord.sources.sql.confine import confine
from accord.sources.sql.engine import Engine, engine_for
from accord.sources.sql.messages import (
    Broken,
    Delete,
    Describe,
    Failed,
    Insert,
    Ready,
    Reply,
    Request,
    Select,
    Settings,
    Tables,
    Update,
    decode_request,
    encode_reply,
)

_ORPHANED: Final = 1.0  # seconds past the limit after which whoever should have ended us is gone

_ANSWERS: Final[dict[type, Callable[[Any, Any], Reply]]] = {
    Tables: lambda engine, _: engine.tables(),
    Describe: lambda engine, asked: engine.describe(asked),
    Select: lambda engine, asked: engine.select(asked),
    Insert: lambda engine, asked: engine.insert(asked),
    Update: lambda engine, asked: engine.update(asked),
    Delete: lambda engine, asked: engine.delete(asked),
}


def main(parent: int) -> None:
    """Answer on the pipes that are standard input and output until they are closed."""
    with suppress(BrokenPipeError):  # nobody waits for the answer any more
        _serve(parent)


def _serve(parent: int) -> None:
    source, target = _take_pipes()
    requests = frames_from(source)
    told = next(requests, None)
    if told is None:
        return
    settings = msgspec.json.decode(told, type=Settings)
    kind = engine_for(settings)
    engine: Engine | None = None
    _collect_less()
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    write_frame(target, encode_reply(Ready()))
    end_with_parent(parent, can_be_released=settings.writes)  # until here, closed pipes do that
    for request in requests:
        signal.setitimer(signal.ITIMER_REAL, settings.timeout + _ORPHANED)  # and SIGALRM ends us
        try:
            engine = engine or _open(kind, settings)
            reply = _answer(engine, decode_request(request))
        except Problem as problem:
            reply = Failed.of(problem)
        except Exception:  # noqa: BLE001 - the border of a process: our parent logs it
            reply = Broken(traceback.format_exc())
        signal.setitimer(signal.ITIMER_REAL, 0)
        write_frame(target, encode_reply(reply))


def _collect_less() -> None:
    """What is loaded by now stays, and rows leave nothing behind to search for."""
    gc.freeze()
    gc.set_threshold(50_000, 50, 50)


def _open(kind: Callable[[Settings], Engine], settings: Settings) -> Engine:
    engine = kind(settings)
    confine(writes=settings.writes)
    return engine


def _answer(engine: Engine, asked: Request) -> Reply:
    return _ANSWERS[type(asked)](engine, asked)


def _take_pipes() -> tuple[int, int]:
    """The two pipes for ourselves: whatever prints reaches standard error."""
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    sys.stdout = sys.stderr
    return source, target
