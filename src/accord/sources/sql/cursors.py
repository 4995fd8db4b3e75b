"""Cursors to the rows behind those that were sent: how many to skip, for one query alone."""

from typing import Final

import msgspec

from accord.model.answer import FieldError, Problem
from accord.signing import BadSignature, Signer
from accord.sources.sql.messages import Params

_PURPOSE: Final = "rows of run_query"
_canonical = msgspec.json.Encoder(order="deterministic").encode


class _Held(msgspec.Struct, frozen=True, array_like=True):
    query: str
    skip: int


class RowCursors:
    """Makes cursors and reads them back; those who share a key read each other's."""

    def __init__(self, key: bytes | None) -> None:
        self._signer = Signer(key)

    def encode(self, query: str, params: Params, skip: int) -> str:
        """A cursor to what comes behind so many rows of a query."""
        return self._signer.sign(_PURPOSE, msgspec.json.encode(_Held(_digest(query, params), skip)))

    def decode(self, cursor: str, query: str, params: Params) -> int:
        """How many rows of the query to skip."""
        try:
            held = msgspec.json.decode(self._signer.verify(_PURPOSE, cursor), type=_Held)
        except BadSignature as error:
            raise _refusal("was not made by this server") from error
        if held.query != _digest(query, params):
            raise _refusal("belongs to another query or other params")
        return held.skip


def _digest(query: str, params: Params) -> str:
    from hashlib import blake2b  # most answers have no cursor

    return blake2b(_canonical([query, params]), digest_size=9).hexdigest()


def _refusal(fault: str) -> Problem:
    field = FieldError("cursor", fault)
    return Problem.validation(f"The cursor {fault}", code="INVALID_CURSOR", fields=[field])
