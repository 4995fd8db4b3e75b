"""Tokens that come back to us: opaque, URL-safe, versioned and signed.

A sealed token carries bytes for one purpose. It opens only for that purpose and only under the key
that made it; whatever else a peer sends is refused.
"""

import os
from typing import Final

from accord.errors import ContractError, PeerError

_VERSION: Final = "1"
_SIGNATURE_BYTES: Final = 16
_LONGEST_KEY: Final = 64  # what blake2b takes
_SHORTEST_KEY: Final = 16


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
