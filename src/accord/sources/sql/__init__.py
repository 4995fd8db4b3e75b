"""SQL databases as tools: SQLite, and PostgreSQL with `accord-mcp[sql]`.

In the server: tools, exploring, schema_search, database, worker_pool, worker_process. In a worker
process: worker_main, then the engine in sqlite/ or postgres/, catalog, search, values, row_format.
Both: messages. Saved queries as tools: saved_queries, query_files, query_definition.
"""

from accord.sources.sql.database import Database, Options
from accord.sources.sql.exploring import sql_tools
from accord.sources.sql.schema_search import schema_features

__all__ = ["Database", "Options", "schema_features", "sql_tools"]
