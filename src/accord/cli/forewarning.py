"""What whoever serves a database should know at once: it is not there, or a table of theirs is not.

A start neither waits for that nor fails by it: a database may come up later than its server.
"""

import asyncio
import logging
import threading

from accord.answer import Problem
from accord.sources.sql import Database
from accord.sources.sql.messages import Describe, Tables

log = logging.getLogger("accord")


def forewarn(name: str, database: Database) -> None:
    """Ask a database in the background, where there is something that may be wrong."""
    if database.options.allow is not None or not database.target.is_sqlite:
        threading.Thread(target=_ask, args=(name, database), daemon=True).start()


def _ask(name: str, database: Database) -> None:
    for fault in asyncio.run(_faults(database)):
        log.warning("%s: %s", name, fault)


async def _faults(database: Database) -> list[str]:
    try:
        await database.read(Tables())
    except Problem as problem:
        return [problem.message]
    asked = [Describe(table) for table in sorted(database.options.allow or ())]
    answers = await asyncio.gather(*map(database.read, asked), return_exceptions=True)
    return [f"--allow: {each.message}" for each in answers if isinstance(each, Problem)]
