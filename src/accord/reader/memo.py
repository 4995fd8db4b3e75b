"""What is known of names, kept: the same few come again and again, of tools and of members."""

from collections.abc import Callable
from typing import Final, TypeVar

_MOST: Final = 2_048
_LONGEST: Final = 64

Known = TypeVar("Known")


def memo(describe: Callable[[str], Known]) -> Callable[[str], Known]:
    """The same function, which looks at a name once; long ones, and too many, it does not keep."""
    return _Kept(describe).__getitem__  # nothing in Python is quicker to call


class _Kept(dict[str, Known]):
    def __init__(self, describe: Callable[[str], Known]) -> None:
        self._describe = describe

    def __missing__(self, name: str) -> Known:
        found = self._describe(name)
        if len(name) <= _LONGEST:
            if len(self) >= _MOST:
                self.clear()
            self[name] = found
        return found
