"""A request in execution: the way to its client, and what cancels it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import copy_context
from functools import partial
from hashlib import blake2b
from threading import Thread
from typing import Any, ClassVar, Protocol, TypeVar

import msgspec

from accord.errors import ContractError
from accord.model.answer import InputRequired, Problem
from accord.model.caller import Caller
from accord.model.context import LEVELS, Level, MissingCapability
from accord.model.questions import Question
from accord.protocol import Connection, Request
from accord.protocol.input_state import InputResponses
from accord.protocol.messages import LogMessage, Progress, Wanted, decode_meta, notification
from accord.protocol.notifications import acknowledgement
from accord.serve.threadsafe import captured, resolve_threadsafe
from accord.server.operation import Done

T = TypeVar("T")


class Edge(Protocol):
    """The transport of a call: carries its messages, and knows its sender."""

    @property
    def sender(self) -> Any:
        """The HTTP request of the call: see `Context.sender`."""

    @property
    def principal(self) -> bytes | None:
        """The identity of the sender, by the HTTP request itself."""

    @property
    def caller(self) -> Caller | None:
        """The sender by its verified token, if the transport verifies tokens."""

    @property
    def address(self) -> str | None:
        """The IP address of the sender."""

    def push(self, message: bytes) -> Awaitable[object] | None:
        """Send a message of a call before its result.

        If an awaitable is returned, await it before sending more: the client has to read first.
        """

    def tell(self, change: bytes) -> None:
        """Send a notification of a change; equal ones are sent once until read."""

    def detach(self, seconds: float) -> None:
        """Close the response; the client reconnects for the result."""

    async def ask(self, call: "RunningCall", questions: Mapping[str, Question]) -> dict[str, bytes]:
        """Send requests to the client and wait for all responses."""

    async def hold(self, call: "RunningCall", wanted: Wanted) -> None:
        """Send changes to a subscription until the client or the server ends it."""


class RunningCall(msgspec.Struct, eq=False, gc=False):  # its end breaks all cycles
    """A request in execution, and the Channel of its Context.

    `deliver` is called with its outcome, or with None if it was cancelled.
    """

    request: Request
    connection: Connection | None
    edge: Edge | None
    """The transport, until the call is over."""
    deliver: "Callable[[RunningCall, Done | None], None]" = lambda call, done: None
    cancelled: bool = False
    task: "asyncio.Task[None] | None" = None
    """The task that runs it, if it is async."""
    responses: InputResponses | None = None
    is_task: ClassVar[bool] = False
    """True for a call whose result is kept: see `accord.serve.task_call`."""
    run_function: "Callable[[RunningCall, Callable[[], Any]], Awaitable[Any]] | None" = None
    """Runs a blocking function for an async call, in a thread."""

    @property
    def sender(self) -> Any:
        """The HTTP request of the call, known until the call is over."""
        if self.edge is None:
            raise ContractError("the sender of a call is not known after its end")
        return self.edge.sender

    @property
    def principal(self) -> bytes | None:
        """The identity of the sender, by the HTTP request itself."""
        return None if self.edge is None else self.edge.principal

    @property
    def caller(self) -> Caller | None:
        """The sender by its verified token, known until the call is over."""
        return self._open_edge.caller

    @property
    def caller_key(self) -> str:
        """A text that differs between senders, known until the call is over."""
        edge = self._open_edge
        if edge.principal is not None:
            return blake2b(edge.principal, digest_size=16).hexdigest()
        return edge.address or "local"

    @property
    def address(self) -> str | None:
        """The IP address of the sender, known until the call is over."""
        return self._open_edge.address

    @property
    def _open_edge(self) -> Edge:
        if self.edge is None:
            raise ContractError("the caller of a call is not known after its end")
        return self.edge

    async def within(self, seconds: float, work: Awaitable[T]) -> T:
        """Await something for at most so many seconds; then cancel it and raise a Problem."""
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await work
        except TimeoutError:
            if not limit.expired():  # the function's own
                raise
        name = self.request.name
        raise Problem.timeout(f"{name} took longer than {seconds:g} seconds and was ended")

    async def run_in_thread(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run a blocking function in a thread, and return its value."""
        if self.run_function is None:
            return await _run_in_daemon_thread(lambda: function(*arguments))
        value: T = await self.run_function(self, lambda: function(*arguments))
        return value

    def progress(
        self, progress: float, total: float | None, message: str | None
    ) -> Awaitable[object] | None:
        """Send the progress, if the client asked for it and still waits."""
        if self.cancelled or self.edge is None or not self.request.meta:
            return None
        meta = decode_meta(self.request.meta)
        if meta is None or meta.progress_token is None:
            return None
        params = Progress(meta.progress_token, progress, total, message)
        return self.edge.push(notification("notifications/progress", params))

    def log(self, level: Level, data: Any, logger: str | None) -> Awaitable[object] | None:
        """Send a log message, if the client wants that level and still waits."""
        wanted = None if self.cancelled else self.log_level()
        if self.edge is None or wanted is None or LEVELS.index(level) < LEVELS.index(wanted):
            return None
        message = LogMessage(level, data, logger)
        return self.edge.push(notification("notifications/message", message))

    def status(self, message: str) -> bool:
        """Return False: only a task has a status."""
        return False

    def log_level(self) -> Level | None:
        """Return the minimum level: of the request in the stateless era, else of the session."""
        if not self.request.revision.stateless:
            return None if self.connection is None else self.connection.log_level
        meta = decode_meta(self.request.meta) if self.request.meta else None
        return None if meta is None else meta.log_level

    def detach(self, seconds: float) -> None:
        """Close the response, if the client can come back for the result."""
        if not self.cancelled and self.edge is not None and not self.request.revision.stateless:
            self.edge.detach(seconds)

    async def ask(self, questions: Mapping[str, Question]) -> Mapping[str, bytes]:
        """Return the client's responses; raise InputRequired in the stateless era if one lacks."""
        revision = self.request.revision
        if not revision.stateless:
            if self.edge is None:
                raise Problem.unavailable("The client is gone and cannot be asked", retryable=False)
            return await self.edge.ask(self, questions)
        if self.responses is None:
            self.responses = InputResponses()
        answers, open_questions = self.responses.find(questions, revision)
        if open_questions:
            raise InputRequired(open_questions)
        return answers

    async def hold(self, wanted: Wanted) -> None:
        """Acknowledge a subscription, and send changes until it ends."""
        if self.edge is not None:
            self.edge.push(acknowledgement(self.request.id, wanted))
            await self.edge.hold(self, wanted)

    def cancel(self) -> None:
        """Mark it as cancelled, and free its params: it may stay in a queue."""
        self.cancelled = True
        self.request = msgspec.structs.replace(
            self.request, arguments=b"{}", meta=b"", params=None, retry=None
        )

    def finish(self, done: Done) -> bytes | None:
        """End the call; return the bytes to send, if any."""
        self.edge = None
        if self.cancelled or self.connection is None:
            return None
        return self.connection.finish(self.request, done.reply)


async def _run_in_daemon_thread(function: Callable[[], T]) -> T:
    """Run a function in a thread of its own, for which neither loop nor process waits at its end.

    `asyncio.run` waits for the threads of `asyncio.to_thread`, which never returns if the function
    raises StopIteration.
    """
    context = copy_context()
    ended: asyncio.Future[Callable[[], T]] = asyncio.get_running_loop().create_future()

    def run() -> None:
        resolve_threadsafe(ended, captured(partial(context.run, function)))

    Thread(target=run, name="accord-tool", daemon=True).start()
    return (await ended)()


class OneWay:
    """An edge without a way to the client: no notifications, no elicitation."""

    def __init__(self, sender: Any = None) -> None:
        self.sender = sender

    @property
    def principal(self) -> bytes | None:
        """Not known here; subclasses that authenticate the sender return it."""
        return None

    @property
    def caller(self) -> Caller | None:
        """Not known here: only HTTP has tokens."""
        return None

    @property
    def address(self) -> str | None:
        """Not known here."""
        return None

    def push(self, message: bytes) -> None:
        """Drop a notification."""

    def tell(self, change: bytes) -> None:
        """Drop a notification of a change."""

    def detach(self, seconds: float) -> None:
        """Do nothing: there is no stream to detach from."""

    async def ask(self, call: RunningCall, questions: Mapping[str, Question]) -> dict[str, bytes]:
        """Refuse: elicitation requires a session."""
        raise MissingCapability({"session": {}})

    async def hold(self, call: RunningCall, wanted: Wanted) -> None:
        """Return at once: changes cannot be sent."""


class CallbackEdge(OneWay):
    """An edge that passes notifications to a callback; its client cannot be asked."""

    def __init__(self, push: Callable[[bytes], None]) -> None:
        super().__init__()
        self._push = push

    def push(self, message: bytes) -> None:
        """Pass on a notification of the call."""
        self._push(message)

    def tell(self, change: bytes) -> None:
        """Pass on a notification of a change."""
        self._push(change)

    async def ask(self, call: RunningCall, questions: Mapping[str, Question]) -> dict[str, bytes]:
        """Refuse: the client cannot be asked."""
        raise Problem.unavailable("The client cannot be asked", retryable=False)
