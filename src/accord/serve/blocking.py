"""A call run to its end where nothing else is going on: for the command line and for WSGI."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from accord.context import MissingCapability
from accord.protocol import Call
from accord.protocol.events import Edge
from accord.protocol.messages import Wanted
from accord.questions import Question
from accord.server import Server
from accord.work import Done, drive


class OneWay:
    """An edge where nothing can be said before the result, and nobody can be asked."""

    def __init__(self, sender: Any = None) -> None:
        self.sender = sender

    @property
    def principal(self) -> bytes | None:
        """Who the sender is, which only those know who know its kind."""
        return None

    def push(self, message: bytes) -> None:
        """There is no way to send it."""

    def tell(self, change: bytes) -> None:
        """Nobody would hear of it."""

    def detach(self, seconds: float) -> None:
        """There is nothing to let go of."""

    async def ask(self, call: Call, questions: Mapping[str, Question]) -> Mapping[str, bytes]:
        """Nobody would hear the questions."""
        raise MissingCapability({"session": {}})

    async def hold(self, call: Call, wanted: Wanted) -> None:
        """Nobody would hear of changes."""


_NOBODY: Final = OneWay()


def run(server: Server, call: Call, edge: Edge = _NOBODY) -> Done:
    """Run one call on this thread and wait for its end."""
    call.edge = edge
    job = server.prepare(call)
    if isinstance(job, Done):
        return job
    return asyncio.run(job.run()) if job.is_async else drive(job.run())
