"""What a function can know of the call it is in, and what it can say and ask on the way."""

from collections.abc import Awaitable, Generator, Mapping, Sequence
from math import inf, isfinite
from typing import Any, Final, Literal, Protocol, TypeVar, overload

import msgspec

from accord.errors import AccordError, ContractError
from accord.model.answer import FieldError
from accord.model.content import MessageContent
from accord.model.forms import InvalidContent
from accord.model.questions import (
    Elicit,
    Elicited,
    ElicitURL,
    ListRoots,
    Question,
    Root,
    Sample,
    Sampled,
)
from accord.model.values import as_json
from accord.revisions import Revision

T = TypeVar("T")

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LEVELS: Final[tuple[Level, ...]] = (
    *("debug", "info", "notice", "warning"),
    *("error", "critical", "alert", "emergency"),
)


class ClientInfo(msgspec.Struct, frozen=True):
    """The client of a call: its revision, capabilities and `clientInfo`, as it declared them."""

    revision: Revision
    capabilities: dict[str, Any] = {}
    info: dict[str, Any] = {}


class MissingCapability(AccordError):
    """A function needs something of its client that the client has not said it can do."""

    def __init__(self, capabilities: Mapping[str, Any]) -> None:
        super().__init__(f"The client lacks a capability: {', '.join(_paths(capabilities))}")
        self.capabilities: dict[str, Any] = dict(capabilities)


def _paths(capabilities: Mapping[str, Any]) -> list[str]:
    named = [(name, next(iter(inner or {}), None)) for name, inner in capabilities.items()]
    return [name if inner is None else f"{name} ({inner})" for name, inner in named]


class WrongAnswer(AccordError):
    """A client answered a question with something that does not fit it."""

    def __init__(self, key: str, misfit: InvalidContent) -> None:
        super().__init__(f"The answer to {key!r} does not fit: {misfit}")
        self.fields = tuple(FieldError(f"{key}.{each.field}", each.error) for each in misfit.fields)


class Sender(Protocol):
    """An HTTP request, as far as a function may want to know it."""

    @property
    def fields(self) -> Mapping[bytes, bytes]:
        """Its headers, by their names in lower case."""

    @property
    def address(self) -> str | None:
        """Where it comes from."""


class Channel(Protocol):
    """The channel from a function to its caller."""

    @property
    def cancelled(self) -> bool: ...
    @property
    def sender(self) -> Any: ...
    def progress(
        self, progress: float, total: float | None, message: str | None
    ) -> Awaitable[object] | None: ...
    def log(self, level: Level, data: Any, logger: str | None) -> Awaitable[object] | None: ...
    def detach(self, seconds: float) -> None: ...
    async def ask(self, questions: Mapping[str, Question]) -> Mapping[str, bytes]: ...


class _Turn:
    """One turn of whatever loop there is, so that what was said can be sent."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class Context:
    """What a function can know of the call it is in. Ask for it with a parameter of this type.

    `name` is that of the tool or prompt, or the URI of the resource.
    """

    __slots__ = ("_asked", "_channel", "_may_wait", "_told", "client", "name")

    def __init__(
        self, name: str, client: ClientInfo, channel: Channel, *, may_wait: bool = True
    ) -> None:
        self.name = name
        self.client = client
        self._channel = channel
        self._may_wait = may_wait
        self._asked: set[str] | None = None
        self._told = -inf

    @property
    def tool(self) -> str:
        """The name of the tool that was called."""
        return self.name

    @property
    def revision(self) -> str:
        """The date of the MCP revision that the caller speaks."""
        return self.client.revision.date

    @property
    def cancelled(self) -> bool:
        """Whether the caller has taken the call back: long work in a `def` tool can stop then."""
        return self._channel.cancelled

    @property
    def sender(self) -> Any:
        """The HTTP request that the call came in: a `Sender`, or Django's own; else None.

        It is known for as long as the call is not over.
        """
        return self._channel.sender

    def can(self, capability: str) -> bool:
        """Whether the client says it can do this: `sampling`, `elicitation`, `roots`."""
        return capability in self.client.capabilities

    def require(self, *capabilities: str) -> None:
        """Go on only if the client can do this: `sampling`, `elicitation`, `roots`."""
        missing = [name for name in capabilities if name not in self.client.capabilities]
        if missing:
            raise MissingCapability({name: {} for name in missing})

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the caller how far the work has come, if it wants to know.

        Only what is more than before is told: MCP wants progress to increase.
        """
        if not isfinite(progress) or not isfinite(total or 0):
            raise ContractError("progress is told in finite numbers")
        room = None
        if progress > self._told:
            self._told = progress
            room = self._channel.progress(progress, total, message)
        await (room or _Turn())

    async def log(self, level: Level, data: Any, logger: str | None = None) -> None:
        """Send the caller a line of log, if it wants to hear of that level; `data` is any JSON."""
        if level not in LEVELS:
            raise ContractError(f"no level {level!r}; there are {', '.join(LEVELS)}")
        room = self._channel.log(level, as_json(data, "a line of log"), logger)
        await (room or _Turn())

    async def detach(self, seconds: float = 1.0) -> None:
        """Let go of the caller's connection, which comes back for the rest after so many seconds.

        For work that outlasts what lies between. Only where a stream can be resumed: over HTTP, in
        a session; elsewhere nothing happens.
        """
        self._channel.detach(seconds)
        await _Turn()

    @overload
    def elicit(self, message: str, answer: type[T]) -> Awaitable[Elicited[T]]: ...
    @overload
    def elicit(self, message: str, answer: Any) -> Awaitable[Elicited[Any]]: ...
    def elicit(self, message: str, answer: Any) -> Awaitable[Elicited[Any]]:
        """Ask a person to fill in a form: see `Elicit`."""
        return self._one("elicit", Elicit(message, answer))

    def elicit_url(self, message: str, url: str) -> Awaitable[Elicited[None]]:
        """Send a person to a page: see `ElicitURL`."""
        return self._one("elicit_url", ElicitURL(message, url))

    def sample(
        self, messages: MessageContent | Sequence[MessageContent], **options: Any
    ) -> Awaitable[Sampled]:
        """Ask the client's model: see `Sample` for the options."""
        return self._one("sample", Sample(messages, **options))

    def roots(self) -> Awaitable[list[Root]]:
        """Ask which folders and files the client lets a server use."""
        return self._one("roots", ListRoots())

    def ask(self, **questions: Question) -> Awaitable[dict[str, Any]]:
        """Ask several things at once; the answers come under the same names.

        To a client of the stateless era this function runs again from its beginning with the
        answers so far: do nothing that cannot be undone before the last question is answered.
        """
        self._require_async()
        return self._ask(questions, [self._key(name) for name in questions])

    def _require_async(self) -> None:
        if not self._may_wait:
            raise ContractError(f"{self.name} is a plain def, and cannot ask; make it async def")

    def _one(self, name: str, question: Question) -> Awaitable[Any]:
        self._require_async()
        return self._only(name, question, self._key(name))

    async def _only(self, name: str, question: Question, key: str) -> Any:
        return (await self._ask({name: question}, [key]))[name]

    async def _ask(self, questions: Mapping[str, Question], keys: list[str]) -> dict[str, Any]:
        for question in questions.values():
            missing = question.lacks(self.client.capabilities, self.client.revision)
            if missing is not None:
                raise MissingCapability(missing)
        asked = dict(zip(keys, questions.values(), strict=True))
        answers = await self._channel.ask(asked)
        read = [_read(key, question, answers[key]) for key, question in asked.items()]
        return dict(zip(questions, read, strict=True))

    def _key(self, name: str) -> str:
        """A name for a question that is the same when the function runs again."""
        if self._asked is None:
            self._asked = set()
        key, times = name, 1
        while key in self._asked:
            times += 1
            key = f"{name}-{times}"
        self._asked.add(key)
        return key


def _read(key: str, question: Question, answer: bytes) -> Any:
    try:
        return question.read(answer)
    except InvalidContent as misfit:
        raise WrongAnswer(key, misfit) from misfit
