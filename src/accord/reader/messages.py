"""Replies inside of the messages of agent frameworks, recognised by their members.

LangChain's ToolMessage; ToolReturn, ToolReturnPart and RetryPromptPart of pydantic-ai; the output
items of the OpenAI Agents SDK; tool messages of chat completions. As objects they are dumped first.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from accord.reader.blocks import block_of, is_block, is_foreign_block
from accord.reader.known_shapes import Reply
from accord.reader.reading import Notes

MARKS: Final = frozenset(
    {"tool_call_id", "part_kind", "return_value", "raw_item", "call_id", "additional_kwargs"}
)
"""Every message has one of these members."""
_SPEAKERS: Final = {"ai": "an AIMessage", "human": "a HumanMessage", "system": "a SystemMessage"}
_FINE: Final = ("success", None)
_KEPT: Final = ("artifact", "metadata")


def message_in(value: Mapping[str, Any], notes: Notes) -> Reply | None:
    """Return the reply inside of a message; None if the object is no such message."""
    if value.get("part_kind") == "retry-prompt":
        found = _retry(value)
    elif "tool_call_id" in value and "content" in value:
        found = _tool_message(value)
    elif "return_value" in value and value.get("kind") == "tool-return":
        found = _tool_return(value)
    elif "raw_item" in value and "output" in value:
        found = _output_item(value)
    elif value.get("type") == "function_call_output" and "output" in value:
        found = _result(value["output"])
    elif "additional_kwargs" in value and (speaker := _speaker(value.get("type"))):
        notes.finding(f"{speaker} is not the reply of a tool; its text is used")
        found = _result(value.get("content"), has_texts=True)
    else:
        return None
    notes.rule("message")
    name = value.get("tool_name", value.get("name"))
    return Reply(result=found, tool=name if isinstance(name, str) and name else None)


def _speaker(kind: Any) -> str | None:
    return _SPEAKERS.get(kind) if isinstance(kind, str) else None


def result_of_pair(content: Any, artifact: Any) -> dict[str, Any] | None:
    """Return the tool result of LangChain's `(content, artifact)`; None if it is another pair."""
    is_artifact = artifact is None or (
        isinstance(artifact, dict) and "structured_content" in artifact
    )
    is_content = isinstance(content, list) and bool(content) and all(map(_is_part, content))
    if not is_artifact or not (is_content or (artifact and isinstance(content, str))):
        return None
    return _with_artifact(_result(content, has_texts=True), artifact)


def result_of_parts(parts: list[Any]) -> dict[str, Any] | None:
    """Return the tool result of pydantic-ai's list of values and media; None if it has no media."""
    has_media = any(map(is_foreign_block, parts))
    return {"content": _blocks(parts, has_texts=True)} if has_media else None


def _is_part(part: Any) -> bool:
    return isinstance(part, dict) and block_of(part) is not None


def _tool_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a message that answers a tool call."""
    is_part = "part_kind" in message
    result = _result(message["content"], has_texts=not is_part)
    if message.get("outcome" if is_part else "status") not in _FINE:
        result["isError"] = True
    if is_part:
        return _with_extras(result, message)
    return _with_artifact(result, message.get("artifact"))


def _with_artifact(result: dict[str, Any], artifact: Any) -> dict[str, Any]:
    """Add an artifact to a result: as structure, as blocks, or as a member of its own."""
    if isinstance(artifact, dict) and "structured_content" in artifact:
        others = {name: each for name, each in artifact.items() if name != "structured_content"}
        return {**others, **result, "structuredContent": artifact["structured_content"]}
    if isinstance(artifact, list) and artifact and all(map(is_block, artifact)):
        return {**result, "content": [*result["content"], *artifact]}
    return result if artifact is None else {**result, "artifact": artifact}


def _tool_return(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a return value, and of what the model is shown beside it."""
    result = _result(value["return_value"])
    beside = value.get("content")
    if beside:
        result["content"] = [*result["content"], *_blocks(beside, has_texts=True)]
    return _with_extras(result, value)


def _with_extras(result: dict[str, Any], message: Mapping[str, Any]) -> dict[str, Any]:
    return result | {name: message[name] for name in _KEPT if message.get(name) is not None}


def _output_item(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of what the tool returned, else of what the model is sent."""
    raw = value["raw_item"]
    sent = raw.get("output") if isinstance(raw, dict) else None
    return _result(sent if value["output"] is None else value["output"])


def _retry(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the failure of a call that the model is to repeat."""
    content = value.get("content")
    if isinstance(content, list):
        content = "; ".join(_fault(each) for each in content)
    return {**_result(content, has_texts=True), "isError": True}


def _fault(fault: Any) -> str:
    """Return an error of pydantic as `path: message`."""
    if not isinstance(fault, dict) or not isinstance(fault.get("msg"), str):
        return _text_of(fault)
    path = fault.get("loc")
    place = ".".join(map(str, path)) if isinstance(path, list) else ""
    return f"{place}: {fault['msg']}" if place else fault["msg"]


def _result(content: Any, *, has_texts: bool = False) -> dict[str, Any]:
    """Return a tool result: blocks where the content has any, else data as structure."""
    blocks = _blocks(content, has_texts=has_texts)
    if blocks or content is None or content == []:
        return {"content": blocks}
    return {"content": [], "structuredContent": content}


def _blocks(content: Any, *, has_texts: bool) -> list[dict[str, Any]]:
    """Return content blocks; none if the content is data. With `has_texts` it never is."""
    parts = content if isinstance(content, list) else [] if content is None else [content]
    found = [block_of(part) for part in parts]
    is_content = isinstance(content, str) or any(
        block is not None and not isinstance(part, str)
        for part, block in zip(parts, found, strict=True)
    )
    if not is_content and not has_texts:
        return []
    return [
        {"type": "text", "text": _text_of(part)} if block is None else block
        for part, block in zip(parts, found, strict=True)
    ]


def _text_of(part: Any) -> str:
    return part if isinstance(part, str) else json.dumps(part, separators=(",", ":"))
