"""Statistics of calls since the start, for the page's counters and its chart."""

from collections import deque
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any, Final

from accord.serve.http.access import Noted

_SUCCESSES: Final = frozenset({"success", "empty", "partial", "asking", "cancelled"})
_SPAN: Final = 5  # seconds per bar of the chart
_SPANS: Final = 60
_MAX_TOOLS: Final = 1_000  # a remote server chooses the names


class _Figures:
    __slots__ = ("calls", "failures", "longest", "seconds")

    def __init__(self) -> None:
        self.calls = self.failures = 0
        self.seconds = self.longest = 0.0


class CallStats:
    """Counts calls by tool and by time."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._tools: dict[str, _Figures] = {}
        self._recent: deque[tuple[int, int, int]] = deque(maxlen=_SPANS)
        """Number of the time span, its calls and its failures."""

    def add(self, noted: Iterable[Noted]) -> None:
        """Count calls that have just ended."""
        calls = failures = 0
        for tool, ending, seconds, _ in noted:
            failed = ending not in _SUCCESSES
            calls += 1
            failures += failed
            figures = self._tools.get(tool)
            if figures is None:
                if len(self._tools) >= _MAX_TOOLS:
                    continue
                figures = self._tools[tool] = _Figures()
            figures.calls += 1
            figures.failures += failed
            figures.seconds += seconds
            figures.longest = max(figures.longest, seconds)
        self._count(calls, failures)

    def _count(self, calls: int, failures: int) -> None:
        now = self._span()
        if self._recent and self._recent[-1][0] == now:
            _, before, failed = self._recent.pop()
            calls, failures = calls + before, failures + failed
        self._recent.append((now, calls, failures))

    def _span(self) -> int:
        return int((self._clock() - self._began) / _SPAN)

    def report(self) -> dict[str, Any]:
        """Return the statistics as the page's API has them."""
        now = self._span()
        tools = [
            {
                "tool": tool,
                "calls": figures.calls,
                "failures": figures.failures,
                "meanMs": round(figures.seconds / figures.calls * 1_000, 3),
                "longestMs": round(figures.longest * 1_000, 3),
            }
            for tool, figures in self._tools.items()
        ]
        recent = [
            {"ago": (now - span) * _SPAN, "calls": calls, "failures": failures}
            for span, calls, failures in self._recent
            if now - span < _SPANS
        ]
        return {"tools": tools, "recent": recent, "span": _SPAN, "spans": _SPANS}


def merged(reports: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the statistics of several processes as one report."""
    tools: dict[str, dict[str, Any]] = {}
    recent: dict[int, dict[str, Any]] = {}
    for report in reports:
        for one in report["tools"]:
            known = tools.setdefault(one["tool"], {**one, "calls": 0, "failures": 0, "meanMs": 0.0})
            calls = known["calls"] + one["calls"]
            total = known["meanMs"] * known["calls"] + one["meanMs"] * one["calls"]
            known["meanMs"] = round(total / calls, 3)
            known["calls"] = calls
            known["failures"] += one["failures"]
            known["longestMs"] = max(known["longestMs"], one["longestMs"])
        for span in report["recent"]:
            found = recent.setdefault(span["ago"], {**span, "calls": 0, "failures": 0})
            found["calls"] += span["calls"]
            found["failures"] += span["failures"]
    spans = [recent[ago] for ago in sorted(recent, reverse=True)]
    return {"tools": [*tools.values()], "recent": spans, "span": _SPAN, "spans": _SPANS}
