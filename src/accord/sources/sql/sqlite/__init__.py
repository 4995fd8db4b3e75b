"""The SQLite engine, with apsw.

Read engine.py first; hardening keeps it safe, statements holds its SQL, errors maps exceptions to
Problems.
"""

from accord.sources.sql.sqlite.engine import SqliteEngine

__all__ = ["SqliteEngine"]
