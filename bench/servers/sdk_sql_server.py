"""`run_query` with the official SDK and the standard library's sqlite3."""

import json
import sqlite3
import sys

from mcp.server import MCPServer

server = MCPServer("bench", version="1.0", log_level="WARNING")
database = f"file:{sys.argv[1]}?mode=ro"


@server.tool(structured_output=False)
def run_query(query: str) -> str:
    """Run a SELECT query and return results as JSON."""
    with sqlite3.connect(database, uri=True) as connection:
        connection.row_factory = sqlite3.Row
        rows = [dict(row) for row in connection.execute(query)]
    connection.close()
    return f"Query executed successfully. Found {len(rows)} rows:\n{json.dumps(rows, indent=2)}"


if __name__ == "__main__":
    server.run()
