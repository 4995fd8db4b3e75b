"""Replies inside of the messages of agent frameworks, recognised by their members.

LangChain's ToolMessage; ToolReturn, ToolReturnPart and RetryPromptPart of pydantic-ai; the output
items of the OpenAI Agents SDK; tool messages of chat completions. As objects they are dumped first.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from accord.reader.blocks import block_of, is_block, is_foreign_block
from accord.reader.known_shapes import Reply
from accord.reader.reading import Notes

_SPEAKERS: Final = {"ai": "an AIMessage", "human": "a HumanMessage", "system": "a SystemMessage"}
_KINDS: Final = ("part_kind", "kind", "type")
_FINE: Final = ("success", None)


class _Shape(NamedTuple):
    """The members that a message has, its kind if it has to be one of some, and its content."""

    members: frozenset[str]
    kinds: frozenset[str]
    content: str
    is_shown: bool
    """The content is what a model is shown: texts and media, never data."""
    outcome: str
    """The member that says whether the call failed."""


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
MARKS: Final = frozenset(
    {"tool_call_id", "part_kind", "return_value", "raw_item", "call_id", "additional_kwargs"}
)
"""Every message has one of these members."""


def message_in(value: Mapping[str, Any], notes: Notes) -> Reply | None:
    """Return the reply inside of a message; None if the object is no such message."""
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
    found = _result(content, is_shown=shape.is_shown)
    if shape.content == "return_value" and value.get("content"):  # what the model is shown too
        found["content"] += _result(value["content"], is_shown=True)["content"]
    if shape.outcome and value.get(shape.outcome) not in _FINE:
        found["isError"] = True
    if value.get("metadata") is not None:
        found["metadata"] = value["metadata"]
    notes.rule("message")
    name = value.get("tool_name", value.get("name"))
    tool = name if isinstance(name, str) and name else None
    return Reply(result=_with_artifact(found, value.get("artifact")), tool=tool)


def result_of_pair(content: Any, artifact: Any) -> dict[str, Any] | None:
    """Return the tool result of LangChain's `(content, artifact)`; None if it is another pair."""
    is_structure = isinstance(artifact, dict) and "structured_content" in artifact
    is_content = isinstance(content, list) and bool(content) and all(map(_is_part, content))
    if not (is_structure or (is_content and artifact is None)):
        return None
    if not (is_content or isinstance(content, str)):
        return None
    return _with_artifact(_result(content, is_shown=True), artifact)


def result_of_parts(parts: list[Any]) -> dict[str, Any] | None:
    """Return the tool result of pydantic-ai's list of values and media; None if it has no media."""
    return _result(parts, is_shown=True) if any(map(is_foreign_block, parts)) else None


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


def _result(content: Any, *, is_shown: bool) -> dict[str, Any]:
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
