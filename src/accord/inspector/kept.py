"""The last calls, so that their answers can be worded again."""

from collections import OrderedDict
from itertools import count
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_MOST: Final = 100
_MOST_BYTES: Final = 64 * 1024 * 1024


class Kept(Generic[T]):
    """Things by number; the oldest make room, the newest always stays."""

    def __init__(self, most: int = _MOST, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._numbers = count(1)
        self._things: OrderedDict[int, tuple[T, int]] = OrderedDict()
        self._bytes = 0

    def add(self, thing: T, size: int) -> int:
        """Keep it, and give back its number."""
        number = next(self._numbers)
        self._things[number] = (thing, size)
        self._bytes += size
        while len(self._things) > 1 and (
            len(self._things) > self._most or self._bytes > self._most_bytes
        ):
            _, (_, freed) = self._things.popitem(last=False)
            self._bytes -= freed
        return number

    def get(self, number: int) -> T | None:
        """What has that number, if it is still here."""
        found = self._things.get(number)
        return None if found is None else found[0]
