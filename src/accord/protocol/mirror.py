"""What HTTP headers say of a request, held against what its body says.

In the stateless era intermediaries route by these headers, so a server must not act on a body that
says something else.
"""

from base64 import b64decode
from typing import Any, Final

import msgspec

from accord.errors import HEADER_MISMATCH, Reject

_ENCODED: Final = ("=?base64?", "?=")
_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Mirror(msgspec.Struct, frozen=True):
    """The headers that repeat parts of the body; None where one is absent."""

    revision: str | None = None
    method: str | None = None
    name: str | None = None
    _meant: str | None = None

    def __post_init__(self) -> None:
        """Decode the name once: one mirror serves all requests with the same headers."""
        msgspec.structs.force_setattr(self, "_meant", decoded(self.name))

    def revision_fault(self) -> Reject:
        """That the header and the body name two revisions."""
        return _mismatch("MCP-Protocol-Version", self.revision)

    def names(self, tool: str) -> bool:
        """Whether the headers say that this tool is called."""
        return self._meant == tool and self.method == "tools/call"

    def fault(self, revision: str, method: str, params: Any) -> Reject | None:
        """What differs between headers and body, if anything."""
        if self.revision != revision:
            return self.revision_fault()
        if self.method != method:
            return _mismatch("Mcp-Method", self.method)
        if method in _NAMED_BY and self._meant != getattr(params, _NAMED_BY[method], self._meant):
            return _mismatch("Mcp-Name", self.name)
        return None


def _mismatch(header: str, value: str | None) -> Reject:
    fault = "is missing" if value is None else "does not match the body"
    return Reject(HEADER_MISMATCH, f"Header mismatch: {header} {fault}")


def decoded(value: str | None) -> str | None:
    """A name that is no plain ASCII comes as Base64 between two marks."""
    start, end = _ENCODED
    if value is None or not value.isascii():
        return None
    if not (value.startswith(start) and value.endswith(end)):
        return value
    try:
        return b64decode(value[len(start) : -len(end)], validate=True).decode()
    except ValueError:
        return None
