"""The results of MCP's own methods, as each revision words them."""

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
    """What a server calls itself."""

    name: str
    version: str
    title: str | None = None
    website_url: str | None = msgspec.field(name="websiteUrl", default=None)
    icons: Sequence[Icon] | None = None

    def known_to(self, revision: Revision) -> "Identity":
        """As much of it as a revision has a place for."""
        if revision.icons:
            return self
        return Identity(self.name, self.version, self.title if revision.titles else None)


def stamp(identity: Identity) -> Result:
    """What the stateless era wants to see in the `_meta` of every result."""
    return {_SERVER_INFO: msgspec.Raw(msgspec.json.encode(identity))}


def complete(result: Result, stamp: Result) -> Result:
    """The result with what the stateless era wants in every one of them."""
    result["resultType"] = "complete"
    result["_meta"] = result["_meta"] | stamp if "_meta" in result else stamp
    return result


def ending(stamp: Result) -> bytes:
    """The same as the end of a result whose bytes are there already."""
    rest = msgspec.json.encode({"resultType": "complete", "_meta": stamp})
    return b"," + rest.removeprefix(b"{")


def initialize(
    identity: Identity, capabilities: Result, instructions: str | None, revision: Revision
) -> Result:
    """The server's half of the handshake."""
    result: Result = {
        "protocolVersion": revision.date,
        "capabilities": capabilities,
        "serverInfo": identity.known_to(revision),
    }
    return result if instructions is None else result | {"instructions": instructions}


def discover(capabilities: Result, instructions: str | None) -> Result:
    """What a server of the stateless era says of itself."""
    result = {"supportedVersions": STATELESS, "capabilities": capabilities} | cacheable("public")
    return result if instructions is None else result | {"instructions": instructions}


def page(
    member: str, entries: Sequence[Result], next_cursor: str | None, cache: Result | None
) -> Result:
    """A page of a list. A cursor that leads nowhere is left out: clients stumble over null."""
    result: Result = {member: entries}
    if next_cursor is not None:
        result["nextCursor"] = next_cursor
    return result if cache is None else result | cache


def cacheable(scope: Scope, fresh_for_ms: int = FRESH_FOR_MS) -> Result:
    """For how long, and for whom, a result of the stateless era may be kept."""
    return {"ttlMs": fresh_for_ms, "cacheScope": scope}


def listened(subscription: Id) -> Result:
    """That no more changes will be told of."""
    return {"_meta": {SUBSCRIPTION: subscription}}
