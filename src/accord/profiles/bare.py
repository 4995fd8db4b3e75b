"""`bare`: the payload's fields at the root of the result; field errors as JSON-RPC's own."""

from typing import Any, Final

import msgspec

from accord.answer import Answer, Problem, Said
from accord.errors import INTERNAL_ERROR, INVALID_PARAMS, Reject
from accord.profiles import plain
from accord.profiles.parts import data_schema
from accord.profiles.profile import Profile, Result, Setting

_OWN: Final = frozenset(  # what MCP itself has, or may have, at the root of a result
    {
        *("content", "isError", "structuredContent", "_meta"),
        *("resultType", "inputRequests", "requestState"),
    }
)
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def success(answer: Answer[Said], setting: Setting) -> Result:
    """The fields beside `content`, which holds them as JSON; a list or a value is `result`."""
    result = plain.success(answer, setting)
    for name, value in _fields(answer.data).items():
        if name not in _OWN:
            result[name] = value
    return result


def _fields(data: Said) -> dict[str, Any]:
    if isinstance(data, str):
        return {"result": data}
    if data.json == b"null":
        return {}
    return _members(data.json) if data.json[:1] == b"{" else {"result": msgspec.Raw(data.json)}


def failure(problem: Problem, setting: Setting) -> Result | Reject:
    """A JSON-RPC error; where the revision has failed calls, only for bad fields."""
    if problem.fields:
        return Reject(INVALID_PARAMS, problem.message, {"validation_errors": problem.fields})
    if setting.revision.argument_failures:
        return plain.failure(problem, setting)
    return Reject(INTERNAL_ERROR, problem.message)


PROFILE = Profile("bare", success, failure, data_schema)
