"""How fast to read on: not faster than calls are done, and never deaf for long."""

import asyncio
from collections.abc import Callable
from typing import Final

from accord.serve.crew import Crew
from accord.serve.pipes import Input
from accord.serve.pool import Pool

_BUSY: Final = 256  # open calls that need a thread: with more of them, nothing is read
_CROWD: Final = 1_000  # open calls that need none, likewise; one read brings far less
_PATIENCE: Final = 0.05  # seconds without reading: what comes next may be a cancellation
_SOON: Final = 10.0  # seconds in which a crowd would be done, at the pace that it has


class Pace:
    """Pauses an input while there is enough to do, until half of that is done.

    Where that takes too long, patience ends, and one chunk is read; but not while calls are done
    and there are more than `most`. Of a crowd that would not be done soon, most wait for something
    else (an answer of the client, perhaps): those who are in it then count no longer.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        source: Input,
        crew: Crew,
        pool: Pool,
        is_full: Callable[[], bool],
        *,
        most: int,
    ) -> None:
        """It `is_full` while the peer has to read first what it was told before."""
        self._loop = loop
        self._source = source
        self._crew = crew
        self._pool = pool
        self._is_full = is_full
        self._most = most
        self._patience: asyncio.TimerHandle | None = None
        self._is_impatient = False
        self._crowd = 0
        """How many calls were open when patience began."""
        self._idle = 0
        """How many of those that need no thread count no longer."""

    def note_read(self) -> None:
        """A chunk has been read."""
        self._is_impatient = False

    def keep(self) -> None:
        """Read on, or pause."""
        is_busy = self._is_busy() and not self._is_impatient
        if is_busy and self._patience is None:
            self._be_patient()
        elif not is_busy and self._patience is not None:
            self._patience.cancel()
            self._patience = None
        if is_busy or self._is_full():
            self._source.pause()
        else:
            self._source.resume()

    def _is_busy(self) -> bool:
        """Whether some calls had better be done before there are more."""
        self._idle = min(self._idle, self._crew.open)
        part = 2 if self._source.paused else 1
        is_crowded = self._crew.open - self._idle > _CROWD // part
        return is_crowded or self._pool.pending > _BUSY // part

    @property
    def _open(self) -> int:
        return self._crew.open + self._pool.pending

    def _be_patient(self) -> None:
        self._crowd = self._open
        self._patience = self._loop.call_later(_PATIENCE, self._lose_patience)

    def _lose_patience(self) -> None:
        done = self._crowd - self._open
        if done and self._open > self._most:
            self._be_patient()
            return
        self._patience = None
        self._is_impatient = True
        if done * _SOON < self._crowd * _PATIENCE:
            self._idle = self._crew.open
        self.keep()
