"""MCP with no I/O: bytes in, events out; outcomes in, bytes out."""

from accord.protocol.connection import Connection, Host, Outcome
from accord.protocol.events import Call, Cancel, Event
from accord.protocol.framing import Lines, Overlong

__all__ = ["Call", "Cancel", "Connection", "Event", "Host", "Lines", "Outcome", "Overlong"]
