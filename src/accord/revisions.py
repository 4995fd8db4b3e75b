"""The table of differences between MCP revisions.

Code that depends on a revision uses its row; it never compares dates.
"""

from types import MappingProxyType
from typing import Final, Literal

import msgspec


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """One protocol revision and its features."""

    date: str
    stateless: bool = False
    """No `initialize`: every request carries its revision and the client's capabilities."""
    batches: bool = False
    """Several messages in one JSON array."""
    annotations: bool = True
    """Hints on a tool: read-only, destructive, idempotent, open-world."""
    audio: bool = True
    titles: bool = True
    """A `title` beside a tool's name."""
    links: bool = True
    """`resource_link` content."""
    structured: Literal["none", "object", "any"] = "object"
    """JSON values allowed in `structuredContent` and described by `outputSchema`."""
    argument_failures: bool = True
    """Invalid arguments are a failed tool call; before, a JSON-RPC error."""
    null_ids: bool = False
    """Over HTTP an error for an unreadable id has the id `null`; after, no id."""
    metadata: bool = True
    """A `_meta` on tools, prompts and resources."""
    icons: bool = True
    completions: bool = True
    """The capability; the method is older."""
    elicitation: bool = True
    """Elicitation with forms."""
    url_elicitation: bool = True
    """Elicitation with URLs."""
    elicitation_ids: bool = False
    """An id in each URL elicitation."""
    titled_choices: bool = True
    """Titled and multiple choices in forms; before, `enumNames`."""
    missing_resource: int = -32002
    """Error code for a resource that does not exist."""
    tasks: bool = False
    """The experimental tasks of the core; later ones are an extension."""
    primed_streams: bool = False
    """Event streams start with an empty event, from which a client can resume."""


_TABLE = (
    Revision(
        date="2024-11-05",
        annotations=False,
        audio=False,
        titles=False,
        links=False,
        structured="none",
        argument_failures=False,
        null_ids=True,
        metadata=False,
        icons=False,
        completions=False,
        elicitation=False,
        url_elicitation=False,
        titled_choices=False,
    ),
    Revision(
        date="2025-03-26",
        batches=True,
        titles=False,
        links=False,
        structured="none",
        argument_failures=False,
        null_ids=True,
        metadata=False,
        icons=False,
        elicitation=False,
        url_elicitation=False,
        titled_choices=False,
    ),
    Revision(
        date="2025-06-18",
        argument_failures=False,
        null_ids=True,
        icons=False,
        url_elicitation=False,
        titled_choices=False,
    ),
    Revision(date="2025-11-25", elicitation_ids=True, tasks=True, primed_streams=True),
    Revision(date="2026-07-28", stateless=True, structured="any", missing_resource=-32602),
)

REVISIONS: Final = MappingProxyType({revision.date: revision for revision in _TABLE})
NEWEST: Final = _TABLE[-1]
STATELESS: Final = tuple(r.date for r in reversed(_TABLE) if r.stateless)


def negotiate(requested: str) -> Revision:
    """Return the requested revision if it has a handshake, else the newest that has one."""
    handshake = [revision for revision in _TABLE if not revision.stateless]
    return next((revision for revision in handshake if revision.date == requested), handshake[-1])
