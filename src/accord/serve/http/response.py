"""HTTP responses as data."""

from math import ceil
from typing import Final

import msgspec

from accord.protocol import messages
from accord.serve.http.request import Header, Refusal, refuse

JSON: Final = b"application/json"
TEXT: Final = b"text/plain; charset=utf-8"
_JSON: Final = (b"content-type", JSON)
_UNREAD: Final = (408, 413, 503)  # what is left of the request would be taken for the next one


class Response(msgspec.Struct, frozen=True):
    """A status and JSON, some other text, or nothing."""

    status: int
    body: bytes = b""
    more_headers: tuple[Header, ...] = ()
    content_type: bytes = JSON

    @property
    def is_plain_json(self) -> bool:
        """True if it has no headers besides the length and type of its JSON."""
        return self.content_type is JSON and not self.more_headers

    def headers(self) -> list[Header]:
        """Return the headers as a new list, which callers may extend."""
        body, kind = self.body, self.content_type
        headers = [(b"content-length", b"%d" % len(body))]
        if body:
            headers.append(_JSON if kind is JSON else (b"content-type", kind))
        headers += self.more_headers
        return headers


def retry_after(seconds: float) -> Header:
    """Return the header with the whole seconds after which to try again."""
    return (b"retry-after", b"%d" % max(1, ceil(seconds)))


def store_is_away() -> Response:
    """Return the response to a request that needs the store while that cannot be reached."""
    found = refused(refuse(503, "What this needs cannot be reached now; try again later"))
    return Response(503, found.body, (*found.more_headers, retry_after(1)))


def refused(refusal: Refusal, *, allow: str | None = None) -> Response:
    """Return the response to a request that is refused."""
    headers = ((b"allow", allow.encode()),) if allow else ()
    if refusal.status in _UNREAD:
        headers = (*headers, (b"connection", b"close"))
    reply = messages.failure(None, refusal.error).without_null_id()
    return Response(refusal.status, reply, headers)
