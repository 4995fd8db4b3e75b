"""`bare`: the payload's fields at the root of the result; field errors as JSON-RPC's own."""

from typing import Final

import msgspec

from accord.errors import INTERNAL_ERROR, INVALID_PARAMS, Reject
from accord.model.answer import Answer, Problem, Value
from accord.profiles import plain
from accord.profiles.parts import data_schema, shape_of
from accord.profiles.profile import Profile, RenderContext, Result, TextResult

_OWN: Final = frozenset(  # what MCP itself has, or may have, at the root of a result
    {
        *("content", "isError", "structuredContent", "_meta"),
        *("resultType", "inputRequests", "requestState"),
    }
)
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def success(answer: Answer[Value], setting: RenderContext) -> Result:
    """The fields beside `content`, which holds them as JSON; a list or a value is `result`."""
    said, data = plain.success(answer, setting), answer.data
    result = said.to_dict() if isinstance(said, TextResult) else said
    match shape_of(data):
        case "object":
            members = _members(data.json)  # type: ignore[union-attr]  # text is no object
            result |= {name: each for name, each in members.items() if name not in _OWN}
        case "null":
            pass
        case _:
            result["result"] = data if isinstance(data, str) else msgspec.Raw(data.json)
    return result


def failure(problem: Problem, setting: RenderContext) -> Result | Reject:
    """A JSON-RPC error; where the revision has failed calls, only for bad fields."""
    if problem.fields:
        return Reject(INVALID_PARAMS, problem.message, {"validation_errors": problem.fields})
    if setting.revision.argument_failures:
        return plain.failure(problem, setting)
    return Reject(INTERNAL_ERROR, problem.message)


PROFILE = Profile("bare", success, failure, data_schema)
