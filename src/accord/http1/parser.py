"""Parses one response, without I/O: bytes in, a head and a body out.

The grammar is llhttp's, in its strict mode: lines end with CRLF, one Content-Length at most, never
together with Transfer-Encoding, no folded lines. What llhttp lets through and this client cannot
frame is rejected here. Every size is bounded but the body's, which its reader limits.
"""

from typing import Final

import httptools

from accord.http1.errors import ConnectionLost, ProtocolError

MAX_HEAD: Final = 65_536
"""Maximum bytes of a head, and of anything between two parts of a body."""
MAX_HEADERS: Final = 256
"""Maximum number of headers, trailers included."""
_VERSIONS: Final = ("1.0", "1.1")
_SWITCHING_PROTOCOLS: Final = 101
_FIRST_STATUS: Final = 100
_FINAL: Final = 200  # the first status of a final response
_WITHOUT_BODY: Final = ("HEAD", "CONNECT")


class ResponseParser:
    """The state of one response; interim responses (1xx) before it are skipped."""

    def __init__(self, method: str) -> None:
        self.status: int = 0
        self.headers: dict[str, str] = {}
        """By lower-case names; the values of a repeated header are joined by commas."""
        self.has_begun: bool = False
        """True once a byte has arrived."""
        self.has_head: bool = False
        self.is_complete: bool = False
        self.can_reuse: bool = False
        """True if the connection is ready for the next request."""
        self.body: bytearray = bytearray()
        """What has arrived of the body and was not taken."""
        self._has_body = method not in _WITHOUT_BODY
        self._count = self._size = self._overhead = 0
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """Parse bytes; raise ProtocolError unless they are of a valid response."""
        self.has_begun = True
        if self.is_complete:  # nothing was asked that this could answer
            self.can_reuse = False
            return
        self._overhead += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._reject(error)
        if self._overhead > MAX_HEAD and not self.is_complete:
            raise ProtocolError("sent too many bytes that are not of a body")

    def feed_eof(self) -> None:
        """Take the end of the connection; raise ConnectionLost if the response is not complete."""
        if self.is_complete:
            self.can_reuse = False
        elif not self.has_begun:
            raise ConnectionLost("the server closed the connection without a response")
        elif not self.has_head or not self._ends_with_connection():
            raise ConnectionLost("the server closed the connection within its response")
        else:
            self.is_complete = True

    def take(self) -> bytes:
        """Return what has arrived of the body since the last call."""
        data = bytes(self.body)
        self.body.clear()
        return data

    def _ends_with_connection(self) -> bool:
        return self.headers.keys().isdisjoint(("content-length", "transfer-encoding"))

    def _reject(self, error: Exception) -> None:
        if isinstance(error.__context__, ProtocolError):  # raised by a callback
            raise error.__context__ from None
        if not self.is_complete:
            raise ProtocolError(f"sent an invalid response: {error}") from error
        self.can_reuse = False  # the fault is in what follows the response

    # Callbacks of httptools

    def on_message_begin(self) -> None:
        if self.is_complete:
            self.can_reuse = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count += 1
        self._size += len(name) + len(value)
        if self._count > MAX_HEADERS or self._size > MAX_HEAD:
            raise ProtocolError("sent too many headers")
        if self.has_head:  # a trailer, or of a response that nothing has asked for
            return
        key = name.decode("ascii").lower()
        text = _decode(value)
        self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        if self.is_complete:
            return
        status = self._parser.get_status_code()
        if status < _FIRST_STATUS or self._parser.get_http_version() not in _VERSIONS:
            raise ProtocolError("sent an invalid status line")
        if status == _SWITCHING_PROTOCOLS:
            raise ProtocolError("switched to another protocol, which was not asked for")
        if status < _FINAL:
            self.headers = {}
            return
        self.status = status
        self.has_head = True
        if not self._has_body:
            self.is_complete = True
        elif self.headers.get("transfer-encoding", "chunked").lower() != "chunked":
            raise ProtocolError("sent an unknown Transfer-Encoding")
        elif self.headers.get("content-encoding", "identity").lower() != "identity":
            raise ProtocolError("sent a compressed body, which was not asked for")

    def on_body(self, data: bytes) -> None:
        if self.is_complete:
            self.can_reuse = False
            return
        self._overhead = 0
        self.body += data

    def on_message_complete(self) -> None:
        if self.has_head and not self.is_complete:
            self.is_complete = True
            self.can_reuse = self._parser.should_keep_alive()


def _decode(value: bytes) -> str:
    try:
        return value.decode().strip(" \t")
    except UnicodeDecodeError:
        return value.decode("latin-1").strip(" \t")
