"""The interface of a profile, and the parts of a tool result that profiles share."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from accord.errors import Reject
from accord.model import schemas
from accord.model.answer import Answer, Problem, Value
from accord.model.arguments import JsonSchema
from accord.model.content import Block, block, text
from accord.model.response import META_KEY, problem_members
from accord.model.tool import Tool
from accord.model.values import known
from accord.revisions import Revision
from accord.telemetry import CallTelemetry

Result = dict[str, Any]
Shape = Literal["text", "object", "list", "string", "null", "scalar"]

_encode = msgspec.json.Encoder().encode
_TEXT: Final = b'{"content":[{"type":"text","text":'
_ALONE: Final = b"}]"
_STRUCTURE: Final = b'}],"structuredContent":'
_WRAPPED: Final = b'}],"structuredContent":{"result":'
_SHAPES: Final[dict[int, Shape]] = {
    ord("{"): "object",
    ord("["): "list",
    ord('"'): "string",
    ord("n"): "null",
}
_ENDINGS: Final = frozenset(".!?…:;,。！？：；，、．؟؛،।॥۔")  # noqa: RUF001 - of any script


class TextResult(msgspec.Struct, frozen=True, gc=False):
    """A result of one text and its structure, as most are; joined from bytes, not encoded."""

    text: str
    structure: bytes | None = None
    """The JSON of `structuredContent`."""
    is_wrapped: bool = False
    """True if the structure is sent as `{"result": ...}`: older revisions require an object."""

    def to_dict(self) -> Result:
        """Return it as a dict, as all other results are."""
        result: Result = {"content": [{"type": "text", "text": self.text}]}
        if self.structure is not None:
            json = msgspec.Raw(self.structure)
            result["structuredContent"] = {"result": json} if self.is_wrapped else json
        return result

    def parts(self, end: bytes) -> tuple[bytes, ...]:
        """Return its bytes; `end` closes the object, and may have further members."""
        content, json = _encode(self.text), self.structure
        if json is None:
            return _TEXT, content, _ALONE, end
        if self.is_wrapped:
            return _TEXT, content, _WRAPPED, json, b"}", end
        return _TEXT, content, _STRUCTURE, json, end


class RenderContext(msgspec.Struct, frozen=True, gc=False):
    """The tool and revision that an answer is rendered for, and the telemetry of the call."""

    tool: Tool
    revision: Revision
    observed: CallTelemetry | None = None


class Profile(msgspec.Struct, frozen=True):
    """One way to render an answer as a tool result."""

    name: str
    success: Callable[[Answer[Value], RenderContext], TextResult | Result]
    failure: Callable[[Problem, RenderContext], Result | Reject]
    output_schema: Callable[[Tool, Revision], JsonSchema | None]
    has_own_shape: bool = False
    """True if the text is one JSON object of the profile's own, for success and failure."""


def shape_of(data: Value) -> Shape:
    """Return the JSON type of data, by its first byte."""
    return "text" if isinstance(data, str) else _SHAPES.get(data.json[0], "scalar")


def is_empty(data: Value, tool: Tool) -> bool:
    """True if the data is null and the tool declares no output."""
    return not isinstance(data, str) and data.json == b"null" and tool.output.schema is None


def own_shape(root: object, context: RenderContext) -> TextResult:
    """Return a result whose text and structure are both the profile's own object."""
    json = _encode(root)
    return TextResult(json.decode(), None if context.revision.structured == "none" else json)


def shaped(
    root: object, answer: Answer[Value], context: RenderContext, *, has_more: bool
) -> TextResult | Result:
    """Return the result of an answer: the profile's own object, then its blocks.

    `has_more` is `has_details(answer)`.
    """
    rendered = own_shape(root, context)
    if not answer.blocks and not has_more:
        return rendered
    return with_meta(with_blocks(rendered, answer.blocks, context), answer)


def as_data(content: str, data: Value, context: RenderContext) -> TextResult:
    """Return a result whose structure is the data, if the revision has structured content."""
    kind = context.revision.structured
    if kind == "none" or isinstance(data, str) or is_empty(data, context.tool):
        return TextResult(content)
    return TextResult(content, data.json, kind == "object" and data.json[:1] != b"{")


def with_blocks(
    rendered: TextResult,
    blocks: Sequence[Block | str],
    context: RenderContext,
    *,
    replaces_text: bool = False,
) -> Result:
    """Add blocks to a result; with `replaces_text` they replace its text."""
    result = rendered.to_dict()
    if blocks:
        before = [] if replaces_text else result["content"]
        result["content"] = before + [block(each, context.revision) for each in blocks]
    return result


def own_schema(name: str) -> Callable[[Tool, Revision], JsonSchema | None]:
    """Return a function that loads the published schema of a profile with its own object."""

    @lru_cache
    def load() -> JsonSchema:
        schema = schemas.load(name)
        del schema["$schema"], schema["$id"]  # an id that several tools share is an error to some
        return schema

    def output_schema(tool: Tool, revision: Revision) -> JsonSchema | None:
        return None if revision.structured == "none" else load()

    return output_schema


def has_details(answer: Answer[Any]) -> bool:
    """True if an answer has a page, warnings or free members of `meta`, or is incomplete."""
    return bool(answer.page or answer.warnings or answer.partial or answer.truncated or answer.meta)


def with_meta(result: Result, answer: Answer[Any]) -> Result:
    """Add the page, the warnings, and the marks of an incomplete answer to `_meta`, if any."""
    details = known(
        page=answer.page,
        warnings=answer.warnings or None,
        partial=answer.partial or None,
        truncated=answer.truncated or None,
        meta=answer.meta or None,
    )
    return result | {"_meta": {META_KEY: details}} if details else result


def failure_result(prefix: str, problem: Problem) -> Result:
    """Return a failure: one text, `isError`, and the whole problem in `_meta`."""
    return {
        "content": [text(f"{prefix}: {_failure_text(problem)}")],
        "isError": True,
        "_meta": {META_KEY: {"problem": problem_members(problem)}},
    }


def _failure_text(problem: Problem) -> str:
    """Return the message, and the remediation as a second sentence if there is one."""
    remediation = (problem.remediation or "").strip()
    if not remediation:
        return problem.message
    capital = remediation[0].upper()
    if len(capital) == 1:  # ß has none of its own
        remediation = capital + remediation[1:]
    return f"{_sentence(problem.message)} {_sentence(remediation)}"


def _sentence(words: str) -> str:
    words = words.rstrip()
    return words if words[-1] in _ENDINGS else f"{words}."
