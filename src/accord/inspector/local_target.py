"""A Server in this process: called by an in-process client, message by message."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, Final

import msgspec

from accord.client import Client, Subscription
from accord.errors import ContractError, PeerError
from accord.inspector.history import History
from accord.inspector.reports import ReceivedReply, read_reply
from accord.inspector.running_calls import INPUT_TIMEOUT, InspectorCall, WaitingCalls
from accord.inspector.target import (
    CLIENT_CAPABILITIES,
    INPUT_REQUIRED,
    TASK_CAPABILITIES,
    TASK_TTL,
    CallRecord,
    CallRequest,
    InputResponse,
    OnMessage,
    RenderOptions,
    ServerRequest,
    UpstreamReply,
    WireMessage,
)
from accord.model.answer import Answer, FieldError, InputRequired, Problem
from accord.model.caller import CALLER, Caller
from accord.model.changes import KINDS
from accord.model.context import Level, MissingCapability
from accord.model.questions import Question
from accord.model.tool import Tool
from accord.profiles import PROFILES, asking_for
from accord.protocol import ClientResponse, Connection, Request
from accord.revisions import NEWEST, REVISIONS
from accord.serve.call import CallbackEdge, RunningCall
from accord.serve.executor import Executor
from accord.serve.http.access import AccessLog
from accord.serve.http.policy import lacking_scopes
from accord.serve.pending_requests import PendingRequests
from accord.server import Server
from accord.server.forwarding import ForwardedResult, replies_for
from accord.server.operation import Done, ToolOperation
from accord.server.outcome import Outcome, outcome_of, outcome_of_arguments
from accord.telemetry import outcome_label

_MAX_PAGES: Final = 1_000
_META: Final = "io.modelcontextprotocol"
_CLIENT_INFO: Final = {"name": "accord-page", "version": "1"}
_UPSTREAM_BYTES: Final = 1024 * 1024  # shown of the reply of an upstream
_LISTS: Final = {
    "prompts": "prompts/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
}
_encode = msgspec.json.Encoder().encode


class LocalClient(CallbackEdge):
    """A client of a server in this process; it records every message.

    It declares all client capabilities, and waits for a person to answer input requests.
    """

    def __init__(
        self, server: Server, request: CallRequest, pending_requests: PendingRequests
    ) -> None:
        options = request.render
        self._revision = REVISIONS[options.revision or NEWEST.date]
        super().__init__(self.receive)
        self._caller = CALLER.get()
        self._pending_requests = pending_requests
        declared = TASK_CAPABILITIES if request.as_task else CLIENT_CAPABILITIES
        self._capabilities = declared | (
            {} if options.profile is None else asking_for(options.profile)
        )
        self._log_level: Level | None = request.log_level
        self._requests = 0
        self.connection: Connection = server.dispatcher.connect()
        self.messages: list[WireMessage] = []
        self.running: InspectorCall[Done] = InspectorCall(request)
        self.asking: InputRequired = InputRequired({})
        """The open questions, in a revision where they are requests of the server."""
        self._in_handshake = True
        if not self._revision.stateless:
            self._handshake()
        self._in_handshake = False

    @property
    def caller(self) -> Caller | None:
        """The verified caller of the page; None on this machine."""
        return self._caller

    @property
    def principal(self) -> bytes | None:
        """The identity of the verified caller of the page."""
        return None if self._caller is None else self._caller.principal

    def _handshake(self) -> None:
        params = {
            "protocolVersion": self._revision.date,
            "capabilities": self._capabilities,
            "clientInfo": _CLIENT_INFO,
        }
        self.send("initialize", params)
        self._transmit({"jsonrpc": "2.0", "method": "notifications/initialized"})
        if self._log_level is not None:
            self.send("logging/setLevel", {"level": self._log_level})

    def send(self, method: str, params: dict[str, Any]) -> RunningCall | None:
        """Send a request; return the call that it starts, or None if it was answered at once."""
        self._requests += 1
        if self._revision.stateless:
            params = {**params, "_meta": {**params.get("_meta", {}), **self._client_meta()}}
        return self._transmit(
            {"jsonrpc": "2.0", "id": self._requests, "method": method, "params": params}
        )

    def start_call(self, more: Mapping[str, Any] | None = None) -> RunningCall:
        """Send the call with a progress token; `more` are params with input responses."""
        request = self.running.request
        params = {**request.params, "_meta": {"progressToken": "page"}, **(more or {})}
        if request.as_task and not self._revision.stateless:
            params["task"] = {"ttl": TASK_TTL}
        call = self.send(request.method, params)
        if call is None:
            raise PeerError(f"the call was rejected: {self.messages[-1].raw}")
        return call

    def receive(self, raw: bytes) -> None:
        """Record a message of the server."""
        self.messages.append(WireMessage.of("received", raw, is_handshake=self._in_handshake))
        self.running.receive(raw)

    async def ask(self, call: RunningCall, questions: Mapping[str, Question]) -> dict[str, bytes]:
        """Record the questions and wait for the responses to them."""
        self.asking = InputRequired(questions)
        return await self._pending_requests.ask(self.connection, call, questions)

    def show(self, request: Request, asking: InputRequired) -> None:
        """Record questions that are not asked again."""
        for question in asking.questions.values():
            self.receive(self.connection.ask(question, request.revision).message)

    def answer(self, answers: Mapping[str, InputResponse]) -> RunningCall | None:
        """Send input responses: as messages, or as params of the repeated call."""
        if self._revision.stateless:
            return self.start_call(self.running.responses(answers))
        for key, response in answers.items():
            if key in self.running.input_requests:
                self.running.close(key)
                self._transmit({"jsonrpc": "2.0", "id": json.loads(key), **response.reply})
        return None

    def cancel(self) -> None:
        """Cancel the call."""
        self.running.cancel()

    async def record(
        self,
        seconds: float,
        schema: Mapping[str, Any] | None,
        *,
        is_open: bool,
        forwarded: ForwardedResult | None = None,
    ) -> CallRecord:
        """Return the record of the call, with the report on its reply."""
        request = self.running.request
        reply = INPUT_REQUIRED if is_open else self.messages[-1].raw.encode()
        received = ReceivedReply(reply, request.tool, bytes(request.arguments), _encode(schema))
        return CallRecord(
            tool=request.tool,
            arguments=request.arguments,
            messages=self.messages,
            reply=reply,
            report=await read_reply(received),
            seconds=seconds,
            revision=self._revision.date,
            input_requests=tuple(self.running.input_requests.values()),
            upstream=None if forwarded is None else _upstream_reply(forwarded),
        )

    def _client_meta(self) -> dict[str, Any]:
        level = {} if self._log_level is None else {f"{_META}/logLevel": self._log_level}
        return {
            f"{_META}/protocolVersion": self._revision.date,
            f"{_META}/clientInfo": _CLIENT_INFO,
            f"{_META}/clientCapabilities": self._capabilities,
            **level,
        }

    def _transmit(self, message: dict[str, Any]) -> RunningCall | None:
        raw = _encode(message)
        self.messages.append(WireMessage.of("sent", raw, is_handshake=self._in_handshake))
        call = None
        for event in self.connection.receive(raw):
            if isinstance(event, bytes):
                self.receive(event)
            elif isinstance(event, Request):
                call = RunningCall(event, self.connection, self)
            elif isinstance(event, ClientResponse):
                self._pending_requests.receive(event)
        return call


class _FinishedCall(msgspec.Struct, frozen=True):
    """A finished call, stored to render its answer again."""

    request: CallRequest
    outcome: Outcome
    seconds: float
    forwarded: ForwardedResult | None = None
    """The result of the tool, if an upstream has it."""


class LocalTarget:
    """Calls a Server in this process; calls appear in its access log."""

    def __init__(self, server: Server, access: AccessLog | None = None, path: str = "/mcp") -> None:
        self._server = server
        self._access = access
        self._path = path
        self._history: History[_FinishedCall] = History()
        self._waiting_calls: WaitingCalls[LocalClient] = WaitingCalls()
        self._pending_requests = PendingRequests(
            server.registry, INPUT_TIMEOUT, lambda change: None
        )
        self._executor: Executor | None = None

    def about(self) -> dict[str, Any]:
        """Return the server's identity and its default profile."""
        server = self._server
        return {
            "server": server.identity,
            "instructions": server.instructions,
            "kind": "local",
            "isGateway": self._server.registry.describe_upstreams is not None
            or bool(self._server.registry.upstreams),
            "endpoint": self._path,
            "revision": NEWEST.date,
            "revisions": list(REVISIONS),
            "profile": server.profile.name,
            "profiles": list(PROFILES),
        }

    def state(self) -> dict[str, Any]:
        """Return that it is connected, which a server in this process always is."""
        return {"isConnected": True}

    async def tools(self) -> list[dict[str, Any]]:
        """Return all tools, from every page of `tools/list`."""
        return await self._entries("tools/list", "tools")

    async def features(self) -> dict[str, list[dict[str, Any]]]:
        """Return all prompts, resources and resource templates."""
        return {key: await self._entries(method, key) for key, method in _LISTS.items()}

    async def _entries(self, method: str, key: str) -> list[dict[str, Any]]:
        """Return the entries of all pages of a list; none if the server does not have it."""
        client = LocalClient(self._server, CallRequest(""), self._pending_requests)
        found: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        for _ in range(_MAX_PAGES):
            await self._send(client, method, cursor)
            result = msgspec.json.decode(client.messages[-1].raw).get("result", {key: []})
            found += result[key]
            if "nextCursor" not in result:
                break
            cursor = {"cursor": result["nextCursor"]}
        return found

    async def _send(self, client: LocalClient, method: str, params: dict[str, Any]) -> None:
        """Send a request and wait for its reply, the last message of the client."""
        call = client.send(method, params)
        if call is not None:
            await self._finish(client, call)

    async def request(self, request: ServerRequest) -> bytes:
        """Return the reply to a request that is not a call."""
        options = RenderOptions(revision=request.revision)
        asking = CallRequest("", render=options, as_task=request.is_for_task)
        client = LocalClient(self._server, asking, self._pending_requests)
        await self._send(client, request.method, request.params)
        return client.messages[-1].raw.encode()

    async def listen(
        self, uris: Sequence[str], on_message: OnMessage, on_ready: Callable[[], None]
    ) -> None:
        """Pass on changes of the lists and of these resources, until this is cancelled."""

        def receive(notification: dict[str, Any]) -> None:
            on_message(_encode(notification))

        self._require_scopes(uris)
        lists = [kind for kind in KINDS if kind in self._server.registry.changing]
        if not lists and not uris:
            on_ready()
            await asyncio.Event().wait()
        client = Client(self._server, on_notification=receive)
        async with client, client.subscribe(*uris, lists=lists) as changes:
            on_ready()
            async for _ in changes:
                pass

    def _require_scopes(self, uris: Sequence[str]) -> None:
        """Raise unless the caller of the page may watch these resources."""
        client = LocalClient(self._server, CallRequest(""), self._pending_requests)
        wanted = Subscription(tuple(uris), KINDS).wanted
        call = client.send("subscriptions/listen", {"notifications": wanted})
        refusal = None if call is None else self._refusal(client, call)
        if refusal is not None:
            raise PeerError("watching these resources needs scopes that your token lacks")

    def upstreams(self) -> dict[str, Any]:
        """Return the state of each upstream; empty if the server is not a gateway."""
        return self._server.registry.upstream_details

    def schema(self, tool: str) -> dict[str, Any] | None:
        """Return the input schema of a tool."""
        found = self._server.tools.get(tool)
        return None if found is None else found.input_schema

    async def check(self, request: CallRequest) -> Sequence[FieldError]:
        """Return the errors that the tool itself finds in its arguments."""
        tool = self._server.tools.get(request.tool)
        problem = None if tool is None else _argument_problem(tool, bytes(request.arguments))
        return () if problem is None else problem.fields

    async def call(self, request: CallRequest, on_message: OnMessage) -> tuple[int, CallRecord]:
        """Call a tool, or get a prompt or resource; cancelling this cancels the call."""
        client = LocalClient(self._server, request, self._pending_requests)
        client.running.on_message = on_message
        return await self._continue(client, client.start_call())

    async def answer(
        self, number: int, answers: Mapping[str, InputResponse], on_message: OnMessage
    ) -> tuple[int, CallRecord] | None:
        """Continue a call that waits, or repeat it with the responses."""
        client = self._waiting_calls.take(number)
        if client is None:
            return None
        client.running.on_message = on_message
        return await self._continue(client, client.answer(answers))

    def abandon(self, number: int) -> None:
        """Cancel a call that waits."""
        self._waiting_calls.abandon(number)

    async def sign_in(self) -> None:
        """Refuse: a server in this process has no sign-in."""
        raise ContractError("a server in this process has no sign-in")

    async def sign_out(self) -> None:
        """Refuse: a server in this process has no sign-in."""
        raise ContractError("a server in this process has no sign-in")

    async def reconnect(self) -> None:
        """Do nothing: a server in this process is always connected."""

    async def _continue(
        self, client: LocalClient, call: RunningCall | None
    ) -> tuple[int, CallRecord]:
        """Run a call to its end or to its next input request."""
        running = client.running
        if call is not None:
            running.begin(self._run_logged(client, call))
        done = await running.wait()
        outcome = client.asking if done is None else done.outcome
        forwarded = None if done is None else done.forwarded
        finished = _FinishedCall(running.request, outcome, running.seconds, forwarded)
        size = 0 if done is None else len(done.reply)
        size += 0 if forwarded is None else len(forwarded.raw)
        number = self._history.add(finished, size)
        if running.input_requests:
            self._waiting_calls.add(number, client)
        schema = self.schema(running.request.tool)
        return number, await client.record(
            running.seconds, schema, is_open=done is None, forwarded=forwarded
        )

    async def render(self, number: int, options: RenderOptions) -> CallRecord | None:
        """Render the answer as another client would receive it."""
        finished = self._history.get(number)
        if finished is None or finished.request.method != "tools/call":
            return None
        request = msgspec.structs.replace(finished.request, render=options)
        client = LocalClient(self._server, request, self._pending_requests)
        call = client.start_call()
        operation = self._server.dispatcher.prepare(call)
        if isinstance(operation, Done):
            done: Done | None = operation
        else:
            assert isinstance(operation, ToolOperation)
            done = await asyncio.to_thread(self._render, operation, client, finished)
        if done is not None:
            client.receive(call.finish(done) or b"")
        schema = self.schema(request.tool)
        return await client.record(
            finished.seconds, schema, is_open=done is None, forwarded=finished.forwarded
        )

    def _render(
        self, operation: ToolOperation[RunningCall], client: LocalClient, finished: _FinishedCall
    ) -> Done | None:
        """Render an outcome; it may be large, so this runs in a thread."""
        request, outcome = operation.call.request, finished.outcome
        try:
            operation.resolve_cursor()
            if finished.forwarded is not None:
                replies = replies_for(operation.tool, request.client)
                again = msgspec.structs.replace(
                    finished.forwarded, replies=replies, note_change=lambda: None
                )
                return operation.render(again)
            adapted = _outcome(request, operation.tool, operation.given_arguments, outcome)
            if isinstance(adapted, Answer):
                return Done(adapted, operation.reply(adapted))
            if isinstance(adapted, InputRequired) and not request.revision.stateless:
                client.show(request, adapted)
                return None
            return operation.conclude(adapted)
        except Problem as problem:
            return operation.conclude(problem)

    async def _run_logged(self, client: LocalClient, call: RunningCall) -> Done:
        began = perf_counter()
        done = await self._finish(client, call)
        if client.running.request.method == "tools/call":
            self._note(call.request, done, perf_counter() - began, client.caller)
        return done

    async def _finish(self, client: LocalClient, call: RunningCall) -> Done:
        """Run a call to its end and deliver the reply to its client."""
        loop = asyncio.get_running_loop()
        self._executor = self._executor or Executor(self._server.dispatcher, loop)
        done = self._refusal(client, call) or await self._executor.run(call)
        assert done is not None  # only cancelling this cancels the call
        client.receive(call.finish(done) or b"")
        if isinstance(done.outcome, InputRequired):
            client.running.receive_result(msgspec.json.decode(done.reply)["result"])
        return done

    def _refusal(self, client: LocalClient, call: RunningCall) -> Done | None:
        """Return the refusal of a call whose scopes the caller of the page lacks."""
        dispatcher, caller = self._server.dispatcher, client.caller
        scopes = dispatcher.scopes_for(call.request)
        if caller is None or caller.scopes.issuperset(scopes):
            return None
        return dispatcher.refuse(call, lacking_scopes(scopes))

    def _note(self, request: Request, done: Done, seconds: float, caller: Caller | None) -> None:
        if self._access is not None:
            name = request.name if request.name in self._server.tools else "?"
            soon = asyncio.get_running_loop().call_soon
            self._access.note(name, outcome_label(done.outcome), seconds, soon, caller)


def _outcome(request: Request, tool: Tool, arguments: bytes, outcome: Outcome) -> Outcome:
    """Return the outcome for this caller: revisions differ in errors and capabilities."""
    adapted: Outcome | BaseException = outcome
    problem = _argument_problem(tool, arguments)
    if problem is not None:
        adapted = outcome_of_arguments(problem, request.revision)
    elif isinstance(outcome, InputRequired):
        lacking = _missing_capability(request, outcome)
        if lacking is not None:
            adapted = outcome_of(lacking, request.revision)
    assert not isinstance(adapted, BaseException) or isinstance(adapted, Problem | InputRequired)
    return adapted


def _missing_capability(request: Request, asking: InputRequired) -> MissingCapability | None:
    """Return the capability that the client's revision lacks for these questions, if any."""
    needed = (
        question.lacks(request.client.capabilities, request.revision)
        for question in asking.questions.values()
    )
    missing = next((each for each in needed if each is not None), None)
    return None if missing is None else MissingCapability(missing)


def _upstream_reply(forwarded: ForwardedResult) -> UpstreamReply:
    """Return the reply of an upstream for the page, cut if it is large."""
    raw = forwarded.raw
    return UpstreamReply(
        forwarded.server,
        forwarded.tool,
        raw[:_UPSTREAM_BYTES].decode(errors="replace"),
        len(raw),
        forwarded.replies,
        forwarded.changed,
        is_truncated=len(raw) > _UPSTREAM_BYTES,
    )


def _argument_problem(tool: Tool, arguments: bytes) -> Problem | None:
    try:
        tool.bind(arguments)
    except Problem as problem:
        return problem
    return None
