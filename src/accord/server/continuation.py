"""Cursors to the part of an answer that was cut, and how calls continue from them.

A cursor holds the tool's own cursor and how much of the answer has been sent; the tool runs again,
and what was sent is left out. So only read-only tools have one.
"""

from typing import Any, Final

import msgspec

from accord.model.answer import FieldError, Problem
from accord.model.limits import NO_CONTINUATION, Continuation, Position
from accord.model.tool import Hints, Tool, tool_without_call
from accord.model.values import read_exactly
from accord.signing import Cursors

READ_MORE: Final = "read_more"
_REST: Final = "rest."  # tells a cursor to the rest from one that a tool made with Cursors itself
_CURSOR: Final = "cursor"
_LONGEST_KEPT: Final = 4_096  # bytes of arguments that a cursor carries along
_AGAIN: Final = "call it again with the same arguments and this cursor for the rest"
_MORE: Final = f"call {READ_MORE} with this cursor for the rest"

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_canonical = msgspec.json.Encoder(order="deterministic").encode


class Asked(msgspec.Struct, frozen=True):
    """What was asked of a tool, and how much of the answer its caller has already."""

    tool: Tool
    arguments: bytes
    place: Position | None = None


class _Cut(msgspec.Struct, frozen=True, array_like=True):
    """What a tool's own cursor argument carries."""

    asked: str
    own: Any
    place: Position


class _Elsewhere(msgspec.Struct, frozen=True, array_like=True):
    """What the cursor of `read_more` carries."""

    tool: str
    arguments: str
    place: Position


def has_own_cursor(arguments: bytes) -> bool:
    """True if a tool was asked for a page of its own: what came before is not known."""
    return may_have_cursor(arguments) and _without_cursor(arguments)[1] is not None


def may_have_cursor(arguments: bytes) -> bool:
    """Whether it is worth looking for a cursor; its name may also be written with escapes."""
    return b'"cursor"' in arguments or b"\\u" in arguments


class Rest:
    """Makes cursors to the rest of answers, and finds what they continue."""

    def __init__(self, cursors: Cursors, *, has_read_more: bool = False) -> None:
        self._cursors = cursors
        self._has_read_more = has_read_more

    def way(self, asked: Asked, place: Position) -> Continuation:
        """How the caller gets what comes behind a place in the answer."""
        tool = asked.tool
        if not tool.hints.read_only:
            return NO_CONTINUATION
        if takes_cursor(tool):
            others, own = _without_cursor(asked.arguments)
            cut = _Cut(_digest(others, tool), own, place)
            return Continuation(_REST + self._cursors.encode(cut, f"rest of {tool.name}"), _AGAIN)
        if self._has_read_more and len(asked.arguments) <= _LONGEST_KEPT:
            more = _Elsewhere(tool.name, asked.arguments.decode(), place)
            return Continuation(_REST + self._cursors.encode(more, READ_MORE), _MORE)
        return NO_CONTINUATION

    def continued(self, asked: Asked) -> tuple[bytes, Position | None]:
        """The arguments and the place that are meant, where a cursor of ours may be among them."""
        tool = asked.tool
        others, cursor = _without_cursor(asked.arguments) if takes_cursor(tool) else ({}, None)
        if not isinstance(cursor, str) or not cursor.startswith(_REST):
            return asked.arguments, asked.place
        held = self._cursors.decode(cursor.removeprefix(_REST), f"rest of {tool.name}")
        cut = msgspec.convert(held, _Cut)
        if cut.asked != _digest(others, tool):
            fault = FieldError(_CURSOR, "belongs to a call with other arguments")
            raise Problem.validation(
                f"The cursor {fault.error}", code="INVALID_CURSOR", fields=[fault]
            )
        is_needed = _CURSOR in tool.input_schema.get("required", ())
        own = {_CURSOR: cut.own} if cut.own is not None or is_needed else {}
        return msgspec.json.encode({**others, **own}), cut.place

    def elsewhere(self, arguments: bytes) -> tuple[str, bytes, Position]:
        """The tool, the arguments and the place that a call of `read_more` means."""
        _, cursor = _without_cursor(arguments)
        if not isinstance(cursor, str):
            fault = FieldError(_CURSOR, "must be a string")
            raise Problem.validation("read_more takes a cursor", fields=[fault])
        held = self._cursors.decode(cursor.removeprefix(_REST), READ_MORE)
        more = msgspec.convert(held, _Elsewhere)
        return more.tool, more.arguments.encode(), more.place


def read_more_tool() -> Tool:
    """The tool that a caller fetches the rest with, where another one takes no cursor."""
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
    """Whether a tool has an argument by which it can be told where to go on."""
    schema = tool.input_schema.get("properties", {}).get(_CURSOR, {})
    kinds = [schema, *schema.get("anyOf", ())]
    return any(kind.get("type") == "string" for kind in kinds)


def _without_cursor(arguments: bytes) -> tuple[dict[str, msgspec.Raw], Any]:
    """The other arguments as they came, and the cursor."""
    try:
        members = _members(arguments)
        cursor = members.pop(_CURSOR, None)
        return members, None if cursor is None else msgspec.json.decode(cursor)
    except msgspec.MsgspecError:
        return {}, None  # whatever is wrong with it, the tool says it


def _digest(arguments: dict[str, msgspec.Raw], tool: Tool) -> str:
    """What was asked, as far as the tool looks at it: some clients add an id to every call."""
    from hashlib import blake2b  # a server starts without it, and faster

    known = tool.input_schema.get("properties", {})
    asked = {name: read_exactly(value) for name, value in arguments.items() if name in known}
    return blake2b(_canonical(asked), digest_size=12).hexdigest()
