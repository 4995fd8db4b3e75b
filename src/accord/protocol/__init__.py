"""MCP with no I/O: bytes in, events out; results in, bytes out."""

from accord.protocol.connection import Connection, Host
from accord.protocol.events import Call, Cancel, Event
from accord.protocol.framing import Lines, Overlong

__all__ = ["Call", "Cancel", "Connection", "Event", "Host", "Lines", "Overlong"]
