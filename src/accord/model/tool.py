"""A tool: a name, a description, schemas, hints and one call."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from accord.errors import ContractError
from accord.model.answer import Notice
from accord.model.arguments import JsonSchema
from accord.model.content import Icon

_NAME: Final = re.compile(r"[A-Za-z0-9_.\-]{1,128}")


class Hints(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool does to the world, for a client to decide whether to ask first."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


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
    is_recursive: bool = False
    """Its schema refers to itself, so that a result may have any number of levels."""
    is_unordered: bool = False
    """There are sets in it, which come in another order in another process."""


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
    icons: Sequence[Icon] = ()
    meta: Mapping[str, Any] | None = None
    """What goes into its `_meta`, for clients that know what it means."""
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
