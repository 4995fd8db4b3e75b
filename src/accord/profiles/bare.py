"""`bare`: the data's fields at the root of the result; field errors as JSON-RPC errors."""

from typing import Final

import msgspec

from accord.errors import INTERNAL_ERROR, INVALID_PARAMS, Reject
from accord.model.answer import MASKED, Answer, Problem, Value
from accord.model.response import META_KEY, problem_members
from accord.profiles import plain
from accord.profiles.profile import (
    Profile,
    RenderContext,
    Result,
    TextResult,
    data_schema,
    shape_of,
)

_OWN: Final = frozenset(  # members of a result that MCP defines, or may define
    {
        *("content", "isError", "structuredContent", "_meta"),
        *("resultType", "inputRequests", "requestState"),
    }
)
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def success(answer: Answer[Value], context: RenderContext) -> Result:
    """Return the fields beside `content`, which has them as JSON; a list or value is `result`."""
    rendered, data = plain.success(answer, context), answer.data
    result = rendered.to_dict() if isinstance(rendered, TextResult) else rendered
    match shape_of(data):
        case "object":
            members = _members(data.json)  # type: ignore[union-attr]  # text is not an object
            result |= {name: each for name, each in members.items() if name not in _OWN}
        case "null":
            pass
        case _:
            result["result"] = data if isinstance(data, str) else msgspec.Raw(data.json)
    return result


def failure(problem: Problem, context: RenderContext) -> Result | Reject:
    """Return a JSON-RPC error; only for invalid fields if the revision has argument failures."""
    if problem.fields:
        return invalid_params(problem)
    if context.revision.argument_failures:
        return plain.failure(problem, context)
    data = None if problem is MASKED else {META_KEY: problem_members(problem)}
    return Reject(INTERNAL_ERROR, problem.message, data)


def invalid_params(problem: Problem) -> Reject:
    """Return the JSON-RPC error of a problem with invalid fields."""
    members = problem_members(problem)
    data = {"validation_errors": problem.fields, META_KEY: members}
    return Reject(INVALID_PARAMS, problem.message, data)


PROFILE = Profile("bare", success, failure, data_schema)
