"""PostgreSQL, by SQLAlchemy and psycopg: the extra `sql`."""

from accord.sources.sql.postgres.connection import PostgresEngine

__all__ = ["PostgresEngine"]
