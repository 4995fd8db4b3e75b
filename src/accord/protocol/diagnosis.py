"""Replies to malformed messages: the error in a message, and its id if it can be found."""

import re
from typing import Any, Final

import msgspec

from accord.protocol.messages import Id, failure, invalid, parse_error

_SEARCHED: Final = 65_536  # bytes of a malformed message that are searched for an id
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
_ID_VALUE: Final = re.compile(rb'\s*:\s*("(?:[^"\\]|\\.)*+"|-?\d+)\s*[,}]', re.DOTALL)
_decode_id = msgspec.json.Decoder(Id).decode


def read_json(message: bytes) -> Any:
    """Decode strict JSON, lone surrogates included; raise ValueError if it is not JSON."""
    import json  # needed for malformed messages only

    return json.loads(message.decode(), parse_constant=_refuse_constant)


def diagnose(message: bytes) -> bytes | None:
    """Return the reply to a malformed message; None for a response or notification."""
    try:
        value = read_json(message)
    except RecursionError:
        return overlong(message, "the message is nested too deeply")
    except ValueError:
        if _is_json(message):  # and yet Python cannot read it
            return overlong(message, "the message holds a number that is out of range")
        return failure(None, parse_error())
    return _diagnose_value(value)


def overlong(head: bytes, reason: str) -> bytes:
    """Return the reply to a message too large to decode, given its beginning."""
    return invalid(_find_id(head[:_SEARCHED]), reason)


def _diagnose_value(value: Any) -> bytes | None:
    if not isinstance(value, dict):
        return invalid(None, "a message is a JSON object")
    if "method" not in value and ("result" in value or "error" in value):
        return None
    fault = _fault(value)
    if fault is None and "id" not in value:
        return None  # a malformed notification
    return invalid(_id_of(value), fault or "the message holds text that is not Unicode")


def _fault(value: dict[str, Any]) -> str | None:
    if value.get("jsonrpc") != "2.0":
        return 'jsonrpc must be "2.0"'
    if not isinstance(value.get("method"), str):
        return "method must be a string"
    if "id" in value and _id_of(value) is None:
        return "id must be a string or an integer"
    return None


def _id_of(value: dict[str, Any]) -> Id | None:
    found = value.get("id")
    if isinstance(found, str):
        return found if _is_unicode(found) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _is_unicode(text: str) -> bool:
    """True if text can be encoded: JSON can escape lone surrogates, which cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_json(message: bytes) -> bool:
    try:
        message.decode()
        msgspec.json.decode(message, type=msgspec.Raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _find_id(head: bytes) -> Id | None:
    """Find the `id` of the outermost object without decoding the message."""
    depth = 0
    for token in _TOKEN.finditer(head):
        match token[0]:
            case b"{" | b"[":
                depth += 1
            case b"}" | b"]":
                depth -= 1
            case b'"id"' if depth == 1:
                if found := _ID_VALUE.match(head, token.end()):
                    return _read_id(found[1])
    return None


def _read_id(raw: bytes) -> Id | None:
    try:
        found: Id = _decode_id(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return found
