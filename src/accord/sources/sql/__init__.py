"""SQL databases as tools: SQLite, and PostgreSQL with `accord-mcp[sql]`."""

from accord.sources.sql.database import Database, Options
from accord.sources.sql.tools import sql_tools

__all__ = ["Database", "Options", "sql_tools"]
