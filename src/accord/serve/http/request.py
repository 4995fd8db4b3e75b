"""What a request's headers say, and whether it may come in at all."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from accord.errors import HEADER_MISMATCH, INVALID_REQUEST, Reject
from accord.protocol import Mirror

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_AUTHORITY: Final = re.compile(r"(?P<name>[A-Za-z0-9.\-_]+|\[[0-9A-Fa-f:.]+\])(?P<port>:\d{1,5})?")
_ORIGIN: Final = re.compile(r"https?://(?P<authority>[^/?#@]+)")
_KNOWN: Final = {
    name.encode(): name
    for name in (
        *("host", "origin", "content-type", "content-length", "accept", "authorization"),
        *("mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id"),
    )
}


class Refusal(msgspec.Struct, frozen=True):
    """An HTTP status instead of an answer, and the JSON-RPC error that says why."""

    status: int
    error: Reject


def refuse(status: int, reason: str) -> Refusal:
    """A refusal that has nothing to do with what the body says."""
    return Refusal(status, Reject(INVALID_REQUEST, reason))


class Headers(dict[str, str]):
    """The headers that matter here, by their lower-case names."""

    @property
    def mirror(self) -> Mirror:
        """What they repeat of the body."""
        return Mirror(
            self.get("mcp-protocol-version"), self.get("mcp-method"), self.get("mcp-name")
        )

    def accepts(self, media_type: str) -> bool:
        """Whether the client takes such an answer; one that says nothing takes anything."""
        accept = self.get("accept")
        if accept is None:
            return True
        kinds = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
        return bool(kinds & {media_type, media_type.partition("/")[0] + "/*", "*/*"})


def read_headers(raw: Iterable[tuple[bytes, bytes]]) -> Headers | Refusal:
    """The headers that matter; one that comes twice could mean two things, and is refused."""
    found = Headers()
    for raw_name, value in raw:
        name = _KNOWN.get(raw_name)
        if name is None:
            continue
        if name in found:
            return Refusal(400, Reject(HEADER_MISMATCH, f"The header {name} comes twice"))
        found[name] = value.decode("latin-1").strip(" \t")
    return found


def admit(headers: Headers, allowed: frozenset[str]) -> Refusal | None:
    """Refuse what a page on another site could make a browser send (DNS rebinding)."""
    if not _is_allowed(headers.get("host", ""), allowed):
        return refuse(403, "This server does not answer to that Host")
    origin = headers.get("origin")
    if origin is None:
        return None
    site = _ORIGIN.fullmatch(origin)
    if site is None or not _is_allowed(site["authority"], allowed):
        return refuse(403, "This server does not answer to that Origin")
    return None


def _is_allowed(authority: str, allowed: frozenset[str]) -> bool:
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        return False
    name = parts["name"].lower()
    return name in _LOOPBACK or name in allowed or authority.lower() in allowed


def is_json(content_type: str | None) -> bool:
    """Whether a body is announced as JSON."""
    return content_type is not None and (
        content_type.partition(";")[0].strip().lower() == "application/json"
    )
