"""How many tasks are open in one process, and how many of them each caller has."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from accord.model.answer import Problem


class Room:
    """Counts the open tasks of a process, and refuses more than there is room for."""

    def __init__(self, most: int, most_per_caller: int) -> None:
        """There is room for so many tasks, and for so many of one caller."""
        self._most = most
        self._most_per_caller = most_per_caller
        self._open = 0
        self._by_caller: Counter[str] = Counter()

    @property
    def is_full(self) -> bool:
        """True if there is no room for a task of any caller."""
        return self._open >= self._most

    @contextmanager
    def reserve(self, caller: str) -> Iterator[None]:
        """Count a call that may become a task for the time of a block; raise if there is no room.

        If it becomes one, `add` counts that before the block ends.
        """
        if self.is_full:
            raise Problem.unavailable("Too many tasks are open; try again later")
        if self._by_caller[caller] >= self._most_per_caller:
            raise Problem.rate_limit(
                f"You have {self._most_per_caller} open tasks, the most that one caller may have:"
                " wait until one is over, or cancel one"
            )
        self.add(caller)
        try:
            yield
        finally:
            self.remove(caller)

    def add(self, caller: str) -> None:
        """Count a task, whether or not there is room."""
        self._open += 1
        self._by_caller[caller] += 1

    def remove(self, caller: str) -> None:
        """Count a task no longer: it is over."""
        self._open -= 1
        self._by_caller[caller] -= 1
        if not self._by_caller[caller]:
            del self._by_caller[caller]
