"""Maps JSON-RPC replies to HTTP responses, by revision."""

from typing import Final

import msgspec

from accord.errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
    Reject,
)
from accord.protocol import ErrorReply, messages
from accord.revisions import REVISIONS, Revision
from accord.serve.http.response import Response

_ACCEPTED: Final = Response(202)
_STATELESS_STATUS: Final = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}
_HANDSHAKE_STATUS: Final = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    HEADER_MISMATCH: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
}


def unacceptable(body: bytes, date: str | None, revision: Revision | None) -> bytes | None:
    """Return the error for a body that is neither a message nor a notification, if it is one."""
    if body.strip() and (date is None or date in REVISIONS):
        return None
    blank = messages.parse_error()
    unknown = messages.invalid_request("the revision in MCP-Protocol-Version is not known here")
    reply = messages.failure(None, unknown if body.strip() else blank)
    return reply if revision and revision.null_ids else reply.without_null_id()


def without_null_id(reply: bytes) -> bytes:
    return reply.without_null_id() if isinstance(reply, ErrorReply) else reply


def response_to(
    reply: bytes | None, revision: Revision | None, date: str | None = None
) -> Response:
    """Return the HTTP response for a reply, or for none.

    `date` is the MCP-Protocol-Version header, not checked yet.
    """
    if not reply:
        return _ACCEPTED
    if not isinstance(reply, ErrorReply):
        return Response(200, reply)
    if reply.code == INVALID_PARAMS and date is not None and date not in REVISIONS:
        reply = _unsupported(msgspec.json.decode(reply, type=_Numbered).id, date)
    if reply.retry_after is not None:
        return Response(503, reply, ((b"retry-after", b"%d" % reply.retry_after),))
    statuses = _STATELESS_STATUS if revision is None else _HANDSHAKE_STATUS
    return Response(statuses.get(reply.code, 200), reply)


class _Numbered(msgspec.Struct, frozen=True):
    """The members of a reply that decide its status."""

    id: messages.Id


def _unsupported(request_id: messages.Id, date: str) -> ErrorReply:
    """Return the error for an unsupported protocol version."""
    data = {"supported": sorted(REVISIONS, reverse=True), "requested": date}
    error = Reject(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data)
    return messages.failure(request_id, error)
