"""What a request's headers say, and whether it may come in at all."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import msgspec

from accord.errors import INVALID_REQUEST, Reject
from accord.protocol import Mirror

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_AUTHORITY: Final = re.compile(r"(?P<name>[A-Za-z0-9.\-_]+|\[[0-9A-Fa-f:.]+\])(?P<port>:\d{1,5})?")
_ORIGIN: Final = re.compile(r"https?://(?P<authority>[^/?#@]+)")
_KNOWN: Final = frozenset(
    {
        *(b"host", b"origin", b"content-type", b"content-length", b"accept", b"authorization"),
        *(b"mcp-session-id", b"mcp-protocol-version", b"mcp-method", b"mcp-name"),
        b"last-event-id",
    }
)
_SEEN: Final = 1_024  # clients say the same again and again: so many answers are remembered


class Refusal(msgspec.Struct, frozen=True):
    """An HTTP status instead of an answer, and the JSON-RPC error that says why."""

    status: int
    error: Reject


def refuse(status: int, reason: str) -> Refusal:
    """A refusal that has nothing to do with what the body says."""
    return Refusal(status, Reject(INVALID_REQUEST, reason))


class Headers(dict[bytes, bytes]):
    """The headers that matter here, by their lower-case names."""

    def text(self, name: bytes) -> str | None:
        """A header as text, without blanks around it; None where it is absent."""
        value = self.get(name)
        return None if value is None else value.strip(b" \t").decode("latin-1")

    @property
    def mirror(self) -> Mirror:
        """What they repeat of the body."""
        return Mirror(
            self.text(b"mcp-protocol-version"), self.text(b"mcp-method"), self.text(b"mcp-name")
        )


def read_headers(raw: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers that matter; one that comes twice is a list, and so is none of what we expect."""
    found = Headers()
    for name, value in raw:
        if name in _KNOWN:
            found[name] = found[name] + b", " + value if name in found else value
    return found


@lru_cache(_SEEN)
def admit(host: bytes | None, origin: bytes | None, allowed: frozenset[str]) -> Refusal | None:
    """Refuse what a page on another site could make a browser send (DNS rebinding)."""
    if host is None or not _is_allowed(host.decode("latin-1"), allowed):
        return refuse(403, "This server does not answer to that Host")
    if origin is None:
        return None
    site = _ORIGIN.fullmatch(origin.decode("latin-1"))
    if site is None or not _is_allowed(site["authority"], allowed):
        return refuse(403, "This server does not answer to that Origin")
    return None


def _is_allowed(authority: str, allowed: frozenset[str]) -> bool:
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        return False
    name = parts["name"].lower()
    return name in _LOOPBACK or name in allowed or authority.lower() in allowed


@lru_cache(_SEEN)
def is_json(content_type: bytes | None) -> bool:
    """Whether a body is announced as JSON."""
    kind = (content_type or b"").partition(b";")[0]
    return kind.strip(b" \t").lower() == b"application/json"


@lru_cache(_SEEN)
def accepts(accept: bytes | None, media_type: bytes) -> bool:
    """Whether the client takes such an answer; one that says nothing takes anything."""
    if accept is None:
        return True
    kinds = {part.partition(b";")[0].strip().lower() for part in accept.split(b",")}
    return bool(kinds & {media_type, media_type.partition(b"/")[0] + b"/*", b"*/*"})
