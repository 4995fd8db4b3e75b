"""Several servers as one, which changes as they do."""

from collections.abc import Mapping
from threading import RLock
from typing import Any

import msgspec

from accord.errors import ContractError
from accord.model.changes import Change, Updated
from accord.model.prompt import Prompt
from accord.model.resource import Resource
from accord.model.tool import Tool
from accord.server.continuation import READ_MORE
from accord.server.server import Server
from accord.telemetry import Telemetry

Offer = Tool | Prompt | Resource


def combine(servers: Mapping[str, Server]) -> Server:
    """Several servers as one, each under the target it came from; a name clash is an error."""
    if len(servers) == 1:
        return next(iter(servers.values()))
    return Combination(servers).server


class Combination:
    """Keeps a server that has what all of its parts have."""

    def __init__(self, parts: Mapping[str, Server]) -> None:
        self._parts = dict(parts)
        self.server = _empty(list(parts.values()))
        self._owners: dict[tuple[str, str], str] = {}
        self._held: dict[tuple[str, str], tuple[Offer, Offer]] = {}
        """What is here: as it is in its part, and as it is in the whole."""
        self._lock = RLock()
        for target, part in self._parts.items():
            for key, offer in _offers_of(part).items():
                if key in self._owners:
                    kind, name = key
                    there = self._owners[key]
                    raise ContractError(f"both {there} and {target} have a {kind} {name!r}")
                self._owners[key] = target
                self._add(key, offer, part)
            part.changes.subscribe(self.hear)
        self.server.origin = self

    def hear(self, change: Change) -> None:
        """A part has changed, and so has the whole. Safe in any thread."""
        if isinstance(change, Updated):
            self.server.updated(change.uri)
            return
        with self._lock:
            self._follow()

    def _follow(self) -> None:
        now: dict[tuple[str, str], tuple[Offer, Server]] = {}
        for part in self._parts.values():
            for key, offer in _offers_of(part).items():
                now.setdefault(key, (offer, part))
        for key, (own, shown) in list(self._held.items()):
            if key not in now or now[key][0] is not own:
                del self._held[key]
                self.server.remove(shown)
        for key, (offer, part) in now.items():
            if key not in self._held:
                self._add(key, offer, part)

    def _add(self, key: tuple[str, str], offer: Offer, part: Server) -> None:
        shown = offer
        if isinstance(offer, Tool):
            profile = offer.profile or part.profile.name
            max_bytes = offer.max_bytes or part.max_bytes
            shown = msgspec.structs.replace(offer, profile=profile, max_bytes=max_bytes)
        self.server.add(shown)
        self._held[key] = (offer, shown)
        for argument, completer in part.offered.completers_of(key[1]).items():
            self.server.offered.complete(key[1], argument, completer)


def _offers_of(part: Server) -> dict[tuple[str, str], Any]:
    tools = {("tool", name): tool for name, tool in list(part.tools.items())}
    if part.has_read_more:
        del tools["tool", READ_MORE]
    prompts = {("prompt", name): prompt for name, prompt in list(part.prompts.items())}
    resources = {("resource", uri): each for uri, each in list(part.resources.items())}
    return {**tools, **prompts, **resources}


def _empty(servers: list[Server]) -> Server:
    return Server(
        "+".join(server.identity.name for server in servers),
        version="+".join(server.identity.version for server in servers),
        instructions="\n\n".join(s.instructions for s in servers if s.instructions) or None,
        structured=all(server.structured for server in servers),
        read_more=any(server.has_read_more for server in servers),
        page_size=min((s.catalog.page_size for s in servers if s.catalog.page_size), default=None),
        telemetry=_only_telemetry(servers),
        key=servers[0].key,
        changing={kind for server in servers for kind in server.catalog.changing},
    )


def _only_telemetry(servers: list[Server]) -> Telemetry | None:
    found = {id(server.telemetry): server.telemetry for server in servers if server.telemetry}
    if len(found) > 1:
        raise ContractError("two servers with a Telemetry each cannot be one; give them the same")
    return next(iter(found.values()), None)
