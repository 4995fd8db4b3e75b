"""What a profile is: three functions from what a tool says to what goes on the wire."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from accord.errors import Reject
from accord.model.answer import Answer, Problem, Value
from accord.model.arguments import JsonSchema
from accord.model.tool import Tool
from accord.revisions import Revision
from accord.telemetry import CallTelemetry

Result = dict[str, Any]

_encode = msgspec.json.Encoder().encode
_TEXT: Final = b'{"content":[{"type":"text","text":'
_ALONE: Final = b"}]"
_STRUCTURE: Final = b'}],"structuredContent":'
_WRAPPED: Final = b'}],"structuredContent":{"result":'


class TextResult(msgspec.Struct, frozen=True, gc=False):
    """A result that is one text and its structure, as most are: put together, not encoded."""

    text: str
    structure: bytes | None = None
    """The JSON of `structuredContent`."""
    is_wrapped: bool = False
    """Whether that is `result` in an object, for a revision that wants one."""

    def to_dict(self) -> Result:
        """The same as any other result."""
        result: Result = {"content": [{"type": "text", "text": self.text}]}
        if self.structure is not None:
            json = msgspec.Raw(self.structure)
            result["structuredContent"] = {"result": json} if self.is_wrapped else json
        return result

    def parts(self, end: bytes) -> tuple[bytes, ...]:
        """Its bytes, up to an `end` that may have further members."""
        words, json = _encode(self.text), self.structure
        if json is None:
            return _TEXT, words, _ALONE, end
        if self.is_wrapped:
            return _TEXT, words, _WRAPPED, json, b"}", end
        return _TEXT, words, _STRUCTURE, json, end


class RenderContext(msgspec.Struct, frozen=True, gc=False):
    """For whom an answer is worded: which tool gives it, in which revision, what was observed."""

    tool: Tool
    revision: Revision
    observed: CallTelemetry | None = None


class Profile(msgspec.Struct, frozen=True):
    """One way to word an answer."""

    name: str
    success: Callable[[Answer[Value], RenderContext], TextResult | Result]
    failure: Callable[[Problem, RenderContext], Result | Reject]
    output_schema: Callable[[Tool, Revision], JsonSchema | None]
    has_own_shape: bool = False
    """Whether its text is one JSON object of its own, for successes and failures alike."""
