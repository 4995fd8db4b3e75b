"""The PostgreSQL engine, with SQLAlchemy and psycopg: the extra `sql`.

Read engine.py first; query runs a SELECT of allowed tables, schema and values map what PostgreSQL
has to JSON.
"""

from accord.sources.sql.postgres.engine import PostgresEngine

__all__ = ["PostgresEngine"]
