"""Cursors that come back to us: opaque, URL-safe, versioned, signed, and good for a while."""

from collections.abc import Callable
from time import time
from typing import Any, Final

import msgspec

from accord.answer import FieldError, Problem
from accord.seal import BrokenSeal, Seal
from accord.values import as_json

_PREFIX: Final = "accord."
_AN_HOUR: Final = 3600.0
_CLOCKS_DIFFER: Final = 60.0  # seconds, among workers


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
