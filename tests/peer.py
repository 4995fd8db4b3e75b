"""A client in the same process as its server: no pipes, no threads, and every message checked."""

import itertools
import json
from collections.abc import Mapping
from typing import Any

import wire
from accord import Server
from accord.protocol import Call, Cancel, Overlong
from accord.serve import blocking
from stdio_peer import CLIENT_INFO, META, modern_params
from wire import Message, RequestId

MEANINGLESS = object()


def request(method: Any, params: Any = MEANINGLESS, id: Any = 1) -> Message:
    """A request, right or wrong; params that are not given are left out."""
    return {"jsonrpc": "2.0", "id": id, **notification(method, params)}


def notification(method: Any, params: Any = MEANINGLESS) -> Message:
    """A notification, right or wrong."""
    given = {} if params is MEANINGLESS else {"params": params}
    return {"jsonrpc": "2.0", "method": method, **given}


class Peer:
    """Speaks to one connection of `server`, and holds each reply against `wire.check`.

    With a `revision` it has already begun as that revision begins: with `initialize`, or with
    nothing; `ask` then words requests as the revision wants them.
    """

    def __init__(self, server: Server, revision: str | None = None) -> None:
        self.revision = revision
        self.open: list[Call] = []
        self.stopped: list[Call] = []
        self._server = server
        self._connection = server.connect()
        self._asked: dict[int, _Asked] = {}
        self._ids = itertools.count(1)
        if revision in wire.HANDSHAKE_PROTOCOL_VERSIONS:
            self.initialize(revision)

    def initialize(self, revision: str) -> Message:
        """Do the handshake; `revision` is then the agreed one."""
        params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT_INFO}
        (reply,) = self.send(request("initialize", params, id="initialize"))
        assert isinstance(reply, dict)
        self.revision = reply["result"]["protocolVersion"]
        return reply

    def ask(
        self, method: str, params: Mapping[str, Any] | None = None, id: RequestId | None = None
    ) -> Message:
        """The one reply to a request, which carries the id of the request."""
        identity = next(self._ids) if id is None else id
        (reply,) = self.send(self.worded(method, params, identity))
        assert isinstance(reply, dict)
        assert reply["id"] == identity
        return reply

    def call(self, name: str, /, **arguments: Any) -> Message:
        """The reply to `tools/call`."""
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def worded(self, method: str, params: Mapping[str, Any] | None, id: RequestId) -> Message:
        """A request as the revision in force has it."""
        if self.revision == wire.STATELESS:
            return request(method, modern_params(params), id)
        return request(method, MEANINGLESS if params is None else params, id)

    def send(self, message: Any) -> list[Message | list[Message]]:
        """All replies to a message, with the calls that it starts run to their end."""
        before = len(self.open)
        replies = self.receive(message)
        finished = [self.finish(call) for call in self.open[before:]]
        return replies + [reply for reply in finished if reply is not None]

    def receive(self, message: Any) -> list[Message | list[Message]]:
        """The replies to a message that come at once; calls that it starts stay `open`."""
        raw = message if isinstance(message, bytes | Overlong) else json.dumps(message).encode()
        asked = _Asked(raw, self.revision)
        replies = []
        for event in self._connection.receive(raw):
            if isinstance(event, bytes):
                replies.append(asked.checked(event))
            elif isinstance(event, Cancel):
                self.stopped.append(event.call)
            else:
                self.open.append(event)
                self._asked[id(event)] = asked
        return replies

    def finish(self, call: Call) -> Message | list[Message] | None:
        """Run a call that is open to its end; the reply, if one is due now."""
        self.open.remove(call)
        reply = self._connection.finish(call, blocking.run(self._server, call))
        return None if reply is None else self._asked[id(call)].checked(reply)


class _Asked:
    """What a message asked for, as far as it can be read, so that its replies can be checked."""

    def __init__(self, raw: bytes | Overlong, revision: str | None) -> None:
        try:
            value = json.loads(raw) if isinstance(raw, bytes) else None
        except (ValueError, RecursionError):
            value = None
        members = value if isinstance(value, list) else [value]
        requests = [m for m in members if isinstance(m, dict) and type(m.get("id")) in (int, str)]
        self._methods = {m["id"]: m["method"] for m in requests if type(m.get("method")) is str}
        self._revision = _revision_named_by(value) or revision

    def checked(self, reply: bytes) -> Message | list[Message]:
        value: Message | list[Message] = wire.decode(reply)
        is_begin = isinstance(value, dict) and self._methods.get(value["id"]) == "initialize"
        method = "initialize" if is_begin else self._methods
        revision = self._revision
        if not is_begin and revision not in wire.REVISIONS:
            revision = None
        return wire.check(reply, revision=revision, method=method)


def _revision_named_by(message: Any) -> str | None:
    """What `initialize` asks for, or the era that `_meta` says it is written in."""
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict):
        return None
    if message.get("method") == "initialize" and isinstance(params.get("protocolVersion"), str):
        return params["protocolVersion"]
    meta = params.get("_meta")
    return wire.STATELESS if isinstance(meta, dict) and f"{META}/protocolVersion" in meta else None
