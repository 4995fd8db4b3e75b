"""Tools: name, description, schemas, hints and one function."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from typing import Any, Final, Literal, NamedTuple

import msgspec

from accord.errors import ContractError
from accord.model.answer import Notice, Page
from accord.model.arguments import JsonSchema
from accord.model.caller import scopes_of
from accord.model.content import Icon

_AFTER: Final = 2.0  # seconds before a call of an `auto` tool becomes a task
_NAME: Final = re.compile(r"[A-Za-z0-9_.\-]{1,128}")


class Hints(msgspec.Struct, frozen=True, kw_only=True):
    """Effects of a tool, for a client to decide whether to ask the user first."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


class Bound(msgspec.Struct, frozen=True, gc=False):
    """Checked arguments of one call, in the form that `invoke` takes."""

    arguments: Any
    warnings: Sequence[Notice] = ()


class Executable(NamedTuple):
    """A function as an executor runs it: `invoke` of a Tool, and two of its flags."""

    invoke: Callable[[Any, Any], Any]
    is_async: bool
    wants_context: bool


Overrides = Mapping[Callable[..., Any], Callable[..., Any]]
"""Functions that replace dependencies."""


class Dependencies(NamedTuple):
    """The dependencies of a function."""

    functions: tuple[Callable[..., Any], ...]
    with_overrides: Callable[[Overrides], Executable]
    """Returns the function with other dependencies."""


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """The declared output of a tool, and properties of its type."""

    schema: JsonSchema | None = None
    encode: Callable[[Any], bytes] | None = None
    """Returns a result as one line of JSON, valid under the schema; msgspec encodes it if None.

    Raises InvalidValue if it is not valid, and RecursionError if it has too many levels.
    """
    check: Callable[[bytes], object] | None = None
    """Raises if the JSON of a result is not valid under the schema."""
    is_text: bool = False
    """True if a result is plain text (`-> str`), not a JSON value."""
    is_loose: bool = True
    """True if a part of the type is unspecified, so a result may not be JSON."""
    hides_nan: bool = False
    """True if null is valid in place of a number; NaN is encoded as null."""
    is_recursive: bool = False
    """True if the schema is recursive, so a result may have any depth."""
    is_unordered: bool = False
    """True if the type has sets, whose order differs between processes."""


Tasks = bool | Literal["auto", "required"]
"""When a call becomes a task, for a client that can fetch the result later: see `Tool.task`."""

Audience = Callable[[Any], Callable[[str], bool]]
"""Returns, for the sender of `tools/list`, a predicate on the names of tools to show."""


NextArguments = Callable[[bytes, Page, int], Mapping[str, Any] | None]
"""Returns, for arguments and the page of the answer, arguments for what is after its first items.

None if there are no such arguments.
"""


def tags_of(tags: Any, what: str) -> frozenset[str]:
    """Return the tags of a feature as a set; raise ContractError if they are not strings."""
    is_several = isinstance(tags, Collection) and not isinstance(tags, str | bytes)
    if not is_several or not all(isinstance(tag, str) and tag for tag in tags):
        raise ContractError(f"the tags of {what} must be a set of strings, such as {{'admin'}}")
    return frozenset(tags)


def normalize_scopes(feature: Any, what: str) -> None:
    """Make the scopes of a feature a tuple; raise ContractError if they are not scopes."""
    if feature.scopes:
        msgspec.structs.force_setattr(feature, "scopes", scopes_of(feature.scopes, what))
    elif feature.hidden:
        raise ContractError(f"{what} is hidden from callers without its scopes, but has none")


Replies = Literal["as-is", "repaired", "normalised"]
"""What is done with the replies of another server."""


class Foreign(msgspec.Struct, frozen=True):
    """The entry of a feature of another server, as that lists it."""

    entry: Mapping[str, Any]
    replies: Replies = "repaired"
    """What is done with the replies of a tool."""
    is_stale: bool = False
    """True if the server is unavailable: the entry is from its last list."""
    origin: Callable[[], tuple[str, str | None]] | None = None
    """Returns the name of the server and its revision, for the log."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool of any source.

    `bind` checks the JSON arguments and raises a validation Problem. `invoke` runs the tool with
    the bound arguments (and a Context if `wants_context`) and returns a value, an Answer, or an
    awaitable of one if `is_async`.
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
    """Maximum bytes of text in an answer; the server's limit if None."""
    icons: Sequence[Icon] = ()
    meta: Mapping[str, Any] | None = None
    """Content of its `_meta`."""
    dependencies: Dependencies | None = None
    function: Callable[..., Any] | None = None
    """The author's function, whose file and line are in the log if it returns a wrong result."""
    timeout: float | None = None
    """Time limit of a call in seconds; none if None."""
    task: Tasks = False
    """True makes each call a task if the client can fetch the result later.

    With `auto`, a call becomes one if it is not over after `after` seconds; with `required`, other
    clients cannot call the tool.
    """
    after: float = 0.0
    """Seconds before a call becomes a task. Questions meanwhile are asked as in other calls."""
    restartable: bool = False
    """True if a task may run again, from its beginning, after its process has ended."""
    tags: Collection[str] = frozenset()
    """Words to select tools by: see `Server.disable`."""
    enabled: bool = True
    """False if clients do not see it until `Server.enable`."""
    audience: Audience | None = None
    """Callers that see it in `tools/list`; all if None."""
    scopes: Sequence[str] = ()
    """Scopes that a verified caller needs to call it."""
    hidden: bool = False
    """True if `tools/list` leaves it out for callers that lack its scopes."""
    next_arguments: NextArguments | None = None
    """The way to the rest of a cut page, if the tool's own arguments are one."""
    foreign: Foreign | None = None
    """Its entry, if it is a tool of another server."""

    def __post_init__(self) -> None:
        if self.timeout is not None and not _is_duration(self.timeout):
            raise ContractError(
                f"the timeout of tool {self.name!r} must be a number of seconds above 0,"
                f" not {self.timeout!r}"
            )
        if self.task or self.after or self.restartable:
            self._require_task_options()
        if self.tags:
            tags = tags_of(self.tags, f"tool {self.name!r}")
            msgspec.structs.force_setattr(self, "tags", tags)
        normalize_scopes(self, f"tool {self.name!r}")
        if not _NAME.fullmatch(self.name):
            raise ContractError(
                f"tool name {self.name!r} must be 1 to 128 letters, digits, _ . or -"
            )

    def _require_task_options(self) -> None:
        """Raise ContractError if the options of tasks contradict each other."""
        if self.task not in (True, "auto", "required"):
            raise ContractError(
                f"the task of tool {self.name!r} must be True, 'auto' or 'required'; after= and"
                " restartable= need one"
            )
        if self.after and (self.task is True or not _is_duration(self.after)):
            raise ContractError(
                f"after= of tool {self.name!r} must be a number of seconds above 0, with"
                " task='auto' or 'required'"
            )
        if self.task == "auto" and not self.after:
            msgspec.structs.force_setattr(self, "after", _AFTER)


def _is_duration(seconds: object) -> bool:
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    return is_number and 0 < seconds < inf  # type: ignore[operator]


def tool_without_call(name: str, **known: Any) -> Tool:
    """Return a tool with metadata only; calling it raises ContractError."""

    def bind(arguments: bytes) -> Bound:
        return Bound(arguments)

    def invoke(arguments: Any, context: Any) -> Any:
        raise ContractError(f"{name} has no function and cannot be called")

    return Tool(name=name, bind=bind, invoke=invoke, is_async=False, **known)
