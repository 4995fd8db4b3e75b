"""What the role of a connection may do that no read-only transaction holds back."""

import logging
from typing import Any, Final

import psycopg

log = logging.getLogger("accord")

_POWERS: Final = """
SELECT current_user, ARRAY(
  SELECT rolname::text FROM pg_catalog.pg_roles
  WHERE rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')
    AND pg_catalog.pg_has_role(oid, 'MEMBER')
  UNION ALL SELECT 'superuser' FROM pg_catalog.pg_roles WHERE rolname = current_user AND rolsuper
)
"""


def warn_of_powers(connection: "psycopg.Connection[Any]") -> None:
    """Tell the log, and so whoever serves it, if a query could reach the server's files."""
    found = connection.execute(_POWERS).fetchone()
    connection.rollback()
    if found is None or not found[1]:
        return
    role, powers = found
    what = "is a superuser" if "superuser" in powers else f"has {', '.join(sorted(powers))}"
    log.warning(
        "the role %r %s: by functions such as pg_read_file a query can do what no read-only"
        " transaction holds back; connect as a role that may do little",
        role,
        what,
    )
