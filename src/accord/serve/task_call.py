"""A call whose result is kept: its channel to the task, once it is one."""

from collections.abc import Awaitable, Mapping
from threading import get_ident
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from accord.model.answer import InputRequired
from accord.model.caller import Caller
from accord.model.context import Level
from accord.model.questions import Question
from accord.protocol.input_state import InputResponses
from accord.serve.call import OneWay, RunningCall

if TYPE_CHECKING:
    from accord.serve.task_run import TaskRun

_MAX_MESSAGE: Final = 500  # characters of a status
_HIDDEN_LEVELS: Final = frozenset({"debug"})


class Sender(msgspec.Struct, frozen=True):
    """The HTTP request that a task came with."""

    fields: Mapping[bytes, bytes]
    address: str | None


class TaskEdge(OneWay):
    """The edge of a task: what is known of its sender, whose request is answered already."""

    def __init__(
        self,
        sender: Any = None,
        *,
        principal: bytes | None = None,
        caller: Caller | None = None,
        address: str | None = None,
    ) -> None:
        fields = getattr(sender, "fields", None)
        super().__init__(None if fields is None else Sender(fields, address))
        self._principal = principal
        self._caller = caller
        self._address = address

    @property
    def principal(self) -> bytes | None:
        """The identity of the sender."""
        return self._principal

    @property
    def caller(self) -> Caller | None:
        """The sender by its verified token."""
        return self._caller

    @property
    def address(self) -> str | None:
        """The IP address of the sender."""
        return self._address


class TaskCall(RunningCall, eq=False, gc=False):  # `TaskRun.end` breaks the cycle
    """A call that is a task, or may become one: until then, it is as any other."""

    is_task: ClassVar[bool] = True
    run: "TaskRun | None" = None
    """The task, from when the call becomes one."""
    known_key: str = ""

    @property
    def caller_key(self) -> str:
        """A text that differs between senders; that of the first run if this is another one."""
        return self.known_key

    def progress(
        self, progress: float, total: float | None, message: str | None
    ) -> Awaitable[object] | None:
        """Make the progress the status of the task."""
        if self.run is None:
            return super().progress(progress, total, message)
        position = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
        self.status(f"{position}: {message}" if message else position)
        return None

    def log(self, level: Level, data: Any, logger: str | None) -> Awaitable[object] | None:
        """Make a log message the status of the task."""
        if self.run is None:
            return super().log(level, data, logger)
        if level not in _HIDDEN_LEVELS:
            self.status(data if isinstance(data, str) else msgspec.json.encode(data).decode())
        return None

    def status(self, message: str) -> bool:
        """Set the status of the task; False if the call is not one. Safe in any thread."""
        run = self.run
        if run is None:
            return False
        shortened = message if len(message) <= _MAX_MESSAGE else f"{message[: _MAX_MESSAGE - 1]}…"
        if get_ident() == run.thread:
            run.set_message(shortened)
        else:
            run.loop.call_soon_threadsafe(run.set_message, shortened)
        return True

    async def ask(self, questions: Mapping[str, Question]) -> Mapping[str, bytes]:
        """Return the client's responses; a task waits for them."""
        if self.run is None or not await self.run.is_stored():
            return await super().ask(questions)
        if self.responses is None:
            self.responses: InputResponses | None = InputResponses()
        revision = self.request.revision
        answers, open_questions = self.responses.find(questions, revision)
        if not open_questions:
            return answers
        if self.run is None:
            raise InputRequired(open_questions)
        return answers | await self.run.ask(open_questions, revision)
