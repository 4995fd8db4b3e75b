"""`Link`: one connection to an upstream, whose messages go to the calls that they belong to."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping
from math import inf
from typing import Any, Final

from accord.client import Reply, TimedOut
from accord.client.dispatcher import MessageLog
from accord.client.messages import Direction, Response
from accord.client.peer import Peer, connect
from accord.client.subscription import LISTS, UPDATED, change_of, params_of
from accord.errors import METHOD_NOT_FOUND, ContractError, PeerError
from accord.gateway.calls import ForwardedCall, Log, Progress
from accord.gateway.questions import METHODS, question_of
from accord.gateway.spec import UpstreamSpec
from accord.model.changes import Change
from accord.model.context import LEVELS
from accord.revisions import REVISIONS, Revision

MAX_REPLY: Final = 16 * 1024 * 1024
"""Bytes of one message of an upstream."""
_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
_LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
_CALL: Final = ("name", "arguments", "_meta")
_NO_CALL: Final = {"error": {"code": METHOD_NOT_FOUND, "message": "No call is open"}}
_TOO_MANY: Final = {"error": {"code": METHOD_NOT_FOUND, "message": "Too many requests are open"}}

_LISTEN_AGAIN: Final = 1.0
"""Seconds between two subscriptions."""
_MAX_EARLY: Final = 10
_EARLY_SECONDS: Final = 2.0
"""Time for the first call of a session to begin, which an early question waits for."""


class _NoLog(MessageLog):
    """A log that keeps nothing: a gateway would never show it."""

    def add(self, direction: Direction, raw: bytes) -> None:
        """Drop a message."""


OnChange = Callable[[Change], None]


class Link:
    """A connection to an upstream: of the handshake era, a session with certain capabilities.

    Progress belongs to a call by its token. Logs and questions belong to the call on whose HTTP
    response they come; over stdio the protocol does not say, and the newest open call gets them:
    all calls of a session are of one caller.
    """

    def __init__(self, peer: Peer, stack: contextlib.AsyncExitStack) -> None:
        self.peer = peer
        self.revision: Revision = REVISIONS[peer.revision]
        """The negotiated revision."""
        self.used: float = asyncio.get_running_loop().time()
        """When the last call began or ended."""
        self.calls: dict[int, ForwardedCall] = {}
        """The open calls, by the id of their request."""
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.unanswered = 0
        """Requests in a row that were not answered in time."""
        self.next_probe: float | None = None
        """When it is asked whether it answers again; None while it takes requests."""
        self._stack = stack
        self._tasks: set[asyncio.Task[None]] = set()
        self._tokens: dict[str, ForwardedCall] = {}
        self._early: list[dict[str, Any]] = []
        """Questions that have come before the first call of the session."""
        self._level: str | None = None
        self._level_lock = asyncio.Lock()
        peer.dispatcher.log = _NoLog()
        peer.dispatcher.watchers.add(self.lost)

    @property
    def is_lost(self) -> bool:
        """True once the upstream has exited or closed the connection."""
        return self.lost.done()

    async def answers(self, seconds: float) -> bool:
        """True if the upstream replies to anything; raise Disconnected if it is gone."""
        method = "server/discover" if self.revision.stateless else "ping"
        try:
            await self.peer.request(method, {}, within=seconds)
        except TimedOut:
            return False
        return True

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run what has to be done for a call that has ended."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Close the connection, and end the process."""
        self.peer.dispatcher.watchers.discard(self.lost)
        if not self.lost.done():
            self.lost.cancel()
        elif not self.lost.cancelled():
            self.lost.exception()
        for task in self._tasks:
            task.cancel()
        await self._stack.aclose()

    async def request(
        self,
        call: ForwardedCall,
        method: str,
        params: Mapping[str, Any],
        *,
        seconds: float,
        wants_progress: bool,
        level: str | None,
        capabilities: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send the request of a call, which gets the messages of the upstream meanwhile."""
        if level is not None and not self.revision.stateless:
            await self._set_level(level)
        meta = dict(params.get("_meta", {}))
        if self.revision.stateless:
            meta[_CAPABILITIES] = capabilities
            meta |= {} if level is None else {_LOG_LEVEL: level}
        if wants_progress:
            meta["progressToken"] = call.id
            self._tokens[call.id] = call
        ids: list[int] = []

        def start(request_id: int) -> None:
            ids.append(request_id)
            self.calls[request_id] = call
            early, self._early = self._early, []
            for question in early:
                self._ask(call, question)

        self.used = asyncio.get_running_loop().time()
        try:
            if meta:
                params = {**params, "_meta": meta}
            options: dict[str, Any] = {"within": seconds, "headers": headers, "on_start": start}
            if method != "tools/call":
                return await self.peer.request(method, params, **options)
            return await self.peer.call(**_call_of(params), **options)
        finally:
            if wants_progress:
                self._tokens.pop(call.id, None)
            for request_id in ids:
                del self.calls[request_id]
            self.used = asyncio.get_running_loop().time()

    async def _set_level(self, level: str) -> None:
        """Set the log level of the session, if it differs and the upstream has one."""
        if "logging" not in self.peer.capabilities:
            return
        async with self._level_lock:
            if level != self._level:
                params = {"level": level}
                with contextlib.suppress(PeerError):
                    await self.peer.request("logging/setLevel", params)
                    self._level = level
                    self.peer.session_state["logging/setLevel", ""] = params

    # Messages of the upstream

    def receive_notification(self, notification: dict[str, Any], on_change: OnChange) -> None:
        """Pass a notification to the call that it belongs to, or report a change."""
        params = params_of(notification)
        method = notification.get("method")
        if method == "notifications/progress":
            call = self._tokens.get(str(params.get("progressToken")))
            progress, message = _number(params.get("progress")), params.get("message")
            if call is not None and progress is not None:
                text = message if isinstance(message, str) else None
                call.add(Progress(progress, _number(params.get("total")), text))
        elif method == "notifications/message":
            call = self._call_of(self.peer.dispatcher.related_id)
            if call is not None and params.get("level") in LEVELS:
                logger = params.get("logger")
                name = logger if isinstance(logger, str) else None
                call.add(Log(params["level"], params.get("data"), name))
        elif method in LISTS or method == UPDATED:
            change = change_of(notification)
            if change is not None:
                on_change(change)

    def receive_request(self, request: dict[str, Any]) -> Response | None:
        """Pass a question to the call that it belongs to; refuse others."""
        call = self._call_of(self.peer.dispatcher.related_id)
        if request["method"] not in METHODS:
            return _NO_CALL
        if call is not None:
            return None if self._ask(call, request) else _TOO_MANY
        if len(self._early) >= _MAX_EARLY:
            return _NO_CALL
        self._early.append(request)
        asyncio.get_running_loop().call_later(_EARLY_SECONDS, self._refuse, request)
        return None

    def _refuse(self, request: dict[str, Any]) -> None:
        """Refuse a question if no call has begun since it came."""
        if request in self._early and not self.is_lost:
            self._early.remove(request)
            task = asyncio.ensure_future(self.peer.answer(request["id"], _NO_CALL))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _ask(self, call: ForwardedCall, request: dict[str, Any]) -> bool:
        question = question_of(request["method"], request.get("params"))

        async def respond(response: Mapping[str, Any]) -> None:
            await self.peer.answer(request["id"], response)

        return call.ask(question, respond)

    def _call_of(self, request_id: int | None) -> ForwardedCall | None:
        if request_id is not None and request_id in self.calls:
            return self.calls[request_id]
        if len({call.principal for call in self.calls.values()}) != 1:
            return None  # not to another caller
        return self.calls[max(self.calls)]

    async def listen(self, wanted: Mapping[str, Any]) -> None:
        """Receive changes, in the stateless era, until the connection ends.

        An upstream may end a subscription earlier, for example as the token has expired.
        """
        params = {"notifications": wanted}
        while not self.is_lost:
            reply = await self.peer.request("subscriptions/listen", params, within=inf)
            if reply.error is not None:
                return
            await asyncio.sleep(_LISTEN_AGAIN)


def _call_of(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the params of a call as `Peer.call` takes them."""
    others = {name: each for name, each in params.items() if name not in _CALL}
    return {
        "tool": params["name"],
        "arguments": params["arguments"],
        "meta": params.get("_meta"),
        "answers": others,
    }


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and abs(value) < inf else None


class NotConnected(PeerError):
    """A connection to an upstream could not be opened: no request was sent."""


async def open_link(
    spec: UpstreamSpec, capabilities: Mapping[str, Any], on_change: OnChange, revision: str | None
) -> Link:
    """Connect to an upstream; raise NotConnected if that fails."""
    try:
        return await _open_link(spec, capabilities, on_change, revision)
    except (PeerError, ContractError) as error:
        raise NotConnected(str(error)) from error


async def _open_link(
    spec: UpstreamSpec, capabilities: Mapping[str, Any], on_change: OnChange, revision: str | None
) -> Link:
    stack = contextlib.AsyncExitStack()
    link: Link | None = None

    def receive(notification: dict[str, Any]) -> None:
        if link is not None:
            link.receive_notification(notification, on_change)

    def answer(request: dict[str, Any]) -> Response | None:
        return _NO_CALL if link is None else link.receive_request(request)

    peer = await stack.enter_async_context(
        connect(
            spec.target,
            **spec.connection,
            timeout=spec.timeout,
            revision=revision or spec.revision,
            capabilities=capabilities,
            on_notification=receive,
            on_request=answer,
            max_bytes=MAX_REPLY,
        )
    )
    link = Link(peer, stack)
    return link
