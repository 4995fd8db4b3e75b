"""Workers of one kind, a team of them on every event loop that asks."""

import asyncio
import os
import threading
from typing import Final

import msgspec

from accord.errors import AccordError
from accord.sources.sql.messages import (
    Broken,
    Failed,
    Reply,
    Request,
    Settings,
    decode_reply,
    encode_request,
)
from accord.sources.sql.team import Team

_LOCK: Final = threading.Lock()


class WorkerBug(AccordError):
    """What went wrong in a worker, with its traceback, for the log."""


class Workers:
    """Asks the workers of the loop that one is on; a loop that has ended leaves them to others."""

    def __init__(self, settings: Settings, size: int) -> None:
        self._settings = settings
        self._size = size
        self._told = msgspec.json.encode(settings)
        self._owner = os.getpid()
        self._teams = [self._new_team()]

    def _new_team(self) -> Team:
        return Team(self._settings, self._told, self._size)

    def start(self) -> None:
        """Have one ready before anybody asks."""
        self._teams[0].start()

    async def ask(self, request: Request) -> Reply:
        """What the database says; a Problem where it cannot, or not in time."""
        reply: Reply = decode_reply(await self._here().ask(encode_request(request)))
        if isinstance(reply, Failed):
            raise reply.problem
        if isinstance(reply, Broken):
            raise WorkerBug(reply.traceback)
        return reply

    def _here(self) -> Team:
        """The team of this loop."""
        loop = asyncio.get_running_loop()
        for team in self._teams:
            if team.loop is loop and self._owner == os.getpid():
                return team
        with _LOCK:
            return self._join(loop)

    def _join(self, loop: asyncio.AbstractEventLoop) -> Team:
        if self._owner != os.getpid():  # a fork: the workers are our parent's
            self._owner = os.getpid()
            for team in self._teams:
                team.disband()
            self._teams = [self._new_team()]
        if not any(team.is_free for team in self._teams):
            self._teams.append(self._new_team())
        team = next(team for team in self._teams if team.is_free)
        team.join(loop)
        return team

    def close(self) -> None:
        """End them, but for a change that is under way; those of a parent process are let go."""
        is_ours = self._owner == os.getpid()
        for team in self._teams:
            if is_ours:
                team.close()
            else:
                team.disband()
