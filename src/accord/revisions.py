"""The one table of what differs between the revisions of MCP.

Everything that depends on a revision asks its row here; nobody compares dates.
"""

from types import MappingProxyType
from typing import Final, Literal

import msgspec


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """One revision of the protocol, and what it has."""

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
    """Which JSON values `structuredContent` can hold, and what `outputSchema` can describe."""
    argument_failures: bool = True
    """Arguments that don't fit are a failed tool call; before, a JSON-RPC error."""
    null_ids: bool = False
    """Over HTTP an error without a readable id says `null`; after, it has no id at all."""
    metadata: bool = True
    """A `_meta` on tools, prompts and resources."""
    icons: bool = True
    completions: bool = True
    """A capability of that name; the method is older."""
    elicitation: bool = True
    """A person can be asked through the client."""
    url_elicitation: bool = True
    """And can be sent to a page for it."""
    elicitation_ids: bool = False
    """Where every such page has an id."""
    titled_choices: bool = True
    """Choices with titles of their own, and more than one of them; before, names in a list."""
    missing_resource: int = -32002
    """The code for a resource that is not there."""
    primed_streams: bool = False
    """A stream of events begins with an empty one, which a client can come back to."""


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
    Revision(date="2025-11-25", elicitation_ids=True, primed_streams=True),
    Revision(date="2026-07-28", stateless=True, structured="any", missing_resource=-32602),
)

REVISIONS: Final = MappingProxyType({revision.date: revision for revision in _TABLE})
NEWEST: Final = _TABLE[-1]
STATELESS: Final = tuple(r.date for r in reversed(_TABLE) if r.stateless)


def negotiate(asked: str) -> Revision:
    """What `initialize` agrees on: the asked revision where it has a handshake, else our newest."""
    handshake = [revision for revision in _TABLE if not revision.stateless]
    return next((revision for revision in handshake if revision.date == asked), handshake[-1])
