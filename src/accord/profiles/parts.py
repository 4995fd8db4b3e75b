"""The parts of a tool result that profiles share: blocks, structure, and what goes beside."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from accord.model import schemas
from accord.model.answer import Answer, Value
from accord.model.arguments import JsonSchema
from accord.model.content import Block, block, text
from accord.model.response import META_KEY
from accord.model.tool import Tool
from accord.model.values import known
from accord.profiles.profile import RenderContext, Result, TextResult
from accord.revisions import Revision

encode = msgspec.json.Encoder().encode


Shape = Literal["text", "object", "list", "string", "null", "scalar"]
_SHAPES: Final[dict[int, Shape]] = {
    ord("{"): "object",
    ord("["): "list",
    ord('"'): "string",
    ord("n"): "null",
}


def shape_of(data: Value) -> Shape:
    """What data is, by its first byte."""
    return "text" if isinstance(data, str) else _SHAPES.get(data.json[0], "scalar")


def says_nothing(answer: Answer[Value], tool: Tool) -> bool:
    """Whether there is no data at all, and no promise of any."""
    data = answer.data
    return not isinstance(data, str) and data.json == b"null" and tool.output.schema is None


def own_shape(root: object, setting: RenderContext) -> TextResult:
    """A result whose text and structure are both one object of the profile's own."""
    json = encode(root)
    return TextResult(json.decode(), None if setting.revision.structured == "none" else json)


def shaped(
    root: object, answer: Answer[Value], setting: RenderContext, *, has_more: bool
) -> TextResult | Result:
    """The same of an answer, with its blocks; `has_more` is what `has_beside` says of it."""
    said = own_shape(root, setting)
    if not answer.blocks and not has_more:
        return said
    result = with_blocks(said, answer.blocks, setting)
    if has_more:
        result["_meta"] = {META_KEY: beside(answer)}
    return result


def as_data(words: str, answer: Answer[Value], setting: RenderContext) -> TextResult:
    """A result whose structure is the data, as far as the revision can hold it."""
    data, kind = answer.data, setting.revision.structured
    if kind == "none" or isinstance(data, str):
        return TextResult(words)
    json, schema = data.json, setting.tool.output.schema
    if kind == "any":
        return TextResult(words, None if schema is None and json == b"null" else json)
    if schema is None:
        return TextResult(words) if json == b"null" else TextResult(words, json, json[:1] != b"{")
    return TextResult(words, json, schema.get("type") != "object")


def with_blocks(
    said: TextResult,
    blocks: Sequence[Block | str],
    setting: RenderContext,
    *,
    is_silent: bool = False,
) -> Result:
    """The same with what an answer has beside text, or instead of it."""
    result = said.to_dict()
    if blocks:
        words = [] if is_silent else result["content"]
        result["content"] = words + [block(each, setting.revision) for each in blocks]
    return result


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
