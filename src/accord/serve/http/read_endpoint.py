"""`POST /read`: any reply in, the generic response and how it was found out."""

import json
from typing import Any, Final

import msgspec

from accord.model.answer import Notice
from accord.model.response import Response as Generic
from accord.reader import Reading, read
from accord.reader.reading import report, to_json
from accord.serve.http.request import refuse
from accord.serve.http.response import Response, refused
from accord.serve.isolated import Busy, Stopped, run_isolated

MAX_TEXT: Final = 64 * 1024
"""Characters that are kept of a reply that could not be read."""
_ASKED: Final = frozenset({"reply", "tool", "arguments"})
_UNKNOWN: Final = "unknown"

_decode = msgspec.msgpack.Decoder(tuple[int, bytes]).decode


class _Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request with its reply not decoded, which is quick whatever the reply is."""

    reply: msgspec.Raw
    tool: str | None = None
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


async def answer_isolated(body: bytes, seconds: float) -> Response:
    """Answer a large request: its reply is read in a process that ends after some seconds."""
    try:
        return Response(*_decode(await run_isolated(encoded_answer, body, seconds)))
    except Busy as busy:
        return refused(refuse(503, str(busy)))
    except Stopped as stopped:
        return _answer_unread(body, str(stopped))


def encoded_answer(body: bytes) -> bytes:
    """Return the answer to a request, for another process."""
    response = answer(body)
    return msgspec.msgpack.encode((response.status, bytes(response.body)))


def answer(body: bytes) -> Response:
    """Answer a request, whose body is a reply or an object with a reply and its call."""
    asked = _decoded(body)
    if not isinstance(asked, dict) or "reply" not in asked or not asked.keys() <= _ASKED:
        return _response(read(body))
    tool, arguments = asked.get("tool"), asked.get("arguments")
    if not isinstance(tool, str | None):
        return refused(refuse(400, "tool is a string, or left out"))
    if not isinstance(arguments, dict | None):
        return refused(refuse(400, "arguments is an object, or left out"))
    return _response(read(asked["reply"], tool, arguments))


def unread(text: str, tool: str | None, reason: str) -> Reading:
    """Return a reading of a reply as text, as far as that is kept, with the reason as a finding."""
    is_cut = len(text) > MAX_TEXT
    text = text[:MAX_TEXT]
    extent = f"its first {MAX_TEXT} characters" if is_cut else "it"
    finding = f"{reason}; this is {extent} as text"
    return Reading(
        response=Generic(
            tool_name=tool or _UNKNOWN,
            response_type="single",
            data={"text": text},
            metadata={"truncated": True} if is_cut else None,
        ),
        value=text,
        warnings=[Notice(finding)],
        is_truncated=is_cut,
        origin="the reply as text",
        confidence="guess",
        findings=[finding],
        raw=None,
    )


def _answer_unread(body: bytes, reason: str) -> Response:
    try:
        request = msgspec.json.decode(body, type=_Request)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _response(unread(_text(body), None, reason))
    return _response(unread(_text(bytes(request.reply)), request.tool, reason))


def _text(reply: bytes) -> str:
    """Return a JSON string as what it stands for, anything else as it is written."""
    try:
        return msgspec.json.decode(reply, type=str)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return reply.decode(errors="replace")


def _decoded(body: bytes) -> Any:
    """Return JSON as Python decodes it, or None: the reader knows other formats."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _response(reading: Reading) -> Response:
    return Response(200, to_json(report(reading)))
