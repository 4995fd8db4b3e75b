"""A client in the same process as its server: no pipes, no threads, and every message checked."""

import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any

import wire
from accord import Server
from accord.protocol import Cancel, Overlong, Request
from accord.serve.call import RunningCall
from accord.serve.executor import run_blocking
from stdio_peer import CLIENT_INFO, META, modern_params
from wire import Message, RequestId

ABSENT = ...
ASKED_BY = "dev.accord-mcp/profile"

Reply = Any
"""A message; a list of them where it answers a batch."""


def notification(method: Any, params: Any = ABSENT) -> Message:
    """A notification, right or wrong; params that are not given are left out."""
    given = {} if params is ABSENT else {"params": params}
    return {"jsonrpc": "2.0", "method": method, **given}


def request(method: Any, params: Any = ABSENT, id: Any = 1) -> Message:
    """A request, right or wrong."""
    return {**notification(method, params), "id": id}


def asking(profile: str | None) -> Message:
    """The capabilities of a client that asks for a profile, or for none."""
    return {} if profile is None else {"extensions": {ASKED_BY: {"name": profile}}}


class Peer:
    """Speaks to one connection of `server`, and holds each reply against `wire.check`.

    With a `revision` it has begun as that revision begins, with `initialize` or with nothing, and
    `ask` words requests as that revision has them. `capabilities` are what it says it can do.
    """

    def __init__(
        self,
        server: Server,
        revision: str | None = None,
        capabilities: Mapping[str, Any] | None = None,
    ) -> None:
        self.revision = revision
        self.capabilities = dict(capabilities or {})
        self.said: list[Message] = []
        """Messages that were sent before results, in order."""
        self.principal: bytes | None = None
        """The sender, as an HTTP server would know it."""
        self.open: list[Request] = []
        self.stopped: list[Request] = []
        self._server = server
        self._connection = server.dispatcher.connect()
        self._asked: dict[Request, _RequestInfo] = {}
        self._running: dict[Request, RunningCall] = {}
        self._ids = itertools.count(1)
        if revision not in (None, wire.STATELESS):
            self.initialize(revision)

    def initialize(self, revision: str | None) -> Message:
        """Do the handshake; the agreed revision is then in force."""
        params = {
            "protocolVersion": revision,
            "capabilities": self.capabilities,
            "clientInfo": CLIENT_INFO,
        }
        (reply,) = self.send(request("initialize", params, id="initialize"))
        return dict(reply)

    def ask(
        self, method: str, params: Mapping[str, Any] | None = None, id: RequestId | None = None
    ) -> Message:
        """The one reply to a request; it carries the request's id."""
        message = self.worded(method, params, next(self._ids) if id is None else id)
        (reply,) = self.send(message)
        assert reply["id"] == message["id"]
        return dict(reply)

    def call(self, name: str, /, **arguments: Any) -> Message:
        """The reply to a call of one tool."""
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def worded(self, method: str, params: Mapping[str, Any] | None, id: RequestId) -> Message:
        """A request as the revision in force has it."""
        if self.revision == wire.STATELESS:
            return request(method, modern_params(params, capabilities=self.capabilities), id)
        return request(method, ABSENT if params is None else params, id)

    def send(self, message: Any) -> list[Reply]:
        """All replies to a message; the calls that it starts are run to their end."""
        before = len(self.open)
        replies = self.receive(message)
        finished = [self.finish(call) for call in self.open[before:]]
        return replies + [reply for reply in finished if reply is not None]

    def receive(self, message: Any) -> list[Reply]:
        """The replies that a message gets at once; the calls that it starts stay open."""
        raw = message if isinstance(message, bytes | Overlong) else json.dumps(message).encode()
        asked = _RequestInfo(raw, self.revision, self._profile_of)
        replies = []
        for event in self._connection.receive(raw):
            if isinstance(event, bytes):
                replies.append(asked.checked(event))
            elif isinstance(event, Cancel):
                self.stopped.append(event.request)
                if event.request in self._running:
                    self._running[event.request].cancel()
                if event.reply is not None:
                    replies.append(self._asked[event.request].checked(event.reply))
            elif isinstance(event, Request):
                self.open.append(event)
                self._asked[event] = asked
        if asked.begins and "result" in replies[0]:
            self.revision = replies[0]["result"]["protocolVersion"]
            self.capabilities = asked.capabilities
        return replies

    def finish(self, request: Request) -> Reply:
        """Run an open call to its end; its reply, or None if none is due by now."""
        self.open.remove(request)
        asked = self._asked.pop(request)
        call = RunningCall(request, self._connection, _Edge(self, asked))
        self._running[request] = call
        reply = call.finish(run_blocking(self._server.dispatcher, call))
        del self._running[request]
        return None if reply is None else asked.checked(reply)

    def _profile_of(self, message: Message) -> str | None:
        """The profile that answers a call; None where that takes more than a look."""
        params = message.get("params")
        if not isinstance(params, dict):
            return None
        meta = params.get("_meta")
        own = meta.get(f"{META}/clientCapabilities") if isinstance(meta, dict) else None
        capabilities = self.capabilities if own is None else own
        for profile in wire.PROFILES:
            if capabilities == asking(profile):
                return profile
        name = params.get("name")
        tool = self._server.tools.get(name) if isinstance(name, str) else None
        if capabilities or tool is None:
            return None
        return tool.profile or self._server.profile.name


class _Edge:
    """The channel for messages of a call before its result. Nothing can be waited for."""

    def __init__(self, peer: Peer, asked: "_RequestInfo") -> None:
        self.sender = None
        self.principal = peer.principal
        self.caller = None
        self.address: str | None = None
        self._peer = peer
        self._asked = asked

    def push(self, message: bytes) -> None:
        self._peer.said.append(self._asked.checked(message))

    def tell(self, change: bytes) -> None:
        self.push(change)

    def detach(self, seconds: float) -> None:
        raise AssertionError("there is nothing to come back to")

    async def ask(self, call: RunningCall, questions: Mapping[str, Any]) -> dict[str, bytes]:
        raise AssertionError("nobody would answer")

    async def hold(self, call: RunningCall, wanted: Any) -> None:
        """End at once."""


class _RequestInfo:
    """The method and revision of a message, as far as it can be read."""

    def __init__(
        self,
        raw: bytes | Overlong,
        in_force: str | None,
        profile_of: Callable[[Message], str | None],
    ) -> None:
        try:
            value = json.loads(raw) if isinstance(raw, bytes) else None
        except (ValueError, RecursionError):
            value = None
        members = value if isinstance(value, list) else [value]
        requests = [m for m in members if isinstance(m, dict) and type(m.get("id")) in (int, str)]
        self._methods: dict[RequestId, Any] = {m["id"]: m.get("method") for m in requests}
        self._profiles = {m["id"]: profile_of(m) for m in requests}
        self.begins = [m.get("method") for m in requests] == ["initialize"]
        self.capabilities = _capabilities_named_by(value) if self.begins else {}
        self._revision = _revision_named_by(value) or in_force

    def checked(self, reply: bytes) -> Reply:
        methods: wire.Methods = "initialize" if self.begins else self._methods
        return wire.check(reply, revision=self._revision, method=methods, profile=self._profiles)


def _capabilities_named_by(message: Any) -> Message:
    params = message.get("params") if isinstance(message, dict) else None
    named = params.get("capabilities") if isinstance(params, dict) else None
    return named if isinstance(named, dict) else {}


def _revision_named_by(message: Any) -> str | None:
    """Return the revision of `initialize`, or that of `_meta`."""
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict):
        return None
    if message.get("method") == "initialize":
        asked = params.get("protocolVersion")
        return asked if isinstance(asked, str) else None
    meta = params.get("_meta")
    return wire.STATELESS if isinstance(meta, dict) and f"{META}/protocolVersion" in meta else None
