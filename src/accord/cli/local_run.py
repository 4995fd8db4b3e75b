"""Runs calls of a local target within its lifespan, for commands that end after them."""

import asyncio
import contextlib
import sys
from types import TracebackType
from typing import Self

from accord.cli.terminal import StatusLine, stdout_to_stderr
from accord.errors import LifespanError
from accord.serve.call import RunningCall
from accord.serve.executor import run_blocking, run_in_task
from accord.serve.lifespan import Lifespans, log_lifespan
from accord.serve.shutdown import ending_in_time
from accord.server import Server
from accord.server.operation import Done

_INTERRUPTED = 130  # the exit code of shells after Ctrl-C


class LocalRun:
    """A context manager around the calls of one command, on one event loop.

    Its end takes no longer than the grace period, whatever tasks and threads are left: the process
    then exits with `code`.
    """

    def __init__(self, server: Server, grace: float) -> None:
        self.code = 0
        """The exit code of the command."""
        self._server = server
        self._grace = grace
        self._runner = asyncio.Runner()
        self._lifespans = Lifespans(server.registry)

    def __enter__(self) -> Self:
        try:
            if self.has_lifespan:
                with stdout_to_stderr(), StatusLine(f"starting {self._server.identity.name}"):
                    self._runner.run(self._lifespans.start())
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    @property
    def has_lifespan(self) -> bool:
        """True if the server has a lifespan."""
        return self._server.registry.has_lifespan

    def run(self, call: RunningCall) -> Done:
        """Run a call to its end: with a lifespan as a server does, else on this thread."""
        dispatcher = self._server.dispatcher
        if self.has_lifespan:
            return self._runner.run(run_in_task(dispatcher, call))
        return run_blocking(dispatcher, call, self._runner.run)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        code = self.code if error is None else 1
        if isinstance(error, KeyboardInterrupt):
            code = _INTERRUPTED
        with contextlib.suppress(AttributeError, OSError, ValueError):  # it is closed
            sys.stdout.flush()
        with ending_in_time() as exit_within, contextlib.closing(self._runner):
            exit_within(self._grace, code)
            if not self._lifespans.is_used:
                return
            try:
                with stdout_to_stderr():
                    self._runner.run(self._lifespans.stop(self._grace))
            except LifespanError as failure:
                if error is None:
                    raise
                log_lifespan(failure)
