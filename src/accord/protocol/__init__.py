"""MCP with no I/O: bytes in, events out; replies in, bytes to send out."""

from accord.protocol.connection import Connection, Host
from accord.protocol.events import Answered, Call, Cancel, Edge, Event
from accord.protocol.framing import Lines, Overlong
from accord.protocol.messages import ErrorReply
from accord.protocol.mirror import Mirror

__all__ = [
    "Answered",
    "Call",
    "Cancel",
    "Connection",
    "Edge",
    "ErrorReply",
    "Event",
    "Host",
    "Lines",
    "Mirror",
    "Overlong",
]
