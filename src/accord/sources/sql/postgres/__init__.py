"""The PostgreSQL engine, with SQLAlchemy and psycopg: the extra `sql`.

Read engine.py first; query runs a SELECT, allow_list restricts its tables, schema and values map
what PostgreSQL has to JSON, errors maps exceptions to Problems.
"""

from accord.sources.sql.postgres.engine import PostgresEngine

__all__ = ["PostgresEngine"]
