"""How calls go, in figures: counters for all, `/metrics` and spans with `accord-mcp[telemetry]`.

`prometheus` and `spans` are not imported here: they need the extra, the counters don't.
"""

from accord.telemetry.counts import (
    BOUNDS,
    OUTCOMES,
    Ending,
    Figures,
    Observed,
    Telemetry,
    Watch,
    outcome_of,
)

__all__ = [
    "BOUNDS",
    "Ending",
    "Figures",
    "OUTCOMES",
    "Observed",
    "Telemetry",
    "Watch",
    "outcome_of",
]
