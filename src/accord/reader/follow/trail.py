"""The calls that were made, so that none is made again."""

from typing import Any, Final, NamedTuple

from accord.errors import PeerError

_SHOWN: Final = 80


class Asked(NamedTuple):
    """One call."""

    tool: str
    arguments: dict[str, Any]


class Trail:
    """The loop guard: a call that was made before, and a page that comes again, are a PeerError."""

    def __init__(self, tool: str, asked: Asked) -> None:
        self._tool = tool
        self._asked = asked
        self._been = {repr(asked)}
        self._last: list[Any] = []

    def found(self, items: list[Any], number: int) -> None:
        """The items of a page."""
        if items and items == self._last:
            raise self._circle(f"page {number} equals page {number - 1}")
        self._last = items

    def follow(self, following: Asked) -> None:
        """The call that comes next."""
        if repr(following) in self._been:
            raise self._circle(f"{_shown(self._asked, following)} was requested before")
        self._been.add(repr(following))
        self._asked = following

    def _circle(self, why: str) -> PeerError:
        return PeerError(f"the pages of {self._tool} repeat: {why}")


def _shown(asked: Asked, following: Asked) -> str:
    """What the next call has that this one has not."""
    changed = {
        name: value
        for name, value in following.arguments.items()
        if asked.arguments.get(name) != value
    }
    words = ", ".join(f"{name} {value!r}" for name, value in changed.items()) or "the same call"
    return words if len(words) <= _SHOWN else words[:_SHOWN] + "…"
