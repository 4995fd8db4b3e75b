"""Tables of replies by kind, and checks of how a reply is read."""

from collections.abc import Mapping, Sequence
from typing import Any

from accord.reader import read

Case = tuple[str, dict[str, Any], str]
"""A tool, what it was given, and the text that it replies."""


def each_of(kinds: Mapping[str, Sequence[Case]]) -> list[tuple[str, str, dict[str, Any], str]]:
    """All cases, each with its kind."""
    return [(kind, *case) for kind, cases in kinds.items() for case in cases]


def require_kind(kind: str, tool: str, arguments: dict[str, Any], reply: str) -> Any:
    """Read a reply, and assert that it is of a kind."""
    reading = read({"content": [{"type": "text", "text": reply}]}, tool, arguments)
    assert reading.response.response_type == kind, reading.rules
    return reading.response.data


def require_items(tool: str, arguments: dict[str, Any], reply: str, items: int) -> None:
    """A list of so many items."""
    data = require_kind("list", tool, arguments, reply)
    assert len(data) == items, data
