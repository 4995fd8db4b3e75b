"""What is wrong with a message that could not be taken, and whose reply that goes to.

Nothing here is in a hurry: it runs on messages that the fast path gave up on.
"""

import json
import re
from typing import Any, Final

import msgspec

from accord.errors import Reject
from accord.protocol.messages import NULL, invalid_request, is_id, parse_error

_LOOKED_AT: Final = 65_536  # bytes of a hopeless message that are searched for an id
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_ID_VALUE: Final = re.compile(rb'\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)\s*[,}]')


class Diagnosis(msgspec.Struct, frozen=True):
    """The error to send, and the JSON of the id to send it to."""

    id: bytes
    error: Reject


def diagnose(message: bytes) -> Diagnosis | None:
    """Why a message is no request; None where no reply is due."""
    try:
        value = json.loads(message, parse_constant=_refuse_constant)
    except RecursionError:
        return overlong(message, "the message is nested too deeply")
    except ValueError:  # bad UTF-8 too
        return Diagnosis(NULL, parse_error())
    return _diagnose_value(value)


def overlong(head: bytes, reason: str) -> Diagnosis:
    """For a message that is too large or too deep to be read, found by its beginning alone."""
    return Diagnosis(_find_id(head[:_LOOKED_AT]) or NULL, invalid_request(reason))


def _diagnose_value(value: Any) -> Diagnosis | None:
    if not isinstance(value, dict):
        return Diagnosis(NULL, invalid_request("a message is a JSON object"))
    if "method" not in value and ("result" in value or "error" in value):
        return None
    return Diagnosis(_id_of(value), invalid_request(_fault(value)))


def _fault(value: dict[str, Any]) -> str:
    if value.get("jsonrpc") != "2.0":
        return 'jsonrpc must be "2.0"'
    if not isinstance(value.get("method"), str):
        return "method must be a string"
    if "id" in value and _id_of(value) == NULL:
        return "id must be a string or an integer"
    return "the message holds text that is not valid Unicode"


def _id_of(value: dict[str, Any]) -> bytes:
    raw = json.dumps(value.get("id")).encode()
    return raw if is_id(raw) else NULL


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _find_id(head: bytes) -> bytes | None:
    """The value of the outermost object's `id`, where it can be seen without parsing the rest."""
    depth = 0
    for token in _TOKEN.finditer(head):
        match token[0]:
            case b"{" | b"[":
                depth += 1
            case b"}" | b"]":
                depth -= 1
            case b'"id"' if depth == 1:
                value = _ID_VALUE.match(head, token.end())
                if value:
                    return value[1]
    return None
