"""SQLite, by apsw."""

from accord.sources.sql.sqlite.connection import SqliteEngine

__all__ = ["SqliteEngine"]
