"""A server by URL or command line: called over its transport, messages kept as received."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import count
from math import inf
from time import perf_counter
from typing import Any, Final

import msgspec

from accord.auth.sign_in import Auth, SignIn
from accord.client.messages import Disconnected, Message, Reply, mcp_error, parse_messages
from accord.client.peer import Peer, connect
from accord.client.subscription import SUBSCRIPTION_ID, Subscription
from accord.errors import METHOD_NOT_FOUND, ContractError, MCPError, PeerError
from accord.inspector.call_stats import CallStats
from accord.inspector.history import History
from accord.inspector.reports import ReceivedReply, read_reply, render_reply
from accord.inspector.running_calls import InspectorCall, WaitingCalls
from accord.inspector.target import (
    CLIENT_CAPABILITIES,
    INPUT_REQUIRED,
    TASK_CAPABILITIES,
    TASK_TTL,
    CallRecord,
    CallRequest,
    Direction,
    InputRequest,
    InputResponse,
    OnMessage,
    RenderOptions,
    ServerRequest,
    WireMessage,
)
from accord.model.answer import FieldError
from accord.model.arguments import Checker
from accord.model.changes import KINDS
from accord.profiles import PROFILES
from accord.reader.reading import to_json
from accord.revisions import NEWEST, REVISIONS
from accord.serve.http.access import Noted
from accord.telemetry import OutcomeLabel

MAX_MESSAGE: Final = 16 * 1024 * 1024
"""Maximum bytes of a message of the server."""
_NO_USER: Final = {"error": {"code": -1, "message": "No user is available to answer"}}
_DEFAULT_RESPONSES: Final[Mapping[str, dict[str, Any]]] = {
    "roots/list": {"result": {"roots": []}},
    "elicitation/create": {"result": {"action": "cancel"}},
}
_MAX_MESSAGES: Final = 200  # shown per call
_MESSAGE_BYTES: Final = 64 * 1024  # shown per message
_TOTAL_BYTES: Final = 1024 * 1024  # shown of all messages but the reply
_MAX_INPUT_REQUESTS: Final = 20  # open at once; further ones get the default response
_INPUT_REQUEST_BYTES: Final = 256 * 1024
_INPUT_DELAY: Final = 0.3  # seconds for a call to end before its input requests are shown
_MAX_REPLY: Final = 4 * 1024 * 1024  # bytes of the reply to a request that is not a call
_META: Final = "io.modelcontextprotocol"
_LISTS: Final = {
    "prompts": ("prompts", "prompts/list"),
    "resources": ("resources", "resources/list"),
    "resourceTemplates": ("resources", "resources/templates/list"),
}
"""The capability and the method of each list."""


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    progress_token: Any = None


class _Params(msgspec.Struct, frozen=True, rename="camel"):
    progress_token: Any = None
    meta: _Meta = msgspec.field(default=_Meta(), name="_meta")


class _Frame(msgspec.Struct, frozen=True):
    """The members of a message that tell which call it belongs to."""

    id: Any = None
    method: Any = None
    params: _Params = _Params()

    @property
    def token(self) -> Any:
        return self.params.progress_token

    @property
    def sent_token(self) -> Any:
        return self.params.meta.progress_token


_decode = msgspec.json.Decoder(_Frame).decode


class RemoteCall(InspectorCall[Reply]):
    """One call of a remote server; its progress token identifies its messages."""

    def __init__(self, request: CallRequest, peer: Peer, token: str, on_message: OnMessage) -> None:
        super().__init__(request)
        self.on_message = on_message
        self.peer = peer
        self.token = token
        self._before = peer.messages[-1] if peer.messages else None
        self._server_requests: list[Any] = []

    async def send(self, answers: Mapping[str, Any] | None = None) -> Reply:
        """Send the call, with input responses if it is repeated."""
        request, meta = self.request, self._meta()
        more = dict(answers or {})
        if request.as_task and not self._is_stateless:
            more["task"] = {"ttl": TASK_TTL}
        params = request.params
        if "arguments" in params:
            params["arguments"] = msgspec.json.decode(request.arguments)
        if request.method == "tools/call":
            return await self.peer.call(
                request.tool, params["arguments"], meta=meta, answers=more or None
            )
        return await self.peer.request(request.method, {**params, "_meta": meta, **more})

    @property
    def _is_stateless(self) -> bool:
        return REVISIONS[self.peer.revision].stateless

    def _meta(self) -> dict[str, Any]:
        meta: dict[str, Any] = {"progressToken": self.token}
        if self._is_stateless and self.request.log_level is not None:
            meta[f"{_META}/logLevel"] = self.request.log_level
        if self._is_stateless and self.request.as_task:
            meta[f"{_META}/clientCapabilities"] = TASK_CAPABILITIES
        return meta

    def receive_request(self, request: Mapping[str, Any]) -> bool:
        """Add an input request of the server; return False if there are too many."""
        request_id = request["id"]
        self._server_requests.append(request_id)
        key, method = json.dumps(request_id), str(request["method"])
        self.add_input_request(InputRequest(key, method, request.get("params", {})))
        return key in self.input_requests

    def add_input_request(self, input_request: InputRequest) -> None:
        """Add an input request, unless there are too many or it is too large."""
        if (
            len(self.input_requests) < _MAX_INPUT_REQUESTS
            and len(to_json(input_request)) <= _INPUT_REQUEST_BYTES
        ):
            super().add_input_request(input_request)

    async def wait(self) -> Reply | None:
        """Return the reply, or None if the call asks for input.

        An input request may have nothing to do with this call, which then ends soon.
        """
        reply = await super().wait()
        if reply is None and await self.ends_within(_INPUT_DELAY):
            reply = await super().wait()
        return reply

    async def reply(self, answers: Mapping[str, InputResponse]) -> None:
        """Send input responses as messages."""
        for key, response in answers.items():
            if key in self.input_requests:
                self.close(key)
                await self.peer.answer(json.loads(key), response.reply)

    async def send_defaults(self) -> None:
        """Send default responses to what is still open after the call."""
        for key, input_request in list(self.input_requests.items()):
            self.close(key)
            await self.peer.answer(json.loads(key), default_response(input_request.method))

    def messages(self, reply: Reply | None, *, is_whole: bool) -> tuple[list[WireMessage], int]:
        """Return the messages of this call, and how many are left out.

        The last is the reply and may be whole; the others share a byte limit.
        """
        since = [(message, _frame(message)) for message in self._since()]
        request_ids = [frame.id for message, frame in since if self._is_request(message, frame)]
        if reply is not None:  # its request may no longer be in the log
            request_ids.append(reply.message.get("id"))
        about = [message for message, frame in since if self._belongs(message, frame, request_ids)]
        shown = about[:1] + about[1:][-_MAX_MESSAGES:]
        room = _TOTAL_BYTES
        found: list[WireMessage] = []
        for message in shown[:-1]:
            found.append(
                WireMessage.up_to(min(room, _MESSAGE_BYTES), _direction(message), message.raw)
            )
            room = max(room - len(message.raw), 0)
        for message in shown[-1:]:
            limit = len(message.raw) if is_whole else _MESSAGE_BYTES
            found.append(WireMessage.up_to(limit, _direction(message), message.raw))
        return found, len(about) - len(shown)

    def _is_request(self, message: Message, frame: "_Frame") -> bool:
        return message.direction == "sent" and frame.sent_token == self.token

    def _since(self) -> Sequence[Message]:
        """Return the messages since the call began; all, if the log no longer reaches back."""
        found: list[Message] = []
        for message in reversed(self.peer.messages):
            if message is self._before:
                break
            found.append(message)
        return found[::-1]

    def _belongs(self, message: Message, frame: "_Frame", request_ids: list[Any]) -> bool:
        if message.direction == "noise":
            return False
        if frame.id is None:
            return frame.token in (None, self.token)
        is_server_request = (message.direction == "received") == (frame.method is not None)
        return frame.id in (self._server_requests if is_server_request else request_ids)


def default_response(method: str) -> dict[str, Any]:
    """Return the response to an input request that no call shows."""
    return _DEFAULT_RESPONSES.get(method, _NO_USER)


def _direction(message: Message) -> Direction:
    return "sent" if message.direction == "sent" else "received"


def _frame(message: Message) -> _Frame:
    """Decode the members that identify a message, without its result."""
    try:
        return _decode(message.raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = parse_messages(message.raw)
        message_object = found[0][1] if found else {}
        params = _object(message_object.get("params"))
        meta = _object(params.get("_meta"))
        tokens = _Params(params.get("progressToken"), _Meta(meta.get("progressToken")))
        return _Frame(message_object.get("id"), message_object.get("method"), tokens)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


class RemoteTarget:
    """Calls a server by URL or command line. `open` it first, `aclose` it at the end."""

    def __init__(
        self,
        target: str | Sequence[str],
        *,
        label: str | None = None,
        headers: Mapping[str, str] | None = None,
        auth: Auth | None = None,
        revision: str | None = None,
        timeout: float = 30.0,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> None:
        self._label = label or (target if isinstance(target, str) else " ".join(target))
        self._url = target if isinstance(target, str) and "://" in target.split(" ")[0] else None
        self.auth = auth
        self._connect: Callable[[], AbstractAsyncContextManager[Peer]] = partial(
            connect,
            target,
            headers=headers or None,
            auth=auth,
            env=env,
            cwd=cwd,
            revision=revision,
            timeout=timeout,
            capabilities=CLIENT_CAPABILITIES,
            max_bytes=MAX_MESSAGE,
            on_request=self._on_request,
            on_notification=self._on_notification,
        )
        self.stats: CallStats = CallStats()
        self._tokens = (f"page-{number}" for number in count(1))
        self._opening = asyncio.Lock()
        self._stack = AsyncExitStack()
        self._peer: Peer | None = None
        self._schemas: dict[str, Any] = {}
        self._unsubscribing: set[asyncio.Task[Reply]] = set()
        self._history: History[CallRecord] = History()
        self._waiting_calls: WaitingCalls[RemoteCall] = WaitingCalls()
        self._running_calls: list[RemoteCall] = []
        self._listeners: dict[OnMessage, list[int]] = {}
        """The ids of the listening requests of each listener, in the stateless era."""
        self._failure = ""
        """Why the last attempt to connect has failed."""
        self._log_level: str | None = None
        self._sign_in_page: str | None = None

    async def open(self) -> None:
        """Connect to the server, or raise a PeerError."""
        await self.aclose()
        self._log_level = None
        try:
            self._peer = await self._stack.enter_async_context(self._connect())
        except PeerError as error:
            self._failure = str(error)
            raise
        finally:
            self._sign_in_page = None
        self._failure = ""

    async def aclose(self) -> None:
        """Close the connection; a command is ended."""
        self._peer = None
        await self._stack.aclose()

    def about(self) -> dict[str, Any]:
        """Return what the server reported about itself."""
        peer = self._peer
        return {
            "server": {} if peer is None else peer.server,
            "instructions": None if peer is None else peer.instructions,
            "kind": "remote",
            "isConnected": peer is not None,
            "failure": self._failure,
            "capabilities": {} if peer is None else peer.capabilities,
            "hasSignIn": self._sign_in is not None,
            "target": self._label,
            "revision": NEWEST.date if peer is None else peer.revision,
            "revisions": list(REVISIONS),
            "profile": None,
            "profiles": list(PROFILES),
        }

    def state(self) -> dict[str, Any]:
        """Return whether it is connected, why it is not, and the page of a sign-in under way."""
        return {
            "isConnected": self._peer is not None,
            "failure": self._failure,
            "signInPage": self._sign_in_page,
        }

    def announce_sign_in(self, url: str) -> None:
        """Show the page at which a person signs in, until the server is connected."""
        self._sign_in_page = url

    async def tools(self) -> list[dict[str, Any]]:
        """Return all tools, from every page of `tools/list`."""
        peer = await self._connected()
        try:
            tools = await peer.tools()
        except PeerError as error:
            self._drop(peer, error)
            raise
        self._schemas = {str(tool.get("name")): tool.get("inputSchema") for tool in tools}
        return tools

    async def features(self) -> dict[str, list[dict[str, Any]]]:
        """Return all prompts, resources and resource templates of the server."""
        return {key: await self._entries(key, *names) for key, names in _LISTS.items()}

    async def _entries(self, key: str, capability: str, method: str) -> list[dict[str, Any]]:
        """Return a list; empty if the server does not have it."""
        peer = await self._connected()
        if capability not in peer.capabilities:
            return []
        try:
            return await peer.entries(method, key)
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND:
                return []
            raise
        except PeerError as error:
            self._drop(peer, error)
            raise

    async def request(self, request: ServerRequest) -> bytes:
        """Return the reply to a request that is not a call."""
        peer = await self._connected()
        params = dict(request.params)
        if request.is_for_task and REVISIONS[peer.revision].stateless:
            params["_meta"] = {f"{_META}/clientCapabilities": TASK_CAPABILITIES}
        try:
            reply = await peer.request(request.method, params)
        except PeerError as error:
            self._drop(peer, error)
            raise
        if len(reply.raw) > _MAX_REPLY:
            raise PeerError(f"the reply to {request.method} has more than {_MAX_REPLY} bytes")
        return reply.raw

    async def listen(
        self, uris: Sequence[str], on_message: OnMessage, on_ready: Callable[[], None]
    ) -> None:
        """Pass on notifications until this is cancelled, or the server has ended.

        It does not connect: a server that ends at once would be restarted for ever.
        """
        peer = self._peer
        if peer is None:
            raise PeerError("the server is not connected")
        lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        peer.dispatcher.watchers.add(lost)
        requests = self._listeners[on_message] = []
        listen = self._listen_stateless if REVISIONS[peer.revision].stateless else self._subscribe
        try:
            async with listen(peer, uris, requests):
                if not REVISIONS[peer.revision].stateless:  # else its acknowledgement tells
                    on_ready()
                await lost
        except Disconnected as error:
            self._drop(peer, error)
            raise
        finally:
            del self._listeners[on_message]
            peer.dispatcher.watchers.discard(lost)
            lost.cancel()

    @asynccontextmanager
    async def _listen_stateless(
        self, peer: Peer, uris: Sequence[str], requests: list[int]
    ) -> AsyncIterator[None]:
        """Listen by a request that stays open; a server without it tells nothing."""
        params = {"notifications": Subscription(tuple(uris), KINDS).wanted}
        request = peer.request("subscriptions/listen", params, within=inf, on_start=requests.append)
        task = asyncio.ensure_future(request)
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    @asynccontextmanager
    async def _subscribe(
        self, peer: Peer, uris: Sequence[str], _: list[int]
    ) -> AsyncIterator[None]:
        """Subscribe to resources by requests of the handshake era."""
        await peer.listening()
        for uri in uris:
            reply = await peer.request("resources/subscribe", {"uri": uri})
            if reply.error is not None:
                raise mcp_error(f"subscribing to {uri}", reply.error)
        try:
            yield
        finally:
            for uri in uris:  # without waiting: the server may be gone
                self._forget(peer, uri)

    def _forget(self, peer: Peer, uri: str) -> None:
        task = asyncio.ensure_future(peer.request("resources/unsubscribe", {"uri": uri}))
        self._unsubscribing.add(task)
        task.add_done_callback(self._forgotten)

    def _forgotten(self, task: "asyncio.Task[Reply]") -> None:
        self._unsubscribing.discard(task)
        if not task.cancelled():
            task.exception()

    def _on_notification(self, notification: dict[str, Any]) -> None:
        """Pass a notification to the call that it belongs to, else to all who listen."""
        method, params = notification.get("method"), _object(notification.get("params"))
        raw = to_json(notification)
        if method == "notifications/progress":
            for call in self._running_calls:
                if call.token == params.get("progressToken"):
                    call.on_message(raw)
        elif method == "notifications/message" and self._running_calls:
            self._running_calls[-1].on_message(raw)
        else:
            request_id = _object(params.get("_meta")).get(SUBSCRIPTION_ID)
            for on_message, requests in self._listeners.items():
                if request_id is None or request_id in requests:
                    on_message(raw)

    def upstreams(self) -> dict[str, Any]:
        """Return nothing: the upstreams of a gateway elsewhere are not known."""
        return {}

    # Sign-in

    @property
    def _sign_in(self) -> SignIn | None:
        return self.auth if isinstance(self.auth, SignIn) else None

    async def sign_in(self) -> None:
        """Sign in anew, whatever is stored, and connect again."""
        if self._sign_in is None or self._url is None:
            raise ContractError("this server has no sign-in; only a server at a URL has one")
        try:
            await self._sign_in.sign_in(self._url)
        finally:
            self._sign_in_page = None
        await self.reconnect()

    async def sign_out(self) -> None:
        """Forget the sign-in, and close the connection."""
        if self._sign_in is None or self._url is None:
            raise ContractError("this server has no sign-in; only a server at a URL has one")
        await self._sign_in.sign_out(self._url)
        async with self._opening:
            await self.aclose()
        self._failure = "you have signed out"

    def schema(self, tool: str) -> dict[str, Any] | None:
        """Return the input schema of a tool, as last listed."""
        schema = self._schemas.get(tool)
        return schema if isinstance(schema, dict) else None

    async def check(self, request: CallRequest) -> Sequence[FieldError]:
        """Check arguments against the tool's schema; an invalid schema finds no errors."""
        schema = self.schema(request.tool)
        if schema is None:
            return ()
        try:
            return Checker(schema).errors(msgspec.json.decode(request.arguments))
        except ContractError:
            return ()

    async def call(self, request: CallRequest, on_message: OnMessage) -> tuple[int, CallRecord]:
        """Call a tool, or get a prompt or resource, in the negotiated revision."""
        peer = await self._connected()
        await self._set_log_level(peer, request.log_level)
        call = RemoteCall(request, peer, next(self._tokens), on_message)
        call.begin(self._run(call))
        return await self._continue(call)

    async def _set_log_level(self, peer: Peer, level: str | None) -> None:
        """Set the level of a session; in the stateless era each request has its own."""
        if level in (None, self._log_level) or REVISIONS[peer.revision].stateless:
            return
        if "logging" in peer.capabilities:
            await peer.request("logging/setLevel", {"level": level})
        self._log_level = level

    async def answer(
        self, number: int, answers: Mapping[str, InputResponse], on_message: OnMessage
    ) -> tuple[int, CallRecord] | None:
        """Continue a call that waits, or repeat it with the responses."""
        call = self._waiting_calls.take(number)
        if call is None:
            return None
        call.on_message = on_message
        if REVISIONS[call.peer.revision].stateless:
            call.begin(self._run(call, call.responses(answers)))
        else:
            await call.reply(answers)
        return await self._continue(call)

    def abandon(self, number: int) -> None:
        """Cancel a call that waits."""
        self._waiting_calls.abandon(number)

    async def _run(self, call: RemoteCall, answers: Mapping[str, Any] | None = None) -> Reply:
        began = perf_counter()
        self._running_calls.append(call)
        try:
            reply = await call.send(answers)
        except PeerError as error:
            if call.request.method == "tools/call":
                self._note((call.request.tool, "unavailable", perf_counter() - began, None))
            self._drop(call.peer, error)
            raise
        finally:
            self._running_calls.remove(call)
            self._sign_in_page = None
        call.receive_result(reply.result)
        return reply

    async def _continue(self, call: RemoteCall) -> tuple[int, CallRecord]:
        """Run a call to its end or to its next input request."""
        reply = await call.wait()
        if reply is not None and not REVISIONS[call.peer.revision].stateless:
            await call.send_defaults()
        raw = INPUT_REQUIRED if reply is None else reply.raw
        request = call.request
        report = await read_reply(self._received(request, raw))
        if reply is not None and request.method == "tools/call":
            ending: OutcomeLabel = "internal" if report.is_failure else "success"
            self._note((request.tool, ending, call.seconds, None))
        messages, omitted = call.messages(
            reply, is_whole=reply is not None and not report.is_oversized
        )
        record = CallRecord(
            tool=request.tool,
            arguments=request.arguments,
            messages=messages,
            reply=raw,
            report=report,
            seconds=call.seconds,
            revision=call.peer.revision,
            input_requests=tuple(call.input_requests.values()),
            omitted=omitted,
        )
        number = self._history.add(record, 2 * len(raw) + len(report.json))
        if call.input_requests:
            self._waiting_calls.add(number, call)
        return number, record

    def _on_request(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Assign a request of the server to the latest call, or send the default response."""
        if self._running_calls and self._running_calls[-1].receive_request(request):
            return None
        return default_response(str(request["method"]))

    async def render(self, number: int, options: RenderOptions) -> CallRecord | None:
        """Return the answer as the server sent it, or rendered in a profile."""
        record = self._history.get(number)
        if record is None or options.profile is None:
            return record
        date = options.revision or record.revision
        received = ReceivedReply(record.reply, record.tool, bytes(record.arguments))
        rendered = await render_reply(received, options.profile, date)
        sent = [message for message in record.messages if message.direction == "sent"]
        return msgspec.structs.replace(
            record,
            messages=[*sent, WireMessage.of("received", rendered.raw)],
            reply=rendered.raw,
            report=rendered.report,
            revision=date,
            is_rendered=True,
        )

    def _received(self, request: CallRequest, raw: bytes) -> ReceivedReply:
        schema = to_json(self.schema(request.tool))
        return ReceivedReply(raw, request.tool, bytes(request.arguments), schema)

    async def reconnect(self) -> None:
        """Close the connection and open a new one."""
        async with self._opening:
            await self.open()

    async def _connected(self) -> Peer:
        """Return the connection; reconnect if the server has ended."""
        async with self._opening:
            if self._peer is None:
                await self.open()
            assert self._peer is not None
            return self._peer

    def _drop(self, peer: Peer, error: PeerError) -> None:
        """Drop the connection if the server has ended and it is still the current one."""
        if isinstance(error, Disconnected) and self._peer is peer:
            self._peer = None

    def _note(self, noted: Noted) -> None:
        self.stats.add([noted])
