"""The tables that a query may read, where not all of them may be.

PostgreSQL has no authorizer. But a transaction holds a lock on all that it has touched until it
ends: tables, views, catalogs, also what a function reads. So a second connection looks at the locks
of the first: once before any row is fetched, and once before the rows leave. What was not allowed
never does.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import psycopg
from sqlalchemy import Engine

from accord.model.answer import Problem
from accord.sources.sql.messages import Rows, Select, Settings
from accord.sources.sql.postgres import reading
from accord.sources.sql.refusals import closed

_TOUCHED: Final = """
SELECT DISTINCT c.relname, pg_catalog.pg_table_is_visible(c.oid)
FROM pg_catalog.pg_locks l
LEFT JOIN pg_catalog.pg_class long ON long.reltoastrelid = l.relation
JOIN pg_catalog.pg_class c ON c.oid = coalesce(long.oid, l.relation)
WHERE l.locktype = 'relation' AND l.pid = %s AND c.relkind NOT IN ('i', 'I')
"""
_OF_VALUES: Final = ("22", "23", "42", "P0", "XX")
"""The classes of errors whose words may have a value in them that the query has read."""


class Fence:
    """Lets queries through that keep to the tables that are allowed."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine = engine
        self._settings = settings
        self._allow = settings.allow

    def allows(self, table: str) -> bool:
        """Whether a table may be touched."""
        return self._allow is None or table in self._allow

    def read(
        self,
        driver: "psycopg.Connection[Any]",
        asked: Select,
        tables: Callable[[], list[str]],
        *,
        one_by_one: bool,
    ) -> Rows:
        """The rows of a query, if all that it touches may be."""
        read = partial(reading.read, driver, asked, self._settings, tables, one_by_one=one_by_one)
        if self._allow is None:
            return read()
        try:
            rows = read(is_planned=self._require_allowed)
        except psycopg.Error as error:
            if _shows_values(error):
                raise Problem.validation("The query fails on a value that it reads") from error
            raise
        self._require_allowed(driver)
        return rows

    def _require_allowed(self, driver: "psycopg.Connection[Any]") -> None:
        with self._engine.connect() as other:
            found = other.exec_driver_sql(_TOUCHED, (driver.info.backend_pid,)).all()
        for name, is_visible in found:
            if not is_visible or not self.allows(name):
                raise closed(name, self._allow)


def _shows_values(error: psycopg.Error) -> bool:
    """Whether it came from what was read, not from the query, in whose text it has a place."""
    is_of_text = error.diag.statement_position is not None and error.diag.context is None
    return (error.sqlstate or "")[:2] in _OF_VALUES and not is_of_text
