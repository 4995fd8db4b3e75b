"""A reply without its wrapping."""

from collections.abc import Mapping
from typing import Any

import msgspec

from accord.reader.known_shapes import Known


class Reply(msgspec.Struct, kw_only=True):
    """A reply without its wrapping: an error, a tool result, or some payload."""

    error: Mapping[str, Any] | None = None
    """A JSON-RPC error."""
    result: dict[str, Any] | None = None
    """A tool result: it has `content`, or structure."""
    payload: Any = None
    """What is neither: a value, or a text."""
    is_text: bool = False
    """The payload is text as it came, not a JSON string."""
    size: int | None = None
    """The bytes of what is no text at all."""
    known: Known | None = None
    """What an object of our own says; `result` then has the content blocks beside it."""
    tool: str | None = None
    """The tool that a message of an agent framework names."""

    @property
    def is_error(self) -> bool | None:
        """What a tool result says of itself, if it says anything."""
        said = None if self.result is None else self.result.get("isError")
        return said if isinstance(said, bool) else None
