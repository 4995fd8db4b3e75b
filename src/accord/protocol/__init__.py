"""MCP with no I/O: bytes in, events out; replies in, bytes to send out.

Read `connection`, `events` and `methods` (the table of methods), then `messages` and `results`.
"""

from accord.protocol.batch import is_batch
from accord.protocol.connection import Connection, Host, State
from accord.protocol.events import Cancel, ClientResponse, Event, Request, ServerRequest
from accord.protocol.framing import Lines, Overlong
from accord.protocol.header_params import RequestHeaders
from accord.protocol.messages import ErrorReply

__all__ = [
    "Cancel",
    "ClientResponse",
    "Connection",
    "ErrorReply",
    "Event",
    "Host",
    "Lines",
    "Overlong",
    "Request",
    "RequestHeaders",
    "ServerRequest",
    "State",
    "is_batch",
]
