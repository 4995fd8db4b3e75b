"""Restricts queries to the tables that `--allow` names.

PostgreSQL has no authorizer. But a transaction holds a lock on all that it has touched until it
ends: tables, views, catalogs, also what a function reads. So a second connection checks the locks
of the first: before any row is fetched, and before the rows are returned.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import psycopg
from sqlalchemy import Engine

from accord.model.answer import Problem
from accord.sources.sql.messages import Rows, SelectRows, WorkerSettings
from accord.sources.sql.postgres import query
from accord.sources.sql.problems import forbidden_table

_LOCKED_TABLES: Final = """
SELECT DISTINCT c.relname, pg_catalog.pg_table_is_visible(c.oid)
FROM pg_catalog.pg_locks l
LEFT JOIN pg_catalog.pg_class long ON long.reltoastrelid = l.relation
JOIN pg_catalog.pg_class c ON c.oid = coalesce(long.oid, l.relation)
WHERE l.locktype = 'relation' AND l.pid = %s AND c.relkind NOT IN ('i', 'I')
"""
_REVEALING_CLASSES: Final = ("22", "23", "42", "P0", "XX")
"""Classes of errors whose message may have a value in it that the query has read."""


class AllowList:
    """Runs queries that read allowed tables only; None allows all."""

    def __init__(self, engine: Engine, settings: WorkerSettings) -> None:
        self._engine = engine
        self._settings = settings
        self._allow = settings.allow

    def allows(self, table: str) -> bool:
        """True if a table may be read or changed."""
        return self._allow is None or table in self._allow

    def run(
        self,
        driver: "psycopg.Connection[Any]",
        request: SelectRows,
        tables: Callable[[], list[str]],
        *,
        one_by_one: bool,
    ) -> Rows:
        """Return the rows of a query, or raise a Problem if it reads another table."""
        run = partial(query.run, driver, request, self._settings, tables, one_by_one=one_by_one)
        if self._allow is None:
            return run()
        try:
            rows = run(on_planned=self._require_allowed)
        except psycopg.Error as error:
            if _may_reveal_values(error):
                raise Problem.validation("The query fails on a value that it reads") from error
            raise
        self._require_allowed(driver)
        return rows

    def _require_allowed(self, driver: "psycopg.Connection[Any]") -> None:
        with self._engine.connect() as other:
            found = other.exec_driver_sql(_LOCKED_TABLES, (driver.info.backend_pid,)).all()
        for name, is_visible in found:
            if not is_visible or not self.allows(name):
                raise forbidden_table(name, self._allow)


def _may_reveal_values(error: psycopg.Error) -> bool:
    """True if an error comes from the data; one of the query has a position in its text."""
    is_syntax = error.diag.statement_position is not None and error.diag.context is None
    return (error.sqlstate or "")[:2] in _REVEALING_CLASSES and not is_syntax
