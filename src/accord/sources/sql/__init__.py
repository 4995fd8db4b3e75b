"""SQL databases as tools: SQLite, and PostgreSQL with `accord-mcp[sql]`.

In the server: tools, database, worker_pool, worker_process. In a worker process: worker_main, then
the engine in sqlite/ or postgres/, values. Both: messages.
"""

from accord.sources.sql.database import Database, Options
from accord.sources.sql.tools import sql_tools

__all__ = ["Database", "Options", "sql_tools"]
