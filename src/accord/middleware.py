"""Middleware to use with `server.middleware`, and the types to write one."""

import logging as _logging
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import blake2b
from math import inf
from typing import Any, Final, Generic, TypeVar

from accord.errors import ContractError
from accord.model.answer import Answer, InputRequired, Problem
from accord.model.tool import Tool
from accord.server.middleware import Call, Middleware, Next, limited
from accord.server.rates import RateLimit

__all__ = ["Call", "Middleware", "Next", "cache", "logging", "rate_limit", "timeout"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_MAX_LOGGED: Final = 1_000  # characters of a name or of arguments


class _Recent(Generic[K, V]):
    """A mapping with a limit; the entry that was used least recently makes room."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        if key not in self._entries:
            return None
        self._entries.move_to_end(key)
        return self._entries[key]

    def set(self, key: K, value: V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._limit:
            self._entries.popitem(last=False)

    def discard(self, key: K) -> None:
        self._entries.pop(key, None)


def caller_key(call: Call) -> str:
    """Return a text that differs between callers: see `Context.caller_key`."""
    return call.context.caller_key


def rate_limit(
    calls: int,
    per: float = 1.0,
    *,
    key: Callable[[Call], Hashable] = caller_key,
    clock: Callable[[], float] = time.monotonic,
) -> Middleware:
    """Limit the rate of calls: at most `calls` in `per` seconds for each caller.

    A caller that was quiet for `per` seconds may use all `calls` at once. With another `key`, calls
    with equal keys share a limit: `key=lambda call: call.name` limits each tool. Processes with one
    store (`accord serve --store`, or `--workers`) keep the limit together.
    """
    _require_positive("calls", calls)
    _require_positive("per", per)
    _require_function("key", key)
    rate = RateLimit(calls, per, clock)

    async def limit(call: Call, following: Next) -> Answer[Any]:
        wait = rate.excess(key(call))
        if wait:
            raise Problem.rate_limit(
                f"Too many calls: {calls} in {per:g} s are allowed",
                remediation=f"try again in {wait:.3g} s",
                retry_after=wait,
            )
        return await following(call)

    limit.rate = rate  # type: ignore[attr-defined]  # for processes that share it
    return limit


def timeout(seconds: float) -> Middleware:
    """Limit the time of a call, which then fails with a Problem; a tool's `timeout` applies too.

    The thread of a plain `def` cannot be ended: its result is dropped, and `ctx.cancelled` is true.
    """
    _require_positive("seconds", seconds)
    return limited(seconds)


def cache(
    seconds: float,
    *,
    entries: int = 1_000,
    shared: bool = False,
    key: Callable[[Call], Hashable] = caller_key,
    clock: Callable[[], float] = time.monotonic,
) -> Middleware:
    """Cache the answers of tools that are `read_only=True`, by their arguments.

    Each caller has answers of its own; with `shared`, all callers get the same ones; with another
    `key`, calls with equal keys do. Failures are not kept, nor answers of calls that asked the
    client. It holds at most so many `entries`, in this process.
    """
    _require_positive("seconds", seconds)
    _require_positive("entries", entries)
    _require_function("key", key)
    kept: _Recent[Hashable, tuple[float, Tool, Answer[Any]]] = _Recent(entries)

    async def remember(call: Call, following: Next) -> Answer[Any]:
        tool = call.tool
        if tool is None or not tool.hints.read_only:
            return await following(call)
        owner = None if shared else key(call)
        digest = blake2b(call.canonical_arguments, digest_size=16).digest()  # they may be large
        place = (id(tool), digest, owner)  # servers may have tools of one name
        found = kept.get(place)
        now = clock()
        if found is not None and now < found[0]:
            return found[2]
        kept.discard(place)
        answer = await following(call)
        if not call.context.has_asked:
            kept.set(place, (now + seconds, tool, answer))
        return answer

    return remember


def logging(
    logger: _logging.Logger | None = None,
    *,
    level: int = _logging.INFO,
    arguments: bool = False,
) -> Middleware:
    """Log each call with its caller, outcome and time, and its arguments if `arguments` is true."""
    log = _logging.getLogger("accord.calls") if logger is None else logger

    async def record(call: Call, following: Next) -> Answer[Any]:
        if not log.isEnabledFor(level):
            return await following(call)
        name = _on_one_line(call.name)  # clients write URIs
        given = f" {_on_one_line(call.canonical_arguments.decode())}" if arguments else ""
        caller = call.context.caller_key
        begun = time.perf_counter()
        outcome = "cancelled"
        try:
            answer = await following(call)
            outcome = "ok"
            return answer
        except InputRequired:
            outcome = "input required"
            raise
        except Problem as problem:
            outcome = problem.kind
            raise
        except Exception as error:
            outcome = type(error).__name__
            raise
        finally:
            took = (time.perf_counter() - begun) * 1000
            text = "%s %s%s: %s in %.1f ms, caller %s"
            log.log(level, text, call.kind, name, given, outcome, took, caller)

    return record


def _on_one_line(text: str) -> str:
    """Return text for a line of the log: escaped unless printable, and cut."""
    shown = text if text.isprintable() else ascii(text)
    return shown if len(shown) <= _MAX_LOGGED else f"{shown[:_MAX_LOGGED]}…"


def _require_positive(name: str, value: object) -> None:
    if not isinstance(value, int | float) or not 0 < value < inf:
        raise ContractError(f"{name} must be a number above 0, not {value!r}")


def _require_function(name: str, value: object) -> None:
    if not callable(value):
        raise ContractError(f"{name} must be a function of the call, not {value!r}")
