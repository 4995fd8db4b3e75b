"""What whoever serves a database should know at once: it is not there, or a table of theirs is not.

A start neither waits for that nor fails by it: a database may come up later than its server.
"""

import asyncio
import logging
import threading

from accord.model.answer import Problem
from accord.sources.sql import Database
from accord.sources.sql.messages import DescribeTable, ListTables
from accord.sources.sql.problems import quote_name

log = logging.getLogger("accord")


def forewarn(name: str, database: Database) -> None:
    """Ask a database in the background, where there is something that may be wrong."""
    if database.options.allow is not None or not database.is_sqlite:
        threading.Thread(target=warn, args=(name, database), daemon=True).start()


def warn(name: str, database: Database) -> None:
    """Ask a database, and log what is wrong."""
    for fault in asyncio.run(_faults(database)):
        log.warning("%s: %s", name, fault)


async def _faults(database: Database) -> list[str]:
    try:
        await database.read(ListTables())
    except Problem as problem:
        return [problem.message]
    request = [DescribeTable(table) for table in sorted(database.options.allow or ())]
    answers = await asyncio.gather(*map(database.read, request), return_exceptions=True)
    found = zip(request, answers, strict=True)
    return [_fault(it.table_name, each) for it, each in found if isinstance(each, Problem)]


def _fault(table: str, problem: Problem) -> str:
    """What is wrong with a table that may be read, in words for whoever has named it."""
    is_missing = problem.kind == "not_found"
    said = f"there is no table {quote_name(table)}" if is_missing else problem.message
    return f"--allow: {said}"
