"""The counters in the Prometheus format, for `/metrics`."""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from types import MappingProxyType
from typing import Final

from accord.errors import ContractError
from accord.telemetry.counts import DURATION_BOUNDS, ToolStats, UpstreamStats

try:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
        Metric,
    )
    from prometheus_client.exposition import choose_encoder
    from prometheus_client.registry import Collector
except ImportError as _error:
    from accord.extras import missing

    raise ContractError(missing("Prometheus metrics", "telemetry")) from _error

_OPENMETRICS: Final = "application/openmetrics-text"
_BUCKETS: Final = (*map(str, DURATION_BOUNDS), "+Inf")


def exposition(
    stats: Mapping[str, ToolStats],
    accept: str | None = None,
    upstreams: Mapping[str, UpstreamStats] = MappingProxyType({}),
) -> tuple[bytes, str]:
    """Return the metrics and their content type: OpenMetrics if accepted, else plain text."""
    registry = CollectorRegistry()
    registry.register(_Snapshot(stats, upstreams))
    encode, content_type = choose_encoder(_encoder_accept(accept or ""))
    return encode(registry), content_type


def _encoder_accept(accept: str) -> str:
    """Return the Accept value for the encoder, without a version that the client chose."""
    types = (choice.partition(";")[0].strip().lower() for choice in accept.split(","))
    return f"{_OPENMETRICS}; version=1.0.0" if _OPENMETRICS in types else ""


class _Snapshot(Collector):
    """Collects the counters as metrics, labelled by tool."""

    def __init__(
        self, stats: Mapping[str, ToolStats], upstreams: Mapping[str, UpstreamStats]
    ) -> None:
        self._figures = stats
        self._upstreams = upstreams

    def collect(self) -> Iterator[Metric]:
        yield self._calls()
        yield self._durations()
        yield self._sent_bytes()
        if self._upstreams:
            yield from self._of_upstreams()

    def _of_upstreams(self) -> Iterator[Metric]:
        up = GaugeMetricFamily(
            "accord_upstream_up", "1 if a foreign server is available.", labels=["upstream"]
        )
        calls = CounterMetricFamily(
            "accord_upstream_calls", "Requests to a foreign server.", labels=["upstream"]
        )
        repairs = CounterMetricFamily(
            "accord_upstream_repairs",
            "Replies of a tool that were changed.",
            labels=["upstream", "tool"],
        )
        for name, stats in self._upstreams.items():
            up.add_metric([name], int(stats.is_up))
            calls.add_metric([name], stats.calls)
            for tool, count in stats.repairs.items():
                repairs.add_metric([name, tool], count)
        yield from (up, calls, repairs)

    def _calls(self) -> Metric:
        calls = CounterMetricFamily(
            "accord_calls", "Calls that ended, by outcome.", labels=["tool", "outcome"]
        )
        for tool, stats in self._figures.items():
            for outcome, count in stats.outcomes.items():
                calls.add_metric([tool, outcome], count)
        return calls

    def _durations(self) -> Metric:
        durations = HistogramMetricFamily(
            "accord_call_duration_seconds", "Duration of calls.", labels=["tool"], unit="seconds"
        )
        for tool, stats in self._figures.items():
            up_to = accumulate(stats.durations)
            durations.add_metric([tool], list(zip(_BUCKETS, up_to, strict=True)), stats.seconds)
        return durations

    def _sent_bytes(self) -> Metric:
        sent = CounterMetricFamily(
            "accord_sent_bytes", "Bytes of results sent.", labels=["tool"], unit="bytes"
        )
        for tool, stats in self._figures.items():
            sent.add_metric([tool], stats.sent_bytes)
        return sent
