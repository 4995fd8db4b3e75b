"""Dispatches requests: finds the operation for each, and answers those that need none."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Raw

from accord.errors import INVALID_PARAMS, INVALID_REQUEST, ContractError, Reject
from accord.model.answer import InputRequired, Problem
from accord.model.changes import Listener, Watcher
from accord.model.completion import completion_of
from accord.model.context import ClientInfo
from accord.model.limits import Position
from accord.model.prompt import Prompt
from accord.model.resource import Resource
from accord.model.tool import Tool
from accord.profiles import profile_asked
from accord.protocol import Connection, Request, messages, results
from accord.protocol.entries import listed_entry
from accord.protocol.events import (
    LISTEN,
    RESOURCES_LIST,
    TOOLS_CALL,
    TOOLS_LIST,
)
from accord.protocol.header_params import header_params_fault
from accord.protocol.input_state import InputResponses, InputState, subject
from accord.protocol.messages import MAX_SUBSCRIPTIONS, PromptReference, Wanted
from accord.protocol.methods import EXPERIMENTAL_TASKS
from accord.protocol.results import Identity, Result
from accord.protocol.tasks import declares_tasks, undeclared
from accord.revisions import Revision
from accord.server.continuation import READ_MORE, Continuations, Resumed, read_more_tool
from accord.server.forwarding import replayed
from accord.server.operation import (
    SUCCEEDED,
    C,
    Done,
    FeatureOperation,
    Invocation,
    Operation,
    RequestChannel,
    ToolOperation,
    WrappedFeatureOperation,
    WrappedToolOperation,
    bind_feature,
    rejected,
)
from accord.server.originals import Originals
from accord.server.registry import NONE_HIDDEN, Registry, resource_not_found
from accord.server.rendering import Renderer
from accord.server.tasks import (
    TaskBackend,
    TaskSettings,
    hold_with_tasks,
    task_call,
    task_request,
)
from accord.signing import Cursors, Signer
from accord.telemetry import Telemetry

_encode = msgspec.json.Encoder().encode


class Dispatcher:
    """The core of a server, without I/O: requests in, operations and results out."""

    telemetry: Telemetry | None = None
    own_instructions: str | None = None
    """The instructions without those of included servers."""
    read_more: Tool | None = None
    """The tool that continues answers of tools without a cursor argument."""
    identity: Identity
    key: bytes
    """The key that signs cursors and input state."""
    has_given_key = False
    """True if the user has given the key, so that other processes have it, too."""
    continuations: Continuations
    task_settings: TaskSettings = TaskSettings()
    _make_backend: Callable[[], TaskBackend] | None = None
    _tasks: TaskBackend | None = None
    task_users = 0
    """Number of edges that serve tasks now: the last one that ends closes their store."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.renderer: Renderer = Renderer()
        self.originals: Originals = Originals()
        """Replies of other servers that callers can get in their original form."""

    def add_read_more(self) -> None:
        """Add the tool that continues answers of tools without a cursor argument."""
        if self.read_more is None:
            self.require_read_more()
            self.read_more = read_more_tool()
            self.registry.add(self.read_more)
            self.set_key(self.key)

    def require_read_more(self) -> None:
        """Raise if another tool has the name of the tool that continues answers."""
        if self.read_more is None and self.registry.find((Tool, READ_MORE)) is not None:
            raise ContractError(
                f"server {self.identity.name!r} has a tool {READ_MORE!r} of its own; rename it:"
                " a tool of that name continues answers that were cut"
            )

    @property
    def instructions(self) -> str | None:
        """The instructions for models, those of included servers too."""
        included = [each.instructions for each in self.registry.inclusions]
        return "\n\n".join(each for each in [self.own_instructions, *included] if each) or None

    def set_identity(self, identity: Identity) -> None:
        """Set the name and version of the server."""
        self.identity = identity
        self.renderer.set_identity(identity)
        self.registry.clear_cache()

    def set_key(self, key: bytes) -> None:
        """Set the key that signs cursors and input state."""
        self.key = key
        self._signer = Signer(key)
        self._input_state = InputState(self._signer)
        self.continuations = Continuations(Cursors(key), has_read_more=self.read_more is not None)
        self.renderer.set_continuations(self.continuations)

    def connect(
        self,
        *,
        revision: Revision | None = None,
        handshake: bool = True,
        sessions: bool = True,
    ) -> Connection:
        """Open a protocol connection for a new peer; see `Connection`."""
        return Connection(self, revision=revision, handshake=handshake, sessions=sessions)

    def set_task_settings(self, settings: TaskSettings) -> None:
        """Set how tasks are kept; a server that is served already keeps them as before."""
        self.task_settings = settings
        self.registry.has_experimental_tasks = settings.experimental
        self.registry.clear_cache()

    def serve_tasks(self, make_backend: Callable[[], TaskBackend]) -> None:
        """Let calls be tasks; the backend is made when the first is needed."""
        if self._make_backend is None:
            self._make_backend = make_backend
            self.registry.serves_tasks = True
            self.registry.clear_cache()

    @property
    def tasks(self) -> TaskBackend | None:
        """The backend of tasks; None if what serves this has none, or no tool wants one."""
        if self._tasks is None and self._make_backend is not None and self.registry.has_tasks:
            self._tasks = self._make_backend()
        return self._tasks

    # For connections

    def initialize(self, client: ClientInfo, *, notifies: bool = True) -> Raw:
        """Return the result of `initialize`; if it `notifies`, the client hears of changes."""
        revision = client.revision
        capabilities = self.registry.capabilities(revision, notifies=notifies)
        return _json(results.initialize(self.identity, capabilities, self.instructions, revision))

    def discover(self, client: ClientInfo) -> Raw:
        """Return the result of `server/discover`."""
        capabilities = self.registry.capabilities(client.revision)
        result = results.discover(capabilities, self.instructions)
        return _json(self.renderer.complete(result, client.revision))

    def list_page(self, method: str, cursor: str | None, client: ClientInfo) -> Raw | Reject | None:
        """Return a page of a list; None if it depends on the caller, and has to be executed."""
        if method == TOOLS_LIST and self.registry.audiences:
            return None
        if method == RESOURCES_LIST and self.registry.listings:
            return None
        return self._page(method, cursor, client)

    def has_feature(self, feature: str) -> bool:
        """True if the server has a capability, or a part of one."""
        return self.registry.has_feature(feature)

    def subscription_fault(self, uri: str, revision: Revision) -> Reject | None:
        """Return the error if changes of a resource cannot be subscribed to."""
        return self.registry.subscription_fault(uri, revision)

    def watch(self, uri: str, watcher: Watcher) -> None:
        """Let the source of a resource report its changes, while the client wants them."""
        self.registry.watch(uri, watcher)

    def _page(
        self,
        method: str,
        cursor: str | None,
        client: ClientInfo,
        hidden: frozenset[str] = NONE_HIDDEN,
        listed: Sequence[Result] | None = None,
    ) -> Raw | Reject:
        asked = profile_asked(client.capabilities) if method == TOOLS_LIST else None
        return self.registry.page(
            method,
            cursor,
            client.revision,
            self._signer,
            hidden=hidden,
            listed=listed,
            profile=None if asked is None else asked.name,
            tool_entry=lambda tool: self._tool_entry(tool, client),
            encode=lambda page: _json(self.renderer.complete(page, client.revision)),
        )

    def _tool_entry(self, tool: Tool, client: ClientInfo) -> Result:
        entry = self.renderer.tool_entry(tool, client)
        if tool.task and client.revision.tasks and self.registry.has_feature(EXPERIMENTAL_TASKS):
            support = "required" if tool.task == "required" else "optional"
            entry["execution"] = {"taskSupport": support}
        return entry

    # For executors

    def prepare(self, call: C) -> Operation[C] | Done:
        """Return the operation for a request, or its outcome if it can be answered at once."""
        request = call.request
        if request.retry is not None:
            responses = self._input_state.verify(self._subject(call), request.retry)
            if isinstance(responses, Reject):
                return rejected(request, responses)
            call.responses = responses
        if request.method != TOOLS_CALL:
            return self._prepare_feature(call, request)
        tool = self.registry.tools.get(request.name)
        if tool is None:
            return rejected(request, Reject(INVALID_PARAMS, f"Unknown tool: {request.name}"))
        if tool is self.read_more:
            return self._continue(call, tool)
        if tool.task or request.params is not None:
            found = task_call(self, self.tasks, call, tool)
            if found is not None:
                return found
        if self.registry.is_wrapped:
            return self._tool_operation(call, tool)
        return ToolOperation(call, self, tool.is_async, tool=tool)

    def _tool_operation(
        self,
        call: C,
        tool: Tool,
        arguments: bytes | None = None,
        position: Position | None = None,
    ) -> ToolOperation[C]:
        """Return the operation of a call, inside the tool's middleware if it has any."""
        tool, chain = self.registry.wrapped_tool(tool)
        if chain is None:
            return ToolOperation(
                call, self, tool.is_async, tool=tool, arguments=arguments, position=position
            )
        return WrappedToolOperation(
            call,
            self,
            is_async=True,
            tool=tool,
            arguments=arguments,
            position=position,
            chain=chain,
        )

    def header_fault(self, request: Request, headers: Mapping[bytes, bytes]) -> Done | None:
        """Return the error if HTTP headers differ from the arguments that they repeat."""
        if request.method != TOOLS_CALL or not request.revision.stateless:
            return None
        params = self.registry.header_params.get(request.name)
        fault = params and header_params_fault(params, headers, request.arguments)
        return rejected(request, fault) if fault else None

    def input_required(self, call: RequestChannel, required: InputRequired) -> bytes:
        """Return the reply of a call that needs input of the client."""
        request = call.request
        result = self._input_state.result(
            self._subject(call),
            call.responses or InputResponses(),
            required.questions,
            request.revision,
            required.state,
        )
        return messages.reply(request.id, result | {"_meta": self.renderer.stamp})

    def _subject(self, call: RequestChannel) -> bytes:
        """Return what an input state is valid for; another server may have the same key."""
        request = call.request
        asked = subject(request.method, request.name, request.arguments, call.principal)
        return self.identity.name.encode() + b"\0" + asked

    def scopes_for(self, request: Request) -> Sequence[str]:
        """Return the scopes that a verified caller needs for a request."""
        if not self.registry.scoped:
            return ()
        feature = self._feature_of(request)
        return () if feature is None else feature.scopes

    def _feature_of(self, request: Request) -> Tool | Prompt | Resource | None:
        """Return what a request is for: of a continued answer, its tool."""
        name, registry = request.name, self.registry
        if request.method == "completion/complete":
            is_prompt = isinstance(request.params.ref, PromptReference)
            return registry.prompts.get(name) if is_prompt else registry.resources.get(name)
        found = registry.feature_named(request.method, name)
        is_continued = found is not None and found is self.read_more
        return self._continued_tool(request) if is_continued else found

    def _continued_tool(self, request: Request) -> Tool | None:
        try:
            name = self.continuations.resolve_read_more(request.arguments).tool
        except Problem:  # the call itself reports it
            return None
        return self.registry.tools.get(name)

    def refuse(self, call: C, problem: Problem) -> Done:
        """Return the outcome of a request that is not executed, for a reason outside of it."""
        request = call.request
        tool = self.registry.tools.get(request.name) if request.method == TOOLS_CALL else None
        if tool is None:
            return rejected(request, Reject(INVALID_REQUEST, problem.message))
        return ToolOperation(call, self, is_async=False, tool=tool).refuse(problem)

    def known_name(self, request: Request) -> str:
        """Return the registered name of what a request is for; a client can send any text."""
        name = request.name
        match request.method:
            case "tools/call":
                return name if name in self.registry.tools else "?"
            case "prompts/get":
                return name if name in self.registry.prompts else "?"
            case "resources/read":
                found = self.registry.find_resource(name)
                return "?" if found is None else found[0].uri
            case method:
                return method

    def way_of(self, request: Request) -> tuple[str, str | None, str] | None:
        """Return the foreign server that a request goes to, and both revisions; else None."""
        if self.registry.describe_upstreams is None and not self.registry.inclusions:
            return None
        feature = self._feature_of(request)
        foreign = None if feature is None else feature.foreign
        if foreign is None or foreign.origin is None:
            return None
        return (*foreign.origin(), request.revision.date)

    def _continue(self, call: C, read_more: Tool) -> Operation[C] | Done:
        """Return the operation of the call whose answer `read_more` continues."""
        try:
            resumed = self.continuations.resolve_read_more(call.request.arguments)
            tool = self.registry.tools.get(resumed.tool)
            is_kept = resumed.original is not None
            if tool is None or not (is_kept or tool.hints.read_only):
                raise Problem.not_found(f"There is no tool {resumed.tool} any more")
            if is_kept:
                return self._continue_kept(call, tool, resumed)
        except Problem as problem:
            operation = ToolOperation(call, self, is_async=False, tool=read_more)
            operation.start_timer()
            return operation.fail(problem)
        return self._tool_operation(call, tool, resumed.arguments, resumed.position)

    def _continue_kept(self, call: C, tool: Tool, resumed: Resumed) -> Operation[C]:
        """Return the operation that sends a kept reply of another server, or a part of it."""
        reply = self.originals.get(resumed.original or "", call.principal)
        if reply is None:
            raise Problem.not_found(
                "The reply is not kept any more",
                code="CURSOR_EXPIRED",
                remediation=f"call {tool.name} again",
            )
        is_whole = resumed.position is None
        kept = replayed(tool, reply, is_whole=is_whole, client=call.request.client)
        return ToolOperation(
            call,
            self,
            is_async=False,
            tool=kept,
            position=resumed.position,
            original=resumed.original,
        )

    def _prepare_feature(self, call: C, request: Request) -> Operation[C] | Done:
        match request.method:
            case "subscriptions/listen":
                return self._listen(call, request)
            case "tasks/get" | "tasks/update" | "tasks/cancel" | "tasks/result":
                return task_request(self, self.tasks, call)
            case "tools/list":
                return self._list_for_sender(call, request)
            case "resources/list":
                return self._list_found(call, request)
            case "completion/complete":
                return self._complete(call, request)
            case "prompts/get":
                return self._get_prompt(call, request)
            case _:
                return self._read_resource(call, request)

    def _listen(self, call: C, request: Request) -> Operation[C] | Done:
        wanted = self.registry.available(request.params, request.revision)
        task_ids = list(dict.fromkeys(request.params.task_ids or ()))[:MAX_SUBSCRIPTIONS]
        if task_ids and not declares_tasks(request.client.capabilities):
            return rejected(request, undeclared())
        backend = self.tasks

        async def hold(wanted: Wanted, _: Any) -> None:
            with Listener(wanted.resource_subscriptions or ()) as listener:
                for uri in listener.uris:
                    self.watch(uri, listener)
                if task_ids and backend is not None:
                    await hold_with_tasks(backend, call, wanted, task_ids)
                else:
                    await call.hold(wanted)

        return FeatureOperation(
            call,
            self,
            is_async=True,
            what=LISTEN,
            invocation=lambda: (hold, wanted, None),
            to_result=lambda _: results.listened(request.id),
        )

    def _list_for_sender(self, call: C, request: Request) -> Operation[C]:
        """Return the operation of a list that depends on its caller."""
        return FeatureOperation(
            call,
            self,
            is_async=False,
            what=TOOLS_LIST,
            invocation=lambda: (
                lambda sender, _: self.registry.hidden_from(sender),
                call.sender,
                None,
            ),
            to_result=lambda hidden: self._page(
                TOOLS_LIST, request.params.cursor, request.client, hidden
            ),
        )

    def _list_found(self, call: C, request: Request) -> Operation[C]:
        """Return the operation of `resources/list` with templates whose resources are found now."""

        async def entries(templates: Sequence[Resource], _: object) -> list[Result]:
            return [
                listed_entry(each, template)
                for template in templates
                if template.listing is not None
                for each in await template.listing()
            ]

        return FeatureOperation(
            call,
            self,
            is_async=True,
            what=RESOURCES_LIST,
            invocation=lambda: (entries, self.registry.listings, None),
            to_result=lambda listed: self._page(
                RESOURCES_LIST, request.params.cursor, request.client, listed=listed
            ),
        )

    def _get_prompt(self, call: C, request: Request) -> Operation[C] | Done:
        prompt = self.registry.prompts.get(request.name)
        if prompt is None:
            return rejected(request, Reject(INVALID_PARAMS, f"Unknown prompt: {request.name}"))
        return self._feature_operation(
            call,
            prompt,
            request.arguments,
            what=f"prompt {prompt.name}",
            to_result=lambda value: prompt.to_wire(value, request.revision),
        )

    def _feature_operation(
        self,
        call: C,
        feature: Prompt | Resource,
        arguments: bytes,
        *,
        what: str,
        to_result: Callable[[Any], Result],
    ) -> FeatureOperation[C]:
        """Return the operation on a prompt or resource, inside its middleware if it has any."""
        scope = self.registry.scope_of(feature)
        feature, chain = self.registry.wrapped(feature)

        def invocation() -> Invocation:
            return bind_feature(feature, call, arguments, scope)

        if chain is None:
            return FeatureOperation(
                call,
                self,
                feature.is_async,
                what=what,
                invocation=invocation,
                to_result=to_result,
            )
        return WrappedFeatureOperation(
            call,
            self,
            is_async=True,
            what=what,
            invocation=invocation,
            to_result=to_result,
            chain=chain,
            feature=feature,
            raw_arguments=arguments,
            scope=scope,
        )

    def _read_kept_media(self, call: C, request: Request) -> Operation[C] | Done:
        """Return media of a kept reply of another server, which a link in its result leads to."""
        from accord.server.forwarded_reply import KEPT_MEDIA, kept_media  # it imports the reader

        cursor, _, number = request.name.removeprefix(KEPT_MEDIA).rpartition("/")
        found = None
        with suppress(Problem):
            arguments = _encode({"cursor": cursor})
            resumed = self.continuations.resolve_read_more(arguments)
            reply = self.originals.get(resumed.original or "", call.principal)
            found = None if reply is None else kept_media(reply, number, request.name)
        if found is None:
            return rejected(request, resource_not_found(request.name, request.revision))
        if request.revision.stateless:
            found |= results.cacheable("private", 0)
        result = self.renderer.complete(found, request.revision)
        return Done(SUCCEEDED, messages.reply(request.id, result))

    def _read_resource(self, call: C, request: Request) -> Operation[C] | Done:
        if request.name.startswith("accord-reply:") and self.read_more is not None:
            return self._read_kept_media(call, request)
        found = self.registry.find_resource(request.name)
        if found is None:
            return rejected(request, resource_not_found(request.name, request.revision))
        resource, variables = found

        def to_result(content: Any) -> Result:
            result = resource.to_wire(content, request.name)
            if request.revision.stateless and "ttlMs" not in result:
                fresh_for_ms = int(resource.fresh_for * 1000)
                result |= results.cacheable(
                    "public" if resource.is_public and not resource.scopes else "private",
                    fresh_for_ms,
                )
            return result

        return self._feature_operation(
            call,
            resource,
            _encode(variables),
            what=f"resource {resource.uri}",
            to_result=to_result,
        )

    def _complete(self, call: C, request: Request) -> Operation[C] | Done:
        params, owner = request.params, request.name
        is_prompt = isinstance(params.ref, PromptReference)
        is_known = owner in (self.registry.prompts if is_prompt else self.registry.resources)
        name = params.argument.name
        completer = self.registry.completer(owner, name) if is_known else None
        if completer is None:
            what = "argument" if is_known else "reference"
            reject = Reject(INVALID_PARAMS, f"Unknown {what}: nothing to complete")
            return rejected(request, reject)
        value, others = params.argument.value, params.context.arguments
        return FeatureOperation(
            call,
            self,
            completer.is_async,
            what=f"completion of {name} for {owner}",
            invocation=lambda: (completer.invoke, value, others),
            to_result=lambda value: completion_of(value).to_wire(),
        )


def _json(result: Result) -> Raw:
    return Raw(_encode(result))
