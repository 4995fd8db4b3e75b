"""Counters per tool: outcomes, durations and bytes sent.

Labels are the names of registered tools, never those that a client sent, and outcomes of a fixed
list, so memory is bounded by the number of tools.
"""

import logging
import os
from bisect import bisect_left
from collections.abc import Callable, Mapping
from threading import Lock
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from accord.errors import Reject
from accord.model.answer import KINDS, Answer, InputRequired, Kind, Problem, Value

if TYPE_CHECKING:
    from accord.telemetry.spans import OpenSpan, Spans

log: logging.Logger = logging.getLogger("accord")

OutcomeLabel = Literal["success", "empty", "partial", "asking", "rejected", "cancelled"] | Kind
"""The label of a call's outcome. A failure is labelled by the kind of its problem."""

OUTCOMES: Final[tuple[OutcomeLabel, ...]] = (
    *("success", "empty", "partial"),
    *KINDS,
    *("asking", "rejected", "cancelled"),
)

# OpenTelemetry's recommendation for MCP, and three more below: tools may take less than 10 ms.
DURATION_BOUNDS: Final = (
    *(0.001, 0.002, 0.005),
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0),
)
"""Upper bounds of the duration buckets, in seconds."""

_EMPTY_JSON: Final = frozenset({b"null", b"[]", b"{}", b'""'})


def outcome_label(outcome: Answer[Value] | Problem | Reject | InputRequired) -> OutcomeLabel:
    """Return the label of an outcome. An answer is empty if it has neither data nor blocks."""
    if isinstance(outcome, Answer):
        if outcome.partial:
            return "partial"
        return "empty" if _is_empty(outcome.data) and not outcome.blocks else "success"
    if isinstance(outcome, Problem):
        return outcome.kind
    return "asking" if isinstance(outcome, InputRequired) else "rejected"


def _is_empty(data: Value) -> bool:
    return not data if isinstance(data, str) else data.json in _EMPTY_JSON


class CallTelemetry(msgspec.Struct, frozen=True):
    """The request id and telemetry of a call, for the `meta` of an envelope."""

    request_id: str
    telemetry: dict[str, Any]


class ToolStats(msgspec.Struct, frozen=True):
    """The counters of one tool."""

    outcomes: Mapping[OutcomeLabel, int]
    """Number of calls per outcome; has every one of OUTCOMES."""
    durations: tuple[int, ...]
    """Number of calls per bucket of DURATION_BOUNDS; the last is for longer ones."""
    seconds: float
    sent_bytes: int

    @property
    def calls(self) -> int:
        """Number of calls that have ended."""
        return sum(self.outcomes.values())

    def __add__(self, other: "ToolStats") -> "ToolStats":
        """Return the counters of both, of one tool in two processes."""
        return ToolStats(
            {label: count + other.outcomes[label] for label, count in self.outcomes.items()},
            tuple(map(sum, zip(self.durations, other.durations, strict=True))),
            self.seconds + other.seconds,
            self.sent_bytes + other.sent_bytes,
        )

    @property
    def failures(self) -> int:
        """Number of calls that ended in a problem."""
        return sum(self.outcomes[kind] for kind in KINDS)


class UpstreamStats(msgspec.Struct, frozen=True):
    """The counters of one foreign server."""

    is_up: bool
    calls: int = 0
    repairs: Mapping[str, int] = {}
    """Number of replies that were changed, by tool."""

    def __add__(self, other: "UpstreamStats") -> "UpstreamStats":
        """Return the counters of both, of one server in two processes."""
        tools = {*self.repairs, *other.repairs}
        repairs = {tool: self.repairs.get(tool, 0) + other.repairs.get(tool, 0) for tool in tools}
        return UpstreamStats(self.is_up and other.is_up, self.calls + other.calls, repairs)


class _ToolCounter:
    """The mutable counters of one tool; hold `lock` to change or copy them."""

    __slots__ = ("calls", "durations", "failures", "lock", "outcomes", "seconds", "sent_bytes")

    def __init__(self) -> None:
        self.lock = Lock()
        # Zeros too: the rate of a series that starts with its first failure would not show it.
        self.outcomes: dict[OutcomeLabel, int] = dict.fromkeys(OUTCOMES, 0)
        self.durations = [0] * (len(DURATION_BOUNDS) + 1)
        self.seconds = 0.0
        self.sent_bytes = 0
        self.calls = 0
        self.failures = 0

    def add(self, ending: OutcomeLabel, seconds: float, size: int) -> None:
        self.outcomes[ending] += 1
        self.durations[bisect_left(DURATION_BOUNDS, seconds)] += 1
        self.seconds += seconds
        self.sent_bytes += size
        self.calls += 1
        if ending in KINDS:
            self.failures += 1

    def stats(self) -> ToolStats:
        with self.lock:
            return ToolStats(
                MappingProxyType(self.outcomes.copy()),
                tuple(self.durations),
                self.seconds,
                self.sent_bytes,
            )


class CallTimer(msgspec.Struct, eq=False):
    """Measures one call. A call that never ends is not counted."""

    request_id: str
    _counter: _ToolCounter
    _began: float
    _span: "OpenSpan | None" = None
    _ended: bool = False

    def observed(self, ending: OutcomeLabel | None = None) -> CallTelemetry:
        """Return the telemetry for the answer of this call; `ending` includes the call itself."""
        counter = self._counter
        telemetry = {
            "duration_ms": round((perf_counter() - self._began) * 1_000, 3),
            "calls": counter.calls + 1,
            "failures": counter.failures + (ending in KINDS),
        }
        return CallTelemetry(self.request_id, telemetry)

    def end(self, ending: OutcomeLabel, size: int) -> None:
        """Count the call with the bytes of its result, and end its span; only the first time."""
        seconds = perf_counter() - self._began
        counter = self._counter
        with counter.lock:
            if self._ended:
                return
            self._ended = True
            counter.add(ending, seconds, size)
        if self._span is None:
            return
        try:
            self._span.end(ending)
        except Exception:
            log.warning("could not end a span", exc_info=True)


class Telemetry:
    """Counters for each tool of a server; thread-safe.

    With `spans` each call is an OpenTelemetry span as well; that needs `accord-mcp[telemetry]`.
    """

    def __init__(self, *, spans: bool = False) -> None:
        self._counters: dict[str, _ToolCounter] = {}
        self._spans = _spans() if spans else None

    def begin(self, tool: str, protocol: str | None = None, meta: bytes = b"") -> CallTimer:
        """Start to measure a call.

        `tool` is the name of a registered tool. The span has the MCP revision, and continues the
        trace in `meta`, the `_meta` of the request as received.
        """
        counter = self._counters.get(tool)
        if counter is None:
            counter = self._counters.setdefault(tool, _ToolCounter())
        request_id = f"req_{os.urandom(8).hex()}"
        if self._spans is None:
            return CallTimer(request_id, counter, perf_counter())
        try:
            span = self._spans.begin(tool, request_id, protocol, meta)
        except Exception:
            log.warning("could not start a span", exc_info=True)
            span = None
        return CallTimer(request_id, counter, perf_counter(), span)

    def snapshot(self) -> Mapping[str, ToolStats]:
        """Return the counters of every tool that was called, by name."""
        counters = self._counters.copy()
        return MappingProxyType({tool: counter.stats() for tool, counter in counters.items()})


def _spans() -> "Spans":
    from accord.telemetry.spans import Spans, members

    _trace[:] = [members]
    return Spans()


_trace: list[Callable[[], dict[str, str]]] = []
"""What returns the members of the current trace, once there are spans."""


def trace_members() -> dict[str, str]:
    """Return the members of `_meta` by which another server continues the trace of this call."""
    return _trace[0]() if _trace else {}
