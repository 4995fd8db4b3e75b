"""The plan of a query in SQLite, from the rows of EXPLAIN QUERY PLAN."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from accord.sources.sql.messages import QueryPlan

MAX_STEPS: Final = 1_000
"""Maximum number of steps of a plan."""


class _Row(msgspec.Struct, frozen=True):
    id: int
    parent: int
    detail: str


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step of a plan, with those that it consists of."""

    detail: str
    steps: "list[Step]" = []


def plan_of(rows: bytes) -> QueryPlan:
    """Return the plan in the JSON of the rows."""
    found = msgspec.json.decode(rows, type=list[_Row])
    steps: dict[int, Step] = {0: Step("", [])}
    for row in found:
        steps[row.id] = Step(row.detail, [])
        steps.get(row.parent, steps[0]).steps.append(steps[row.id])
    plan: Any = {"plan": steps[0].steps}
    return QueryPlan(msgspec.json.encode(plan), "\n".join(_lines(steps[0].steps, "")))


def _lines(steps: list[Step], indent: str) -> Iterator[str]:
    for step in steps:
        yield f"{indent}- {step.detail}"
        yield from _lines(step.steps, f"{indent}  ")
