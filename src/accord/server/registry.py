"""The registry of a server: adds and removes tools, prompts, resources and completions."""

from collections.abc import Callable, Collection
from typing import Any, TypeVar, Unpack, overload

from accord.errors import ContractError
from accord.model.changes import Changes, Kind, ListChanged, Updated
from accord.model.prompt import Prompt
from accord.model.resource import Resource
from accord.model.tool import Tool, Toolbox
from accord.profiles import profile_named
from accord.protocol.header_params import HeaderParams, header_params_of
from accord.server.catalog import Catalog
from accord.server.continuation import takes_cursor
from accord.server.offers import Offers, Renderer
from accord.server.rendering import require_room
from accord.sources.functions import (
    Options,
    PromptOptions,
    ResourceOptions,
    function_completer,
    function_prompt,
    function_resource,
    function_tool,
)

Function = TypeVar("Function", bound=Callable[..., Any])


class Registry(Renderer):
    """Tools and prompts by name, resources by URI, and their lists for clients."""

    def __init__(self, *, changing: Collection[Kind], page_size: int | None) -> None:
        self.tools = Toolbox()
        self.offered = Offers(self)
        self.catalog = Catalog(
            self.tools, self.offered, changing=frozenset(changing), page_size=page_size
        )
        self.changes = Changes()
        self.mirrored: dict[str, HeaderParams] = {}
        """The tools with arguments that HTTP headers repeat, and which those are."""
        self.with_cursor: set[str] = set()
        """The tools that take a cursor."""

    @property
    def prompts(self) -> dict[str, Prompt]:
        """The prompts by name."""
        return self.offered.prompts

    @property
    def resources(self) -> dict[str, Resource]:
        """The resources by URI or template."""
        return self.offered.resources

    @overload
    def tool(self, function: Function, /) -> Function: ...
    @overload
    def tool(self, /, **options: Unpack[Options]) -> Callable[[Function], Function]: ...
    def tool(
        self, function: Function | None = None, /, **options: Unpack[Options]
    ) -> Function | Callable[[Function], Function]:
        """Make a function a tool, and give it back unchanged."""

        def register(function: Function) -> Function:
            self.add(function_tool(function, **options))
            return function

        return register if function is None else register(function)

    @overload
    def prompt(self, function: Function, /) -> Function: ...
    @overload
    def prompt(self, /, **options: Unpack[PromptOptions]) -> Callable[[Function], Function]: ...
    def prompt(
        self, function: Function | None = None, /, **options: Unpack[PromptOptions]
    ) -> Function | Callable[[Function], Function]:
        """Make a function a prompt, and give it back unchanged."""

        def register(function: Function) -> Function:
            self.add(function_prompt(function, **options))
            return function

        return register if function is None else register(function)

    def resource(
        self, uri: str, /, **options: Unpack[ResourceOptions]
    ) -> Callable[[Function], Function]:
        """Make a function a resource under a URI, or under a template with its parameters."""
        if not isinstance(uri, str):
            raise ContractError("a resource has a URI: @server.resource('shop://orders/{id}')")

        def register(function: Function) -> Function:
            self.add(function_resource(function, uri, **options))
            return function

        return register

    def completion(self, owner: str, argument: str) -> Callable[[Function], Function]:
        """Let a function complete an argument of a prompt, or a variable of a template."""

        def register(function: Function) -> Function:
            self.offered.complete(owner, argument, function_completer(function))
            self.catalog.clear()
            return function

        return register

    def add(self, offer: Tool | Prompt | Resource) -> None:
        """Put a tool, a prompt or a resource from any source into this server."""
        if not isinstance(offer, Tool | Prompt | Resource):
            raise ContractError(
                f"{offer!r} is no Tool, Prompt or Resource; a function is added with server.tool"
            )
        if isinstance(offer, Tool):
            self._add_tool(offer)
        else:
            self.offered.add(offer)
        self._changed(offer)

    def _add_tool(self, tool: Tool) -> None:
        if tool.profile is not None:
            profile_named(tool.profile)
        if tool.max_bytes is not None:
            require_room(tool.max_bytes)
        mirrored = header_params_of(tool)
        self.tools.add(tool)
        if mirrored:
            self.mirrored[tool.name] = mirrored
        if takes_cursor(tool):
            self.with_cursor.add(tool.name)

    def remove(self, offer: Tool | Prompt | Resource) -> None:
        """Take it out again; what is running goes on."""
        if isinstance(offer, Tool):
            if self.tools.get(offer.name) is not offer:
                raise ContractError(f"{offer.name!r} is not there")
            del self.tools[offer.name]
            self.mirrored.pop(offer.name, None)
            self.with_cursor.discard(offer.name)
        else:
            self.offered.remove(offer)
        self._changed(offer)

    def _changed(self, offer: Tool | Prompt | Resource) -> None:
        self.catalog.clear()
        kind: Kind = "resources"
        if not isinstance(offer, Resource):
            kind = "tools" if isinstance(offer, Tool) else "prompts"
        if kind in self.catalog.changing:
            self.changes.notify(ListChanged(kind))

    def updated(self, uri: str) -> None:
        """Tell those who watch a resource that it has changed. Safe in any thread."""
        self.changes.notify(Updated(uri))
