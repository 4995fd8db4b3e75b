"""Plans a query without running it: finds its columns, their types, and the line of an error.

The query becomes that of a cursor from which nothing is fetched. Its parameters are null.
"""

from functools import partial
from typing import Any, Final

import psycopg

from accord.sources.sql.messages import CheckedQuery, CheckQuery
from accord.sources.sql.postgres.query import (
    DECLARE,
    AllowList,
    Names,
    OnPlanned,
    declare,
    number_names,
)
from accord.sources.sql.values import RowEncoder

_JSON_TYPES: Final = (
    dict.fromkeys((20, 21, 23, 26), "integer")
    | dict.fromkeys((16,), "boolean")
    | dict.fromkeys((18, 19, 25, 1042, 1043, 1082, 1083, 1114, 1184, 1186, 1266, 2950), "string")
)
"""JSON types of built-in types; numbers may be NaN, and JSON may be anything."""


def check(
    driver: "psycopg.Connection[Any]", request: CheckQuery, allow_list: AllowList, names: Names
) -> CheckedQuery:
    """Return the columns of a SELECT that reads allowed tables only."""
    query, params = number_names(request.query, request.params)
    find = partial(_columns, driver, query, [None] * len(params), names)
    return allow_list.guard(driver, request.query, names, find)


def _columns(
    driver: "psycopg.Connection[Any]",
    query: str,
    values: list[Any],
    names: Names,
    on_planned: OnPlanned = lambda _: None,
) -> CheckedQuery:
    columns = declare(driver, query, values, names).description or ()
    on_planned(driver)
    types = [_JSON_TYPES.get(column.type_code) for column in columns]
    return CheckedQuery(list(RowEncoder(tuple(each.name for each in columns)).names), types)


def line_of(error: BaseException, request: CheckQuery) -> int | None:
    """Return the line of a query that PostgreSQL's error is in; a number for a name keeps it."""
    if not isinstance(error, psycopg.Error) or error.diag.statement_position is None:
        return None
    query, _ = number_names(request.query, request.params)
    position = int(error.diag.statement_position) - 1 - len(DECLARE)
    return None if position < 0 else query[:position].count("\n") + 1
