"""The parts of a tool result that profiles share: blocks, structure, and what goes beside."""

from base64 import b64encode
from typing import Any, Final

import msgspec

from accord.answer import Answer
from accord.arguments import JsonSchema
from accord.blocks import Audio, Block, Embedded, Image
from accord.profiles.profile import Result
from accord.revisions import Revision
from accord.tool import Tool

META_KEY: Final = "dev.accord-mcp/answer"


def text(words: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words}


def block(content: Block, revision: Revision) -> dict[str, Any]:
    """A content block; where the revision has none of its kind, a text that says what it was."""
    match content:
        case Image(data, mime_type):
            return {"type": "image", "data": b64encode(data).decode(), "mimeType": mime_type}
        case Audio(data, mime_type) if revision.audio:
            return {"type": "audio", "data": b64encode(data).decode(), "mimeType": mime_type}
        case Audio(data, mime_type):
            return text(f"[{mime_type}, {len(data)} bytes]")
        case Embedded(uri, body, mime_type):
            held = {"text": body} if isinstance(body, str) else {"blob": b64encode(body).decode()}
            return {"type": "resource", "resource": _known(uri=uri, mimeType=mime_type) | held}
    if not revision.links:
        return text(content.uri)
    return _known(
        type="resource_link",
        uri=content.uri,
        name=content.name,
        mimeType=content.mime_type,
        description=content.description,
    )


def add_structure(result: Result, json: bytes, tool: Tool, revision: Revision) -> None:
    """Add `structuredContent`, as far as the revision can hold it."""
    schema = tool.output_schema
    if revision.structured == "none" or (schema is None and json == b"null"):
        return
    is_object = json[:1] == b"{" if schema is None else schema.get("type") == "object"
    if is_object or revision.structured == "any":
        result["structuredContent"] = msgspec.Raw(json)
    else:
        result["structuredContent"] = {"result": msgspec.Raw(json)}


def data_schema(tool: Tool, revision: Revision) -> JsonSchema | None:
    """The output schema of a profile that sends the data as it is."""
    schema = tool.output_schema
    if schema is None or revision.structured == "none":
        return None
    if revision.structured == "any" or schema.get("type") == "object":
        return schema
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    wrapped = {"type": "object", "properties": {"result": inner}, "required": ["result"]}
    return wrapped | {"$defs": schema["$defs"]} if "$defs" in schema else wrapped


def add_beside(result: Result, answer: Answer[Any]) -> None:
    """Add what a reader should know beside the data, if there is anything.

    It stands in a second text block, and under our key in `_meta`.
    """
    if answer.page is None and not answer.warnings:
        return
    extra = _known(page=answer.page, warnings=answer.warnings or None)
    result["content"].insert(1, text(msgspec.json.encode(extra).decode()))
    result["_meta"] = {META_KEY: extra}


def _known(**members: object) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
