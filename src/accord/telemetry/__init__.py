"""Telemetry of calls: counters, and with `accord-mcp[telemetry]` Prometheus metrics and spans.

Read `counts`, then `prometheus` and `spans`, which are not imported here: they need the extra.
"""

from accord.telemetry.counts import (
    DURATION_BOUNDS,
    OUTCOMES,
    CallTelemetry,
    CallTimer,
    OutcomeLabel,
    Telemetry,
    ToolStats,
    UpstreamStats,
    outcome_label,
    trace_members,
)

__all__ = [
    "DURATION_BOUNDS",
    "OutcomeLabel",
    "ToolStats",
    "OUTCOMES",
    "CallTelemetry",
    "Telemetry",
    "CallTimer",
    "outcome_label",
    "UpstreamStats",
    "trace_members",
]
