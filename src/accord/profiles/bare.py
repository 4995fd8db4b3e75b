"""`bare`: the data's fields at the root of the result; field errors as JSON-RPC errors."""

from typing import Final

import msgspec

from accord.errors import INTERNAL_ERROR, INVALID_PARAMS, Reject
from accord.model.answer import MASKED, Answer, Problem, Value
from accord.model.response import META_KEY, problem_members
from accord.profiles import plain
from accord.profiles.details import details_of, with_details
from accord.profiles.output_schemas import data_schema
from accord.profiles.profile import (
    Profile,
    RenderContext,
    Result,
    TextResult,
    has_details,
    shape_of,
    with_meta,
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
    details = details_of(answer)
    data = with_details(answer) if details else answer.data
    rendered = plain.with_data(data, answer, context)
    result = rendered.to_dict() if isinstance(rendered, TextResult) else rendered
    result |= _root_members(data, answer.data, details)
    return with_meta(result, answer) if has_details(answer) else result


def _root_members(data: Value, own: Value, details: Result) -> Result:
    """Return the members of data with its details; `own` is the data without them."""
    shape = shape_of(own)
    if shape == "object":
        members = _members(data.json)  # type: ignore[union-attr]  # text is not an object
        return {name: each for name, each in members.items() if name not in _OWN}
    if shape == "null" and not details:
        return {}
    return {"result": own if isinstance(own, str) else msgspec.Raw(own.json), **details}


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
