"""`Context`: the call that a function runs in; progress, logs and requests to the client."""

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from math import inf, isfinite, nextafter
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Protocol, TypeVar, overload

import msgspec

from accord.errors import AccordError, ContractError
from accord.model.answer import FieldError
from accord.model.caller import Caller
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
from accord.model.scope import Scope
from accord.model.values import as_json
from accord.revisions import Revision

T = TypeVar("T")
if TYPE_CHECKING:  # plain `Context` means `Context[Any]`
    from typing_extensions import TypeVar as TypeVarWithDefault

    State_co = TypeVarWithDefault("State_co", covariant=True, default=Any)
else:
    State_co = TypeVar("State_co", covariant=True)

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
    """A function needs a capability that its client has not declared."""

    def __init__(self, capabilities: Mapping[str, Any]) -> None:
        super().__init__(f"The client lacks a capability: {', '.join(_paths(capabilities))}")
        self.capabilities: dict[str, Any] = dict(capabilities)


def _paths(capabilities: Mapping[str, Any]) -> list[str]:
    named = [(name, next(iter(inner or {}), None)) for name, inner in capabilities.items()]
    return [name if inner is None else f"{name} ({inner})" for name, inner in named]


class WrongAnswer(AccordError):
    """The client's response does not fit the request."""

    def __init__(self, key: str, misfit: InvalidContent) -> None:
        super().__init__(f"The answer to {key!r} does not fit: {misfit}")
        self.fields: tuple[FieldError, ...] = tuple(
            FieldError(f"{key}.{each.field}", each.error) for each in misfit.fields
        )


class Sender(Protocol):
    """The HTTP request of a call, for functions that need its headers."""

    @property
    def fields(self) -> Mapping[bytes, bytes]:
        """The headers, by lower-case name."""

    @property
    def address(self) -> str | None:
        """The address of the client."""


class Channel(Protocol):
    """The channel from a function to its caller."""

    @property
    def cancelled(self) -> bool: ...
    @property
    def principal(self) -> bytes | None: ...
    @property
    def sender(self) -> Any: ...
    def progress(
        self, progress: float, total: float | None, message: str | None
    ) -> Awaitable[object] | None: ...
    def log(self, level: Level, data: Any, logger: str | None) -> Awaitable[object] | None: ...
    def status(self, message: str) -> bool:
        """Set the status of a task; False if the call is not one. Safe in any thread."""

    def detach(self, seconds: float) -> None: ...
    @property
    def caller(self) -> Caller | None: ...
    @property
    def caller_key(self) -> str: ...
    @property
    def address(self) -> str | None: ...
    def within(self, seconds: float, work: Awaitable[T]) -> Awaitable[T]: ...
    async def run_in_thread(self, function: Callable[..., T], *arguments: Any) -> T: ...
    async def ask(self, questions: Mapping[str, Question]) -> Mapping[str, bytes]: ...


class _Turn:
    """Yields to the event loop once, so that pending messages are sent."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class Context(Generic[State_co]):
    """The call that a function runs in; declare a parameter of this type to get it.

    `name` is that of the tool or prompt, or the URI of the resource. `Context[Shop]` declares the
    type of `state`.
    """

    __slots__ = (
        "_channel",
        "_is_abandoned",
        "_keys",
        "_may_wait",
        "_progress",
        "_scope",
        "client",
        "name",
    )

    def __init__(
        self,
        name: str,
        client: ClientInfo,
        channel: Channel,
        scope: Scope,
        *,
        may_wait: bool = True,
    ) -> None:
        self.name: str = name
        self.client: ClientInfo = client
        self._scope = scope
        self._channel = channel
        self._may_wait = may_wait
        self._is_abandoned = False
        self._keys: set[str] | None = None
        self._progress = -inf

    @property
    def state(self) -> State_co:
        """The value that the server's lifespan yields; None without a lifespan."""
        state: State_co = self._scope.state
        return state

    @property
    def tool(self) -> str:
        """The name of the tool that was called."""
        return self.name

    @property
    def revision(self) -> str:
        """The date of the MCP revision of the call."""
        return self.client.revision.date

    @property
    def cancelled(self) -> bool:
        """True once the call was cancelled or took too long; a `def` tool can check it and stop."""
        return self._is_abandoned or self._channel.cancelled

    @property
    def has_asked(self) -> bool:
        """True once the function has asked the client: its result depends on the responses."""
        return self._keys is not None

    def for_thread(self) -> "Context[State_co]":
        """Return a context of the same call for a plain `def`, which cannot wait."""
        return Context(self.name, self.client, self._channel, self._scope, may_wait=False)

    def abandon(self) -> None:
        """Set `cancelled` to true: the result of the function is no longer used."""
        self._is_abandoned = True

    @property
    def channel(self) -> Channel:
        """The way to the caller, for requests that are forwarded to another server."""
        return self._channel

    @property
    def sender(self) -> Any:
        """The HTTP request of the call: a `Sender`, or Django's own; None over stdio.

        It is available until the call ends.
        """
        return self._channel.sender

    @property
    def caller(self) -> Caller | None:
        """The sender of the call by its verified token; None if the server verifies no tokens.

        It is available until the call ends.
        """
        return self._channel.caller

    @property
    def caller_key(self) -> str:
        """A text that differs between senders, whether or not tokens are verified.

        It is a digest of the verified caller or of the credentials, else the address, else `local`.
        It is available until the call ends.
        """
        return self._channel.caller_key

    @property
    def address(self) -> str | None:
        """The IP address of the sender; None over stdio and Unix sockets.

        It is available until the call ends.
        """
        return self._channel.address

    def run_in_thread(self, function: Callable[..., T], *arguments: Any) -> Awaitable[T]:
        """Run a blocking function in a thread of the server, from an async function."""
        self._require_async("wait for a thread")
        return self._channel.run_in_thread(function, *arguments)

    def can(self, capability: str) -> bool:
        """True if the client declares a capability: `sampling`, `elicitation`, `roots`."""
        return capability in self.client.capabilities

    def require(self, *capabilities: str) -> None:
        """Raise MissingCapability unless the client declares these, e.g. `sampling`, `roots`."""
        missing = [name for name in capabilities if name not in self.client.capabilities]
        if missing:
            raise MissingCapability({name: {} for name in missing})

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Send a progress notification, if the client has requested them.

        A value that is not greater than the last one is not sent: MCP requires progress to
        increase.
        """
        if not isfinite(progress) or not isfinite(total or 0):
            raise ContractError("progress and total must be finite numbers")
        room = None
        if progress > self._progress:
            self._progress = progress
            room = self._channel.progress(progress, total, message)
        await (room or _Turn())

    def status(self, message: str) -> Awaitable[object]:
        """Report what the function is doing: the status of a task, else a progress message.

        A `def` tool calls it without `await`; there, only tasks have a status.
        """
        room = None
        if not self._channel.status(message) and self._may_wait:
            self._progress = max(nextafter(self._progress, inf), 1.0)
            room = self._channel.progress(self._progress, None, message)
        return room or _Turn()

    async def log(self, level: Level, data: Any, logger: str | None = None) -> None:
        """Send a log message, if the client has requested that level; `data` is any JSON value."""
        if level not in LEVELS:
            raise ContractError(f"no level {level!r}; there are {', '.join(LEVELS)}")
        room = self._channel.log(level, as_json(data, "log data"), logger)
        await (room or _Turn())

    async def detach(self, seconds: float = 1.0) -> None:
        """Close the connection; the client resumes the stream after this number of seconds.

        For calls that last longer than proxies keep a connection open. Only a stream over HTTP, in
        a session, can be resumed; elsewhere this does nothing.
        """
        self._channel.detach(seconds)
        await _Turn()

    @overload
    def elicit(self, message: str, answer: type[T]) -> Awaitable[Elicited[T]]: ...
    @overload
    def elicit(self, message: str, answer: Any) -> Awaitable[Elicited[Any]]: ...
    def elicit(self, message: str, answer: Any) -> Awaitable[Elicited[Any]]:
        """Ask the user to fill in a form: see `Elicit`."""
        return self._one("elicit", Elicit(message, answer))

    def elicit_url(self, message: str, url: str) -> Awaitable[Elicited[None]]:
        """Ask the user to open a page: see `ElicitURL`."""
        return self._one("elicit_url", ElicitURL(message, url))

    def sample(
        self, messages: MessageContent | Sequence[MessageContent], **options: Any
    ) -> Awaitable[Sampled]:
        """Ask the client's model: see `Sample` for the options."""
        return self._one("sample", Sample(messages, **options))

    def roots(self) -> Awaitable[list[Root]]:
        """Ask for the folders and files that the client lets a server use."""
        return self._one("roots", ListRoots())

    def ask(self, **questions: Question) -> Awaitable[dict[str, Any]]:
        """Send several requests at once; the result has a response for each name.

        For a client of the stateless era the function runs again from its beginning with the
        responses so far: do nothing that cannot be undone before the last response.
        """
        self._require_async()
        return self._ask(questions, [self._key(name) for name in questions])

    def _require_async(self, purpose: str = "ask") -> None:
        if not self._may_wait:
            raise ContractError(
                f"{self.name} is a plain def, and cannot {purpose}; make it async def"
            )

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
        requests = dict(zip(keys, questions.values(), strict=True))
        answers = await self._channel.ask(requests)
        read = [_read(key, question, answers[key]) for key, question in requests.items()]
        return dict(zip(questions, read, strict=True))

    def _key(self, name: str) -> str:
        """Return a key for a request that does not change when the function runs again."""
        if self._keys is None:
            self._keys = set()
        key, times = name, 1
        while key in self._keys:
            times += 1
            key = f"{name}-{times}"
        self._keys.add(key)
        return key


def _read(key: str, question: Question, answer: bytes) -> Any:
    try:
        return question.read(answer)
    except InvalidContent as misfit:
        raise WrongAnswer(key, misfit) from misfit
