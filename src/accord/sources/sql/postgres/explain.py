"""The plan of a query in PostgreSQL, from EXPLAIN (FORMAT JSON)."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import msgspec
import psycopg

from accord.sources.sql.messages import ExplainQuery, QueryPlan
from accord.sources.sql.postgres.query import (
    AllowList,
    Names,
    OnPlanned,
    declare,
    limit_time,
    number_params,
)

_EXPLAIN: Final = "EXPLAIN (FORMAT JSON) "
_ANALYZE: Final = "EXPLAIN (FORMAT JSON, ANALYZE, TIMING OFF) "
_MAX_DEPTH: Final = 100
_CONDITIONS: Final = (
    "Index Cond",
    "Hash Cond",
    "Merge Cond",
    "Join Filter",
    "Recheck Cond",
    "Filter",
    "Sort Key",
    "Group Key",
)


def explain(
    driver: "psycopg.Connection[Any]",
    request: ExplainQuery,
    allow_list: AllowList,
    names: Names,
    deadline: float,
) -> QueryPlan:
    """Return the plan of a SELECT that reads allowed tables only; with `analyze`, run it."""
    run = partial(_explain, driver, request, names, deadline)
    return allow_list.guard(driver, request.query, names, run)


def _explain(
    driver: "psycopg.Connection[Any]",
    request: ExplainQuery,
    names: Names,
    deadline: float,
    on_planned: OnPlanned = lambda _: None,
) -> QueryPlan:
    """Return a plan. That of a cursor comes first: it raises a Problem unless this is a SELECT."""
    query, values = number_params(request.query, request.params)
    declare(driver, query, values, names)
    on_planned(driver)
    limit_time(driver, deadline)
    prefix = _ANALYZE if request.analyze else _EXPLAIN
    found = psycopg.RawCursor(driver).execute(prefix + query, values).fetchone()
    assert found is not None
    json = bytes(found[0]) if isinstance(found[0], msgspec.Raw) else str(found[0]).encode()
    (plan,) = msgspec.json.decode(json)
    return QueryPlan(msgspec.json.encode({"plan": plan}), "\n".join(_lines(plan)))


def _lines(plan: dict[str, Any]) -> Iterator[str]:
    yield from _step(plan["Plan"], "")
    for name in ("Planning Time", "Execution Time"):
        if name in plan:
            yield f"{name}: {plan[name]} ms"


def _step(node: dict[str, Any], indent: str) -> Iterator[str]:
    """Yield a line for a step, one for each of its conditions, and those of the steps below."""
    relation = f" on {node['Relation Name']}" if "Relation Name" in node else ""
    index = f" using {node['Index Name']}" if "Index Name" in node else ""
    actual = f", actual rows {node['Actual Rows']}" if "Actual Rows" in node else ""
    cost = f"cost {node['Total Cost']}, rows {node['Plan Rows']}{actual}"
    yield f"{indent}- {node['Node Type']}{index}{relation} ({cost})"
    for name in _CONDITIONS:
        if name in node:
            value = node[name]
            shown = ", ".join(value) if isinstance(value, list) else value
            yield f"{indent}    {name}: {shown}"
    if len(indent) < 2 * _MAX_DEPTH:
        for each in node.get("Plans", ()):
            yield from _step(each, f"{indent}  ")
