"""`read_all` and `pages`: items and pages of a tool; `following`: the call for the next page."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, Final, NamedTuple

from accord.errors import PeerError
from accord.pages.inputs import REST, members_of
from accord.pages.turn import Turn, is_list
from accord.pages.ways import WAYS, Changes
from accord.reader.read import read
from accord.reader.reading import Reading

Call = Callable[[str, dict[str, Any]], Awaitable[Any]]

_MOST_PAGES: Final = 1_000
_READ_MORE: Final = "read_more"
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


async def read_all(
    call: Call,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    schema: Mapping[str, Any] | None = None,
    max_items: int | None = None,
    max_pages: int = _MOST_PAGES,
) -> AsyncIterator[Any]:
    """Yield the items of a list, page after page; for any other reply, its value.

    `call` calls a tool by name with arguments, and returns the reply: `call_tool_raw` of a Client,
    an SDK's `call_tool`, your own function. The tool's input `schema` helps to find the argument
    for the next page. Stops after `max_items`. Raises PeerError if a page fails or repeats, if
    there are more than `max_pages`, or if there are more items but no way to request them.
    """
    if max_items == 0:
        return
    given = 0
    found = pages(call, tool, arguments, schema=schema, max_pages=max_pages)
    async with aclosing(found):
        async for reading in found:
            for item in items_of(reading):
                yield item
                given += 1
                if given == max_items:
                    return


async def pages(
    call: Call,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    schema: Mapping[str, Any] | None = None,
    max_pages: int = _MOST_PAGES,
) -> AsyncGenerator[Reading, None]:
    """Yield the reading of each page; a page is requested when the one before it was used.

    Raises PeerError as `read_all` does.
    """
    asked = Asked(tool, dict(arguments or {}))
    trail = Trail(tool, asked)
    given = 0
    for number in range(1, max_pages + 1):
        reply = await call(asked.tool, dict(asked.arguments))
        reading = read(reply, tool, asked.arguments)
        if reading.is_failure:
            raise PeerError(f"page {number} of {tool} failed: {reading.response.message}")
        items = items_of(reading)
        trail.found(items, number)
        yield reading
        given += len(items)
        turn = Turn.of(reading, asked.arguments, schema, len(items), given)
        onward = _following(asked, turn)
        if onward is None:
            return
        trail.follow(onward)
        asked = onward
    raise PeerError(f"{tool} has more than {max_pages} pages")


def following(
    reading: Reading,
    tool: str,
    arguments: Mapping[str, Any],
    schema: Mapping[str, Any] | None = None,
) -> tuple[str, dict[str, Any]] | None:
    """Return the tool and the arguments for the next page; None if there is no way to one."""
    count = len(items_of(reading))
    turn = Turn.of(reading, arguments, schema, count, count)
    try:
        found = _following(Asked(tool, dict(arguments)), turn)
    except PeerError:
        return None
    return None if found is None or found.arguments == arguments else (found.tool, found.arguments)


def items_of(reading: Reading) -> list[Any]:
    """Return the items of a list; of any other reply, its value if there is one."""
    if is_list(reading):
        items: list[Any] = reading.response.data or []
        return items
    return [] if reading.value is None else [reading.value]


def _following(asked: Asked, turn: Turn) -> Asked | None:
    """The call for the next page; None where there is none."""
    if turn.is_action or turn.page.has_more is False:
        return None
    if _wants_read_more(turn):
        return Asked(_READ_MORE, {"cursor": turn.page.cursor})
    for way in WAYS:
        changes = way(turn)
        if changes:
            return Asked(asked.tool, _changed(asked.arguments, changes))
    if turn.page.has_more:
        raise PeerError(f"{asked.tool} reports more items, but not how to request them")
    return None


def _changed(arguments: Mapping[str, Any], changes: Changes) -> dict[str, Any]:
    """Return the arguments with changes; a cursor to the rest of an answer is for one call."""
    changed = {name: each for name, each in arguments.items() if not _is_rest(each)}
    for (root, *below), value in changes.items():
        changed[root] = {**members_of(changed.get(root)), below[0]: value} if below else value
    return changed


def _is_rest(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(REST)


def _wants_read_more(turn: Turn) -> bool:
    """A server of ours cut the answer, and the tool takes no cursor: another one gets the rest."""
    return turn.is_cut and any(
        f"call {_READ_MORE} with" in warning.message for warning in turn.reading.warnings
    )
