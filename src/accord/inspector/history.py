"""A bounded history of calls, so that their answers can be rendered again."""

from collections import OrderedDict
from itertools import count
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_MAX_ENTRIES: Final = 100
_MAX_BYTES: Final = 64 * 1024 * 1024


class History(Generic[T]):
    """Entries by number; the oldest are dropped beyond the limits, the newest is always kept."""

    def __init__(self, max_entries: int = _MAX_ENTRIES, max_bytes: int = _MAX_BYTES) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._numbers = count(1)
        self._entries: OrderedDict[int, tuple[T, int]] = OrderedDict()
        self._bytes = 0

    def add(self, entry: T, size: int) -> int:
        """Store an entry and return its number."""
        number = next(self._numbers)
        self._entries[number] = (entry, size)
        self._bytes += size
        while len(self._entries) > 1 and (
            len(self._entries) > self._max_entries or self._bytes > self._max_bytes
        ):
            _, (_, freed) = self._entries.popitem(last=False)
            self._bytes -= freed
        return number

    def get(self, number: int) -> T | None:
        """Return the entry with that number, if it is still stored."""
        found = self._entries.get(number)
        return None if found is None else found[0]
