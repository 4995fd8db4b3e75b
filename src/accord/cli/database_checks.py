"""Warnings about a database at start: it cannot be reached, or an allowed table is missing.

The start neither waits for the check nor fails: a database may start later than its server.
"""

import asyncio
import logging
import threading

from accord.model.answer import Problem
from accord.sources.sql import Database
from accord.sources.sql.messages import DescribeTable, ListTables
from accord.sources.sql.problems import quote_name

log = logging.getLogger("accord")


def check_in_background(name: str, database: Database) -> None:
    """Check a database in a thread, unless nothing can be wrong."""
    if database.options.allow is not None or not database.is_sqlite:
        threading.Thread(target=log_warnings, args=(name, database), daemon=True).start()


def log_warnings(name: str, database: Database) -> None:
    """Check a database and log a warning for each fault."""
    for fault in asyncio.run(_faults(database)):
        log.warning("%s: %s", name, fault)


async def _faults(database: Database) -> list[str]:
    try:
        await database.read(ListTables())
    except Problem as problem:
        return [problem.message]
    requests = [DescribeTable(table) for table in sorted(database.options.allow or ())]
    answers = await asyncio.gather(*map(database.read, requests), return_exceptions=True)
    found = zip(requests, answers, strict=True)
    return [
        _fault(request.table_name, each) for request, each in found if isinstance(each, Problem)
    ]


def _fault(table: str, problem: Problem) -> str:
    """Describe why an allowed table cannot be read."""
    is_missing = problem.kind == "not_found"
    reason = f"there is no table {quote_name(table)}" if is_missing else problem.message
    return f"--allow: {reason}"
