"""The registry of a server: its tools, prompts, resources and completions, and their lists."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from threading import RLock
from typing import Any, Final, Protocol, TypeVar
from weakref import ref

import msgspec
from msgspec import Raw

from accord.errors import INVALID_PARAMS, INVALID_REQUEST, ContractError, Reject
from accord.model.caller import CALLER
from accord.model.changes import KINDS, Changes, Kind, ListChanged, Watch, Watcher
from accord.model.completion import Completer, completer_of
from accord.model.prompt import Prompt
from accord.model.resource import Resource
from accord.model.scope import Scope
from accord.model.tool import Audience, Overrides, Tool
from accord.profiles import profile_named
from accord.protocol import results
from accord.protocol.entries import prompt_entry, resource_entry
from accord.protocol.header_params import HeaderParam, header_params_of
from accord.protocol.messages import MAX_SUBSCRIPTIONS, Wanted
from accord.protocol.methods import EXPERIMENTAL_TASKS
from accord.protocol.results import Result
from accord.protocol.tasks import CAPABILITY, EXPERIMENTAL
from accord.revisions import Revision
from accord.server.continuation import takes_cursor
from accord.server.middleware import Middleware, Next, compose, limited
from accord.server.rendering import require_room
from accord.signing import BadSignature, Signer, bound

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
_SCOPED: Final = ("scoped",)
_TASKS: Final = ("tasks",)
_MAX_CACHED: Final = 64  # pages: one for each set of tools that a client may see
_NO_COMPLETION: Final = completer_of(())
NONE_HIDDEN: Final[frozenset[str]] = frozenset()

Key = tuple[type, str]
"""The type of a feature, and its name or URI."""
Rules = dict[tuple[str, str], tuple[int, bool]]
"""Whether features are enabled, by ("name", name) and ("tag", tag); the highest number decides."""
CHANGING: Final = RLock()
"""Held while registries change: a change of an included server changes those that include it."""


def key_of(feature: Feature) -> Key:
    """Return the type and the name or URI of a feature."""
    return type(feature), feature.uri if isinstance(feature, Resource) else feature.name


def kind_of(feature: Feature) -> Kind:
    """Return the list that a feature is in."""
    if isinstance(feature, Resource):
        return "resources"
    return "tools" if isinstance(feature, Tool) else "prompts"


class Follower(Protocol):
    """Keeps the features of a registry in another one: see `accord.server.inclusion`."""

    @property
    def label(self) -> str:
        """The followed server, in messages."""

    @property
    def instructions(self) -> str | None:
        """The instructions of the followed server, with its prefix."""

    @property
    def followed(self) -> "Registry": ...
    def configure(self, profile: str | None, max_bytes: int | None) -> None: ...
    def has(self, key: Key) -> bool:
        """True if a feature of the other registry comes from the followed one."""

    def require_free(self, feature: Feature, claimed: set[tuple[int, Key]]) -> None:
        """Raise if the other registry cannot have a feature of the followed one.

        `claimed` are the keys that the same change adds to each registry, by its `id`.
        """

    def on_show(self, feature: Feature) -> None: ...
    def on_hide(self, feature: Feature) -> None: ...
    def on_replace(self, old: Feature, new: Feature) -> None: ...
    def on_complete(self, owner: str, argument: str, completer: Completer) -> None: ...
    def on_clear(self) -> None: ...
    def on_scope(self) -> None: ...
    def on_configure(self) -> None: ...


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
        self.tools: dict[str, Tool] = {}
        self.prompts: dict[str, Prompt] = {}
        self.resources: dict[str, Resource] = {}
        """Resources by URI or URI template."""
        self.scope: Scope = Scope()
        self.scope.observe(self.update_wrapping)
        self.is_wrapped: bool = False
        """True if some feature has middleware, a time limit or replaced dependencies."""
        self._wrapped_tools: dict[str, tuple[Tool, Next | None]] = {}
        self._foreign: dict[Key, Scope] = {}
        """The scopes of features of other servers."""
        self._between: dict[Key, tuple[Scope, ...]] = {}
        """The scopes of the servers through which such a feature is included, outermost first."""
        self._all: dict[Key, Feature] = {}
        """All features in the order of registration, disabled ones too."""
        self._rules: Rules = {}
        """What was enabled and disabled, by name and by tag, with a number that increases."""
        self.inclusions: list[Follower] = []
        """The servers that this one includes."""
        self._followers: list[ref[Follower]] = []
        self._changing = frozenset(changing)
        self.page_size = page_size
        self.changes: Changes = Changes()
        self.serves_tasks = False
        """True if what serves this can keep tasks."""
        self.has_experimental_tasks = False
        """True if clients of 2025-11-25 get tasks, in the form of that revision."""
        self.header_params: dict[str, tuple[HeaderParam, ...]] = {}
        """Arguments that HTTP headers repeat, by tool."""
        self.with_cursor: set[str] = set()
        """Names of the tools that take a cursor."""
        self._completers: dict[tuple[str, str], Completer] = {}
        self._cache: dict[tuple[Any, ...], Any] = {}
        self.fresh_for_ms: Mapping[str, int] = {}
        """How long clients may keep lists that change."""
        self.report_upstreams: Callable[[], Mapping[str, Any]] | None = None
        """Returns the state of each foreign server that the features come from."""
        self.describe_upstreams: Callable[[], Mapping[str, Any]] | None = None
        """Returns what the page shows of each of these servers."""

    @property
    def upstreams(self) -> dict[str, Any]:
        """The state of each foreign server, those of included servers too, by name."""
        found = {} if self.report_upstreams is None else dict(self.report_upstreams())
        for each in self.inclusions:
            found |= each.followed.upstreams
        return found

    @property
    def upstream_details(self) -> dict[str, Any]:
        """What the page shows of each foreign server, those of included servers too, by name."""
        found = {} if self.describe_upstreams is None else dict(self.describe_upstreams())
        for each in self.inclusions:
            found |= each.followed.upstream_details
        return found

    @property
    def changing(self) -> frozenset[Kind]:
        """The lists that change while served, those of included servers too."""
        if not self.inclusions:
            return self._changing
        return self._changing.union(*(each.followed.changing for each in self.inclusions))

    def add(
        self, feature: Feature, scope: Scope | None = None, between: Sequence[Scope] = ()
    ) -> None:
        """Add a tool, prompt or resource; raise if its name exists.

        `scope` is that of the server it comes from, if it is another one, and `between` are those
        of the servers that include that one.
        """
        with CHANGING:
            self._require_valid(feature)
            key = key_of(feature)
            is_enabled = self.is_enabled(feature)
            claimed: set[tuple[int, Key]] = set()
            for follower in self.followers if is_enabled else ():
                follower.require_free(feature, claimed)
            self._all[key] = feature
            if scope is not None and scope is not self.scope:
                self._foreign[key] = scope
                self._between[key] = tuple(between)
            if is_enabled:
                self._show(feature)
                self._changed(feature)

    def _require_valid(self, feature: Feature) -> None:
        """Raise if a feature has an unknown option, or a name that exists."""
        if not isinstance(feature, Feature):
            raise ContractError(
                f"{feature!r} is not a Tool, Prompt or Resource; add a function with server.tool"
            )
        if isinstance(feature, Tool):
            if feature.profile is not None:
                profile_named(feature.profile)
            if feature.max_bytes is not None:
                require_room(feature.max_bytes)
            header_params_of(feature)
        kind, name = key = key_of(feature)
        if key not in self._all:
            return
        is_at = "at" if kind is Resource else "named"
        owner = next((each.label for each in self.inclusions if each.has(key)), None)
        origin = "" if owner is None else f": one is of {owner}"
        raise ContractError(f"there are two {kind_of(feature)} {is_at} {name!r}{origin}")

    def _show(self, feature: Feature) -> None:
        """Let clients see a feature."""
        _, name = key_of(feature)
        self._features_like(feature)[name] = feature
        self._wrap(feature)
        if isinstance(feature, Tool):
            header_params = header_params_of(feature)
            if header_params:
                self.header_params[name] = header_params
            if takes_cursor(feature):
                self.with_cursor.add(name)
        for follower in self.followers:
            follower.on_show(feature)

    def _hide(self, feature: Feature) -> None:
        """Hide a feature from clients."""
        _, name = key_of(feature)
        del self._features_like(feature)[name]
        if isinstance(feature, Tool):
            self._wrapped_tools.pop(name, None)
            self.header_params.pop(name, None)
            self.with_cursor.discard(name)
        for follower in self.followers:
            follower.on_hide(feature)

    def find(self, key: Key) -> Feature | None:
        """Return a feature, also if it is disabled."""
        return self._all.get(key)

    @property
    def features(self) -> list[Feature]:
        """All features, disabled ones too."""
        return list(self._all.values())

    def is_shown(self, feature: Feature) -> bool:
        """True if clients see a feature."""
        return self._features_like(feature).get(key_of(feature)[1]) is feature

    def wrapped_tool(self, tool: Tool) -> tuple[Tool, Next | None]:
        """Return a tool as it is executed, and its middleware as one function, if any."""
        cache = self._wrapped_tools  # another thread may replace it
        found = cache.get(tool.name)
        if found is None:
            found = cache[tool.name] = self.wrapped(tool)
        return found

    def wrapped(self, feature: AnyFeature) -> tuple[AnyFeature, Next | None]:
        """Return a feature as it is executed, and its middleware as one function, if any."""
        if not self.is_wrapped:
            return feature, None
        middleware = self._middleware_of(feature)
        return self._overridden(feature), compose(middleware) if middleware else None

    def _middleware_of(self, feature: Feature) -> list[Middleware]:
        found = [each for scope in self.scopes_of(feature) for each in scope.middleware]
        timeout = feature.timeout if isinstance(feature, Tool) else None
        return found if timeout is None else [*found, limited(timeout)]

    def _wrap(self, feature: Feature) -> None:
        """Note that a feature is new, or another one than before."""
        if isinstance(feature, Tool):
            self._wrapped_tools.pop(feature.name, None)
        if not self.is_wrapped:
            self.is_wrapped = self._is_wrapped(feature)

    def _is_wrapped(self, feature: Feature) -> bool:
        """True if a feature has middleware, a time limit or replaced dependencies."""
        is_overridden = feature.dependencies is not None and self._overrides_of(feature)
        return bool(is_overridden or self._middleware_of(feature))

    def update_wrapping(self) -> None:
        """Follow a change of the scope of this server, or of one that it includes."""
        with CHANGING:
            self._wrapped_tools = {}
            self.is_wrapped = any(map(self._is_wrapped, self.features))
            for follower in self.followers:
                follower.on_scope()

    def override(
        self, dependency: Callable[..., Any], replacement: Callable[..., Any] | None
    ) -> None:
        """Use another function for a dependency; None for its own."""
        features = [each for each in self.features if each.dependencies is not None]
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
        overrides = self._overrides_of(feature)
        if feature.dependencies is None or not overrides:
            return feature
        executable = feature.dependencies.with_overrides(overrides)
        return msgspec.structs.replace(feature, **executable._asdict())

    def _overrides_of(self, feature: Feature) -> Overrides:
        """Return the functions that replace dependencies; those of an outer server win."""
        scopes = reversed(self.scopes_of(feature))
        return {name: each for scope in scopes for name, each in scope.overrides.items()}

    def scope_of(self, feature: Feature) -> Scope:
        """Return the scope of the server that a feature comes from."""
        if not self._foreign:
            return self.scope
        return self._foreign.get(key_of(feature), self.scope)

    def scopes_of(self, feature: Feature) -> tuple[Scope, ...]:
        """Return the scopes around a feature: first this one, last that of its own server."""
        scope = self.scope_of(feature)
        if scope is self.scope:
            return (scope,)
        return (self.scope, *self._between.get(key_of(feature), ()), scope)

    @property
    def scopes(self) -> list[Scope]:
        """Its own scope, and those of the servers it includes."""
        if not self.inclusions and not self._foreign:
            return [self.scope]
        included = [scope for each in self.inclusions for scope in each.followed.scopes]
        return list(dict.fromkeys((self.scope, *included, *self._foreign.values())))

    @property
    def has_lifespan(self) -> bool:
        """True if the server, or one that it includes, has a lifespan."""
        return any(scope.lifespan is not None for scope in self.scopes)

    def remove(self, feature: Feature) -> None:
        """Remove a tool, prompt or resource; calls that run go on."""
        with CHANGING:
            key = key_of(feature)
            if self._all.get(key) is not feature:
                raise ContractError(f"{key[1]!r} cannot be removed: the server does not have it")
            is_shown = self.is_shown(feature)
            if is_shown:
                self._hide(feature)
            del self._all[key]
            self._foreign.pop(key, None)
            self._between.pop(key, None)
            if not isinstance(feature, Tool):
                for argument in self.completers_of(key[1]):
                    del self._completers[key[1], argument]
            if is_shown:
                self._changed(feature)

    def replace(self, old: Feature, new: Feature) -> None:
        """Put a feature in the place of another one with the same name."""
        with CHANGING:
            self._all[key_of(new)] = new
            if self.is_shown(old):
                self._features_like(new)[key_of(new)[1]] = new
                self._wrap(new)
                for follower in self.followers:
                    follower.on_replace(old, new)
            self.clear_cache()

    def reconcile(self, features: Sequence[Feature]) -> None:
        """Have exactly these features, in this order; equal ones of before are kept.

        A feature that another server which includes this one cannot have is an error; nothing has
        changed then.
        """
        with CHANGING:
            wanted = {key_of(each): each for each in features}
            gone = [each for key, each in self._all.items() if key not in wanted]
            new = [each for key, each in wanted.items() if key not in self._all]
            claimed: set[tuple[int, Key]] = set()
            for feature in new:
                self._require_valid(feature)
                for follower in self.followers if self.is_enabled(feature) else ():
                    follower.require_free(feature, claimed)
            others = [
                (self._all[key], each)
                for key, each in wanted.items()
                if key in self._all and self._all[key] is not each
            ]
            shown = [each for each in gone if self.is_shown(each)]
            for feature in shown:
                self._hide(feature)
            for feature in gone:
                for argument in self.completers_of(key_of(feature)[1]):
                    self._completers.pop((key_of(feature)[1], argument), None)
            for old, changed in others:
                self.replace(old, changed)
            self._all = wanted
            shown += [each for each in new if self.is_enabled(each)]
            for feature in new:
                if self.is_enabled(feature):
                    self._show(feature)
            self._sort()
            if shown or others:
                self._changed(*shown, *(changed for _, changed in others))

    def _features_like(self, feature: Feature) -> dict[str, Any]:
        if isinstance(feature, Tool):
            return self.tools
        return self.prompts if isinstance(feature, Prompt) else self.resources

    def _changed(self, *features: Feature) -> None:
        self.clear_cache()
        for kind in sorted({kind_of(feature) for feature in features} & self.changing):
            self.changes.notify(ListChanged(kind))

    # Enabled and disabled features

    def switch(self, names: Sequence[str], tags: Collection[str], *, is_enabled: bool) -> None:
        """Enable or disable features by name or URI, and all that have one of the tags."""
        with CHANGING:
            self._require_names(names)
            number = 1 + max((number for number, _ in self._rules.values()), default=0)
            selectors = [("name", name) for name in names] + [("tag", tag) for tag in tags]
            self._set_rules(self._rules | dict.fromkeys(selectors, (number, is_enabled)))

    @property
    def rules(self) -> Rules:
        """What was enabled and disabled; see `merge_rules`."""
        return self._rules

    def merge_rules(self, rules: Rules) -> None:
        """Enable and disable what another process has, unless that was done later here."""
        with CHANGING:
            merged = dict(self._rules)
            for selector, rule in rules.items():
                merged[selector] = max(rule, merged.get(selector, rule))
            if merged != self._rules:
                self._set_rules(merged)

    def _set_rules(self, rules: Rules) -> None:
        """Show and hide features as the rules say; raise, and change nothing, if names clash."""
        before, self._rules = self._rules, rules
        features = self.features
        new = [each for each in features if self.is_enabled(each) and not self.is_shown(each)]
        claimed: set[tuple[int, Key]] = set()
        try:
            for follower in self.followers:
                for feature in new:
                    follower.require_free(feature, claimed)
        except ContractError:
            self._rules = before
            raise
        gone = [each for each in features if self.is_shown(each) and not self.is_enabled(each)]
        for feature in gone:
            self._hide(feature)
        for feature in new:
            self._show(feature)
        if new:
            self._sort()
        if new or gone:
            self._changed(*new, *gone)

    def _require_names(self, names: Sequence[str]) -> None:
        known = dict.fromkeys(name for _, name in self._all)
        for name in names:
            if name not in known:
                from difflib import get_close_matches  # slow to import, rarely needed

                meant = get_close_matches(name, known, 1)
                guess = f"; did you mean {meant[0]!r}?" if meant else ""
                raise ContractError(f"no tool, prompt or resource {name!r}{guess}")

    def is_enabled(self, feature: Feature) -> bool:
        """True if clients see a feature, once it is registered."""
        if not self._rules:
            return feature.enabled
        selectors = [("name", key_of(feature)[1]), *(("tag", tag) for tag in feature.tags)]
        found = [self._rules[each] for each in selectors if each in self._rules]
        return max(found)[1] if found else feature.enabled

    def _sort(self) -> None:
        """Restore the order of registration, in new mappings: the old ones may be in use."""
        shown = [feature for feature in self.features if self.is_shown(feature)]
        self.tools = {each.name: each for each in shown if isinstance(each, Tool)}
        self.prompts = {each.name: each for each in shown if isinstance(each, Prompt)}
        self.resources = {each.uri: each for each in shown if isinstance(each, Resource)}

    # Other servers that include this one

    @property
    def followers(self) -> list[Follower]:
        """The followers that are still there."""
        return [each for each in (found() for found in self._followers) if each is not None]

    def follow(self, follower: Follower) -> None:
        """Tell a follower of each change, until it is collected."""
        with CHANGING:
            self._followers = [each for each in self._followers if each() is not None]
            self._followers.append(ref(follower))

    def clear_cache(self) -> None:
        """Drop cached capabilities and pages. Safe in any thread.

        Pages that are being made meanwhile go into the old cache.
        """
        self._cache = {}
        for follower in self.followers:
            follower.on_clear()

    def complete(self, owner: str, argument: str, completer: Completer) -> None:
        """Set the completer of a prompt's argument, or of a template's variable."""
        if argument not in self.choices_of(owner):
            raise ContractError(f"{owner!r} has no argument {argument!r} that could be completed")
        with CHANGING:
            self._completers[owner, argument] = completer
            for follower in self.followers:
                follower.on_complete(owner, argument, completer)
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
        if found is None:
            resource = self._all.get((Resource, owner))
            found = resource.completers.get(argument) if isinstance(resource, Resource) else None
        if found is not None:
            return found
        return completer_of(choices[argument]) if choices[argument] else _NO_COMPLETION

    def choices_of(self, owner: str) -> dict[str, Any]:
        """Return the arguments of a prompt or template, each with its known values."""
        prompt = self._all.get((Prompt, owner))
        if isinstance(prompt, Prompt):
            return {each.name: each.choices for each in prompt.arguments}
        resource = self._all.get((Resource, owner))
        if not isinstance(resource, Resource):
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

    def capabilities(self, revision: Revision, *, notifies: bool = True) -> Result:
        """Return the capabilities, as far as a revision defines them.

        Unless it `notifies`, those are left out that need a session: notifications of changes.
        """
        found = self._capabilities()
        if not notifies:
            found = {name: {} if name in KINDS else has for name, has in found.items()}
        if revision.stateless or revision.tasks:
            return found | self._task_capabilities(revision) if self.has_tasks else found
        if revision.completions:
            return found
        return {name: has for name, has in found.items() if name != "completions"}

    def _task_capabilities(self, revision: Revision) -> Result:
        if revision.stateless:
            return dict(CAPABILITY)
        return {"tasks": EXPERIMENTAL} if self.has_experimental_tasks else {}

    @property
    def has_tasks(self) -> bool:
        """True if calls of some tool may become tasks."""
        if not self.serves_tasks:
            return False
        cache = self._cache
        found: bool | None = cache.get(_TASKS)
        if found is None:
            found = cache[_TASKS] = any(tool.task for tool in list(self.tools.values()))
        return found

    def has_feature(self, feature: str) -> bool:
        """True if there is a capability, or a part of one."""
        if feature in ("tasks", EXPERIMENTAL_TASKS):
            is_served = feature == "tasks" or self.has_experimental_tasks
            return is_served and self.has_tasks
        if feature == "changes":
            return bool(self.changing) or self.has_feature("subscriptions") or self.has_tasks
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
            or any(resource.choices or resource.completers for resource in resources)
        )

    # Subscriptions

    def subscription_fault(self, uri: str, revision: Revision) -> Reject | None:
        """Return the error if changes of a resource cannot be subscribed to."""
        found = self.find_resource(uri)
        if found is None:
            return resource_not_found(uri, revision)
        resource, _ = found
        caller = CALLER.get()
        if caller is not None and not caller.scopes.issuperset(resource.scopes):
            needed = " ".join(resource.scopes)
            return Reject(INVALID_REQUEST, f"This needs a token with the scopes {needed}")
        if not resource.watched:
            return Reject(INVALID_PARAMS, f"{uri} is not watched")
        return None

    def watch(self, uri: str, watcher: Watcher) -> None:
        """Let the source of a resource report its changes, while the client wants them."""
        found = self.find_resource(uri)
        if found is not None and found[0].on_watch is not None:
            found[0].on_watch(found[1], Watch(ref(watcher), uri))

    def available(self, wanted: Wanted, revision: Revision) -> Wanted:
        """Return the part of the wanted changes that this server notifies of."""
        lists: dict[str, Any] = {
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

    @property
    def scoped(self) -> Mapping[Kind, Sequence[Feature]]:
        """The features that need scopes, by list; empty if there are none."""
        cache = self._cache
        found: dict[Kind, list[Feature]] | None = cache.get(_SCOPED)
        if found is None:
            found = {}
            shown: tuple[dict[str, Any], ...] = (self.tools, self.prompts, self.resources)
            for feature in [each for kind in shown for each in list(kind.values())]:
                if feature.scopes:
                    found.setdefault(kind_of(feature), []).append(feature)
            cache[_SCOPED] = found
        return found

    def feature_named(self, method: str, name: str) -> Feature | None:
        """Return the feature that a request with this method and name is for."""
        match method:
            case "tools/call":
                return self.tools.get(name)
            case "prompts/get":
                return self.prompts.get(name)
            case "resources/read":
                found = self.find_resource(name)
                return None if found is None else found[0]
        return None

    def _hidden_by_scopes(self, kind: Kind) -> frozenset[str]:
        """Return the names or URIs that a list leaves out for the verified caller."""
        caller = CALLER.get()
        if caller is None:
            return NONE_HIDDEN
        return frozenset(
            key_of(each)[1]
            for each in self.scoped.get(kind, ())
            if each.hidden and not caller.scopes.issuperset(each.scopes)
        )

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
        listed: Sequence[Result] | None = None,
        profile: str | None,
        tool_entry: Callable[[Tool], Result],
        encode: Callable[[Result], Raw],
    ) -> Raw | Reject:
        """Return a page of a list without the `hidden` tools, encoded once, with a signed cursor.

        It leaves out what the verified caller must not see, for whom alone its cursor is valid.
        `profile` is the one that the client asks for: tools have another output schema in each.
        `listed` are further entries, which exist now; a page with them is not cached.
        """
        try:
            start = 0 if cursor is None else int(signer.verify(bound(method), cursor))
        except BadSignature:
            return Reject(INVALID_PARAMS, "Invalid cursor: use nextCursor as it was sent")
        kind: Kind = method.partition("/")[0]  # type: ignore[assignment]  # of a list
        hidden |= self._hidden_by_scopes(kind)
        owner = None if self.page_size is None else bound("")
        key = (method, revision.date, profile, start, hidden, owner)
        cache = self._cache
        page: Raw | None = None if listed is not None else cache.get(key)
        if page is None:
            items, entry = self._list(method, revision, tool_entry)
            count = len(items) + len(listed or ())
            end = count if self.page_size is None else start + self.page_size
            next_cursor = signer.sign(bound(method), b"%d" % end) if end < count else None
            entries = [entry(each) for each in items[start:end] if key_of(each)[1] not in hidden]
            entries += (listed or ())[max(start - len(items), 0) : max(end - len(items), 0)]
            caching = self._caching(kind, listed) if revision.stateless else None
            page = encode(results.page(_PAGE_MEMBERS[method], entries, next_cursor, caching))
            if listed is not None:
                return page
            if len(cache) >= _MAX_CACHED:
                cache.clear()
            cache[key] = page
        return page

    @property
    def listings(self) -> list[Resource]:
        """The templates whose resources are listed for the verified caller, each time anew."""
        hidden = self._hidden_by_scopes("resources")
        templates = [each for each in list(self.resources.values()) if each.listing is not None]
        return [each for each in templates if each.uri not in hidden]

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

    def _caching(self, kind: Kind, listed: Sequence[Result] | None) -> Result:
        """Return the cache hints of a list.

        Tools depend on the profile that a client asks for, and what is hidden on the caller.
        """
        is_fresh = kind not in self.changing and listed is None
        ttl = results.FRESH_FOR_MS if is_fresh else self.fresh_for_ms.get(kind, 0)
        is_private = kind == "tools" or any(each.hidden for each in self.scoped.get(kind, ()))
        return results.cacheable("private" if is_private else "public", ttl)


def resource_not_found(uri: str, revision: Revision) -> Reject:
    """Return the error for a resource that does not exist."""
    return Reject(revision.missing_resource, "Resource not found", {"uri": uri})
