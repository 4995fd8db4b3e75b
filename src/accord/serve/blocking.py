"""Runs one call to its end on the current thread: for the command line and for WSGI."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from accord.model.context import MissingCapability
from accord.model.questions import Question
from accord.protocol import Call
from accord.protocol.events import Edge
from accord.protocol.messages import Wanted
from accord.server import Server
from accord.server.operation import Done, drive


class OneWay:
    """An edge without a way to the client: no notifications, no elicitation."""

    def __init__(self, sender: Any = None) -> None:
        self.sender = sender

    @property
    def principal(self) -> bytes | None:
        """Not known here; subclasses that authenticate the sender return it."""
        return None

    def push(self, message: bytes) -> None:
        """Drop a notification."""

    def tell(self, change: bytes) -> None:
        """Drop a notification of a change."""

    def detach(self, seconds: float) -> None:
        """Do nothing: there is no stream to detach from."""

    async def ask(self, call: Call, questions: Mapping[str, Question]) -> Mapping[str, bytes]:
        """Refuse: elicitation requires a session."""
        raise MissingCapability({"session": {}})

    async def hold(self, call: Call, wanted: Wanted) -> None:
        """Return at once: changes cannot be sent."""


_ONE_WAY: Final = OneWay()


def run(server: Server, call: Call, edge: Edge = _ONE_WAY) -> Done:
    """Run a call on this thread and return its outcome."""
    call.edge = edge
    job = server.prepare(call)
    if isinstance(job, Done):
        return job
    return asyncio.run(job.run()) if job.is_async else drive(job.run())
