"""A small HTTP/1.1 client on asyncio and httptools: keep-alive, streams, TLS and proxies.

`url.py` and `parser.py` do no I/O; `connection.py` has one connection and the response on it,
`dial.py` opens a connection (`tls.py`, `proxies.py`), `pool.py` keeps connections for reuse.
Redirects are returned, not followed. Time limits are the caller's: any await may be cancelled.
"""

from accord.http1.connection import Response
from accord.http1.errors import (
    ConnectFailed,
    ConnectionLost,
    HTTPError,
    InvalidURL,
    ProtocolError,
    TooLarge,
)
from accord.http1.pool import Complete, Pool, encode_head, fetch
from accord.http1.url import URL

__all__ = [
    "Complete",
    "ConnectFailed",
    "ConnectionLost",
    "HTTPError",
    "InvalidURL",
    "Pool",
    "ProtocolError",
    "Response",
    "TooLarge",
    "URL",
    "encode_head",
    "fetch",
]
