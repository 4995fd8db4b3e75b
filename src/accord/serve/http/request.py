"""Parses and checks request headers: Host, Origin, content type, protocol version."""

import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

import msgspec

from accord.errors import INVALID_REQUEST, Reject
from accord.protocol import RequestHeaders
from accord.revisions import REVISIONS, Revision

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_AUTHORITY: Final = re.compile(r"(?P<name>[A-Za-z0-9.\-_]+|\[[0-9A-Fa-f:.]+\])(?P<port>:\d{1,5})?")
_ORIGIN: Final = re.compile(r"https?://(?P<authority>[^/?#@]+)")
_CHECKED_HEADERS: Final = (
    *(b"host", b"origin", b"content-type", b"accept"),
    *(b"mcp-protocol-version", b"mcp-method", b"mcp-name"),
)
_UNSAID_REVISION: Final = "2025-03-26"  # what a client speaks that sends no header
_SEEN: Final = 1_024  # clients say the same again and again: so many heads are remembered
SHUTTING_DOWN: Final = "The server is about to end"
READY: Final = "/health/ready"
HEALTH: Final = frozenset({"/health/live", READY})
"""Paths for the probes of balancers and Kubernetes, which send an IP address as Host."""
NOT_PUBLIC: Final = "This is for loopback; elsewhere it needs a token with the --admin-scope"
_LONGEST_SEEN: Final = 2_048  # bytes of one that is
_LONGEST_WITH_TOKEN: Final = 8_192  # the same where tokens are verified


Key = TypeVar("Key")
Value = TypeVar("Value")


class Refusal(msgspec.Struct, frozen=True):
    """An HTTP error status and the JSON-RPC error in its body."""

    status: int
    error: Reject


def refuse(status: int, reason: str) -> Refusal:
    """Return a refusal with a message."""
    return Refusal(status, Reject(INVALID_REQUEST, reason))


Header = tuple[bytes, bytes]
Fields = dict[bytes, bytes]
"""The headers of one request, by their lower-case names."""


def read_fields(raw: Sequence[Header]) -> Fields:
    """Return the headers by name; values of repeated ones are joined by commas."""
    fields = dict(raw)
    if len(fields) != len(raw):
        found: dict[bytes, list[bytes]] = {}
        for name, value in raw:
            found.setdefault(name, []).append(value)
        fields = {name: b", ".join(values) for name, values in found.items()}
    return fields


class Verdict(msgspec.Struct, frozen=True):
    """The checks of the headers that a client repeats on each request."""

    refusal: Refusal | None
    """The refusal of a request that is not allowed."""
    unfit: Refusal | None
    """The refusal of a POST whose body or Accept header is not supported."""
    revision: Revision | None
    """The protocol revision; None for the stateless era."""
    repeated: RequestHeaders
    """The headers that repeat members of the body."""


class Head(Verdict, frozen=True):
    """The headers of a request and what follows from them."""

    fields: Fields
    session: str | None
    """The Mcp-Session-Id header."""
    principal: bytes | None
    """The client's identity, by its Authorization header."""


class Heads:
    """Parses headers, with a cache of small ones.

    Most requests of a client have the same headers throughout. Those that differ in a length or a
    session still come to the same.
    """

    def __init__(self, allow_hosts: Iterable[str] | None, *, has_tokens: bool = False) -> None:
        """None leaves the check of Host and Origin to another layer.

        Headers that have tokens are long, and cached all the same.
        """
        allowed = None if allow_hosts is None else frozenset(host.lower() for host in allow_hosts)
        self._allowed = allowed
        self._longest = _LONGEST_WITH_TOKEN if has_tokens else _LONGEST_SEEN
        self._heads: dict[tuple[Header, ...], Head] = {}
        self._verdicts: dict[tuple[bytes | None, ...], Verdict] = {}

    def find(self, raw: Iterable[Header]) -> Head:
        """Return the parsed headers of a request."""
        try:
            return self._heads.get(key := tuple(raw)) or self._read(key)
        except TypeError:  # some servers make lists of them
            return self._read(tuple((bytes(name), bytes(value)) for name, value in key))

    def _read(self, raw: tuple[Header, ...]) -> Head:
        fields = read_fields(raw)
        values = tuple(map(fields.get, _CHECKED_HEADERS))
        verdict = self._verdicts.get(values)
        if verdict is None:
            verdict = self._judge(values)
            size = sum(len(value) for value in values if value is not None)
            if size <= _LONGEST_SEEN:
                _remember(self._verdicts, values, verdict)
        known = (verdict.refusal, verdict.unfit, verdict.revision, verdict.repeated)
        session, principal = fields.get(b"mcp-session-id"), fields.get(b"authorization")
        head = Head(*known, fields, text(session), principal)
        if sum(len(name) + len(value) for name, value in raw) <= self._longest:
            _remember(self._heads, raw, head)
        return head

    def _judge(self, values: tuple[bytes | None, ...]) -> Verdict:
        host, origin, content_type, accept, *others = values
        repeated = RequestHeaders(*map(text, others))
        return Verdict(
            None if self._allowed is None else admit(host, origin, self._allowed),
            _unfit(content_type, accept),
            _handshake_revision(repeated.revision),
            repeated,
        )


def _remember(seen: dict[Key, Value], key: Key, value: Value) -> None:
    if len(seen) >= _SEEN:
        seen.clear()
    seen[key] = value


def text(value: bytes | None) -> str | None:
    """Return a header as stripped text; None if it is absent."""
    return None if value is None else value.strip(b" \t").decode("latin-1")


def _handshake_revision(date: str | None) -> Revision | None:
    revision = REVISIONS.get(_UNSAID_REVISION if date is None else date)
    return None if revision is None or revision.stateless else revision


def _unfit(content_type: bytes | None, accept: bytes | None) -> Refusal | None:
    if not is_json(content_type):
        return refuse(415, "A message comes as application/json")
    if not accepts(accept, b"application/json"):
        return refuse(406, "A message is answered with application/json or text/event-stream")
    return None


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


def is_json(content_type: bytes | None) -> bool:
    """True if the content type is JSON."""
    kind = (content_type or b"").partition(b";")[0]
    return kind.strip(b" \t").lower() == b"application/json"


def accepts(accept: bytes | None, media_type: bytes) -> bool:
    """True if the client accepts a content type; without an Accept header it accepts all."""
    if accept is None:
        return True
    kinds = {part.partition(b";")[0].strip().lower() for part in accept.split(b",")}
    return bool(kinds & {media_type, media_type.partition(b"/")[0] + b"/*", b"*/*"})
