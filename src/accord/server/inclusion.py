"""Servers inside of servers: the features of one in another, with a prefix, also when they change.

Names of tools and prompts get the prefix. So do URIs, behind `scheme://`, since resources are found
by them; only `http` and `https` stay, which clients may fetch by themselves.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec

from accord.errors import ContractError
from accord.model.answer import Answer, Problem
from accord.model.changes import Change, Updated
from accord.model.completion import Completer
from accord.model.content import Embedded, Link, Message
from accord.model.prompt import Prompt
from accord.model.resource import Listed, Listing, Resource
from accord.model.tool import Audience, Bound, Executable, Overrides, Tool
from accord.model.values import WireResult
from accord.server.dispatcher import Dispatcher
from accord.server.forwarding import ForwardedResult
from accord.server.registry import CHANGING, Feature, Key, Registry, key_of, kind_of

T = TypeVar("T")
_PREFIX: Final = re.compile(r"[A-Za-z0-9_.\-]*")
_URI_START: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:/*")
_WEB: Final = ("http:", "https:")
_UNNAMED: Final = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_NAME: Final = 128
_replace = msgspec.structs.replace


class Inclusion:
    """Keeps the features of one server, the part, in another one, the whole."""

    def __init__(
        self,
        whole: Dispatcher,
        part: Dispatcher,
        prefix: Any = "",
        *,
        label: str | None = None,
        where: str | None = None,
        advice: str | None = None,
    ) -> None:
        """`label` is the part in messages, and `advice` the solution of a collision.

        `where` is the file and line that include it.
        """
        if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
            raise ContractError(
                f"the prefix {prefix!r} must be letters, digits, _ . or -, such as 'db_'"
            )
        self.prefix = prefix
        self.part = part
        self._whole = whole
        self._advice = advice
        self._where = "" if where is None else f" (included at {where})"
        self.label: str = label or f"server {part.identity.name!r}{self._where}"
        self._profile: str | None = None
        self._max_bytes: int | None = None
        self._held: dict[Key, tuple[Feature, Feature]] = {}
        """The features as in the part and as in the whole, by the key that they have there."""
        self._audiences: dict[Audience, Audience] = {}
        with CHANGING:
            self._require_usable()
            shown = [each for each in part.registry.features if part.registry.is_shown(each)]
            claimed: set[tuple[int, Key]] = set()
            for feature in shown:
                self.require_free(feature, claimed)
            whole.registry.inclusions.append(self)
            for feature in shown:
                self.on_show(feature)
            part.registry.follow(self)
            part.registry.changes.subscribe(self.on_change)
            whole.registry.clear_cache()

    def _require_usable(self) -> None:
        name, whole = self.part.identity.name, self._whole
        if self.part is whole:
            raise ContractError(f"server {name!r} cannot include itself{self._where}")
        if any(found is whole for found in _included(self.part)):
            raise ContractError(
                f"server {name!r} already includes server {whole.identity.name!r}, so that cannot"
                f" include it{self._where}"
            )
        for other in whole.registry.inclusions:
            if (
                isinstance(other, Inclusion)
                and other.part is self.part
                and other.prefix == self.prefix
            ):
                fault = f"{other.label} and {self.label} are the same server"
                raise ContractError(f"{fault}; {self._solution()}")

    # The registry's Follower

    @property
    def followed(self) -> Registry:
        """The registry of the part."""
        return self.part.registry

    def has(self, key: Key) -> bool:
        """True if a feature of the whole comes from the part."""
        return key in self._held and self._whole.registry.find(key) is self._held[key][1]

    def require_free(self, feature: Feature, claimed: set[tuple[int, Key]]) -> None:
        """Raise if the whole, or a server that includes it, cannot have a feature of the part.

        `claimed` are the keys that one change adds to each registry: a server may include another
        one directly and through a third.
        """
        if feature is self.part.read_more:
            if self._whole.read_more is None:
                self._whole.require_read_more()
            return
        key = self._key(feature)
        if len(key[1]) > _MAX_NAME and isinstance(feature, Tool):
            raise ContractError(
                f"tool {feature.name!r} of {self.label} has {len(key[1])} characters with the"
                f" prefix {self.prefix!r}; the most is {_MAX_NAME}"
            )
        registry = self._whole.registry
        claim = (id(registry), key)
        if claim in claimed or (registry.find(key) is not None and not self.has(key)):
            raise ContractError(self._collision(key, feature))
        claimed.add(claim)
        named = _named(feature, key[1])
        for follower in registry.followers if registry.is_enabled(named) else ():
            follower.require_free(named, claimed)

    def _collision(self, key: Key, feature: Feature) -> str:
        kind, name = kind_of(feature).removesuffix("s"), key[1]
        owner = f"server {self._whole.identity.name!r}"
        for other in self._whole.registry.inclusions:
            if other.has(key):
                owner = other.label
        fault = f"both {owner} and {self.label} have a {kind} {name!r}"
        if isinstance(feature, Resource) and name == feature.uri and self.prefix:
            return f"{fault}; give one of them another URI: those of the web get no prefix"
        return f"{fault}; {self._solution()}"

    def _solution(self) -> str:
        if self._advice is not None:
            return self._advice
        name = _UNNAMED.sub("_", self.part.identity.name).strip("_") or "other"
        return f"include it with another prefix: prefix='{name}_{self.prefix}'"

    def on_show(self, feature: Feature) -> None:
        """Add a feature of the part to the whole."""
        if feature is self.part.read_more:
            self._whole.add_read_more()
            return
        shown = self._shown(feature)
        scope, *_ = reversed(scopes := self.part.registry.scopes_of(feature))
        if isinstance(feature, Resource) and len(self.part.registry.resources) == 1:
            self._refresh()  # from now on, links to resources are rewritten
        self._held[key_of(shown)] = feature, shown
        self._whole.registry.add(shown, scope, scopes[:-1])
        if isinstance(feature, Tool):
            return
        for argument, completer in self.part.registry.completers_of(key_of(feature)[1]).items():
            self._whole.registry.complete(key_of(shown)[1], argument, completer)

    def on_hide(self, feature: Feature) -> None:
        """Remove a feature of the part from the whole."""
        if feature is self.part.read_more:
            return
        key = self._key(feature)
        if self.has(key):
            self._whole.registry.remove(self._held[key][1])
        self._held.pop(key, None)

    def on_replace(self, old: Feature, new: Feature) -> None:
        """Replace a feature of the part in the whole."""
        key = self._key(new)
        if self.has(key):
            before, after = self._held[key][1], self._shown(new)
            self._held[key] = new, after
            self._whole.registry.replace(before, after)

    def on_complete(self, owner: str, argument: str, completer: Completer) -> None:
        """Follow a new completer."""
        for kind, named in ((Prompt, self.prefix + owner), (Resource, self._uri(owner))):
            if self.has((kind, named)):
                self._whole.registry.complete(named, argument, completer)

    def on_clear(self) -> None:
        """Drop what the whole has cached."""
        self._whole.registry.clear_cache()

    def on_scope(self) -> None:
        """Follow a change of middleware or dependencies."""
        self._whole.registry.update_wrapping()

    def on_configure(self) -> None:
        """Follow a change of the part's profile or size limit."""
        self._refresh()

    def on_change(self, change: Change) -> None:
        """Notify subscribers of the whole that a resource of the part has changed."""
        if isinstance(change, Updated):
            self._whole.registry.changes.notify(Updated(self._uri(change.uri)))

    # Options

    def configure(self, profile: str | None, max_bytes: int | None) -> None:
        """Set options for tools of the part that have none of their own."""
        self._profile = profile or self._profile
        self._max_bytes = max_bytes or self._max_bytes
        self._refresh()

    def _refresh(self) -> None:
        """Build the tools of the whole again."""
        with CHANGING:
            for feature, _ in list(self._held.values()):
                self.on_replace(feature, feature)

    @property
    def instructions(self) -> str | None:
        """The instructions of the part, with the prefix of its tools."""
        text = self.part.instructions
        if not text or not self.prefix:
            return text
        return f"For tools and prompts whose names begin with {self.prefix}:\n{text}"

    def source_of(self, key: Key) -> Feature | None:
        """Return a feature of the whole as its own server has it."""
        return source_of(self.part, self._held[key][0]) if self.has(key) else None

    # Features of the part, as the whole has them

    def _key(self, feature: Feature) -> Key:
        kind, name = key_of(feature)
        return kind, self._uri(name) if kind is Resource else self.prefix + name

    def _uri(self, uri: str) -> str:
        if uri.lower().startswith(_WEB):
            return uri
        start = _URI_START.match(uri)
        at = start.end() if start else 0
        return uri[:at] + self.prefix + uri[at:]

    def _shown(self, feature: Feature) -> Feature:
        named = self._with_links(_named(feature, self._key(feature)[1]))
        if not isinstance(feature, Resource) and self.prefix:
            named = _replace(named, bind=_renamed(feature.bind, feature.name, self.prefix))
        if isinstance(named, Resource) and named.listing is not None and self.prefix:
            named = _replace(named, listing=self._relisted(named.listing))
        if not isinstance(named, Tool):
            return named
        source = source_of(self.part, feature)
        assert isinstance(source, Tool)
        renderer = self.part.renderer
        own_profile, own_limit = named.profile or renderer.profile.name, named.max_bytes
        return _replace(
            named,
            profile=source.profile or self._profile or own_profile,
            max_bytes=source.max_bytes or self._max_bytes or own_limit or renderer.max_bytes,
            audience=self._audience(named.audience),
        )

    def _relisted(self, listing: Listing) -> Listing:
        """Return a listing with the URIs that the resources have in the whole."""

        async def relisted() -> list[Listed]:
            return [each._replace(uri=self._uri(each.uri)) for each in await listing()]

        return relisted

    def _audience(self, audience: Audience | None) -> Audience | None:
        """Return an audience that takes names with the prefix."""
        if audience is None or not self.prefix:
            return audience
        if audience not in self._audiences:
            self._audiences[audience] = _unprefixed(audience, self.prefix)
        return self._audiences[audience]

    def _with_links(self, feature: Feature) -> Feature:
        """Return a feature whose results link to the resources of the whole."""
        if not self.prefix or not self.part.registry.resources:
            return feature
        own = Executable(feature.invoke, feature.is_async, feature.wants_context)
        dependencies = feature.dependencies
        if dependencies is not None:
            dependencies = dependencies._replace(
                with_overrides=_relinked_overrides(dependencies.with_overrides, self._relink)
            )
        return _replace(feature, invoke=_relinked(own, self._relink), dependencies=dependencies)

    def _uri_of(self, uri: str) -> str:
        """Return the URI that a resource of the part has in the whole; others stay."""
        return uri if self.part.registry.find_resource(uri) is None else self._uri(uri)

    def _relink(self, value: T) -> T:
        """Return a result with the URIs that its resources have in the whole."""
        found: Any = value
        match value:
            case Link() | Embedded() if self.part.registry.find_resource(value.uri) is not None:
                found = _replace(value, uri=self._uri(value.uri))
            case ForwardedResult() | WireResult():
                found = _replace(value, members=relinked_members(value.members, self._uri_of))
            case Message():
                found = _replace(value, content=self._relink(value.content))
            case Answer():
                if value.blocks:
                    found = _replace(value, blocks=[self._relink(each) for each in value.blocks])
            case list() | tuple() if any(isinstance(e, Link | Embedded | Message) for e in value):
                found = [self._relink(each) for each in value]
        return found  # type: ignore[no-any-return]


def relinked_members(members: Mapping[str, Any], rename: Callable[[str], str]) -> dict[str, Any]:
    """Return the members of a result with other URIs in its links and embedded resources."""
    found = dict(members)
    for name in ("content", "contents"):
        if isinstance(found.get(name), list):
            found[name] = [_relinked_block(each, rename) for each in found[name]]
    if isinstance(found.get("messages"), list):
        found["messages"] = [
            {**each, "content": _relinked_block(each.get("content"), rename)}
            if isinstance(each, dict)
            else each
            for each in found["messages"]
        ]
    return found


def _relinked_block(block: Any, rename: Callable[[str], str]) -> Any:
    if not isinstance(block, dict):
        return block
    if isinstance(block.get("resource"), dict):
        return {**block, "resource": _relinked_block(block["resource"], rename)}
    uri = block.get("uri")
    return {**block, "uri": rename(uri)} if isinstance(uri, str) else block


def source_of(dispatcher: Dispatcher, feature: Feature) -> Feature:
    """Return a feature as the server has it that it is registered on."""
    for inclusion in dispatcher.registry.inclusions:
        if isinstance(inclusion, Inclusion):
            found = inclusion.source_of(key_of(feature))
            if found is not None:
                return found
    return feature


def _included(part: Dispatcher) -> Iterator[Dispatcher]:
    for inclusion in part.registry.inclusions:
        if isinstance(inclusion, Inclusion):
            yield inclusion.part
            yield from _included(inclusion.part)


def _named(feature: Feature, name: str) -> Feature:
    """Return a feature with another name or URI."""
    if key_of(feature)[1] == name:
        return feature
    if isinstance(feature, Resource):
        return _replace(feature, uri=name)
    return _replace(feature, name=name)


def _renamed(bind: Callable[[bytes], Bound], name: str, prefix: str) -> Callable[[bytes], Bound]:
    """Return `bind` whose errors name the tool or prompt with its prefix."""
    beginning = f"Invalid arguments for {name}:"

    def bind_renamed(arguments: bytes) -> Bound:
        try:
            return bind(arguments)
        except Problem as problem:
            if not problem.message.startswith(beginning):
                raise
            rest = problem.message.removeprefix(beginning)
            renamed = problem.with_message(f"Invalid arguments for {prefix}{name}:{rest}")
            raise renamed from problem.__cause__

    return bind_renamed


def _unprefixed(audience: Audience, prefix: str) -> Audience:
    def audience_of(sender: Any) -> Callable[[str], bool]:
        is_for_sender = audience(sender)
        return lambda name: is_for_sender(name.removeprefix(prefix))

    return audience_of


def _relinked(executable: Executable, relink: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Return `invoke` whose results are passed through a function."""
    invoke = executable.invoke
    if not executable.is_async:
        return lambda arguments, context: relink(invoke(arguments, context))

    async def invoke_relinked(arguments: Any, context: Any) -> Any:
        return relink(await invoke(arguments, context))

    return invoke_relinked


def _relinked_overrides(
    with_overrides: Callable[[Overrides], Executable], relink: Callable[[Any], Any]
) -> Callable[[Overrides], Executable]:
    def with_overrides_relinked(overrides: Overrides) -> Executable:
        found = with_overrides(overrides)
        return found._replace(invoke=_relinked(found, relink))

    return with_overrides_relinked
