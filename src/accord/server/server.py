"""Server: the tools, prompts and resources that an author offers under one name."""

import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, overload

import msgspec

from accord.errors import ContractError, located, relative_path, require_known
from accord.model.caller import Verifier
from accord.model.changes import Kind, Updated
from accord.model.content import Icon
from accord.model.limits import DEFAULT_MAX_BYTES
from accord.model.prompt import Prompt
from accord.model.resource import Resource
from accord.model.tool import Tool, tags_of
from accord.profiles import Profile, profile_named
from accord.protocol.results import Identity
from accord.server.continuation import READ_MORE
from accord.server.dispatcher import Dispatcher
from accord.server.inclusion import Inclusion
from accord.server.middleware import Middleware, require_middleware
from accord.server.originals import Originals, shared_folder
from accord.server.registry import Feature, Registry
from accord.server.rendering import require_room
from accord.server.tasks import HandOver, TaskSettings
from accord.signing import Key
from accord.sources.functions import (
    Options,
    PromptOptions,
    ResourceOptions,
    function_completer,
    function_prompt,
    function_resource,
    function_tool,
)
from accord.telemetry import Telemetry

if TYPE_CHECKING:
    from accord.reader import Reading
    from accord.serve.http import App, SettingsDict

Function = TypeVar("Function", bound=Callable[..., Any])
AnyMiddleware = TypeVar("AnyMiddleware", bound=Middleware)
Lifespan = Callable[["Server"], AbstractAsyncContextManager[Any] | AbstractContextManager[Any]]
"""Returns a context manager for a server."""


class TaskOptions(TypedDict, total=False):
    """The options of `Server.tasks`: fields of TaskSettings."""

    store: str
    ttl: float
    poll: float
    lease: float
    max_tasks: int
    max_tasks_per_caller: int
    max_result_bytes: int
    is_private: bool
    engine: str | HandOver | None
    experimental: bool


class _Reverting(AbstractContextManager[None]):
    """Calls a function at the end of a block."""

    def __init__(self, revert: Callable[[], None]) -> None:
        self._revert = revert

    def __exit__(self, *_: object) -> None:
        self._revert()


class Server:
    """An MCP server: tools, prompts and resources under one name.

    It knows nothing of sockets or event loops: `accord.serve` serves its `dispatcher`.
    """

    def __init__(
        self,
        name: str,
        *,
        version: str = "0.0.0",
        title: str | None = None,
        instructions: str | None = None,
        profile: str = "plain",
        structured: bool = True,
        max_bytes: int = DEFAULT_MAX_BYTES,
        read_more: bool = False,
        page_size: int | None = None,
        key: bytes | Sequence[bytes] | None = None,
        telemetry: Telemetry | None = None,
        website_url: str | None = None,
        icons: Sequence[Icon] = (),
        changing: Collection[Kind] = (),
        lifespan: Lifespan | None = None,
        auth: Verifier | None = None,
    ) -> None:
        """`key` signs cursors and session ids: give the same one to all workers, or keep it.

        Of several keys, the first one signs, and what the others have signed is valid.
        Without `structured`, results have no `structuredContent`, and cost fewer tokens. An answer
        of more than `max_bytes` of text is cut; with `read_more`, a tool of that name continues
        answers of tools without a cursor argument. `changing` names the lists that change while
        served (`tools`, `prompts`, `resources`), so that clients are notified. `lifespan` is a
        context manager, async or not, around the time that the server is served: it is called with
        the server, and the value it yields is `Context.state`. `auth` verifies the bearer tokens of
        requests over HTTP, for example `TokenVerifier(issuer, audience)`.
        """
        self.auth: Verifier | None = _require_verifier(auth)
        self.includes_verifier: bool = False
        """True if a server that this one includes verifies tokens, which does not hold here."""
        self.registry: Registry = Registry(changing=changing, page_size=page_size)
        if lifespan is not None:
            from accord.server.lifespan import ServerLifespan

            self.registry.scope.lifespan = ServerLifespan(lifespan, self)
        self.dispatcher: Dispatcher = Dispatcher(self.registry)
        self.dispatcher.own_instructions = instructions
        self.identify(Identity(name, version, title, website_url, icons or None))
        self.configure(
            profile=profile,
            structured=structured,
            max_bytes=max_bytes,
            key=os.urandom(32) if key is None else key,
            telemetry=telemetry,
        )
        self.dispatcher.has_given_key = key is not None
        if key is None:  # no other process has it
            self.dispatcher.originals = Originals()
        if read_more:
            self.dispatcher.add_read_more()

    def configure(
        self,
        *,
        profile: str | None = None,
        structured: bool | None = None,
        max_bytes: int | None = None,
        key: bytes | Sequence[bytes] | None = None,
        fallback_key: bytes | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        """Set the options that are given; `fallback_key` is for a server that was given no key.

        Profile and size limit are also those of tools of included servers, unless a tool has its
        own.
        """
        renderer = self.dispatcher.renderer
        if profile is not None:
            renderer.profile = profile_named(profile)
        if structured is not None:
            renderer.structured = structured
        if max_bytes is not None:
            require_room(max_bytes)
            renderer.max_bytes = max_bytes
        if key is not None:
            self.dispatcher.has_given_key = True
        elif fallback_key is not None and not self.dispatcher.has_given_key:
            key = fallback_key
        if key is not None:
            first = key if isinstance(key, bytes) else Key.of(key)
            self.dispatcher.set_key(first)
            if self.dispatcher.has_given_key or fallback_key is not None:
                self.dispatcher.originals = Originals(shared_folder(first))
        if telemetry is not None:
            self.dispatcher.telemetry = telemetry
        if profile is not None or max_bytes is not None:
            for inclusion in self.registry.inclusions:
                inclusion.configure(profile, max_bytes)
            for follower in self.registry.followers:
                follower.on_configure()
        self.registry.clear_cache()

    def tasks(self, **settings: Unpack["TaskOptions"]) -> None:
        """Set how tasks are stored: the `store`, their `ttl`, and more; see `TaskSettings`."""
        require_known(settings, TaskSettings.__struct_fields__, "tasks()")
        changed = msgspec.structs.replace(self.dispatcher.task_settings, **settings)
        self.dispatcher.set_task_settings(changed)

    async def run_task(self, task_id: str) -> None:
        """Run a task to its end in this process, as the worker of an engine.

        A task that is over, or that another worker has begun, is left alone. If this is cancelled,
        because the worker is stopped, a restartable task goes back to the queue; another one fails.
        """
        from accord.serve import task_finish

        await task_finish.run_task(self, task_id)

    async def finish(self, task_id: str, answer: Any) -> bool:
        """Finish a task that was handed to an engine, from any process with the store and the key.

        The answer is what the tool would return, or a Problem with which it would fail. False if
        the task is over already, or not known any more: the first answer counts.
        """
        from accord.serve import task_finish

        return await task_finish.finish(self, task_id, answer)

    async def set_status(self, task_id: str, message: str) -> bool:
        """Set the status message of a task that was handed to an engine; False if it has ended.

        Code that does the work of a task on its own can stop then.
        """
        from accord.serve import task_finish

        return await task_finish.set_status(self, task_id, message)

    def identify(self, identity: Identity) -> None:
        """Change the name and version."""
        self.dispatcher.set_identity(identity)

    @property
    def identity(self) -> Identity:
        """The name, version and title."""
        return self.dispatcher.identity

    @property
    def instructions(self) -> str | None:
        """The instructions for models, those of included servers too."""
        return self.dispatcher.instructions

    @property
    def profile(self) -> Profile:
        """The default profile of results."""
        return self.dispatcher.renderer.profile

    @property
    def structured(self) -> bool:
        """True if results have `structuredContent`."""
        return self.dispatcher.renderer.structured

    @property
    def max_bytes(self) -> int:
        """The maximum bytes of text in an answer, for tools without a limit of their own."""
        return self.dispatcher.renderer.max_bytes

    @property
    def has_read_more(self) -> bool:
        """True if the tool `read_more` continues answers that were cut."""
        return self.dispatcher.read_more is not None

    @property
    def telemetry(self) -> Telemetry | None:
        """The telemetry of its calls."""
        return self.dispatcher.telemetry

    @property
    def tools(self) -> dict[str, Tool]:
        """The tools by name."""
        return self.registry.tools

    @property
    def prompts(self) -> dict[str, Prompt]:
        """The prompts by name."""
        return self.registry.prompts

    @property
    def resources(self) -> dict[str, Resource]:
        """The resources by URI or template."""
        return self.registry.resources

    @overload
    def tool(self, function: Function, /) -> Function: ...
    @overload
    def tool(self, /, **options: Unpack[Options]) -> Callable[[Function], Function]: ...
    def tool(
        self, function: Function | None = None, /, **options: Unpack[Options]
    ) -> Function | Callable[[Function], Function]:
        """Make a function a tool, and return it unchanged."""

        def register(function: Function) -> Function:
            with located(function):
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
        """Make a function a prompt, and return it unchanged."""

        def register(function: Function) -> Function:
            with located(function):
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
            with located(function):
                self.add(function_resource(function, uri, **options))
            return function

        return register

    def completion(self, owner: str, argument: str) -> Callable[[Function], Function]:
        """Let a function complete an argument of a prompt, or a variable of a template."""

        def register(function: Function) -> Function:
            self.registry.complete(owner, argument, function_completer(function))
            return function

        return register

    def middleware(self, function: AnyMiddleware) -> AnyMiddleware:
        """Run a function around every tool, prompt and resource, inside those added before.

        `async def timing(call, next)` continues with `return await next(call)`.
        """
        require_middleware(function)
        self.registry.scope.use(function)
        return function

    def override(
        self, dependency: Callable[..., Any], replacement: Callable[..., Any]
    ) -> AbstractContextManager[None]:
        """Use another function for a dependency, in tests for example.

        It applies at once; at the end of a `with` block the function before it applies again.
        """
        before = self.registry.scope.overrides.get(dependency)
        if not callable(replacement):
            raise ContractError(f"{replacement!r} is not a function that can provide a dependency")
        self.registry.override(dependency, replacement)
        return _Reverting(lambda: self.registry.scope.override(dependency, before))

    def add(self, feature: Feature) -> None:
        """Add a tool, prompt or resource of any source."""
        self.registry.add(feature)

    def remove(self, feature: Feature) -> None:
        """Remove a tool, prompt or resource; calls that run go on."""
        self.registry.remove(feature)

    def include(self, other: "Server", prefix: str = "") -> None:
        """Add the tools, prompts and resources of another server, including its later changes.

        Names get the prefix, and so do URIs, behind `scheme://`. They keep the state, middleware
        and profile of the other server; the middleware of this one runs around it. Tokens are
        verified by the `auth` of this one.
        """
        if not isinstance(other, Server):
            raise ContractError(f"{other!r} is not a Server; write server.include(other, 'db_')")
        Inclusion(self.dispatcher, other.dispatcher, prefix, where=_caller())
        self.includes_verifier |= other.auth is not None or other.includes_verifier

    def enable(self, *names: str, tags: Collection[str] = ()) -> None:
        """Show tools, prompts and resources again that were disabled: by name, URI or tag."""
        self._switch(names, tags, is_enabled=True)

    def disable(self, *names: str, tags: Collection[str] = ()) -> None:
        """Hide tools, prompts and resources: by name or URI, or all that have one of the tags.

        They are not listed, and calling one is an error as for an unknown name; calls that run go
        on. Tags are also those of features that are added later. What is enabled or disabled last
        decides.
        """
        self._switch(names, tags, is_enabled=False)

    def _switch(self, names: Sequence[str], tags: Collection[str], *, is_enabled: bool) -> None:
        verb = "enable" if is_enabled else "disable"
        for name in names:
            if not isinstance(name, str):
                raise ContractError(f"{name!r} is not a name; write server.{verb}('name')")
            if name == READ_MORE and self.has_read_more:
                raise ContractError(
                    f"{name!r} continues answers that were cut; make the server without it:"
                    " read_more=False"
                )
        given = tags_of(tags, f"{verb}()")
        if not names and not given:
            raise ContractError(
                f"{verb}() needs names or tags: server.{verb}('name') or"
                f" server.{verb}(tags={{'admin'}})"
            )
        self.registry.switch(names, sorted(given), is_enabled=is_enabled)

    def updated(self, uri: str) -> None:
        """Notify subscribers that a resource has changed. Safe in any thread."""
        self.registry.changes.notify(Updated(uri))

    def run(self) -> None:
        """Serve over stdin and stdout until the client disconnects, as `accord serve` does.

        Both streams are used for that until the process ends: `print` then writes to standard
        error.
        """
        from accord.serve import inprocess

        inprocess.run(self)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        profile: str | None = None,
    ) -> "Reading":
        """Call a tool as a client would, and return its Reading, for example in tests.

        `profile` is the one that the client asks for; by default the server or the tool decides.
        """
        from accord.serve import inprocess

        return await inprocess.call(self, name, arguments or {}, profile)

    def lifespan(self) -> AbstractAsyncContextManager[Any]:
        """Run the lifespan on the running event loop; returns a context manager with its state.

        For tests and programs that use `call`: without it, the first call starts the lifespan, and
        it ends with the event loop.
        """
        from accord.serve import inprocess

        return inprocess.running(self)

    def asgi(self, **settings: Unpack["SettingsDict"]) -> "App":
        """Return this server as an ASGI app, for an ASGI server such as uvicorn."""
        from accord.serve.http import App, Settings

        require_known(settings, Settings._fields, "asgi()")
        return App(self, Settings(**settings))


def _require_verifier(auth: Any) -> Verifier | None:
    if auth is not None and not callable(getattr(auth, "verify", None)):
        raise ContractError(
            f"{auth!r} verifies no tokens; write auth=TokenVerifier(issuer, audience)"
        )
    verifier: Verifier | None = auth
    return verifier


def _caller() -> str:
    """Return `FILE:LINE` of the code that calls a method of Server."""
    frame = sys._getframe(2)
    return f"{relative_path(frame.f_code.co_filename)}:{frame.f_lineno}"


def combine(
    servers: Mapping[str, Server],
    *,
    prefixes: Mapping[str, str] = MappingProxyType({}),
    advice: str = "rename one of them",
) -> Server:
    """Return one server with the features of several, given by target; raise if names clash.

    `prefixes` are those of some targets, and `advice` is the solution if names clash.
    """
    if len(servers) == 1 and not any(prefixes.values()):
        return next(iter(servers.values()))
    parts = list(servers.values())
    names = [
        prefixes.get(target, "").rstrip("_") or s.identity.name for target, s in servers.items()
    ]
    combined = Server(
        "+".join(names),
        version="+".join(server.identity.version for server in parts),
        structured=all(server.structured for server in parts),
        read_more=any(server.has_read_more for server in parts),
        page_size=min((s.registry.page_size for s in parts if s.registry.page_size), default=None),
        telemetry=_only_telemetry(parts),
        key=parts[0].dispatcher.key,
        auth=_only_verifier(parts),
    )
    for target, server in servers.items():
        prefix = prefixes.get(target, "")
        Inclusion(combined.dispatcher, server.dispatcher, prefix, label=target, advice=advice)
    return combined


def _only_verifier(servers: Sequence[Server]) -> Verifier | None:
    found = {id(server.auth): server.auth for server in servers if server.auth is not None}
    if len(found) > 1:
        raise ContractError("two servers that verify tokens cannot be one; give both the same auth")
    return next(iter(found.values()), None)


def _only_telemetry(servers: Sequence[Server]) -> Telemetry | None:
    found = {id(server.telemetry): server.telemetry for server in servers if server.telemetry}
    if len(found) > 1:
        raise ContractError("two servers with a Telemetry each cannot be one; give them the same")
    return next(iter(found.values()), None)
