"""A tool: a name, a description, schemas, hints and one call."""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from math import isfinite
from typing import Any, Final, Protocol

import msgspec

from accord.answer import Notice
from accord.arguments import JsonSchema
from accord.errors import AccordError, ContractError
from accord.revisions import Revision

_NAME: Final = re.compile(r"[A-Za-z0-9_.\-]{1,128}")


class Hints(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool does to the world, for a client to decide whether to ask first."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


class Client(msgspec.Struct, frozen=True):
    """Who is calling, by its own account, and in which revision."""

    revision: Revision
    capabilities: dict[str, Any] = {}
    info: dict[str, Any] = {}


class Bound(msgspec.Struct, frozen=True, gc=False):
    """The arguments of one call, checked, in whatever form the tool's own call takes."""

    arguments: Any
    warnings: Sequence[Notice] = ()


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool promises of its results, and how far that can be relied on."""

    schema: JsonSchema | None = None
    check: Callable[[bytes], object] | None = None
    """Raises when the JSON of a result does not fit the schema."""
    is_text: bool = False
    """A result is text as it stands (`-> str`), not a JSON value."""
    is_loose: bool = True
    """Some part of a result may be anything, also what JSON has no word for."""
    hides_nan: bool = False
    """Null fits where a number does, and null is how a NaN is written."""
    is_unordered: bool = False
    """There are sets in it, which come in another order in another process."""


class MissingCapability(AccordError):
    """A tool needs something of its client that the client has not said it can do."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(f"The client lacks a capability: {', '.join(names)}")
        self.capabilities: dict[str, Any] = {name: {} for name in names}


class Sender(Protocol):
    """An HTTP request, as far as a tool may want to know it."""

    @property
    def fields(self) -> Mapping[bytes, bytes]:
        """Its headers, by their names in lower case."""

    @property
    def address(self) -> str | None:
        """Where it comes from."""


class Channel(Protocol):
    """The way from a tool back to whoever called it."""

    @property
    def cancelled(self) -> bool: ...
    @property
    def sender(self) -> Any: ...
    def progress(self, progress: float, total: float | None, message: str | None) -> None: ...


class _Turn:
    """One turn of whatever loop there is, so that what was said can be sent."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class Context:
    """What a tool can know of the call it is in. Ask for it with a parameter of this type."""

    __slots__ = ("_channel", "client", "tool")

    def __init__(self, tool: str, client: Client, channel: Channel) -> None:
        self.tool = tool
        self.client = client
        self._channel = channel

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
        """The HTTP request that the call came in: a `Sender`, or Django's own; else None."""
        return self._channel.sender

    def require(self, *capabilities: str) -> None:
        """Go on only if the client can do this: `sampling`, `elicitation`, `roots`."""
        missing = [name for name in capabilities if name not in self.client.capabilities]
        if missing:
            raise MissingCapability(missing)

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the caller how far the work has come, if it wants to know."""
        if not isfinite(progress) or not isfinite(total or 0):
            raise ContractError("progress is told in finite numbers")
        self._channel.progress(progress, total, message)
        await _Turn()


Audience = Callable[[Any], Callable[[str], bool]]
"""Given the sender of `tools/list`, says by name which tools to show; one for tools of a kind."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool, from whatever source.

    `bind` checks the JSON of the arguments and raises a validation Problem; `invoke` does the
    work with what `bind` made (and a Context where it wants one), and returns a value, an Answer,
    or an awaitable of one if the tool is async.
    """

    name: str
    description: str
    input_schema: JsonSchema
    bind: Callable[[bytes], Bound]
    invoke: Callable[[Any, Any], Any]
    is_async: bool
    wants_context: bool = False
    title: str | None = None
    hints: Hints = Hints()
    output: Output = Output()
    profile: str | None = None
    max_bytes: int | None = None
    """The most text that an answer of it may have; what the server says if left out."""
    audience: Audience | None = None
    """Who gets to see it in `tools/list`; everybody if left out."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ContractError(
                f"{self.name!r} is no name for a tool: 1 to 128 letters, digits, _ . or -"
            )


def run_elsewhere(name: str, **known: Any) -> Tool:
    """A tool that somebody else runs: what is known of it, and no call."""

    def bind(arguments: bytes) -> Bound:
        return Bound(arguments)

    def invoke(arguments: Any, context: Any) -> Any:
        raise ContractError(f"{name} cannot be run here")

    return Tool(name=name, bind=bind, invoke=invoke, is_async=False, **known)


class Toolbox(dict[str, Tool]):
    """The tools of a server by name; two tools never share one."""

    def add(self, tool: Tool) -> None:
        """Put a tool in, or raise if its name is taken."""
        if tool.name in self:
            raise ContractError(f"there are two tools named {tool.name!r}")
        self[tool.name] = tool
