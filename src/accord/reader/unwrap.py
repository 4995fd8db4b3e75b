"""Unwraps a reply: from bytes, an object, JSON-RPC, a workflow tool, a framework's message.

Messages of agent frameworks are recognised by their members: LangChain's ToolMessage; ToolReturn,
ToolReturnPart and RetryPromptPart of pydantic-ai; the output items of the OpenAI Agents SDK; tool
messages of chat completions. As objects they are dumped first.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from accord.model.plain import as_plain, attempt
from accord.reader.blocks import (
    RESULT_NAMES,
    block_of,
    is_block,
    is_dump,
    is_foreign_block,
    is_lone_text,
    with_wire_names,
)
from accord.reader.documents import LARGE, marked, parse_json
from accord.reader.known_shapes import Reply
from accord.reader.objects import fault_of, is_json, of_object
from accord.reader.reading import Notes

DEEPEST: Final = 8  # wrappings within each other
_OWN: Final = frozenset(
    {"content", "structuredContent", "isError", "_meta", "resultType", "toolResult"}
)
_BESIDE_CONTENT: Final = _OWN - {"content"}
_PASSED_ON: Final = _OWN | {"status"}
_FINE: Final = (None, "success", "ok")
_WRITTEN: Final = (bytes, str, bytearray, memoryview)
_MARKS: Final = frozenset(
    {"tool_call_id", "part_kind", "return_value", "raw_item", "call_id", "additional_kwargs"}
)
"""Members of which each message has one."""
_MARKED: Final = _MARKS | RESULT_NAMES.keys()
"""Members that a result on the wire does not have."""
_UNUSUAL: Final = _MARKED | {"jsonrpc"}
_decode: Final = msgspec.json.Decoder().decode
_WRAPPINGS: Final = frozenset({"output", "response", "json"})
_BINARY_SHARE: Final = 0.05


def unwrap(reply: Any, notes: Notes) -> Reply:
    """Return a reply without its wrappings."""
    kind = type(reply)  # `isinstance` would ask the object for its `__class__`
    if not issubclass(kind, _WRITTEN):
        return _from_python(reply, notes)
    if issubclass(kind, str):
        return _from_text(str.__str__(reply), notes)
    return _from_bytes(bytes(reply), notes)


def unwrap_again(reply: Any, notes: Notes) -> Reply:
    """Return a reply with its values converted to JSON first.

    Raises TypeError if the reply is JSON already.
    """
    if issubclass(type(reply), _WRITTEN) or is_json(reply):
        raise TypeError("the reply is JSON already")
    notes.finding("values that JSON does not have were converted")
    return _from_value(as_plain(reply), notes, 0)


def _from_python(reply: Any, notes: Notes) -> Reply:
    """Unwrap decoded JSON, or an object of an SDK."""
    if type(reply) is dict or type(reply) is list:
        fault = fault_of(reply)
        if fault is not None:
            if fault:
                notes.finding(fault)
            reply = as_plain(reply)
            if type(reply) is list and any(map(is_foreign_block, reply)):  # of pydantic-ai
                notes.rule("content-blocks", "likely")
                return Reply(result=_result_of(reply, is_shown=True))
        return _from_value(reply, notes, 0)
    raw = attempt(getattr, reply, "raw")  # a result of Accord's client
    if type(raw) is bytes or type(raw) is str:
        return unwrap(raw, notes)
    found = of_object(reply, notes)
    if issubclass(type(reply), tuple) and len(found) == 2:
        pair = _result_of_pair(*found)
        found = found if pair is None else Reply(result=pair)
    return found if isinstance(found, Reply) else _from_value(found, notes, 0)


def _from_bytes(raw: bytes, notes: Notes) -> Reply:
    """Unwrap bytes: JSON, text that is mostly UTF-8, or binary."""
    if raw[:1] == b"{" and len(raw) <= LARGE:
        try:
            return _from_object(_decode(raw), notes, 0)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # parsed more tolerantly below
    odd, zeros = 0, raw.count(0)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode(errors="replace")
        odd = text.count("\ufffd")
    if zeros or odd > len(text) * _BINARY_SHARE:
        notes.finding("the reply is binary, not text")
        notes.rule("binary", "likely")
        return Reply(size=len(raw))
    if odd:
        notes.finding("the reply is not valid UTF-8")
    return _from_text(text, notes)


def _from_text(text: str, notes: Notes) -> Reply:
    """Unwrap the JSON in a text, also in a code fence; else the text is the payload."""
    text = text.removeprefix("\ufeff")
    found, value = parse_json(text, notes)
    if found:
        return _from_value(value, notes, 0)
    fenced = marked(text)
    if fenced is not None and not fenced.prose and fenced.rule != "guarded":
        notes.rule("fenced-reply", "likely")
        return _from_value(fenced.value, notes, 0)
    return Reply(payload=text, is_text=True)


def _from_value(value: Any, notes: Notes, depth: int) -> Reply:
    if isinstance(value, dict):
        return _from_object(value, notes, depth)
    if isinstance(value, list):
        return _from_list(value, notes, depth)
    if isinstance(value, str) and depth:
        return _from_text(value, notes)
    return Reply(payload=value)


def _from_object(value: dict[str, Any], notes: Notes, depth: int) -> Reply:
    """Unwrap an object by its members; else it is the payload."""
    if _is_usual(value):
        return Reply(result=value)
    if "jsonrpc" in value and ("result" in value or "error" in value):
        return _from_message(value, notes, depth)
    message = None if _MARKS.isdisjoint(value) else _message_in(value, notes)
    if message is not None:
        return message
    if is_tool_result(value):
        return _result(value, notes)
    if _is_rpc_error(value):
        notes.rule("json-rpc-error")
        return Reply(error=value["error"])
    if len(value) == 1 and depth < DEEPEST:
        (name, inner), *_ = value.items()
        if name in _WRAPPINGS and isinstance(inner, dict | list | str):
            notes.rule("workflow-wrapping", "certain")
            return _from_value(inner, notes, depth + 1)
    if is_lone_text(value) or is_foreign_block(value):
        return _from_list([value], notes, depth)
    return Reply(payload=value)


def _is_usual(result: Mapping[str, Any]) -> bool:
    """True for the usual result: one text block, and no names of a dump."""
    content = result.get("content")
    if type(content) is not list or len(content) != 1 or type(content[0]) is not dict:
        return False
    block = content[0]
    return block.get("type") == "text" and "text" in block and _UNUSUAL.isdisjoint(result)


def _result(value: dict[str, Any], notes: Notes) -> Reply:
    """Return a tool result with the names of the wire."""
    return Reply(result=with_wire_names(value, notes))


def _from_message(message: dict[str, Any], notes: Notes, depth: int) -> Reply:
    """Unwrap a JSON-RPC response."""
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
    if _is_usual(result):
        return Reply(result=result)
    if is_tool_result(result):
        return _result(result, notes)
    return Reply(payload=result) if _OWN.isdisjoint(result) else Reply(result=result)


def _from_list(value: list[Any], notes: Notes, depth: int) -> Reply:
    """Unwrap content blocks, a JSON-RPC batch, or the one item of a workflow tool."""
    if not value or not all(isinstance(item, dict) for item in value):
        return Reply(payload=value)
    if all(is_block(item) or is_foreign_block(item) for item in value):
        notes.rule("content-blocks", "likely")
        return _result({"content": list(map(block_of, value))}, notes)
    if depth < DEEPEST and all("jsonrpc" in item for item in value):
        return _from_batch(value, notes, depth)
    if len(value) == 1 and value[0].keys() <= _WRAPPINGS and len(value[0]) == 1:
        return _from_object(value[0], notes, depth)
    return Reply(payload=value)


def _from_batch(messages: list[dict[str, Any]], notes: Notes, depth: int) -> Reply:
    replies = [each for each in messages if "result" in each or "error" in each]
    if len(messages) > 1:
        notes.finding(f"the batch has {len(messages)} messages; the first reply is used")
    return _from_object((replies or messages)[0], notes, depth + 1)


def is_tool_result(value: Mapping[str, Any]) -> bool:
    """True if an object is a tool result by its members."""
    content = value.get("content")
    if isinstance(content, list):
        if all(map(is_block, content)) if content else _is_empty_result(value):
            return True
    elif "structuredContent" in value:
        return True
    return not _MARKED.isdisjoint(value) and is_dump(value)


def _is_empty_result(value: Mapping[str, Any]) -> bool:
    return len(value) == 1 or not _BESIDE_CONTENT.isdisjoint(value)


def is_passed_on(value: Mapping[str, Any]) -> bool:
    """True if a value is a tool result of only texts, as a gateway passes it on."""
    blocks = value.get("content")
    if not isinstance(blocks, list) or not blocks or not value.keys() <= _PASSED_ON:
        return False
    if value.get("status") not in _FINE:
        return False
    return is_tool_result(value) and all(block["type"] == "text" for block in blocks)


def _is_rpc_error(value: Mapping[str, Any]) -> bool:
    error = value.get("error")
    is_error = isinstance(error, dict) and type(error.get("code")) is int and "message" in error
    return is_error and value.keys() <= {"error", "id", "jsonrpc"}


# Messages of agent frameworks


_SPEAKERS: Final = {"ai": "an AIMessage", "human": "a HumanMessage", "system": "a SystemMessage"}
_KINDS: Final = ("part_kind", "kind", "type")


class _Shape(NamedTuple):
    """The shape of a message: its members, its kinds (empty for any) and its content member."""

    members: frozenset[str]
    kinds: frozenset[str]
    content: str
    is_shown: bool
    """True if the content is for a model: texts and media, not data."""
    outcome: str
    """The member with the outcome of the call."""


def _shape(members: str, kinds: str, content: str, *, shown: bool, outcome: str = "") -> _Shape:
    return _Shape(frozenset(members.split()), frozenset(kinds.split()), content, shown, outcome)


_SHAPES: Final = (
    _shape("part_kind", "retry-prompt", "content", shown=True, outcome="part_kind"),
    _shape("part_kind tool_call_id content", "", "content", shown=False, outcome="outcome"),
    _shape("tool_call_id content", "", "content", shown=True, outcome="status"),
    _shape("return_value kind", "tool-return", "return_value", shown=False),
    _shape("raw_item output", "", "output", shown=False),
    _shape("call_id output", "function_call_output", "output", shown=False),
    _shape("additional_kwargs type", " ".join(_SPEAKERS), "content", shown=True),
)


def _message_in(value: Mapping[str, Any], notes: Notes) -> Reply | None:
    """Return the reply in a message; None if the object is not such a message."""
    kinds = {each for name in _KINDS if isinstance(each := value.get(name), str)}
    fitting = (shape for shape in _SHAPES if shape.members <= value.keys())
    shape = next((each for each in fitting if not each.kinds or each.kinds & kinds), None)
    if shape is None:
        return None
    content, raw = value.get(shape.content), value.get("raw_item")
    if content is None and isinstance(raw, dict):  # what the model is sent
        content = raw.get("output")
    if shape.outcome == "part_kind" and isinstance(content, list):
        content = "; ".join(map(_fault, content))
    for kind in _SPEAKERS.keys() & shape.kinds & kinds:
        notes.finding(f"{_SPEAKERS[kind]} is not the reply of a tool; its text is used")
    found = _result_of(content, is_shown=shape.is_shown)
    if shape.content == "return_value" and value.get("content"):  # what the model is shown too
        found["content"] += _result_of(value["content"], is_shown=True)["content"]
    if shape.outcome and value.get(shape.outcome) not in _FINE:
        found["isError"] = True
    if value.get("metadata") is not None:
        found["metadata"] = value["metadata"]
    notes.rule("message")
    name = value.get("tool_name", value.get("name"))
    tool = name if isinstance(name, str) and name else None
    return Reply(result=_with_artifact(found, value.get("artifact")), tool=tool)


def _result_of_pair(content: Any, artifact: Any) -> dict[str, Any] | None:
    """Return the tool result of LangChain's `(content, artifact)`; None if it is another pair."""
    is_structure = isinstance(artifact, dict) and "structured_content" in artifact
    is_content = isinstance(content, list) and bool(content) and all(map(_is_part, content))
    if not (is_structure or (is_content and artifact is None)):
        return None
    if not (is_content or isinstance(content, str)):
        return None
    return _with_artifact(_result_of(content, is_shown=True), artifact)


def _is_part(part: Any) -> bool:
    return isinstance(part, dict) and block_of(part) is not None


def _with_artifact(result: dict[str, Any], artifact: Any) -> dict[str, Any]:
    """Add an artifact to a result: as structure, as blocks, or as a member of its own."""
    if isinstance(artifact, dict) and "structured_content" in artifact:
        others = {name: each for name, each in artifact.items() if name != "structured_content"}
        return {**others, **result, "structuredContent": artifact["structured_content"]}
    if isinstance(artifact, list) and artifact and all(map(is_block, artifact)):
        return {**result, "content": [*result["content"], *artifact]}
    return result if artifact is None else {**result, "artifact": artifact}


def _fault(fault: Any) -> str:
    """Return an error of pydantic as `path: message`."""
    if not isinstance(fault, dict) or not isinstance(fault.get("msg"), str):
        return _text_of(fault)
    path = fault.get("loc")
    place = ".".join(map(str, path)) if isinstance(path, list) else ""
    return f"{place}: {fault['msg']}" if place else fault["msg"]


def _result_of(content: Any, *, is_shown: bool) -> dict[str, Any]:
    """Return a tool result: blocks where the content has any or is shown, else structure."""
    parts = content if isinstance(content, list) else [] if content is None else [content]
    blocks = [block_of(part) for part in parts]
    has_blocks = isinstance(content, str) or any(
        block is not None and not isinstance(part, str)
        for part, block in zip(parts, blocks, strict=True)
    )
    if parts and not (has_blocks or is_shown):
        return {"content": [], "structuredContent": content}
    return {
        "content": [
            {"type": "text", "text": _text_of(part)} if block is None else block
            for part, block in zip(parts, blocks, strict=True)
        ]
    }


def _text_of(part: Any) -> str:
    return part if isinstance(part, str) else json.dumps(part, separators=(",", ":"))
