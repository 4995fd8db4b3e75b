"""Signed tokens that clients send back: list cursors, request state, cursors of answers.

A token carries bytes for one purpose. It is valid only for that purpose and only under the key that
signed it. Tokens are opaque, URL-safe and versioned; they are not encrypted.
"""

import os
from collections.abc import Callable, Sequence
from time import time
from typing import Any, Final

import msgspec

from accord.errors import ContractError, PeerError
from accord.model.answer import FieldError, Problem
from accord.model.caller import CALLER
from accord.model.values import as_json

_VERSION: Final = "1"
_SIGNATURE_BYTES: Final = 16
_MAX_KEY: Final = 64  # of blake2b
_MIN_KEY: Final = 16
_PREFIX: Final = "accord."
_ONE_HOUR: Final = 3600.0
CLOCK_SKEW: Final = 60.0  # seconds, between workers


def bound(purpose: str) -> str:
    """Return a purpose for the verified caller alone; without one, the purpose itself."""
    caller = CALLER.get()
    return purpose if caller is None else f"{purpose} for {caller.principal.decode()}"


class BadSignature(PeerError):
    """A token was not signed with this key for this purpose."""


class Key(bytes):
    """A key that signs, with older ones whose tokens are still valid."""

    older: tuple[bytes, ...] = ()

    @classmethod
    def of(cls, keys: Sequence[bytes]) -> "Key":
        """Return the first of some keys, with the others as older ones."""
        if not keys:
            raise ContractError("a list of keys must have at least one")
        key = cls(keys[0])
        key.older = tuple(bytes(each) for each in keys[1:])
        return key


def keys_of(key: bytes) -> tuple[bytes, ...]:
    """Return a key and its older ones; raise ContractError unless all have a valid length."""
    keys = (key, *(key.older if isinstance(key, Key) else ()))
    if not all(_MIN_KEY <= len(each) <= _MAX_KEY for each in keys):
        raise ContractError(f"a key must have {_MIN_KEY} to {_MAX_KEY} bytes")
    return keys


class Signer:
    """Signs and verifies tokens with a given key, or with one generated for this process."""

    def __init__(self, key: bytes | None = None) -> None:
        """Tokens that an older one of a `Key` has signed are valid, too."""
        self._keys = keys_of(os.urandom(32) if key is None else key)

    def sign(self, purpose: str, payload: bytes) -> str:
        """Return a token with `payload` for `purpose`."""
        return _signed(self._keys[0], purpose, payload)

    def verify(self, purpose: str, token: str) -> bytes:
        """Return the payload of a token; raise BadSignature if it was not signed for `purpose`."""
        from hmac import compare_digest

        try:
            payload = unverified(token)
        except ValueError as error:
            raise BadSignature("the token cannot be decoded") from error
        given = token.encode()
        for key in self._keys:
            if compare_digest(_signed(key, purpose, payload).encode(), given):
                return payload
        raise BadSignature("the token is not signed with this key for this purpose")


def _signed(key: bytes, purpose: str, payload: bytes) -> str:
    from base64 import urlsafe_b64encode  # not at import: servers start faster
    from hashlib import blake2b

    message = purpose.encode() + b"\0" + payload
    signature = blake2b(message, key=key, digest_size=_SIGNATURE_BYTES).digest()
    return _VERSION + urlsafe_b64encode(signature + payload).decode().rstrip("=")


def unverified(token: str) -> bytes:
    """Return the payload of a token, its signature unchecked; raise ValueError if it has none."""
    from base64 import urlsafe_b64decode

    body = token.removeprefix(_VERSION)
    return urlsafe_b64decode(body + "=" * (-len(body) % 4))[_SIGNATURE_BYTES:]


class _Payload(msgspec.Struct, frozen=True, array_like=True):
    created: int
    """Whole seconds, so that all cursors to one position have the same length."""
    value: Any


class Cursors:
    """Encodes and decodes cursors, each for one purpose (such as a tool's name).

    Cursors are valid for all instances with the same `key`: give it to all workers, and keep it in
    a file to let cursors survive a restart. Without a key, they are valid for this object only.
    If tokens are verified, a cursor is valid only for the caller that it was created for.
    """

    def __init__(
        self,
        key: bytes | None = None,
        *,
        seconds: float = _ONE_HOUR,
        clock: Callable[[], float] = time,
    ) -> None:
        self._signer = Signer(key)
        self._seconds = seconds
        self._clock = clock

    def encode(self, value: Any, purpose: str = "cursor") -> str:
        """Return a cursor with a JSON value."""
        payload = msgspec.json.encode(_Payload(int(self._clock()), as_json(value, "a cursor")))
        return _PREFIX + self._signer.sign(bound(purpose), payload)

    def decode(self, cursor: object, purpose: str = "cursor") -> Any:
        """Return the value of a cursor; raise a Problem if it is not valid for this purpose."""
        if not isinstance(cursor, str) or not cursor.startswith(_PREFIX):
            raise _invalid("is not a cursor of this server")
        try:
            payload = self._signer.verify(bound(purpose), cursor.removeprefix(_PREFIX))
        except BadSignature as error:
            raise _invalid("was not issued by this server for this purpose") from error
        created, value = msgspec.structs.astuple(msgspec.json.decode(payload, type=_Payload))
        if not -CLOCK_SKEW <= self._clock() - created <= self._seconds:
            raise _invalid("has expired; start again without it", code="CURSOR_EXPIRED")
        return value


def _invalid(fault: str, *, code: str = "INVALID_CURSOR") -> Problem:
    field = FieldError("cursor", fault)
    return Problem.validation(f"The cursor {fault}", code=code, fields=[field])
