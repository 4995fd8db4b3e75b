"""Signed cursors of run_query: the number of rows to skip, valid for one query only."""

from typing import Final

import msgspec

from accord.model.answer import FieldError, Problem
from accord.signing import BadSignature, Signer
from accord.sources.sql.messages import Params

_PURPOSE: Final = "rows of run_query"
_canonical = msgspec.json.Encoder(order="deterministic").encode


class _Payload(msgspec.Struct, frozen=True, array_like=True):
    digest: str
    skip: int


class RowCursors:
    """Encodes and decodes cursors; servers with the same key can decode each other's."""

    def __init__(self, key: bytes | None) -> None:
        self._signer = Signer(key)

    def encode(self, query: str, params: Params, skip: int) -> str:
        """Return a cursor that skips this many rows of a query."""
        return self._signer.sign(
            _PURPOSE, msgspec.json.encode(_Payload(_digest(query, params), skip))
        )

    def decode(self, cursor: str, query: str, params: Params) -> int:
        """Return the number of rows of the query to skip, or raise a Problem."""
        try:
            payload = msgspec.json.decode(self._signer.verify(_PURPOSE, cursor), type=_Payload)
        except BadSignature as error:
            raise _invalid_cursor("was not made by this server") from error
        if payload.digest != _digest(query, params):
            raise _invalid_cursor("belongs to another query or other params")
        return payload.skip


def _digest(query: str, params: Params) -> str:
    from hashlib import blake2b  # slow to import, and most answers have no cursor

    return blake2b(_canonical([query, params]), digest_size=9).hexdigest()


def _invalid_cursor(fault: str) -> Problem:
    field = FieldError("cursor", fault)
    return Problem.validation(f"The cursor {fault}", code="INVALID_CURSOR", fields=[field])
