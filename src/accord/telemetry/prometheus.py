"""The figures as Prometheus reads them, for `/metrics`."""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Final

from accord.errors import ContractError
from accord.telemetry.counts import BOUNDS, Figures, Telemetry

try:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
    from prometheus_client.exposition import choose_encoder
    from prometheus_client.registry import Collector
except ImportError as error:
    raise ContractError("Metrics need an extra: pip install 'accord-mcp[telemetry]'") from error

_OPENMETRICS: Final = "application/openmetrics-text"
_BOUNDS: Final = (*map(str, BOUNDS), "+Inf")


def exposition(telemetry: Telemetry, accept: str | None = None) -> tuple[bytes, str]:
    """The figures and their content type: OpenMetrics for those who accept it, else plain text."""
    registry = CollectorRegistry()
    registry.register(_Snapshot(telemetry.snapshot()))
    encode, content_type = choose_encoder(_asked(accept or ""))
    return encode(registry), content_type


def _asked(accept: str) -> str:
    """What to ask for: of a peer's own words a version would be repeated, or raise."""
    types = (choice.partition(";")[0].strip().lower() for choice in accept.split(","))
    return f"{_OPENMETRICS}; version=1.0.0" if _OPENMETRICS in types else ""


class _Snapshot(Collector):
    """Figures as metrics, each with the name of the tool as its label."""

    def __init__(self, figures: Mapping[str, Figures]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        yield self._calls()
        yield self._durations()
        yield self._sent_bytes()

    def _calls(self) -> Metric:
        calls = CounterMetricFamily(
            "accord_calls", "Calls that ended, by outcome.", labels=["tool", "outcome"]
        )
        for tool, figures in self._figures.items():
            for outcome, count in figures.outcomes.items():
                calls.add_metric([tool, outcome], count)
        return calls

    def _durations(self) -> Metric:
        durations = HistogramMetricFamily(
            "accord_call_duration_seconds", "How long calls took.", labels=["tool"], unit="seconds"
        )
        for tool, figures in self._figures.items():
            up_to = accumulate(figures.durations)
            durations.add_metric([tool], list(zip(_BOUNDS, up_to, strict=True)), figures.seconds)
        return durations

    def _sent_bytes(self) -> Metric:
        sent = CounterMetricFamily(
            "accord_sent_bytes", "Bytes of results sent.", labels=["tool"], unit="bytes"
        )
        for tool, figures in self._figures.items():
            sent.add_metric([tool], figures.sent_bytes)
        return sent
