"""Whatever a reply came in, off: bytes, an SDK's object, JSON-RPC, a workflow tool's wrapping."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from accord.reader.reading import Notes
from accord.reader.text import LARGE, json_in_fence, parse_json

DEEPEST: Final = 8  # wrappings within each other
_OWN: Final = frozenset(
    {"content", "structuredContent", "isError", "_meta", "resultType", "toolResult"}
)
_BESIDE_CONTENT: Final = _OWN - {"content"}
_PASSED_ON: Final = _OWN | {"status"}
_FINE: Final = (None, "success", "ok")
_WRITTEN: Final = (bytes, str, bytearray, memoryview)
_decode: Final = msgspec.json.Decoder().decode
_WRAPPINGS: Final = ("output", "response", "json")
_BINARY_SHARE: Final = 0.05


class Reply(msgspec.Struct, kw_only=True):
    """A reply without its wrapping: an error, a tool result, or some payload."""

    error: Mapping[str, Any] | None = None
    """A JSON-RPC error."""
    result: dict[str, Any] | None = None
    """A tool result: it has `content`, or structure."""
    payload: Any = None
    """What is neither: a value, or a text."""
    is_text: bool = False
    """The payload is text as it came, not a JSON string."""
    size: int | None = None
    """The bytes of what is no text at all."""

    @property
    def is_error(self) -> bool | None:
        """What a tool result says of itself, if it says anything."""
        said = None if self.result is None else self.result.get("isError")
        return said if isinstance(said, bool) else None


def unwrap(reply: Any, notes: Notes) -> Reply:
    """What a reply says, whatever it came in."""
    if not isinstance(reply, _WRITTEN):
        raw = getattr(reply, "raw", None)  # as our own client keeps it
        if not isinstance(raw, bytes | str):
            return _from_value(_plain(reply, notes), notes, 0)
        reply = raw
    if isinstance(reply, str):
        return _from_text(reply, notes)
    return _from_bytes(bytes(reply), notes)


def _from_bytes(raw: bytes, notes: Notes) -> Reply:
    if raw[:1] == b"{" and len(raw) <= LARGE:
        try:
            return _from_object(_decode(raw), notes, 0)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # it is looked at more closely
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode(errors="replace")
        odd = text.count("\ufffd") + raw.count(0)
        if odd > len(text) * _BINARY_SHARE or b"\0" in raw:
            notes.finding("the reply is binary, not text")
            notes.rule("binary", "likely")
            return Reply(size=len(raw))
        notes.finding("the reply is not valid UTF-8")
    else:
        if "\0" in text:
            notes.finding("the reply is binary, not text")
            notes.rule("binary", "likely")
            return Reply(size=len(raw))
    return _from_text(text, notes)


def _from_text(text: str, notes: Notes) -> Reply:
    text = text.removeprefix("\ufeff")
    found, value = parse_json(text, notes)
    if found:
        return _from_value(value, notes, 0)
    fenced = json_in_fence(text)
    if fenced is not None and not isinstance(fenced.value, str) and not fenced.prose:
        notes.rule("fenced-reply", "likely")
        return _from_value(fenced.value, notes, 0)
    return Reply(payload=text, is_text=True)


def _plain(reply: Any, notes: Notes) -> Any:
    """An SDK's object as the JSON it stands for."""
    if isinstance(reply, dict | list):
        return _named(reply, notes, 0)
    if isinstance(reply, int | float | bool | None):
        return reply
    dump = getattr(reply, "model_dump", None)
    if callable(dump):
        notes.rule("sdk-object")
        return dump(mode="json", by_alias=True, exclude_none=True)
    if dataclasses.is_dataclass(reply) and not isinstance(reply, type):
        notes.rule("sdk-object")
        return dataclasses.asdict(reply)
    if isinstance(reply, msgspec.Struct):
        notes.rule("sdk-object")
        return msgspec.to_builtins(reply)
    if isinstance(reply, Mapping):
        return _named(dict(reply), notes, 0)
    if isinstance(reply, tuple):
        return _named(list(reply), notes, 0)
    notes.finding(f"a {type(reply).__name__} is not a known type of reply; its str() is used")
    return str(reply)


def _named(value: Any, notes: Notes, depth: int) -> Any:
    """A value as JSON would have it, as far down as members are looked at: names are text."""
    if depth > DEEPEST:
        return value
    if isinstance(value, list) and len(value) == 1:
        inner = _named(value[0], notes, depth + 1)
        return value if inner is value[0] else [inner]
    if not isinstance(value, dict):
        return value
    if not all(isinstance(name, str) for name in value):
        notes.finding("member names that are not strings were converted")
        value = {str(name): each for name, each in value.items()}
    changed = {
        name: inner
        for name, each in value.items()
        if isinstance(each, dict | list) and (inner := _named(each, notes, depth + 1)) is not each
    }
    return {**value, **changed} if changed else value


def _from_value(value: Any, notes: Notes, depth: int) -> Reply:
    if isinstance(value, dict):
        return _from_object(value, notes, depth)
    if isinstance(value, list):
        return _from_list(value, notes, depth)
    if isinstance(value, str) and depth:
        return _from_text(value, notes)
    return Reply(payload=value)


def _from_object(value: dict[str, Any], notes: Notes, depth: int) -> Reply:
    if "jsonrpc" in value and ("result" in value or "error" in value):
        return _from_message(value, notes, depth)
    if is_tool_result(value):
        return Reply(result=value)
    if _is_rpc_error(value):
        notes.rule("json-rpc-error")
        return Reply(error=value["error"])
    if len(value) == 1 and depth < DEEPEST:
        (name, inner), *_ = value.items()
        if name in _WRAPPINGS and isinstance(inner, dict | list | str):
            notes.rule("workflow-wrapping", "certain")
            return _from_value(inner, notes, depth + 1)
    return Reply(payload=value)


def _from_message(message: dict[str, Any], notes: Notes, depth: int) -> Reply:
    error = message.get("error")
    if error is not None:
        notes.rule("json-rpc-error")
        if isinstance(error, dict):
            return Reply(error=error)
        notes.finding("the JSON-RPC error is not an object")
        return Reply(error={"message": str(error)})
    notes.rule("json-rpc-result")
    result = message.get("result")
    if not isinstance(result, dict):
        return _from_value(result, notes, depth + 1)
    if is_tool_result(result):
        return (
            _from_object(result, notes, depth + 1) if "jsonrpc" in result else Reply(result=result)
        )
    return Reply(payload=result) if _OWN.isdisjoint(result) else Reply(result=result)


def _from_list(value: list[Any], notes: Notes, depth: int) -> Reply:
    if value and all(isinstance(item, dict) for item in value):
        if all(map(is_block, value)):
            notes.rule("content-blocks", "likely")
            return Reply(result={"content": value})
        if len(value) == 1 and depth < DEEPEST:
            (item,) = value
            if len(item) == 1 and next(iter(item)) in _WRAPPINGS:
                notes.rule("workflow-wrapping")
                return _from_object(item, notes, depth + 1)
            if "jsonrpc" in item:
                return _from_object(item, notes, depth + 1)
        if all("jsonrpc" in item for item in value):
            return _from_batch(value, notes, depth)
    return Reply(payload=value)


def _from_batch(messages: list[dict[str, Any]], notes: Notes, depth: int) -> Reply:
    replies = [each for each in messages if "result" in each or "error" in each]
    notes.finding(f"the batch has {len(messages)} messages; the first reply is used")
    return _from_object((replies or messages)[0], notes, depth + 1)


def is_tool_result(value: Mapping[str, Any]) -> bool:
    """Whether an object is a tool result by its members."""
    content = value.get("content")
    if isinstance(content, list):
        if not content:
            return len(value) == 1 or not _BESIDE_CONTENT.isdisjoint(value)
        return all(map(is_block, content))
    return "structuredContent" in value


def is_passed_on(value: Mapping[str, Any]) -> bool:
    """Whether a value is a tool result that somebody else gave, of texts and nothing more."""
    blocks = value.get("content")
    if not isinstance(blocks, list) or not blocks or not value.keys() <= _PASSED_ON:
        return False
    if value.get("status") not in _FINE:
        return False
    return is_tool_result(value) and all(block["type"] == "text" for block in blocks)


def is_block(block: Any) -> bool:
    """Whether a value is a content block by its members."""
    if not isinstance(block, dict):
        return False
    match block.get("type"):
        case "text":
            return "text" in block
        case "image" | "audio":
            return "data" in block or "mimeType" in block
        case "resource":
            return isinstance(block.get("resource"), dict)
        case "resource_link":
            return "uri" in block
    return False


def _is_rpc_error(value: Mapping[str, Any]) -> bool:
    error = value.get("error")
    is_error = isinstance(error, dict) and type(error.get("code")) is int and "message" in error
    return is_error and value.keys() <= {"error", "id", "jsonrpc"}
