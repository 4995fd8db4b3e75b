"""Results of MCP's own methods, for each revision."""

from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from accord.model.content import Icon
from accord.protocol.messages import Id
from accord.revisions import STATELESS, Revision

_SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
FRESH_FOR_MS: Final = 300_000

Result = dict[str, Any]
Scope = Literal["public", "private"]


class Identity(msgspec.Struct, frozen=True, omit_defaults=True):
    """Name, version and title of a server: `serverInfo`."""

    name: str
    version: str
    title: str | None = None
    website_url: str | None = msgspec.field(name="websiteUrl", default=None)
    icons: Sequence[Icon] | None = None

    def known_to(self, revision: Revision) -> "Identity":
        """Return the members that a revision defines."""
        if revision.icons:
            return self
        return Identity(self.name, self.version, self.title if revision.titles else None)


def stamp(identity: Identity) -> Result:
    """Return the `_meta` that every result of the stateless era has."""
    return {_SERVER_INFO: msgspec.Raw(msgspec.json.encode(identity))}


def complete(result: Result, stamp: Result) -> Result:
    """Add the members that every result of the stateless era has."""
    result["resultType"] = "complete"
    result["_meta"] = result["_meta"] | stamp if "_meta" in result else stamp
    return result


def ending(stamp: Result) -> bytes:
    """Return these members as the end of a result that is encoded already."""
    rest = msgspec.json.encode({"resultType": "complete", "_meta": stamp})
    return b"," + rest.removeprefix(b"{")


def initialize(
    identity: Identity, capabilities: Result, instructions: str | None, revision: Revision
) -> Result:
    """Return the result of `initialize`."""
    result: Result = {
        "protocolVersion": revision.date,
        "capabilities": capabilities,
        "serverInfo": identity.known_to(revision),
    }
    return result if instructions is None else result | {"instructions": instructions}


def discover(capabilities: Result, instructions: str | None) -> Result:
    """Return the result of `server/discover`."""
    result = {"supportedVersions": STATELESS, "capabilities": capabilities} | cacheable("public")
    return result if instructions is None else result | {"instructions": instructions}


def page(
    member: str, entries: Sequence[Result], next_cursor: str | None, cache: Result | None
) -> Result:
    """Return a page of a list; without a cursor it has no `nextCursor`: clients fail on null."""
    result: Result = {member: entries}
    if next_cursor is not None:
        result["nextCursor"] = next_cursor
    return result if cache is None else result | cache


def cacheable(scope: Scope, fresh_for_ms: int = FRESH_FOR_MS) -> Result:
    """Return the cache hints of a result in the stateless era."""
    return {"ttlMs": fresh_for_ms, "cacheScope": scope}


def listened(subscription: Id) -> Result:
    """Return the result that ends a subscription."""
    return {"_meta": {SUBSCRIPTION: subscription}}
