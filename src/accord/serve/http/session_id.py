"""Sealed session ids: everything that `initialize` has set is inside the id, signed.

Any process with the same key serves the session, without a store. The id is readable by its client,
since it holds only what that client has sent, but cannot be changed or made up.
"""

import secrets
from collections.abc import Callable, Mapping
from time import time
from typing import Any, Final

import msgspec

from accord.model.context import ClientInfo
from accord.profiles import asking_for, profile_asked
from accord.revisions import REVISIONS
from accord.signing import CLOCK_SKEW, BadSignature, Signer, keys_of, unverified

MAX_LENGTH: Final = 1_000
"""Maximum characters of an id: some proxies refuse longer headers."""
_MAX_PAYLOAD: Final = 720  # bytes: with the signature, in base64, at most MAX_LENGTH
_NONCE_BYTES: Final = 12
_DIGEST_BYTES: Final = 12
_MAX_NAME: Final = 64  # characters of a client's name that are kept if not all fits
_NAMES: Final = ("name", "title", "version")
_KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "elicitation": ("form", "url"),
    "roots": ("listChanged",),
    "sampling": ("context", "tools"),
}
"""MCP's own client capabilities, with their members."""
_encode = msgspec.json.Encoder().encode


class _Payload(msgspec.Struct, frozen=True, array_like=True):
    until: int
    revision: str
    capabilities: dict[str, Any]
    info: dict[str, Any]
    principal: str | None
    """Digest of the client's identity."""
    nonce: str


_decode = msgspec.json.Decoder(_Payload).decode


class SessionId(msgspec.Struct, frozen=True, gc=False):
    """A session id and its content."""

    text: str
    nonce: str
    until: int
    """The time at which the session ends, in seconds since 1970."""
    client: ClientInfo
    principal: str | None


class SessionIds:
    """Issues and reads the session ids of a server."""

    def __init__(
        self,
        key: bytes,
        audience: str,
        *,
        seconds: float,
        clock: Callable[[], float] = time,
    ) -> None:
        """`audience` is the server's name: ids of other servers with the same key are refused."""
        self._issuers = [_Issuer(each, audience) for each in keys_of(key)]
        self._seconds = seconds
        self.clock = clock

    def issue(self, client: ClientInfo, principal: bytes | None) -> SessionId:
        """Return a new id for a client.

        If not all that the client has declared fits, the id has MCP's own capabilities, the profile
        that the client asks for, and its name, title and version.
        """
        until = int(self.clock() + self._seconds)
        nonce = secrets.token_urlsafe(_NONCE_BYTES)
        owner = self._issuers[0].digest(principal)
        payload = _payload(until, client, owner, nonce)
        if len(payload) > _MAX_PAYLOAD:
            client = _reduced(client)
            payload = _payload(until, client, owner, nonce)
        text = self._issuers[0].sign(payload)
        return SessionId(text, nonce, until, client, owner)

    def read(self, text: str) -> SessionId | None:
        """Return an id of this server that has not expired, with its content; else None."""
        if len(text) > MAX_LENGTH:
            return None
        found = next(filter(None, (each.read(text) for each in self._issuers)), None)
        if found is None:
            return None
        revision = REVISIONS.get(found.revision)
        left = found.until - int(self.clock())
        if revision is None or not -CLOCK_SKEW <= left <= self._seconds + CLOCK_SKEW:
            return None
        client = ClientInfo(revision, found.capabilities, found.info)
        return SessionId(text, found.nonce, found.until, client, found.principal)

    def is_foreign(self, text: str) -> bool:
        """True if a text is a session id of another key or server."""
        if any(each.read(text) is not None for each in self._issuers):
            return False
        return bool(len(text) <= MAX_LENGTH and _has_payload(text))

    def is_of(self, session_id: SessionId, principal: bytes | None) -> bool:
        """True if an id was issued to a client of this identity, under whichever key."""
        return any(each.digest(principal) == session_id.principal for each in self._issuers)


class _Issuer:
    """Signs and reads ids with one key."""

    def __init__(self, key: bytes, audience: str) -> None:
        self._signer = Signer(key)
        self._key = key
        self._purpose = f"session {_digest(key, audience.encode())}"

    def sign(self, payload: bytes) -> str:
        """Return the id with some content."""
        return self._signer.sign(self._purpose, payload)

    def read(self, text: str) -> _Payload | None:
        """Return the content of an id; None if it has another key."""
        try:
            return _decode(self._signer.verify(self._purpose, text))
        except (BadSignature, msgspec.MsgspecError):
            return None

    def digest(self, principal: bytes | None) -> str | None:
        """Return the digest of a client's identity."""
        return None if principal is None else _digest(self._key, b"principal " + principal)


def _has_payload(text: str) -> bool:
    """True if a text has the content of a session id, whatever its signature."""
    try:
        _decode(unverified(text))
    except (ValueError, msgspec.MsgspecError):
        return False
    return True


def _payload(until: int, client: ClientInfo, principal: str | None, nonce: str) -> bytes:
    parts = (until, client.revision.date, client.capabilities, client.info, principal, nonce)
    return _encode(_Payload(*parts))


def _digest(key: bytes, value: bytes) -> str:
    from hashlib import blake2b  # a server starts without it, and faster

    return blake2b(value, key=key, digest_size=_DIGEST_BYTES).hexdigest()


def _reduced(client: ClientInfo) -> ClientInfo:
    """Return a client with what fits into an id of whatever it has declared."""
    capabilities: dict[str, Any] = {}
    for name, members in _KNOWN.items():
        if name in client.capabilities:
            declared = client.capabilities[name]
            found = declared if isinstance(declared, dict) else {}
            capabilities[name] = {
                member: found[member] if isinstance(found[member], bool) else {}
                for member in members
                if member in found
            }
    profile = profile_asked(client.capabilities)
    if profile is not None:
        capabilities |= asking_for(profile.name)
    info = {name: client.info[name] for name in _NAMES if name in client.info}
    names: dict[str, Any] = {
        name: text[:_MAX_NAME] for name, text in info.items() if isinstance(text, str)
    }
    fitting = names if len(_encode(names)) <= _MAX_PAYLOAD // 2 else {}
    return ClientInfo(client.revision, capabilities, fitting)
