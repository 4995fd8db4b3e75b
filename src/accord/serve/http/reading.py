"""`POST /read`: anybody's reply in, the generic response and how we know it out."""

import json
from typing import Any, Final

from accord.reader import read
from accord.reader.report import report, to_json
from accord.serve.http.request import refuse
from accord.serve.http.response import Response, refused

_ASKED: Final = frozenset({"reply", "tool", "arguments"})


def answer(body: bytes) -> Response:
    """What the reply in a body says; the body is the reply, or has it beside what was called."""
    asked = _decoded(body)
    if not isinstance(asked, dict) or "reply" not in asked or not asked.keys() <= _ASKED:
        return _read(body)
    tool, arguments = asked.get("tool"), asked.get("arguments")
    if not isinstance(tool, str | None):
        return refused(refuse(400, "tool is a string, or left out"))
    if not isinstance(arguments, dict | None):
        return refused(refuse(400, "arguments is an object, or left out"))
    return _read(asked["reply"], tool, arguments)


def _decoded(body: bytes) -> Any:
    """JSON as Python takes it, or nothing; whatever else it may be, the reader knows better."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _read(reply: Any, tool: str | None = None, arguments: dict[str, Any] | None = None) -> Response:
    return Response(200, to_json(report(read(reply, tool, arguments))))
