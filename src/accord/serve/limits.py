"""Limits of each caller: calls of a tool in a time, and requests that are open at once."""

from collections.abc import Callable
from time import monotonic
from typing import Final, NamedTuple

import msgspec

from accord.errors import ContractError
from accord.server.rates import RateLimit

_UNITS: Final = {"s": 1.0, "min": 60.0, "h": 3_600.0}

CallerKey = bytes | str | None
"""The identity of a caller: its principal, else its address."""


class Rate(NamedTuple):
    """So many calls in so many seconds; all of them may come at once."""

    calls: int
    seconds: float

    @classmethod
    def parse(cls, text: str) -> "Rate":
        """Parse `60/min`: a number of calls per s, min or h."""
        number, _, unit = text.partition("/")
        if not (number.isascii() and number.isdigit() and int(number)) or unit not in _UNITS:
            raise ContractError(f"{text!r} is not a rate; write 60/min, or a number per s or h")
        return cls(int(number), _UNITS[unit])

    def __str__(self) -> str:
        unit = next((name for name, size in _UNITS.items() if size == self.seconds), None)
        return f"{self.calls}/{unit or f'{self.seconds:g} s'}"


class Excess(msgspec.Struct, frozen=True):
    """A limit that a request exceeds."""

    message: str
    retry_after: float


class CallLimits:
    """Counts the calls of callers; processes with one store share the rate, as `RateLimit` does."""

    def __init__(
        self,
        rate: Rate | None,
        max_concurrent: int | None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.rate: RateLimit | None = None if rate is None else RateLimit(*rate, clock)
        self._text = str(rate)
        self._max_concurrent = max_concurrent
        self._open: dict[CallerKey, int] = {}

    def excess(self, caller: CallerKey, tool: str | None) -> Excess | None:
        """Return the limit that another request exceeds; None counts it as open until `leave`."""
        most = self._max_concurrent
        if most is not None and self._open.get(caller, 0) >= most:
            return Excess(f"Too many open requests: {most} of a caller are allowed", 1.0)
        found = None if tool is None or self.rate is None else self._over_rate(caller, tool)
        if found is None and most is not None:
            self._open[caller] = self._open.get(caller, 0) + 1
        return found

    def leave(self, caller: CallerKey) -> None:
        """Count a request as done."""
        if self._max_concurrent is not None:
            left = self._open.get(caller, 0) - 1
            if left > 0:
                self._open[caller] = left
            else:
                self._open.pop(caller, None)

    def _over_rate(self, caller: CallerKey, tool: str) -> Excess | None:
        assert self.rate is not None
        wait = self.rate.excess((caller, tool))
        if not wait:
            return None
        return Excess(f"Too many calls of {tool}: {self._text} of a caller are allowed", wait)
