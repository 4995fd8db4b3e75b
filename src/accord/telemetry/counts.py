"""Counters for each tool: how its calls ended, how long they took, how many bytes they sent.

Tools are counted by the names a server gave them, never by what a peer sent, and an outcome is one
of a fixed list: what is kept here is bounded by the server's own toolbox.
"""

import logging
import os
from bisect import bisect_left
from collections.abc import Mapping
from threading import Lock
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from accord.errors import Reject
from accord.model.answer import KINDS, Answer, InputRequired, Kind, Problem, Value

if TYPE_CHECKING:
    from accord.telemetry.spans import OpenSpan, Spans

log = logging.getLogger("accord")

Ending = Literal["success", "empty", "partial", "asking", "rejected", "cancelled"] | Kind
"""How a call ended, in a word. A failure is a kind of problem, and nothing else."""

OUTCOMES: Final[tuple[Ending, ...]] = (
    *("success", "empty", "partial"),
    *KINDS,
    *("asking", "rejected", "cancelled"),
)

# Those that OpenTelemetry recommends for MCP, and three more below: tools may take less than 10 ms.
BOUNDS: Final = (
    *(0.001, 0.002, 0.005),
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0),
)
"""Upper bounds of the durations that are counted together, in seconds."""

_NOTHING: Final = frozenset({b"null", b"[]", b"{}", b'""'})


def outcome_of(outcome: Answer[Value] | Problem | Reject | InputRequired) -> Ending:
    """How a call ended. An answer is empty if there is neither data nor a block in it."""
    if isinstance(outcome, Answer):
        if outcome.partial:
            return "partial"
        return "empty" if _says_nothing(outcome.data) and not outcome.blocks else "success"
    if isinstance(outcome, Problem):
        return outcome.kind
    return "asking" if isinstance(outcome, InputRequired) else "rejected"


def _says_nothing(data: Value) -> bool:
    return not data if isinstance(data, str) else data.json in _NOTHING


class Observed(msgspec.Struct, frozen=True):
    """What an answer can say of the call that it answers."""

    request_id: str
    telemetry: dict[str, Any]


class Figures(msgspec.Struct, frozen=True):
    """What one tool has done up to now."""

    outcomes: Mapping[Ending, int]
    """How many calls ended in each way; every one of OUTCOMES is there."""
    durations: tuple[int, ...]
    """How many calls took up to each of BOUNDS and longer than the one before; then the rest."""
    seconds: float
    sent_bytes: int

    @property
    def calls(self) -> int:
        """How many calls have ended."""
        return sum(self.outcomes.values())

    @property
    def failures(self) -> int:
        """How many of them ended in a problem."""
        return sum(self.outcomes[kind] for kind in KINDS)


class _Tally:
    """The figures of one tool, as they grow; `lock` is held by whoever changes or copies them."""

    __slots__ = ("calls", "durations", "failures", "lock", "outcomes", "seconds", "sent_bytes")

    def __init__(self) -> None:
        self.lock = Lock()
        # Zeros too: a rate over a series that begins with its first failure would not show it.
        self.outcomes: dict[Ending, int] = dict.fromkeys(OUTCOMES, 0)
        self.durations = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0
        self.sent_bytes = 0
        self.calls = 0
        self.failures = 0

    def add(self, ending: Ending, seconds: float, size: int) -> None:
        self.outcomes[ending] += 1
        self.durations[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds
        self.sent_bytes += size
        self.calls += 1
        if ending in KINDS:
            self.failures += 1

    def figures(self) -> Figures:
        with self.lock:
            return Figures(
                MappingProxyType(self.outcomes.copy()),
                tuple(self.durations),
                self.seconds,
                self.sent_bytes,
            )


class Watch(msgspec.Struct, eq=False):
    """One call, from its beginning to its end. One that never ends counts nothing."""

    request_id: str
    _tally: _Tally
    _began: float
    _span: "OpenSpan | None" = None
    _ended: bool = False

    def observed(self, ending: Ending | None = None) -> Observed:
        """What to say of this call in its answer; with its ending, a failure counts itself."""
        tally = self._tally
        telemetry = {
            "duration_ms": round((perf_counter() - self._began) * 1_000, 3),
            "calls": tally.calls + 1,
            "failures": tally.failures + (ending in KINDS),
        }
        return Observed(self.request_id, telemetry)

    def end(self, ending: Ending, size: int) -> None:
        """Count the call, with the bytes of its result, and end its span. Only once."""
        seconds = perf_counter() - self._began
        tally = self._tally
        with tally.lock:
            if self._ended:
                return
            self._ended = True
            tally.add(ending, seconds, size)
        if self._span is None:
            return
        try:
            self._span.end(ending)
        except Exception:
            log.warning("a span could not be ended", exc_info=True)


class Telemetry:
    """Figures for each tool of a server, from whatever thread its calls end in.

    With `spans` each call is an OpenTelemetry span as well; that needs `accord-mcp[telemetry]`.
    """

    def __init__(self, *, spans: bool = False) -> None:
        self._tallies: dict[str, _Tally] = {}
        self._spans = _spans() if spans else None

    def begin(self, tool: str, protocol: str | None = None, meta: bytes = b"") -> Watch:
        """Watch a call from now on.

        `tool` is a name of the server's own. The span is given the MCP revision and continues the
        trace that `meta` may speak of, the `_meta` of the request as it came.
        """
        tally = self._tallies.get(tool)
        if tally is None:
            tally = self._tallies.setdefault(tool, _Tally())
        request_id = f"req_{os.urandom(8).hex()}"
        if self._spans is None:
            return Watch(request_id, tally, perf_counter())
        try:
            span = self._spans.begin(tool, request_id, protocol, meta)
        except Exception:
            log.warning("a span could not be begun", exc_info=True)
            span = None
        return Watch(request_id, tally, perf_counter(), span)

    def snapshot(self) -> Mapping[str, Figures]:
        """The figures of every tool that was called, by its name."""
        tallies = self._tallies.copy()
        return MappingProxyType({tool: tally.figures() for tool, tally in tallies.items()})


def _spans() -> "Spans":
    from accord.telemetry.spans import Spans

    return Spans()
