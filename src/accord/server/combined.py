"""Combines several servers into one that follows their changes."""

from collections.abc import Mapping
from threading import RLock
from typing import Any

import msgspec

from accord.errors import ContractError
from accord.model.changes import Change, Updated
from accord.model.tool import Tool
from accord.server.continuation import READ_MORE
from accord.server.registry import Feature
from accord.server.server import Server
from accord.telemetry import Telemetry


def combine(servers: Mapping[str, Server]) -> Server:
    """Return one server with the features of several, given by target; raise if names clash."""
    if len(servers) == 1:
        return next(iter(servers.values()))
    return Combination(servers).server


class Combination:
    """Keeps a server that has the features of all its parts."""

    def __init__(self, parts: Mapping[str, Server]) -> None:
        self._parts = dict(parts)
        self.server = _empty(list(parts.values()))
        self._owners: dict[tuple[str, str], str] = {}
        self._held: dict[tuple[str, str], tuple[Feature, Feature]] = {}
        """The features: as in the part, and as in the whole."""
        self._lock = RLock()
        for target, part in self._parts.items():
            for key, feature in _features_of(part).items():
                if key in self._owners:
                    kind, name = key
                    there = self._owners[key]
                    raise ContractError(f"both {there} and {target} have a {kind} {name!r}")
                self._owners[key] = target
                self._add(key, feature, part)
            part.registry.changes.subscribe(self.on_change)
        self.server.origin = self

    def on_change(self, change: Change) -> None:
        """Follow a change of a part. Safe in any thread."""
        if isinstance(change, Updated):
            self.server.updated(change.uri)
            return
        with self._lock:
            self._update()

    def _update(self) -> None:
        now: dict[tuple[str, str], tuple[Feature, Server]] = {}
        for part in self._parts.values():
            for key, feature in _features_of(part).items():
                now.setdefault(key, (feature, part))
        for key, (own, shown) in list(self._held.items()):
            if key not in now or now[key][0] is not own:
                del self._held[key]
                self.server.remove(shown)
        for key, (feature, part) in now.items():
            if key not in self._held:
                self._add(key, feature, part)

    def _add(self, key: tuple[str, str], feature: Feature, part: Server) -> None:
        shown = feature
        if isinstance(feature, Tool):
            profile = feature.profile or part.profile.name
            max_bytes = feature.max_bytes or part.max_bytes
            shown = msgspec.structs.replace(feature, profile=profile, max_bytes=max_bytes)
        self.server.add(shown)
        self._held[key] = (feature, shown)
        for argument, completer in part.registry.completers_of(key[1]).items():
            self.server.registry.complete(key[1], argument, completer)


def _features_of(part: Server) -> dict[tuple[str, str], Any]:
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
        page_size=min(
            (s.registry.page_size for s in servers if s.registry.page_size), default=None
        ),
        telemetry=_only_telemetry(servers),
        key=servers[0].dispatcher.key,
        changing={kind for server in servers for kind in server.registry.changing},
    )


def _only_telemetry(servers: list[Server]) -> Telemetry | None:
    found = {id(server.telemetry): server.telemetry for server in servers if server.telemetry}
    if len(found) > 1:
        raise ContractError("two servers with a Telemetry each cannot be one; give them the same")
    return next(iter(found.values()), None)
