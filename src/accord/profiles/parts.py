"""The parts of a tool result that profiles share: blocks, structure, and what goes beside."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from accord import schemas
from accord.answer import Answer, Said
from accord.arguments import JsonSchema
from accord.blocks import Block
from accord.content import block, text
from accord.profiles.profile import Result, Setting
from accord.revisions import Revision
from accord.tool import Tool
from accord.values import known

META_KEY: Final = "dev.accord-mcp/answer"

encode = msgspec.json.Encoder().encode


Shape = Literal["text", "object", "list", "string", "null", "scalar"]
_SHAPES: Final[dict[int, Shape]] = {
    ord("{"): "object",
    ord("["): "list",
    ord('"'): "string",
    ord("n"): "null",
}


def shape_of(data: Said) -> Shape:
    """What data is, by its first byte."""
    return "text" if isinstance(data, str) else _SHAPES.get(data.json[0], "scalar")


def says_nothing(answer: Answer[Said], tool: Tool) -> bool:
    """Whether there is no data at all, and no promise of any."""
    data = answer.data
    return not isinstance(data, str) and data.json == b"null" and tool.output.schema is None


def with_blocks(words: str | None, blocks: Sequence[Block | str], revision: Revision) -> Result:
    """A result of one text, and of what an answer has beside text."""
    content: list[dict[str, Any]] = [] if words is None else [{"type": "text", "text": words}]
    if blocks:
        content += [block(each, revision) for each in blocks]
    return {"content": content}


def own_shape(root: object, setting: Setting, blocks: Sequence[Block | str] = ()) -> Result:
    """A result whose text and structure are both one object of the profile's own."""
    json = encode(root)
    result: Result = {"content": [{"type": "text", "text": json.decode()}]}
    if blocks:
        result["content"] += [block(each, setting.revision) for each in blocks]
    if setting.revision.structured != "none":
        result["structuredContent"] = msgspec.Raw(json)
    return result


def add_structure(result: Result, answer: Answer[Said], setting: Setting) -> None:
    """Add the data as `structuredContent`, as far as the revision can hold it."""
    data, schema, kind = answer.data, setting.tool.output.schema, setting.revision.structured
    if kind == "none" or isinstance(data, str):
        return
    json = data.json
    if schema is None and json == b"null":
        return
    is_object = json[:1] == b"{" if schema is None else schema.get("type") == "object"
    if is_object or kind == "any":
        result["structuredContent"] = msgspec.Raw(json)
    else:
        result["structuredContent"] = {"result": msgspec.Raw(json)}


def data_schema(tool: Tool, revision: Revision) -> JsonSchema | None:
    """The output schema of a profile that sends the data as it is."""
    schema = tool.output.schema
    if schema is None or revision.structured == "none":
        return None
    if revision.structured == "any" or schema.get("type") == "object":
        return schema
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    wrapped = {"type": "object", "properties": {"result": inner}, "required": ["result"]}
    return wrapped | {"$defs": schema["$defs"]} if "$defs" in schema else wrapped


def own_schema(name: str) -> Callable[[Tool, Revision], JsonSchema | None]:
    """The output schema of a profile whose shape is its own, for successes and failures alike."""

    @lru_cache
    def load() -> JsonSchema:
        schema = schemas.load(name)
        del schema["$schema"], schema["$id"]  # an id that several tools share is an error to some
        return schema

    def output_schema(tool: Tool, revision: Revision) -> JsonSchema | None:
        return None if revision.structured == "none" else load()

    return output_schema


def has_beside(answer: Answer[Any]) -> bool:
    """Whether there is anything that a reader should know beside the data."""
    return bool(answer.page or answer.warnings or answer.partial or answer.truncated)


def beside(answer: Answer[Any]) -> dict[str, Any]:
    """What a reader should know beside the data."""
    return known(
        page=answer.page,
        warnings=answer.warnings or None,
        partial=answer.partial or None,
        truncated=answer.truncated or None,
    )


def add_beside(result: Result, answer: Answer[Any]) -> None:
    """Add what stands beside the data: as a second text, and in `_meta`."""
    extra = beside(answer)
    result["content"].insert(1, text(encode(extra).decode()))
    result["_meta"] = {META_KEY: extra}


def add_meta(result: Result, answer: Answer[Any]) -> None:
    """Add what stands beside the data in `_meta` alone, for a profile that has a place for it."""
    result["_meta"] = {META_KEY: beside(answer)}
