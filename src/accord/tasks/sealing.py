"""Encryption of what a server keeps in a store, and sends through one."""

import os
from hashlib import blake2b
from typing import Final

from accord.errors import ContractError
from accord.signing import BadSignature, keys_of

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
except ImportError as _error:
    from accord.extras import missing

    raise ContractError(missing("a key and a store together", "redis")) from _error

_VERSION: Final = b"1"
_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = 32
_PERSON: Final = b"accord seal"


class Sealer:
    """Encrypts values under a key, each for one purpose; older keys still open theirs.

    Each purpose has a key of its own, so that no key encrypts many values.
    """

    def __init__(self, key: bytes) -> None:
        self._keys = keys_of(key)

    def seal(self, purpose: str, value: bytes) -> bytes:
        """Return a value, encrypted."""
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + _cipher(self._keys[0], purpose).encrypt(nonce, value, _VERSION)

    def open(self, purpose: str, sealed: bytes) -> bytes:
        """Return an encrypted value; raise BadSignature if no key opens it for this purpose."""
        start = len(_VERSION) + _NONCE_BYTES
        nonce, content = sealed[len(_VERSION) : start], sealed[start:]
        if sealed.startswith(_VERSION) and len(nonce) == _NONCE_BYTES:
            for key in self._keys:
                try:
                    return _cipher(key, purpose).decrypt(nonce, content, _VERSION)
                except InvalidTag:
                    continue
        raise BadSignature("the value is not encrypted with this key for this purpose")


def _cipher(key: bytes, purpose: str) -> ChaCha20Poly1305:
    own = blake2b(purpose.encode(), key=key, digest_size=_KEY_BYTES, person=_PERSON).digest()
    return ChaCha20Poly1305(own)
