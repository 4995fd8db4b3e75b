"""`Gateway`: the features of several upstreams as one server; `upstream` for a single one."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final, Unpack

import msgspec

from accord.errors import ContractError
from accord.gateway.config import changed_paths
from accord.gateway.features import completers_of, is_served, prompt_of, resource_of, tool_of
from accord.gateway.names import MAX_NAME, NameFile, Names
from accord.gateway.spec import UpstreamOptions, UpstreamSpec, spec_of
from accord.gateway.upstreams import Upstream
from accord.model.changes import Updated
from accord.model.prompt import Prompt
from accord.model.tool import Bound, tool_without_call
from accord.server import Server
from accord.server.inclusion import relinked_members
from accord.server.registry import Feature, key_of

log: logging.Logger = logging.getLogger("accord")

_MAX_FEATURES: Final = 50_000
_MIN_NAME: Final = 32
_CHECK_SECONDS: Final = 1.0
"""Seconds between two checks of the files."""
Entry = Mapping[str, Any]


def upstream(
    target: str | Sequence[str], *, name: str | None = None, **options: Unpack[UpstreamOptions]
) -> Server:
    """Return a Server with the tools, prompts and resources of another MCP server.

    `target` is a URL or a command line. Include it in a server of your own:
    `server.include(upstream("npx …"), prefix="fs_")`. It connects when it is served.
    """
    return Gateway([spec_of(target, name=name, **options)]).server


class Gateway:
    """Serves upstreams as one server: their lists merged in the order of the configuration."""

    def __init__(
        self,
        specs: Sequence[UpstreamSpec],
        *,
        name: str | None = None,
        source: Callable[[], Sequence[UpstreamSpec]] | None = None,
        files: Sequence[Path] = (),
        max_name: int = MAX_NAME,
        names: NameFile | None = None,
    ) -> None:
        """`source` returns the upstreams again when one of the `files` changes, or on SIGHUP.

        Names have at most `max_name` characters, and are kept in `names`.
        """
        if max_name < _MIN_NAME:
            raise ContractError(f"names need at least {_MIN_NAME} characters, not {max_name}")
        self._source = source
        self._files = files
        self._upstreams: dict[str, Upstream] = {}
        self._tool_names = Names(max_name)
        self._prompt_names = Names(max_name)
        self._name_file = names
        self._uris: dict[str, tuple[str, str]] = {}
        """The server and own URI of each URI that is served."""
        self._moved: dict[str, dict[str, str]] = {}
        """The URIs that are served of resources whose own one was taken, by server and own URI."""
        self._is_running = False
        self._is_ready = False
        """True once the first lists are merged: names depend on the order of the upstreams."""
        for spec in _distinct(specs):
            self._add(spec)
        self.server: Server = Server(
            name or "+".join(self._upstreams),
            version=_version(),
            read_more=True,
            changing=("tools", "prompts", "resources"),
            lifespan=self._lifespan,
        )
        self.server.registry.report_upstreams = self._report
        self.server.registry.describe_upstreams = self._describe

    @property
    def upstreams(self) -> Mapping[str, Upstream]:
        """The upstreams by name, in the order of the configuration."""
        return self._upstreams

    def _add(self, spec: UpstreamSpec) -> Upstream:
        added = self._upstreams[spec.name] = Upstream(spec)
        added.on_lists = self.refresh
        added.on_update = lambda uri: self._announce(added, uri)
        return added

    @asynccontextmanager
    async def _lifespan(self, server: Server) -> AsyncIterator[None]:
        """Connect to all upstreams at once, and wait for each until its deadline."""
        try:
            self._is_running = True
            for each in self._upstreams.values():
                each.start()
            await asyncio.gather(*(each.settled() for each in self._upstreams.values()))
            self._is_ready = True
            self.refresh()
            async with self._reloading():
                yield
        finally:
            self._is_running = self._is_ready = False
            await asyncio.gather(*(each.stop() for each in self._upstreams.values()))

    @asynccontextmanager
    async def _reloading(self) -> AsyncIterator[None]:
        """Reload the configuration when a file changes, or on SIGHUP."""
        if self._source is None:
            yield
            return
        hung_up = asyncio.Event()
        loop = asyncio.get_running_loop()
        with suppress(RuntimeError, ValueError, NotImplementedError, AttributeError):
            loop.add_signal_handler(signal.SIGHUP, hung_up.set)
        task = asyncio.create_task(self._watch(hung_up))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            with suppress(RuntimeError, ValueError, NotImplementedError, AttributeError):
                loop.remove_signal_handler(signal.SIGHUP)

    async def _watch(self, hung_up: asyncio.Event) -> None:
        stamps: dict[Path, Any] = {}
        changed_paths(self._files, stamps)
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_CHECK_SECONDS):
                    await hung_up.wait()
            if hung_up.is_set() or changed_paths(self._files, stamps):
                hung_up.clear()
                await self._reload()

    async def _reload(self) -> None:
        assert self._source is not None
        try:
            specs = self._source()
        except ContractError as error:
            log.warning("the configuration was not reloaded: %s", error)
            return
        await self.reconfigure(specs)
        log.info("serving %s", ", ".join(self._upstreams))

    async def reconfigure(self, specs: Sequence[UpstreamSpec]) -> None:
        """Serve these upstreams: unchanged ones keep their connections and calls."""
        wanted = {spec.name: spec for spec in _distinct(specs)}
        old = self._upstreams
        gone = [each for name, each in old.items() if wanted.get(name) != each.spec]
        self._upstreams = {}
        new = []
        for name, spec in wanted.items():
            if name in old and old[name].spec == spec:
                self._upstreams[name] = old[name]
            else:
                new.append(self._add(spec))
        for each in gone:
            kept = wanted.get(each.spec.name)
            if kept is None or kept.prefix != each.spec.prefix:
                self._tool_names.forget(each.spec.name)
                self._prompt_names.forget(each.spec.name)
        if self._is_running:
            for each in new:
                each.start()
            await asyncio.gather(*(each.settled() for each in new))
            self.refresh()
            await asyncio.gather(*(each.retire() for each in gone))

    def _report(self) -> Mapping[str, Any]:
        """Return the state of each upstream, for /health."""
        return {name: {"status": each.status} for name, each in self._upstreams.items()}

    def _describe(self) -> Mapping[str, Any]:
        """Return the state of each upstream, for the page."""
        return {name: each.describe() for name, each in self._upstreams.items()}

    # Features

    def refresh(self) -> None:
        """Serve what the upstreams list now."""
        if not self._is_ready:
            return
        registry = self.server.registry
        own = [each for each in registry.features if each.foreign is None]
        with self._kept_names():
            found = [each for one in self._upstreams.values() for each in self._features_of(one)]
        self._drop_unlisted_names()
        if len(found) > _MAX_FEATURES:
            log.warning("%d features are served of %d", _MAX_FEATURES, len(found))
        unique = {key_of(each): each for each in reversed(found[:_MAX_FEATURES])}
        kept = [self._kept(each) for each in reversed(unique.values())]
        registry.reconcile([*own, *kept])
        self._set_freshness()
        for feature in kept:
            if isinstance(feature, Prompt) and not registry.completers_of(feature.name):
                self._complete(feature)

    def _drop_unlisted_names(self) -> None:
        for names, key in ((self._tool_names, "tools"), (self._prompt_names, "prompts")):
            if not names.are_too_many:
                continue
            listed = {
                (one.spec.name, str(entry.get("name")))
                for one in self._upstreams.values()
                for entry in one.entries.get(key, ())
            }
            names.drop_unlisted(listed)

    def _kept_names(self) -> AbstractContextManager[None]:
        """Return a context that reads kept names, and keeps those that are chosen in it."""
        if self._name_file is None:
            return nullcontext()
        prefixes = {one.spec.name: one.spec.prefix for one in self._upstreams.values()}
        return self._name_file.merged(self._tool_names, self._prompt_names, prefixes)

    def _set_freshness(self) -> None:
        """Let clients cache lists for the shortest time that an upstream states."""
        registry, all_ = self.server.registry, self._upstreams.values()
        found = {
            kind: min((each.fresh_for_ms(kind) for each in all_), default=0)
            for kind in ("tools", "prompts", "resources")
        }
        if found != registry.fresh_for_ms:
            registry.fresh_for_ms = found
            registry.clear_cache()

    def _kept(self, feature: Feature) -> Feature:
        """Return the feature that is served already if it is listed as before."""
        found = self.server.registry.find(key_of(feature))
        return feature if found is None or found.foreign != feature.foreign else found

    def _features_of(self, one: Upstream) -> Iterator[Feature]:
        spec, entries = one.spec, one.entries
        for entry in entries.get("tools", ()):
            name = self._name(self._tool_names, one, entry)
            if name is not None and is_served(spec, name, entry, is_tool=True):
                yield self._relinking(one, tool_of(one, entry, name))
        for entry in entries.get("prompts", ()):
            name = self._name(self._prompt_names, one, entry)
            if name is not None and is_served(spec, name, entry, is_tool=False):
                yield self._relinking(one, prompt_of(one, entry, name))
        for entry in [*entries.get("resources", ()), *entries.get("resourceTemplates", ())]:
            own = entry.get("uri", entry.get("uriTemplate"))
            if isinstance(own, str) and own:
                yield self._relinking(one, resource_of(one, entry, self._uri(one, own)))

    def _name(self, names: Names, one: Upstream, entry: Entry) -> str | None:
        own = entry.get("name")
        if not isinstance(own, str) or not own:
            return None
        is_taken = self._has_tool if names is self._tool_names else self._has_prompt
        return names.name_of(one.spec.name, own, one.spec.prefix, is_taken)

    def _has_tool(self, name: str) -> bool:
        """True if a tool that does not come from an upstream has a name."""
        return self._is_taken(tool_without_call(name, description="", input_schema={}))

    def _has_prompt(self, name: str) -> bool:
        """True if a prompt that does not come from an upstream has a name."""
        probe = Prompt(name=name, bind=lambda _: Bound(None), invoke=lambda *_: "", is_async=False)
        return self._is_taken(probe)

    def _is_taken(self, probe: Feature) -> bool:
        found = self.server.registry.find(key_of(probe))
        if found is not None:
            return found.foreign is None
        try:
            for follower in self.server.registry.followers:
                follower.require_free(probe, set())
        except ContractError:
            return True
        return False

    def _uri(self, one: Upstream, own: str) -> str:
        """Return the URI that a resource is served at: its own, or a reversible one if taken."""
        owner = one.spec.name, own
        if self._uris.setdefault(own, owner) == owner:
            return own
        scheme, mark, rest = own.partition("://")
        found = f"{scheme}{mark}{owner[0]}.{rest}" if mark else f"x-{owner[0]}:{own}"
        self._uris.setdefault(found, owner)
        self._moved.setdefault(owner[0], {})[own] = found
        return found

    def _relinking(self, one: Upstream, feature: Feature) -> Feature:
        """Return a feature whose results link to resources as they are served."""
        forward = feature.invoke

        async def invoke(arguments: Any, context: Any) -> Any:
            result = await forward(arguments, context)
            moved = self._moved.get(one.spec.name)
            if moved is None:
                return result
            members = relinked_members(result.members, lambda uri: moved.get(uri, uri))
            return msgspec.structs.replace(result, members=members)

        return msgspec.structs.replace(feature, invoke=invoke)

    def _complete(self, prompt: Prompt) -> None:
        """Let the arguments of a prompt be completed by its upstream."""
        assert prompt.foreign is not None
        own = prompt.foreign.entry["name"]
        names = [each.name for each in prompt.arguments]
        for one in self._upstreams.values():
            if self._prompt_names.owner_of(prompt.name) == (one.spec.name, own):
                reference = {"type": "ref/prompt", "name": own}
                for argument, completer in completers_of(one, reference, names).items():
                    self.server.registry.complete(prompt.name, argument, completer)

    def _announce(self, one: Upstream, uri: str) -> None:
        """Notify subscribers that a resource of an upstream has changed."""
        served = self._moved.get(one.spec.name, {}).get(uri, uri)
        self.server.registry.changes.notify(Updated(served))


def _distinct(specs: Sequence[UpstreamSpec]) -> Sequence[UpstreamSpec]:
    names = [spec.name for spec in specs]
    for name in names:
        if names.count(name) > 1:
            raise ContractError(f"two servers are named {name!r}; give each a name of its own")
    return specs


def _version() -> str:
    from importlib.metadata import version  # slow to import

    return version("accord-mcp")
