"""The tables that a query may read, where not all of them may be.

PostgreSQL has no authorizer. But a transaction holds a lock on all that it has touched until it
ends: tables, views, catalogs, also what a function reads. So a second connection looks at the locks
of the first: once before any row is fetched, and once before the rows leave. What was not allowed
never does.
"""

from collections.abc import Callable
from typing import Any, Final

import psycopg
from sqlalchemy import Connection, Engine

from accord.answer import FieldError, Problem
from accord.sources.sql.messages import Rows, Select, Settings
from accord.sources.sql.names import listed, quoted
from accord.sources.sql.postgres import reading

_TOUCHED: Final = """
SELECT DISTINCT c.relname, n.nspname, pg_catalog.pg_table_is_visible(c.oid)
FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_class c ON c.oid = l.relation
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE l.locktype = 'relation' AND l.pid = %s AND c.relkind NOT IN ('i', 'I', 't')
AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
"""


class Fence:
    """Lets queries through that keep to the tables that are allowed."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine = engine
        self._settings = settings
        self._allow = settings.allow

    def allows(self, table: str) -> bool:
        """Whether a table may be touched."""
        return self._allow is None or table in self._allow

    def read(self, connection: Connection, asked: Select, tables: Callable[[], list[str]]) -> Rows:
        """The rows of a query, if all that it touches may be."""
        driver: psycopg.Connection[Any] = connection.connection.driver_connection  # type: ignore[assignment]
        if self._allow is None:
            return reading.read(driver, asked, self._settings, tables)
        try:
            rows = reading.read(driver, asked, self._settings, tables, self._require_allowed)
        except psycopg.DataError as error:  # it would show what is in a table
            raise Problem.validation("The query fails on a value that it reads") from error
        self._require_allowed(driver)
        return rows

    def _require_allowed(self, driver: "psycopg.Connection[Any]") -> None:
        with self._engine.connect() as other:
            found = other.exec_driver_sql(_TOUCHED, (driver.info.backend_pid,)).all()
        for name, _, is_visible in found:
            if not is_visible or not self.allows(name):
                assert self._allow is not None
                only = listed(sorted(self._allow))
                fault = f"{quoted(name)} may not be read; only {only} may be read"
                raise Problem.authorization(fault, fields=[FieldError("query", fault)])
