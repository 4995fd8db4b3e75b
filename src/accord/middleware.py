"""Middleware to use with `server.middleware`, and the types to write one."""

import logging as _logging
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from math import inf
from typing import Any, Final, Generic, TypeVar

import msgspec

from accord.errors import ContractError
from accord.model.answer import Answer, InputRequired, Problem
from accord.server.middleware import Call, Middleware, Next, limited

__all__ = ["Call", "Middleware", "Next", "cache", "logging", "rate_limit", "timeout"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_MAX_CALLERS: Final = 10_000
_encode = msgspec.json.Encoder(order="deterministic").encode


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
    """Return the caller's key: see `Caller`."""
    return call.context.caller.key


def rate_limit(
    calls: int,
    per: float = 1.0,
    *,
    key: Callable[[Call], Hashable] = caller_key,
    clock: Callable[[], float] = time.monotonic,
) -> Middleware:
    """Refuse calls above a rate: so many `calls` in `per` seconds for each caller.

    A caller that was quiet for `per` seconds may use all `calls` at once. With another `key`, calls
    with equal keys share a limit: `key=lambda call: call.name` limits each tool. It counts the
    calls of this process.
    """
    _require_positive("calls", calls)
    _require_positive("per", per)
    seconds = per / calls
    ready: _Recent[Hashable, float] = _Recent(_MAX_CALLERS)
    """The time at which all calls of a caller are available again."""

    async def limit(call: Call, following: Next) -> Answer[Any]:
        now, owner = clock(), key(call)
        due = max(now, ready.get(owner) or now) + seconds
        if due > now + per + seconds / 1e6:
            wait = due - now - per
            raise Problem.rate_limit(
                f"Too many calls: {calls} in {per:g} s are allowed",
                remediation=f"try again in {wait:.3g} s",
                retry_after=wait,
            )
        ready.set(owner, due)
        return await following(call)

    return limit


def timeout(seconds: float) -> Middleware:
    """End a call that takes longer, with a Problem; the `timeout` of a tool applies as well.

    The thread of a plain `def` cannot be ended: its result is dropped, and `ctx.cancelled` is true.
    """
    _require_positive("seconds", seconds)
    limit = limited(seconds)

    async def within(call: Call, following: Next) -> Answer[Any]:
        return await limit(call, following)

    return within


def cache(
    seconds: float,
    *,
    entries: int = 1_000,
    shared: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Middleware:
    """Keep the answers of tools that are `read_only=True`, for equal arguments.

    Each caller has answers of its own; with `shared`, all callers get the same ones. Failures are
    not kept. It holds at most so many `entries`, in this process.
    """
    _require_positive("seconds", seconds)
    _require_positive("entries", entries)
    kept: _Recent[tuple[str, bytes, str], tuple[float, Answer[Any]]] = _Recent(entries)

    async def remember(call: Call, following: Next) -> Answer[Any]:
        if call.tool is None or not call.tool.hints.read_only:
            return await following(call)
        key = (call.name, _encode(call.arguments), "" if shared else caller_key(call))
        found = kept.get(key)
        now = clock()
        if found is not None and now < found[0]:
            return found[1]
        kept.discard(key)
        answer = await following(call)
        kept.set(key, (now + seconds, answer))
        return answer

    return remember


def logging(
    logger: _logging.Logger | None = None,
    *,
    level: int = _logging.INFO,
    arguments: bool = False,
) -> Middleware:
    """Log each call with its caller, outcome and time; with `arguments` these as well."""
    log = _logging.getLogger("accord.calls") if logger is None else logger

    async def record(call: Call, following: Next) -> Answer[Any]:
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
            given = f" {_encode(call.arguments).decode()}" if arguments else ""
            text = "%s %s%s: %s in %.1f ms, caller %s"
            key = call.context.caller.key
            log.log(level, text, call.kind, call.name, given, outcome, took, key)

    return record


def _require_positive(name: str, value: float) -> None:
    if not 0 < value < inf:
        raise ContractError(f"{name} must be a number above 0, not {value!r}")
