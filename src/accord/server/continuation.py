"""Cursors to the part of an answer that was cut, and how calls continue from them.

A cursor holds the tool's own cursor and how much of the answer has been sent; the tool runs again,
and what was sent is left out. So only read-only tools have one.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from accord.model.answer import FieldError, Page, Problem
from accord.model.limits import NO_CONTINUATION, Continuation, Position
from accord.model.tool import Hints, Tool, tool_without_call
from accord.model.values import read_exactly
from accord.signing import Cursors

READ_MORE: Final = "read_more"
_REST: Final = "rest."  # prefix that tells these cursors from those of a tool itself
_CURSOR: Final = "cursor"
_MAX_ARGUMENTS: Final = 4_096  # bytes of arguments in a cursor
_AGAIN: Final = "call it again with the same arguments and this cursor for the rest"
_MORE: Final = f"call {READ_MORE} with this cursor for the rest"

_PAGE_ITEMS: Final = ("results",)  # the items of a page, as the REST framework names them

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode
_canonical = msgspec.json.Encoder(order="deterministic").encode


class ToolRequest(msgspec.Struct, frozen=True):
    """A tool with its arguments, and the position that the caller has read up to."""

    tool: Tool
    arguments: bytes
    position: Position | None = None
    original: str | None = None
    """The id of the kept reply that is cut, instead of the arguments to call the tool with."""


class _Cut(msgspec.Struct, frozen=True, array_like=True):
    """Payload of the cursor of a tool that takes one."""

    arguments: str
    """Digest of the other arguments."""
    own: Any
    """The tool's own cursor."""
    position: Position


class _ReadMore(msgspec.Struct, frozen=True, array_like=True):
    """Payload of the cursor of `read_more`."""

    tool: str
    arguments: str
    position: Position | None
    original: str | None = None


class Resumed(NamedTuple):
    """The answer that a cursor of `read_more` continues: of a call, or of a kept reply."""

    tool: str
    arguments: bytes
    position: Position | None
    original: str | None


def has_own_cursor(arguments: bytes) -> bool:
    """True if the arguments have the tool's own cursor: the answer is not its first page."""
    return may_have_cursor(arguments) and _without_cursor(arguments)[1] is not None


def may_have_cursor(arguments: bytes) -> bool:
    """True if the arguments may have a cursor; its name may be written with escapes."""
    return b'"cursor"' in arguments or b"\\u" in arguments


class Continuations:
    """Makes cursors to the part of an answer that was cut, and resolves them."""

    def __init__(self, cursors: Cursors, *, has_read_more: bool = False) -> None:
        self._cursors = cursors
        self._has_read_more = has_read_more

    def after(
        self, request: ToolRequest, position: Position, page: Page | None = None
    ) -> Continuation:
        """Return how the caller gets the part of an answer after a position; `page` is its page."""
        by_cursor = self._by_cursor(request, position)
        following = None if page is None else _next_arguments(request, position, page)
        if following is None or not request.tool.hints.read_only:
            return by_cursor
        hint = f"call it again with {_encode(following).decode()} for the rest"
        return Continuation(by_cursor.cursor, hint)

    def _by_cursor(self, request: ToolRequest, position: Position) -> Continuation:
        tool = request.tool
        if request.original is not None:
            cursor = self.to_original(tool.name, request.original, position)
            return NO_CONTINUATION if cursor is None else Continuation(cursor, _MORE)
        if not tool.hints.read_only:
            return NO_CONTINUATION
        if takes_cursor(tool):
            others, own = _without_cursor(request.arguments)
            cut = _Cut(_digest(others, tool), own, position)
            return Continuation(_REST + self._cursors.encode(cut, f"rest of {tool.name}"), _AGAIN)
        if self._has_read_more and len(request.arguments) <= _MAX_ARGUMENTS:
            more = _ReadMore(tool.name, request.arguments.decode(), position)
            return Continuation(_REST + self._cursors.encode(more, READ_MORE), _MORE)
        return NO_CONTINUATION

    def to_original(self, tool: str, original: str, position: Position | None = None) -> str | None:
        """Return the cursor to a kept reply; None if no tool continues answers."""
        if not self._has_read_more:
            return None
        more = _ReadMore(tool, "", position, original)
        return _REST + self._cursors.encode(more, READ_MORE)

    def resolve(self, request: ToolRequest) -> tuple[bytes, Position | None]:
        """Return the original arguments and the position that a cursor of ours stands for."""
        tool = request.tool
        others, cursor = _without_cursor(request.arguments) if takes_cursor(tool) else ({}, None)
        if not isinstance(cursor, str) or not cursor.startswith(_REST):
            return request.arguments, request.position
        held = self._cursors.decode(cursor.removeprefix(_REST), f"rest of {tool.name}")
        cut = msgspec.convert(held, _Cut)
        if cut.arguments != _digest(others, tool):
            fault = FieldError(_CURSOR, "belongs to a call with other arguments")
            raise Problem.validation(
                f"The cursor {fault.error}", code="INVALID_CURSOR", fields=[fault]
            )
        is_needed = _CURSOR in tool.input_schema.get("required", ())
        own = {_CURSOR: cut.own} if cut.own is not None or is_needed else {}
        return msgspec.json.encode({**others, **own}), cut.position

    def resolve_read_more(self, arguments: bytes) -> Resumed:
        """Return the answer and the position that the cursor of `read_more` stands for."""
        _, cursor = _without_cursor(arguments)
        if not isinstance(cursor, str):
            fault = FieldError(_CURSOR, "must be a string")
            raise Problem.validation("read_more takes a cursor", fields=[fault])
        held = self._cursors.decode(cursor.removeprefix(_REST), READ_MORE)
        more = msgspec.convert(held, _ReadMore)
        return Resumed(more.tool, more.arguments.encode(), more.position, more.original)


def _next_arguments(
    request: ToolRequest, position: Position, page: Page
) -> Mapping[str, Any] | None:
    """Return the tool's own arguments for the part of a page after a position."""
    find = request.tool.next_arguments
    if find is None or position.path != _PAGE_ITEMS or len(request.arguments) > _MAX_ARGUMENTS:
        return None
    begun = 0 if request.position is None else request.position.skip
    if page.offset is not None:  # that of the part which is here
        page = msgspec.structs.replace(page, offset=page.offset - begun)
    return find(request.arguments, page, position.skip)


def read_more_tool() -> Tool:
    """Return the tool that continues an answer of a tool without a cursor argument."""
    return tool_without_call(
        READ_MORE,
        description="Get the rest of an answer that was cut, with the cursor that it came with",
        input_schema={
            "type": "object",
            "properties": {
                _CURSOR: {"type": "string", "description": "The cursor of the answer's page"}
            },
            "required": [_CURSOR],
        },
        hints=Hints(read_only=True),
    )


def takes_cursor(tool: Tool) -> bool:
    """True if a tool has a cursor argument; that of another server's tool is its own affair."""
    if tool.foreign is not None:
        return False
    schema = tool.input_schema.get("properties", {}).get(_CURSOR, {})
    kinds = [schema, *schema.get("anyOf", ())]
    return any(kind.get("type") == "string" for kind in kinds)


def _without_cursor(arguments: bytes) -> tuple[dict[str, msgspec.Raw], Any]:
    """Return the other arguments as they came, and the cursor."""
    try:
        members = _members(arguments)
        cursor = members.pop(_CURSOR, None)
        return members, None if cursor is None else msgspec.json.decode(cursor)
    except msgspec.MsgspecError:
        return {}, None  # the tool reports it


def _digest(arguments: dict[str, msgspec.Raw], tool: Tool) -> str:
    """Return a digest of the arguments that the tool knows: some clients add an id to each call."""
    from hashlib import blake2b  # a server starts without it, and faster

    known = tool.input_schema.get("properties", {})
    asked = {name: read_exactly(value) for name, value in arguments.items() if name in known}
    return blake2b(_canonical(asked), digest_size=12).hexdigest()
