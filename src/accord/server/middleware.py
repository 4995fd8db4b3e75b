"""Middleware: functions around the tools, prompts and resources of a server."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar

import msgspec

from accord.errors import ContractError
from accord.model.answer import Answer
from accord.model.context import Context
from accord.model.tool import Tool
from accord.model.values import read_exactly

if TYPE_CHECKING:
    from accord.server.operation import RequestChannel

T = TypeVar("T")
_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="deterministic").encode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode = msgspec.json.Decoder(float_hook=float).decode  # 1e999 is infinite; the tool rejects it
_ARGUMENTS: Final = 2
_EXAMPLE: Final = "async def timing(call: Call, next: Next) -> Answer[Any]"


class WrappedOperation(Protocol):
    """An operation that runs inside middleware."""

    @property
    def call(self) -> "RequestChannel": ...
    @property
    def raw_arguments(self) -> bytes: ...
    @property
    def context(self) -> Context[Any]: ...
    async def execute(self, call: "Call") -> Answer[Any]: ...


class Call(msgspec.Struct, eq=False, gc=False):
    """A call of a tool, a prompt or a resource, as middleware sees it."""

    kind: Literal["tool", "prompt", "resource"]
    name: str
    """The name of the tool or prompt, or the URI of the resource."""
    tool: Tool | None
    """The tool, with its hints and tags; None for a prompt or a resource."""
    _operation: WrappedOperation
    _changed: bytes | None = None
    """The arguments as JSON, if middleware has changed them."""
    _arguments: Mapping[str, Any] | None = None

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments as the client sent them, before they are checked."""
        if self._arguments is None:
            self._arguments = MappingProxyType(_decode(self.raw_arguments))
        return self._arguments

    @property
    def raw_arguments(self) -> bytes:
        """The arguments as JSON."""
        return self._operation.raw_arguments if self._changed is None else self._changed

    @property
    def canonical_arguments(self) -> bytes:
        """The arguments as JSON with sorted names and exact numbers: the same for equal ones."""
        return _encode_sorted(read_exactly(self.raw_arguments))

    @property
    def context(self) -> Context[Any]:
        """The context of the call: `state`, `caller`, `client`, `log`, `progress`."""
        return self._operation.context

    def with_arguments(self, /, **arguments: Any) -> "Call":
        """Return the call with some arguments replaced or added; the others stay as sent."""
        changed = _encode({**_members(self.raw_arguments), **arguments})
        return Call(self.kind, self.name, self.tool, self._operation, changed)

    def within(self, seconds: float, work: Awaitable[T]) -> Awaitable[T]:
        """Await something for at most so many seconds; then cancel it and raise a Problem."""
        return self._operation.call.within(seconds, work)

    def execute(self) -> Awaitable[Answer[Any]]:
        """Run the function, inside of all middleware."""
        return self._operation.execute(self)


Next = Callable[[Call], Awaitable[Answer[Any]]]
"""Continues with a call; raises the Problem or other exception with which it fails."""
Middleware = Callable[[Call, Next], Awaitable[Answer[Any]]]


def compose(middleware: Sequence[Middleware]) -> Next:
    """Return one function that runs middleware, the first one outermost, around a call."""
    inner: Next = Call.execute
    for each in reversed(middleware):
        inner = _around(each, inner)
    return inner


def _around(middleware: Middleware, inner: Next) -> Next:
    return lambda call: middleware(call, inner)


def limited(seconds: float) -> Middleware:
    """Return middleware that ends a call after a time; the transport has the clock."""

    async def limit(call: Call, following: Next) -> Answer[Any]:
        return await call.within(seconds, following(call))

    return limit


def require_middleware(function: object) -> None:
    """Raise ContractError unless a function can be middleware."""
    if not callable(function):
        raise ContractError(f"{function!r} is not middleware; write {_EXAMPLE}")
    name = getattr(function, "__name__", repr(function))
    fault = None
    if not _is_async(function):
        fault = "must be async"
    elif not _takes_two(function):
        fault = "must take a call and the next function"
    if fault is not None:
        raise ContractError(f"middleware {name!r} {fault}; write {_EXAMPLE}", at=function)


def _is_async(function: Any) -> bool:
    body = inspect.unwrap(function) if inspect.isroutine(function) else type(function).__call__
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(body)


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(*range(_ARGUMENTS))
    except TypeError:
        return False
    return True
