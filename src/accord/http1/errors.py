"""The errors of a request; each message is a reason, without the address.

PeerError
└── HTTPError            no usable response
    ├── InvalidURL       a URL, or a redirect to one, cannot be requested
    ├── ConnectFailed    no connection: name, address, proxy or TLS
    ├── ConnectionLost   the connection ended before its response did
    ├── ProtocolError    what arrived is not HTTP/1.1, or is framed ambiguously
    └── TooLarge         the body is longer than the caller's limit
"""

from accord.errors import PeerError


class HTTPError(PeerError):
    """A request has no usable response."""


class InvalidURL(HTTPError):
    """A URL cannot be requested."""


class ConnectFailed(HTTPError):
    """No connection could be opened; `is_refused` if the network, not the peer's TLS, says so."""

    def __init__(self, message: str, *, is_refused: bool = False) -> None:
        super().__init__(message)
        self.is_refused = is_refused


class ConnectionLost(HTTPError):
    """The connection ended before its response did."""


class ProtocolError(HTTPError):
    """The peer sent what is not HTTP/1.1, or a message whose end is ambiguous."""


class TooLarge(HTTPError):
    """A body is longer than the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"sent more than {limit} bytes")
