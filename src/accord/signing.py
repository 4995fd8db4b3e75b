"""Signed tokens that clients send back: list cursors, request state, cursors of answers.

A token carries bytes for one purpose. It is valid only for that purpose and only under the key that
signed it. Tokens are opaque, URL-safe and versioned; they are not encrypted.
"""

import os
from collections.abc import Callable
from time import time
from typing import Any, Final

import msgspec

from accord.errors import ContractError, PeerError
from accord.model.answer import FieldError, Problem
from accord.model.values import as_json

_VERSION: Final = "1"
_SIGNATURE_BYTES: Final = 16
_LONGEST_KEY: Final = 64  # what blake2b takes
_SHORTEST_KEY: Final = 16
_PREFIX: Final = "accord."
_AN_HOUR: Final = 3600.0
_CLOCKS_DIFFER: Final = 60.0  # seconds, among workers


class BrokenSeal(PeerError):
    """A token that we did not make, or not for this purpose."""


class Seal:
    """Signs and opens tokens under one key: the caller's, or one made for this process."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = os.urandom(32) if key is None else key
        if not _SHORTEST_KEY <= len(self._key) <= _LONGEST_KEY:
            raise ContractError(f"a key has {_SHORTEST_KEY} to {_LONGEST_KEY} bytes")

    def close(self, purpose: str, payload: bytes) -> str:
        """A token that holds `payload` for `purpose`."""
        from base64 import urlsafe_b64encode  # a server starts without these, and faster
        from hashlib import blake2b

        message = purpose.encode() + b"\0" + payload
        signature = blake2b(message, key=self._key, digest_size=_SIGNATURE_BYTES).digest()
        return _VERSION + urlsafe_b64encode(signature + payload).decode().rstrip("=")

    def open(self, purpose: str, token: str) -> bytes:
        """The payload of a token that `close` made for the same purpose, else BrokenSeal."""
        from base64 import urlsafe_b64decode
        from hmac import compare_digest

        body = token.removeprefix(_VERSION)
        try:
            payload = urlsafe_b64decode(body + "=" * (-len(body) % 4))[_SIGNATURE_BYTES:]
        except ValueError as error:
            raise BrokenSeal("the token cannot be decoded") from error
        if not compare_digest(self.close(purpose, payload).encode(), token.encode()):
            raise BrokenSeal("the token was not made here for this")
        return payload


class _Held(msgspec.Struct, frozen=True, array_like=True):
    made: int
    """In whole seconds, so that all cursors to one thing have one length."""
    value: Any


class Cursors:
    """Makes cursors and reads them back, for one purpose each (a tool's name, say).

    Those who share a `key` read each other's: give one to all workers, and keep it in a file to
    have cursors survive a restart. Without one, cursors are good for the life of this object.
    """

    def __init__(
        self,
        key: bytes | None = None,
        *,
        seconds: float = _AN_HOUR,
        clock: Callable[[], float] = time,
    ) -> None:
        self._seal = Seal(key)
        self._seconds = seconds
        self._clock = clock

    def encode(self, value: Any, purpose: str = "cursor") -> str:
        """A cursor that holds a JSON value."""
        held = msgspec.json.encode(_Held(int(self._clock()), as_json(value, "a cursor")))
        return _PREFIX + self._seal.close(purpose, held)

    def decode(self, cursor: object, purpose: str = "cursor") -> Any:
        """The value of a cursor that `encode` made for the same purpose, else a Problem."""
        if not isinstance(cursor, str) or not cursor.startswith(_PREFIX):
            raise _refusal("is no cursor of this server")
        try:
            held = self._seal.open(purpose, cursor.removeprefix(_PREFIX))
        except BrokenSeal as error:
            raise _refusal("was not made here for this") from error
        made, value = msgspec.structs.astuple(msgspec.json.decode(held, type=_Held))
        if not -_CLOCKS_DIFFER <= self._clock() - made <= self._seconds:
            raise _refusal("has expired; start again without it", code="CURSOR_EXPIRED")
        return value


def _refusal(fault: str, *, code: str = "INVALID_CURSOR") -> Problem:
    field = FieldError("cursor", fault)
    return Problem.validation(f"The cursor {fault}", code=code, fields=[field])
