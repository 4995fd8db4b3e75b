"""Rates of calls: limits that one process counts, and its shares of those that several have."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from math import exp
from time import monotonic
from typing import Final

_MAX_KEPT: Final = 50_000  # keys of one limit
_MAX_BUSY: Final = 500  # keys of one limit whose demand is measured, the busiest ones
_RESERVE: Final = 0.1  # of a rate: it is spread over all processes, also those without demand
_LEAST: Final = 1e-5  # of a rate: a smaller demand counts as none
_MIN_MEMORY: Final = 0.5  # seconds over which demand is measured
_MAX_MEMORY: Final = 15.0
_ROUNDING: Final = 1e-6


class RateLimit:
    """So many calls in so many seconds for each key; all of them may come at once.

    Each process has a share of the rate. It is 1 without a shared store; else a process has the
    part of the rate that it has of the demand. What counts is only in memory.
    """

    def __init__(self, calls: int, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self.calls = calls
        self.seconds = seconds
        self.default_share: float = 1.0
        """The share of keys whose demand here is not known."""
        self.is_shared: bool = False
        """True if other processes count calls of the same keys."""
        self._clock = clock
        self._due: OrderedDict[Hashable, float] = OrderedDict()
        """When all calls of a key are available again."""
        self._shares: dict[Hashable, float] = {}
        self.demand: dict[Hashable, float] = {}
        """The demand here, as a part of the rate; of the busiest keys."""
        self.told: dict[Hashable, float] = {}
        """The demand before, which the others know when theirs is heard."""
        self._attempts: dict[Hashable, int] = {}
        """Calls since the last measurement, those that were refused too."""

    def excess(self, key: Hashable) -> float:
        """Count a call; if it is over the rate, return the seconds to wait instead."""
        now, share = self._clock(), 1.0
        if self.is_shared:
            self._attempts[key] = self._attempts.get(key, 0) + 1
            share = self._shares.get(key, self.default_share)
        seconds = self.seconds / (self.calls * share)
        window = max(self.seconds, seconds)
        due = min(max(now, self._due.get(key, now)), now + window) + seconds
        if due > now + window + seconds * _ROUNDING:
            return due - now - window
        self._due[key] = due
        self._due.move_to_end(key)
        if len(self._due) > _MAX_KEPT:
            self._due.popitem(last=False)
        return 0.0

    def measure(self, seconds: float) -> None:
        """Measure the demand: the attempts of the last so many seconds, and less of older ones."""
        self.told = self.demand
        attempts, self._attempts = self._attempts, {}
        memory = min(max(self.seconds / 4, _MIN_MEMORY), _MAX_MEMORY)
        kept = exp(-seconds / memory)
        unit = seconds * self.calls / self.seconds
        demand = {
            key: self.demand.get(key, 0.0) * kept + attempts.get(key, 0) / unit * (1 - kept)
            for key in self.demand.keys() | attempts.keys()
        }
        busiest = sorted(demand, key=demand.__getitem__, reverse=True)[:_MAX_BUSY]
        self.demand = {key: demand[key] for key in busiest if demand[key] >= _LEAST}

    def end_sharing(self) -> None:
        """Count the calls of this process alone."""
        self.is_shared = False
        self._attempts, self.demand, self.told, self._shares = {}, {}, {}, {}

    def set_shares(self, count: int, others: Mapping[Hashable, float]) -> None:
        """Set the shares of this process, one of `count`, by the sum of the others' demand."""
        reserve = _RESERVE / count
        self.is_shared = True
        self.default_share = 1 / count
        self._shares = {
            key: (each + reserve) / (each + others.get(key, 0.0) + count * reserve)
            for key, each in self.told.items()
        }
