"""What there is to go by after a page."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from accord.model.answer import Page
from accord.pages.inputs import LIMITS, REST, Inputs, Path
from accord.reader.lexicon import squeezed
from accord.reader.reading import Reading

_DEEPEST: Final = 3


class Turn(NamedTuple):
    """What there is to go by after a page."""

    page: Page
    members: dict[str, tuple[str, Any]]
    """What stands beside the items, by squeezed names: the name as it is, and the value."""
    inputs: Inputs
    items: list[Any] | None
    """None where the page is no list."""
    seen: int
    is_action: bool
    reading: Reading

    @classmethod
    def of(
        cls,
        reading: Reading,
        arguments: Mapping[str, Any],
        schema: Mapping[str, Any] | None,
        count: int,
        given: int,
    ) -> "Turn":
        page = reading.page or Page()
        offset = page.offset or 0
        return cls(
            page=page,
            members=_beside(reading.response.metadata or {}),
            inputs=Inputs.of(arguments, schema),
            items=reading.response.data if is_list(reading) else None,
            seen=max(given, offset + count),
            is_action=reading.response.response_type == "action",
            reading=reading,
        )

    def said(self, names: tuple[str, ...], kind: type) -> tuple[str, Any] | None:
        """The first member of these names with a value of that type."""
        found = (self.members.get(name) for name in names)
        return next((each for each in found if each and type(each[1]) is kind), None)

    @property
    def is_cut(self) -> bool:
        """True if a server of ours cut the page: its cursor leads to the rest of it."""
        return (self.page.cursor or "").startswith(REST)

    @property
    def is_open(self) -> bool:
        """True if an argument that the schema does not name may be tried."""
        return self.page.has_more is True

    @property
    def may_have_more(self) -> bool:
        """Whether there may be more, where the page does not say it."""
        if not self.items:
            return False
        if self.page.total is not None:
            return self.seen < self.page.total
        return self.page.after is not None or self._is_full

    @property
    def _is_full(self) -> bool:
        path = self.inputs.find(LIMITS, 1)
        limit = self.page.limit or (path and self.inputs.value(path))
        return type(limit) is int and self.items is not None and 0 < limit <= len(self.items)

    def find(self, names: Sequence[str], value: str | int, otherwise: str) -> Path | None:
        """The argument of one of these names that can be this, or one to try."""
        found = self.inputs.find(names, value)
        return self.inputs.place(otherwise) if found is None and self.is_open else found


def _beside(members: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """All members by squeezed names; what is said further up is believed first."""
    found: dict[str, tuple[str, Any]] = {}
    level = [members]
    for _ in range(_DEEPEST):
        for name, value in (pair for each in level for pair in each.items()):
            found.setdefault(squeezed(name), (name, value))
        level = [each for above in level for each in above.values() if isinstance(each, dict)]
    return found


def is_list(reading: Reading) -> bool:
    """Whether a page has items."""
    return reading.response.response_type in ("list", "tool_catalog")
