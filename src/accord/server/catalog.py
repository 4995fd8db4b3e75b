"""Capabilities and paginated lists of a server, encoded for its clients."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Final

from msgspec import Raw

from accord.errors import INVALID_PARAMS, ContractError, Reject
from accord.model.changes import KINDS, Kind
from accord.model.context import ClientInfo
from accord.model.prompt import Prompt
from accord.model.resource import Resource
from accord.model.tool import Audience, Tool
from accord.profiles import profile_asked
from accord.protocol import results
from accord.protocol.entries import prompt_entry, resource_entry
from accord.protocol.messages import MOST_WATCHED, Wanted
from accord.protocol.results import Result
from accord.revisions import Revision
from accord.server.offers import Offers, missing
from accord.signing import BadSignature, Signer

_PAGE_OF: Final = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_CAPABILITIES: Final = ("capabilities",)
_AUDIENCES: Final = ("audiences",)
_MOST_KEPT: Final = 64  # pages: one for each set of tools that a client may see
NOTHING: Final[frozenset[str]] = frozenset()


class Catalog:
    """Tells what there is. Whatever it tells is made once, until something changes."""

    def __init__(
        self,
        tools: Mapping[str, Tool],
        offered: Offers,
        *,
        changing: AbstractSet[Kind],
        page_size: int | None,
    ) -> None:
        if strangers := set(changing) - set(KINDS):
            raise ContractError(f"no list of {min(strangers)!r}; there are {', '.join(KINDS)}")
        if page_size is not None and page_size < 1:
            raise ContractError("page_size is at least 1; leave it out for one page")
        self._tools = tools
        self._offered = offered
        self.changing = frozenset(changing)
        self.page_size = page_size
        self._made: dict[tuple[Any, ...], Any] = {}

    def clear(self) -> None:
        """Something has changed: make it all again when it is asked for. Safe in any thread.

        Pages that are being made meanwhile go into the old cache.
        """
        self._made = {}

    def capabilities(self, revision: Revision) -> Result:
        """What there is, and nothing that there is not, as far as a revision has a word for it."""
        found = self._known_capabilities()
        if revision.completions:
            return found
        return {name: has for name, has in found.items() if name != "completions"}

    def has(self, feature: str) -> bool:
        """Whether there is something: a capability, or a part of one."""
        if feature == "changes":
            return bool(self.changing) or self.has("subscriptions")
        found = self._known_capabilities()
        if feature == "subscriptions":
            return "subscribe" in found.get("resources", ())
        return feature in found

    def _known_capabilities(self) -> Result:
        made = self._made
        found: Result | None = made.get(_CAPABILITIES)
        if found is None:
            found = made[_CAPABILITIES] = self._find_capabilities()
        return found

    def _find_capabilities(self) -> Result:
        prompts, resources = self._offered.prompts, self._offered.resources
        has: dict[Kind, Any] = {"tools": self._tools, "prompts": prompts, "resources": resources}
        found: Result = {
            kind: {"listChanged": True} if kind in self.changing else {}
            for kind in KINDS
            if has[kind] or kind in self.changing
        }
        if any(resource.watched for resource in list(resources.values())):
            found["resources"]["subscribe"] = True
        if self._offered.can_complete:
            found["completions"] = {}
        everything: tuple[Tool | Prompt | Resource, ...] = (
            *self._tools.values(),
            *prompts.values(),
            *resources.values(),
        )
        if any(each.is_async and each.wants_context for each in everything):
            found["logging"] = {}
        return found if found.keys() & has.keys() else found | {"tools": {}}

    def watch_fault(self, uri: str, revision: Revision) -> Reject | None:
        """Why changes of a resource cannot be told, if so."""
        found = self._offered.find(uri)
        if found is None:
            return missing(uri, revision)
        return None if found[0].watched else Reject(INVALID_PARAMS, f"{uri} is not watched")

    def honoured(self, wanted: Wanted, revision: Revision) -> Wanted:
        """As much of what a client wants to hear of as it will be told."""
        lists = {
            name: True
            for name in (f"{kind}_list_changed" for kind in self.changing)
            if getattr(wanted, name)
        }
        uris = list(dict.fromkeys(wanted.resource_subscriptions or ()))[:MOST_WATCHED]
        watched = tuple(uri for uri in uris if self.watch_fault(uri, revision) is None)
        return Wanted(**lists, resource_subscriptions=watched or None)

    @property
    def audiences(self) -> Mapping[Audience, Sequence[str]]:
        """Who decides to whom tools are shown, and the names of those tools."""
        made = self._made
        found: dict[Audience, list[str]] | None = made.get(_AUDIENCES)
        if found is None:
            found = {}
            for tool in list(self._tools.values()):
                if tool.audience is not None:
                    found.setdefault(tool.audience, []).append(tool.name)
            made[_AUDIENCES] = found
        return found

    def hidden_from(self, sender: Any) -> frozenset[str]:
        """The tools that are not for this sender, which may take a look into a database."""
        hidden: list[str] = []
        for audience, names in self.audiences.items():
            is_for_sender = audience(sender)
            hidden += [name for name in names if not is_for_sender(name)]
        return frozenset(hidden)

    def page(
        self,
        method: str,
        cursor: str | None,
        client: ClientInfo,
        signer: Signer,
        hidden: frozenset[str] = NOTHING,
        *,
        tool_entry: Callable[[Tool], Result],
        word: Callable[[Result], Raw],
    ) -> Raw | Reject:
        """A page of a list, encoded once, with a cursor that only we can make.

        It lacks the tools that are `hidden`.
        """
        try:
            start = 0 if cursor is None else int(signer.verify(method, cursor))
        except BadSignature:
            return Reject(INVALID_PARAMS, "Invalid cursor: use nextCursor as it was sent")
        asked = profile_asked(client.capabilities) if method == "tools/list" else None
        profile = None if asked is None else asked.name
        key = (method, client.revision.date, profile, start, hidden)
        made = self._made
        page: Raw | None = made.get(key)
        if page is None:
            items, entry = self._list(method, client.revision, tool_entry)
            end = len(items) if self.page_size is None else start + self.page_size
            following = signer.sign(method, b"%d" % end) if end < len(items) else None
            entries = [entry(item) for item in items[start:end] if item.name not in hidden]
            cache = self._cache(method) if client.revision.stateless else None
            page = word(results.page(_PAGE_OF[method], entries, following, cache))
            if len(made) >= _MOST_KEPT:
                made.clear()
            made[key] = page
        return page

    def _list(
        self, method: str, revision: Revision, tool_entry: Callable[[Tool], Result]
    ) -> tuple[Sequence[Any], Callable[[Any], Result]]:
        if method == "tools/list":
            return list(self._tools.values()), tool_entry
        if method == "prompts/list":
            return list(self._offered.prompts.values()), partial(prompt_entry, revision=revision)
        is_static = method == "resources/list"
        everything = list(self._offered.resources.values())
        resources = [resource for resource in everything if resource.is_static == is_static]
        return resources, partial(resource_entry, revision=revision)

    def _cache(self, method: str) -> Result:
        """What changes is fetched anew; tools follow the profile that a client asks for."""
        kind = method.partition("/")[0]
        ttl = 0 if kind in self.changing else results.FRESH_FOR_MS
        return results.cacheable("private" if kind == "tools" else "public", ttl)
