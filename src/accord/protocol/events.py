"""What a connection makes of what a peer sent."""

from collections.abc import Awaitable, Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Raw

from accord.errors import ContractError
from accord.model.answer import InputRequired, Problem
from accord.model.context import LEVELS, ClientInfo, Level
from accord.model.questions import Question
from accord.protocol.batch import Batch
from accord.protocol.messages import Id, LogMessage, Progress, Wanted, decode_meta, notification
from accord.protocol.replay import Retry, Script
from accord.revisions import Revision

TOOL, PROMPT, RESOURCE = "tools/call", "prompts/get", "resources/read"
COMPLETION, LISTEN = "completion/complete", "subscriptions/listen"
TOOLS = "tools/list"


class Edge(Protocol):
    """Carries the messages of a call, and knows who sent it."""

    @property
    def sender(self) -> Any:
        """The HTTP request that it came in: see `Context.sender`."""

    @property
    def principal(self) -> bytes | None:
        """Who the sender is, by what came with the request itself."""

    def push(self, message: bytes) -> Awaitable[object] | None:
        """Send a message that belongs to a call, before its result.

        What comes back is to be awaited before more is sent, where the caller has to read first.
        """

    def tell(self, change: bytes) -> None:
        """Send that something has changed; the same need not be said twice before it is read."""

    def detach(self, seconds: float) -> None:
        """Let go of the caller, who comes back for the rest."""

    async def ask(self, call: "Call", questions: Mapping[str, Question]) -> Mapping[str, bytes]:
        """Send questions to the client and wait for all its answers."""

    async def hold(self, call: "Call", wanted: Wanted) -> None:
        """Tell the caller of changes until it leaves or the server ends; nothing is raised."""


class Talk(Protocol):
    """What a call needs of the conversation it is part of."""

    level: Level


class Special(msgspec.Struct, eq=False):
    """What most calls have not: another method than that of tools, or answers to questions."""

    method: str = TOOL
    params: Any = None
    """What it takes beside a name and arguments."""
    retry: Retry | None = None
    """What came with it because it is sent again, with answers."""
    script: Script | None = None
    """The answers that it can count on."""
    sent: bytes | None = None
    """The arguments as they came, where `arguments` of the call are others by now."""


class Call(msgspec.Struct, eq=False):
    """A request that is being served; as an event, one to run and to `finish` with its reply.

    It is known by what it is, never by the peer's `id`: two calls in flight may carry the same one.
    """

    id: Id
    client: ClientInfo
    batch: Batch | None = None
    meta: bytes = b""
    """Its `_meta`, as it came."""
    talk: Talk | None = None
    name: str = ""
    """Of a tool or a prompt; of a resource, its URI."""
    arguments: bytes = b"{}"
    special: Special | None = None
    """What is special about it, unless it calls a tool for the first time."""
    cancelled: bool = False
    running: Any = None
    """Whatever the edge keeps to stop it with."""
    edge: Edge | None = None
    """Who carries its messages, as long as it is not over."""

    @property
    def sender(self) -> Any:
        """The sender, known until the call is over."""
        if self.edge is None:
            raise ContractError("who sent a call is not known after its end")
        return self.edge.sender

    def progress(
        self, progress: float, total: float | None, message: str | None
    ) -> Awaitable[object] | None:
        """Send how far the call has come, if its caller asked for that and still waits."""
        if self.cancelled or self.edge is None or not self.meta:
            return None
        token = decode_meta(self.meta)
        if token is None or token.progress_token is None:
            return None
        params = Progress(token.progress_token, progress, total, message)
        return self.edge.push(notification("notifications/progress", params))

    def log(self, level: Level, data: Any, logger: str | None) -> Awaitable[object] | None:
        """Send a line of log, if the caller wants to hear of that level and still waits."""
        wanted = None if self.cancelled else self._level()
        if self.edge is None or wanted is None or LEVELS.index(level) < LEVELS.index(wanted):
            return None
        said = LogMessage(level, data, logger)
        return self.edge.push(notification("notifications/message", said))

    def _level(self) -> Level | None:
        """From where on log is wanted: each request says so, or the conversation does."""
        if not self.client.revision.stateless:
            return None if self.talk is None else self.talk.level
        meta = decode_meta(self.meta) if self.meta else None
        return None if meta is None else meta.log_level

    def detach(self, seconds: float) -> None:
        """Let go of the caller for a while, where it can come back."""
        if not self.cancelled and self.edge is not None and not self.client.revision.stateless:
            self.edge.detach(seconds)

    async def ask(self, questions: Mapping[str, Question]) -> Mapping[str, bytes]:
        """Return the client's responses; raise InputRequired in the stateless era if one lacks."""
        revision = self.client.revision
        if not revision.stateless:
            if self.edge is None:
                raise Problem.unavailable("The client is gone and cannot be asked", retryable=False)
            return await self.edge.ask(self, questions)
        answers, open_questions = self.script().play(questions, revision)
        if open_questions:
            raise InputRequired(open_questions)
        return answers

    def script(self) -> Script:
        """The answers that it can count on: none, at first."""
        special = self._special()
        if special.script is None:
            special.script = Script()
        return special.script

    def mean(self, arguments: bytes) -> None:
        """Run with other arguments than were sent: those that a cursor stands for."""
        if arguments is self.arguments:
            return
        special = self._special()
        if special.sent is None:
            special.sent = self.arguments
        self.arguments = arguments

    def drop_arguments(self) -> None:
        """Free the arguments of a cancelled call, which may stay in a queue."""
        self.arguments = b"{}"
        if self.special is not None:
            self.special.sent = None

    @property
    def sent(self) -> bytes:
        """The arguments as they came."""
        changed = None if self.special is None else self.special.sent
        return self.arguments if changed is None else changed

    def _special(self) -> Special:
        if self.special is None:
            self.special = Special()
        return self.special

    @property
    def method(self) -> str:
        """What the request asked for."""
        return TOOL if self.special is None else self.special.method

    @property
    def revision(self) -> Revision:
        """The revision that its answer has to keep to."""
        return self.client.revision


class Cancel(msgspec.Struct, frozen=True, eq=False):
    """The peer no longer wants this call; its outcome will be dropped."""

    call: Call
    reply: bytes | None
    """The reply to a batch that was waiting for nothing but this call."""


class Posed(msgspec.Struct, eq=False):
    """A question that is on its way to the client of a call, or waits for its answer."""

    id: Id
    message: bytes
    waiter: Any = None
    """Whatever the edge keeps to go on with."""


class Answered(msgspec.Struct, frozen=True, eq=False):
    """The peer has answered a question: with a result, or with an error if it could not."""

    posed: Posed
    result: Raw
    error: Raw


Event = bytes | Call | Cancel | Answered
"""A reply that is ready to be sent, a call to start, a call to stop, or an answer to hand on."""
