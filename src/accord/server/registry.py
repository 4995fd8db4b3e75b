"""The registry of a server: its tools, prompts, resources and completions, and their lists."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw

from accord.errors import INVALID_PARAMS, ContractError, Reject
from accord.model.changes import KINDS, Changes, Kind, ListChanged
from accord.model.completion import Completer, completer_of
from accord.model.prompt import Prompt
from accord.model.resource import Resource
from accord.model.scope import Scope
from accord.model.tool import Audience, Tool, Toolbox
from accord.profiles import profile_named
from accord.protocol import results
from accord.protocol.entries import prompt_entry, resource_entry
from accord.protocol.header_params import HeaderParam, header_params_of
from accord.protocol.messages import MAX_SUBSCRIPTIONS, Wanted
from accord.protocol.results import Result
from accord.revisions import Revision
from accord.server.continuation import takes_cursor
from accord.server.middleware import Middleware, Next, compose, limited
from accord.server.rendering import require_room
from accord.signing import BadSignature, Signer

Feature = Tool | Prompt | Resource
AnyFeature = TypeVar("AnyFeature", bound=Feature)

_PAGE_MEMBERS: Final = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_CAPABILITIES: Final = ("capabilities",)
_AUDIENCES: Final = ("audiences",)
_MAX_CACHED: Final = 64  # pages: one for each set of tools that a client may see
_NO_COMPLETION: Final = completer_of(())
NONE_HIDDEN: Final[frozenset[str]] = frozenset()


def _key(feature: Feature) -> str:
    return feature.uri if isinstance(feature, Resource) else feature.name


class Registry:
    """Tools and prompts by name, resources by URI, completions by argument.

    Capabilities and pages of lists are cached until something changes.
    """

    def __init__(self, *, changing: Collection[Kind] = (), page_size: int | None = None) -> None:
        """`changing` names the lists that change while served; `page_size` None is one page."""
        if unknown := set(changing) - set(KINDS):
            raise ContractError(f"no list of {min(unknown)!r}; there are {', '.join(KINDS)}")
        if page_size is not None and page_size < 1:
            raise ContractError("page_size is at least 1; leave it out for one page")
        self.tools = Toolbox()
        self.prompts: dict[str, Prompt] = {}
        self.resources: dict[str, Resource] = {}
        """Resources by URI or URI template."""
        self.scope = Scope()
        self.scope.observe(self._update_wrapping)
        self.is_wrapped = False
        """True if some feature has middleware, a time limit or replaced dependencies."""
        self._wrapped_tools: dict[str, tuple[Tool, Next | None]] = {}
        self._foreign: dict[tuple[type, str], Scope] = {}
        """The scopes of features of other servers."""
        self.changing = frozenset(changing)
        self.page_size = page_size
        self.changes = Changes()
        self.header_params: dict[str, tuple[HeaderParam, ...]] = {}
        """Arguments that HTTP headers repeat, by tool."""
        self.with_cursor: set[str] = set()
        """Names of the tools that take a cursor."""
        self._completers: dict[tuple[str, str], Completer] = {}
        self._cache: dict[tuple[Any, ...], Any] = {}

    def add(self, feature: Feature, scope: Scope | None = None) -> None:
        """Add a tool, prompt or resource; raise if its name exists.

        `scope` is that of the server it comes from, if it is another one.
        """
        if isinstance(feature, Tool):
            self._add_tool(feature)
        elif isinstance(feature, Prompt):
            if feature.name in self.prompts:
                raise ContractError(f"there are two prompts named {feature.name!r}")
            self.prompts[feature.name] = feature
        elif isinstance(feature, Resource):
            if feature.uri in self.resources:
                raise ContractError(f"there are two resources at {feature.uri!r}")
            self.resources[feature.uri] = feature
        else:
            raise ContractError(
                f"{feature!r} is not a Tool, Prompt or Resource; add a function with server.tool"
            )
        if scope is not None and scope is not self.scope:
            if scope not in self.scopes:
                scope.observe(self._update_wrapping)
            self._foreign[type(feature), _key(feature)] = scope
            self._update_wrapping()
        elif isinstance(feature, Tool) and feature.timeout is not None:
            self._update_wrapping()
        self._changed(feature)

    def wrapped_tool(self, tool: Tool) -> tuple[Tool, Next | None]:
        """Return a tool as it is executed, and its middleware as one function, if any."""
        found = self._wrapped_tools.get(tool.name)
        if found is None:
            found = self._wrapped_tools[tool.name] = self.wrapped(tool)
        return found

    def wrapped(self, feature: AnyFeature) -> tuple[AnyFeature, Next | None]:
        """Return a feature as it is executed, and its middleware as one function, if any."""
        if not self.is_wrapped:
            return feature, None
        middleware = self._middleware_of(feature)
        return self._overridden(feature), compose(middleware) if middleware else None

    def _middleware_of(self, feature: Feature) -> list[Middleware]:
        scopes = dict.fromkeys((self.scope, self.scope_of(feature)))
        found = [each for scope in scopes for each in scope.middleware]
        timeout = feature.timeout if isinstance(feature, Tool) else None
        return found if timeout is None else [*found, limited(timeout)]

    def _update_wrapping(self) -> None:
        self._wrapped_tools = {}
        self.is_wrapped = any(scope.middleware or scope.overrides for scope in self.scopes) or any(
            tool.timeout is not None for tool in list(self.tools.values())
        )

    def override(
        self, dependency: Callable[..., Any], replacement: Callable[..., Any] | None
    ) -> None:
        """Use another function for a dependency; None for its own."""
        features = [each for each in self._all() if each.dependencies is not None]
        known = {
            function
            for each in features
            if each.dependencies is not None
            for function in each.dependencies.functions
        }
        if dependency not in known:
            names = ", ".join(sorted(getattr(each, "__name__", repr(each)) for each in known))
            raise ContractError(
                f"no tool, prompt or resource depends on {dependency!r}; they depend on"
                f" {names or 'nothing'}"
            )
        before = self.scope.overrides.get(dependency)
        self.scope.override(dependency, replacement)
        try:
            for feature in features:
                self._overridden(feature)
        except ContractError:
            self.scope.override(dependency, before)
            raise

    def _overridden(self, feature: AnyFeature) -> AnyFeature:
        """Return a feature with the functions that replace its dependencies."""
        scopes = self.scope_of(feature), self.scope
        overrides = {name: each for scope in scopes for name, each in scope.overrides.items()}
        if feature.dependencies is None or not overrides:
            return feature
        executable = feature.dependencies.with_overrides(overrides)
        return msgspec.structs.replace(feature, **executable._asdict())

    def _all(self) -> list[Feature]:
        """Return all features."""
        by_keys: list[dict[str, Any]] = [self.tools, self.prompts, self.resources]
        return [feature for by_key in by_keys for feature in list(by_key.values())]

    def scope_of(self, feature: Feature) -> Scope:
        """Return the scope of the server that a feature comes from."""
        if not self._foreign:
            return self.scope
        return self._foreign.get((type(feature), _key(feature)), self.scope)

    @property
    def scopes(self) -> list[Scope]:
        """Its own scope, and those of the features of other servers."""
        return list(dict.fromkeys((self.scope, *self._foreign.values())))

    def _add_tool(self, tool: Tool) -> None:
        if tool.profile is not None:
            profile_named(tool.profile)
        if tool.max_bytes is not None:
            require_room(tool.max_bytes)
        header_params = header_params_of(tool)
        self.tools.add(tool)
        if header_params:
            self.header_params[tool.name] = header_params
        if takes_cursor(tool):
            self.with_cursor.add(tool.name)

    def remove(self, feature: Feature) -> None:
        """Remove a tool, prompt or resource; calls that run go on."""
        by_key: dict[str, Any] = self._features_like(feature)
        key = _key(feature)
        if by_key.get(key) is not feature:
            raise ContractError(f"{key!r} is not there")
        del by_key[key]
        self._foreign.pop((type(feature), key), None)
        self._update_wrapping()
        if isinstance(feature, Tool):
            self.header_params.pop(key, None)
            self.with_cursor.discard(key)
        else:
            for argument in self.completers_of(key):
                del self._completers[key, argument]
        self._changed(feature)

    def _features_like(self, feature: Feature) -> dict[str, Any]:
        if isinstance(feature, Tool):
            return self.tools
        return self.prompts if isinstance(feature, Prompt) else self.resources

    def _changed(self, feature: Feature) -> None:
        self.clear_cache()
        kind: Kind = "resources"
        if not isinstance(feature, Resource):
            kind = "tools" if isinstance(feature, Tool) else "prompts"
        if kind in self.changing:
            self.changes.notify(ListChanged(kind))

    def clear_cache(self) -> None:
        """Drop cached capabilities and pages. Safe in any thread.

        Pages that are being made meanwhile go into the old cache.
        """
        self._cache = {}

    def complete(self, owner: str, argument: str, completer: Completer) -> None:
        """Set the completer of a prompt's argument, or of a template's variable."""
        if argument not in self.choices_of(owner):
            raise ContractError(f"{owner!r} has no argument {argument!r} that could be completed")
        self._completers[owner, argument] = completer
        self.clear_cache()

    def completers_of(self, owner: str) -> dict[str, Completer]:
        """Return the completers of a prompt or template, by argument."""
        completers = list(self._completers.items())
        return {name: each for (of, name), each in completers if of == owner}

    def completer(self, owner: str, argument: str) -> Completer | None:
        """Return the completer of an argument; None if there is no such argument."""
        choices = self.choices_of(owner)
        if argument not in choices:
            return None
        found = self._completers.get((owner, argument))
        if found is not None:
            return found
        return completer_of(choices[argument]) if choices[argument] else _NO_COMPLETION

    def choices_of(self, owner: str) -> dict[str, Any]:
        """Return the arguments of a prompt or template, each with its known values."""
        if owner in self.prompts:
            return {each.name: each.choices for each in self.prompts[owner].arguments}
        resource = self.resources.get(owner)
        if resource is None:
            return {}
        return {name: resource.choices.get(name, ()) for name in resource.variables}

    def find_resource(self, uri: str) -> tuple[Resource, Mapping[str, str]] | None:
        """Return the resource of a URI with its variables: an exact one, else by template."""
        resource = self.resources.get(uri)
        if resource is not None and resource.is_static:
            return resource, {}
        for each in list(self.resources.values()):
            variables = None if each.is_static else each.match(uri)
            if variables is not None:
                return each, variables
        return None

    # Capabilities

    def capabilities(self, revision: Revision) -> Result:
        """Return the capabilities, as far as a revision defines them."""
        found = self._capabilities()
        if revision.completions:
            return found
        return {name: has for name, has in found.items() if name != "completions"}

    def has_feature(self, feature: str) -> bool:
        """True if there is a capability, or a part of one."""
        if feature == "changes":
            return bool(self.changing) or self.has_feature("subscriptions")
        found = self._capabilities()
        if feature == "subscriptions":
            return "subscribe" in found.get("resources", ())
        return feature in found

    def _capabilities(self) -> Result:
        cache = self._cache
        found: Result | None = cache.get(_CAPABILITIES)
        if found is None:
            found = cache[_CAPABILITIES] = self._find_capabilities()
        return found

    def _find_capabilities(self) -> Result:
        has: dict[Kind, dict[str, Any]] = {
            "tools": self.tools,
            "prompts": self.prompts,
            "resources": self.resources,
        }
        found: Result = {
            kind: {"listChanged": True} if kind in self.changing else {}
            for kind in KINDS
            if has[kind] or kind in self.changing
        }
        if any(resource.watched for resource in list(self.resources.values())):
            found["resources"]["subscribe"] = True
        if self._can_complete():
            found["completions"] = {}
        features: list[Feature] = [each for kind in KINDS for each in list(has[kind].values())]
        if any(each.is_async and each.wants_context for each in features):
            found["logging"] = {}
        return found if found.keys() & has.keys() else found | {"tools": {}}

    def _can_complete(self) -> bool:
        prompts, resources = list(self.prompts.values()), list(self.resources.values())
        return bool(self._completers) or (
            any(argument.choices for prompt in prompts for argument in prompt.arguments)
            or any(resource.choices for resource in resources)
        )

    # Subscriptions

    def subscription_fault(self, uri: str, revision: Revision) -> Reject | None:
        """Return the error if changes of a resource cannot be subscribed to."""
        found = self.find_resource(uri)
        if found is None:
            return resource_not_found(uri, revision)
        return None if found[0].watched else Reject(INVALID_PARAMS, f"{uri} is not watched")

    def available(self, wanted: Wanted, revision: Revision) -> Wanted:
        """Return the part of the wanted changes that this server notifies of."""
        lists = {
            name: True
            for name in (f"{kind}_list_changed" for kind in self.changing)
            if getattr(wanted, name)
        }
        uris = list(dict.fromkeys(wanted.resource_subscriptions or ()))[:MAX_SUBSCRIPTIONS]
        watched = tuple(uri for uri in uris if self.subscription_fault(uri, revision) is None)
        return Wanted(**lists, resource_subscriptions=watched or None)

    # Lists

    @property
    def audiences(self) -> Mapping[Audience, Sequence[str]]:
        """The functions that decide which callers see a tool, with the names of those tools."""
        cache = self._cache
        found: dict[Audience, list[str]] | None = cache.get(_AUDIENCES)
        if found is None:
            found = {}
            for tool in list(self.tools.values()):
                if tool.audience is not None:
                    found.setdefault(tool.audience, []).append(tool.name)
            cache[_AUDIENCES] = found
        return found

    def hidden_from(self, sender: Any) -> frozenset[str]:
        """Return the tools that a sender does not see; this may query a database."""
        hidden: list[str] = []
        for audience, names in self.audiences.items():
            is_for_sender = audience(sender)
            hidden += [name for name in names if not is_for_sender(name)]
        return frozenset(hidden)

    def page(
        self,
        method: str,
        cursor: str | None,
        revision: Revision,
        signer: Signer,
        *,
        hidden: frozenset[str] = NONE_HIDDEN,
        profile: str | None,
        tool_entry: Callable[[Tool], Result],
        encode: Callable[[Result], Raw],
    ) -> Raw | Reject:
        """Return a page of a list without the `hidden` tools, encoded once, with a signed cursor.

        `profile` is the one that the client asks for: tools have another output schema in each.
        """
        try:
            start = 0 if cursor is None else int(signer.verify(method, cursor))
        except BadSignature:
            return Reject(INVALID_PARAMS, "Invalid cursor: use nextCursor as it was sent")
        key = (method, revision.date, profile, start, hidden)
        cache = self._cache
        page: Raw | None = cache.get(key)
        if page is None:
            items, entry = self._list(method, revision, tool_entry)
            end = len(items) if self.page_size is None else start + self.page_size
            next_cursor = signer.sign(method, b"%d" % end) if end < len(items) else None
            entries = [entry(item) for item in items[start:end] if item.name not in hidden]
            caching = self._caching(method) if revision.stateless else None
            page = encode(results.page(_PAGE_MEMBERS[method], entries, next_cursor, caching))
            if len(cache) >= _MAX_CACHED:
                cache.clear()
            cache[key] = page
        return page

    def _list(
        self, method: str, revision: Revision, tool_entry: Callable[[Tool], Result]
    ) -> tuple[Sequence[Any], Callable[[Any], Result]]:
        if method == "tools/list":
            return list(self.tools.values()), tool_entry
        if method == "prompts/list":
            return list(self.prompts.values()), partial(prompt_entry, revision=revision)
        is_static = method == "resources/list"
        every = list(self.resources.values())
        resources = [resource for resource in every if resource.is_static == is_static]
        return resources, partial(resource_entry, revision=revision)

    def _caching(self, method: str) -> Result:
        """Return the cache hints of a list; tools depend on the profile that a client asks for."""
        kind = method.partition("/")[0]
        ttl = 0 if kind in self.changing else results.FRESH_FOR_MS
        return results.cacheable("private" if kind == "tools" else "public", ttl)


def resource_not_found(uri: str, revision: Revision) -> Reject:
    """Return the error for a resource that does not exist."""
    return Reject(revision.missing_resource, "Resource not found", {"uri": uri})
