"""A client on the other side of HTTP: it talks to a server over sockets, and checks each message."""

import http.client
import itertools
import json
import re
import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from time import monotonic
from typing import Any, NamedTuple, Self

import commands
import wire
from stdio_peer import CLIENT_INFO, META, modern_params
from wire import Message, RequestId

UNSAID = "2025-03-26"
"""The revision of a client that names none."""

Headers = Mapping[str, str | Sequence[str] | None]
"""Headers to send instead of the usual ones: None for none at all, several for repeated ones."""

_NAMES_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_SERVING = re.compile(r"MCP at (http://\S+)")


class HttpServer:
    """Runs `command`, which serves over HTTP and says its URL on stderr. A context manager."""

    def __init__(
        self,
        command: list[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | PathLike[str] | None = None,
        url: re.Pattern[str] = _SERVING,
        timeout: float = 30,
    ) -> None:
        self._url = url
        self._command = command
        self._env = env
        self._cwd = cwd
        self._timeout = timeout
        self._lines: list[str] = []
        self._changed = threading.Condition()
        self._ended = False

    def __enter__(self) -> Self:
        self.process = commands.start(
            self._command, cwd=self._cwd, env=self._env, stderr=subprocess.PIPE
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.url = self.said(self._url)[1]
        self.host: str
        self.host, _, port = self.url.removeprefix("http://").partition("/")[0].rpartition(":")
        self.port = int(port)
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(self._timeout)
        if self.process.poll() is None:
            self.process.kill()
        self.wait()

    @property
    def stderr(self) -> str:
        """Text on stderr so far, without the line with the URL."""
        with self._changed:
            return "".join(line for line in self._lines if not self._url.search(line))

    def said(self, pattern: re.Pattern[str], count: int = 1) -> re.Match[str]:
        """The last of `count` matches on stderr, once they are there."""
        end = monotonic() + self._timeout
        with self._changed:
            while True:
                found = list(pattern.finditer("".join(self._lines)))
                if len(found) >= count:
                    return found[-1]
                if self._ended or not self._changed.wait(end - monotonic()):
                    raise TimeoutError(f"no {pattern.pattern!r} in stderr: {self._lines}")

    def wait(self, timeout: float = 30) -> int:
        """The exit code, once it has ended; `stderr` is whole by then."""
        code = self.process.wait(timeout)
        self._reader.join(timeout)
        return code

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            for line in stream:
                with self._changed:
                    self._lines.append(line.decode(errors="replace"))
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class Event(NamedTuple):
    """One event of a stream: its id, and the message it carries."""

    id: str | None
    message: Message


class Response:
    """A response: a status, headers, and messages that have been checked.

    A stream is read as far as a test asks for it.
    """

    def __init__(self, raw: http.client.HTTPResponse, asked: "_SentRequests") -> None:
        self._raw = raw
        self._asked = asked
        self.status = raw.status
        self.headers = raw.headers
        self.comments = 0
        self.is_stream = raw.headers.get_content_type() == "text/event-stream"
        self.body = b"" if self.is_stream else raw.read()
        self.messages: list[Any] = []
        if self.body and raw.headers.get_content_type() == "application/json" and asked.is_mcp:
            self.messages.append(asked.checked(self.body, raw.status))

    @property
    def message(self) -> Any:
        """The one message of a plain answer; a list of messages where it answers a batch."""
        assert len(self.messages) == 1, (self.status, self.body)
        return self.messages[0]

    @property
    def code(self) -> int:
        """The JSON-RPC code of an error."""
        return int(self.message["error"]["code"])

    @property
    def text(self) -> str:
        """The text of a call that succeeded."""
        return text_of(self.message)

    @property
    def events(self) -> Iterator[Event]:
        """The events of a stream as they come, to its end."""
        assert self.is_stream, (self.status, self.body)
        fields: dict[str, str] = {}
        while line := self._raw.readline():
            name, _, value = self._field(line)
            if line == b"\n":
                if fields.get("data"):
                    yield self._event(fields)
                fields = {}
            elif not name:
                self.comments += 1
            else:
                assert name in ("id", "data", "retry", "event"), line
                assert name not in fields, f"{name} comes twice in one event"
                fields[name] = value
        assert not fields, "an event ends with an empty line"

    def _field(self, line: bytes) -> tuple[str, str, str]:
        assert line.endswith(b"\n"), line
        assert b"\r" not in line, line
        return line[:-1].decode().partition(": " if b": " in line else ":")

    def _event(self, fields: dict[str, str]) -> Event:
        message = self._asked.checked(fields["data"].encode(), self.status)
        return Event(fields.get("id"), message)

    def next(self) -> Event:
        """The next event of a stream."""
        return next(self.events)

    def rest(self) -> list[Event]:
        """All events that are still to come, to the end of the stream."""
        return list(self.events)


class HttpPeer:
    """Speaks MCP with the server at a port, on one connection, as a client of one revision does.

    A context manager. In the handshake era it begins with `initialize`, unless told not to.
    Every message that comes is checked by `wire.check`.
    """

    def __init__(
        self,
        port: int,
        revision: str = wire.STATELESS,
        *,
        begin: bool = True,
        headers: Headers | None = None,
        path: str = "/mcp",
        host: str = "127.0.0.1",
        timeout: float = 30,
        capabilities: Mapping[str, Any] | None = None,
    ) -> None:
        self.revision = revision
        self.session: str | None = None
        self.capabilities = dict(capabilities or {})
        self.port = port
        self._usual = dict(headers or {})
        self._path = path
        self._host = host
        self._timeout = timeout
        self._ids = itertools.count(1)
        self._connection = self._connect()
        self._begin = begin and revision != wire.STATELESS

    def __enter__(self) -> Self:
        if self._begin:
            self.initialize()
            assert self.session is not None
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave, whatever is still under way."""
        self._connection.close()

    def again(self) -> "HttpPeer":
        """Return this client on a new connection."""
        other = HttpPeer(
            self.port,
            self.revision,
            begin=False,
            headers=self._usual,
            path=self._path,
            capabilities=self.capabilities,
        )
        other.session = self.session
        return other

    # Words

    def request(
        self, method: str, params: Mapping[str, Any] | None = None, id: RequestId | None = None
    ) -> Message:
        """A request as the revision words it."""
        identity = next(self._ids) if id is None else id
        message: Message = {"jsonrpc": "2.0", "id": identity, "method": method}
        if self.revision == wire.STATELESS:
            message["params"] = modern_params(params, capabilities=self.capabilities)
        elif params is not None:
            message["params"] = dict(params)
        return message

    def calling(self, tool: str, /, *, id: RequestId | None = None, **arguments: Any) -> Message:
        """A call as the revision words it."""
        return self.request("tools/call", {"name": tool, "arguments": arguments}, id)

    def watching(self, tool: str, /, *, token: RequestId = "t", **arguments: Any) -> Message:
        """A call that wants to hear of its progress."""
        meta = {"progressToken": token}
        return self.request("tools/call", {"name": tool, "arguments": arguments, "_meta": meta})

    def headers_for(self, message: Any) -> dict[str, str | Sequence[str] | None]:
        """The headers that a message goes with."""
        headers: dict[str, str | Sequence[str] | None] = {
            "Host": f"{self._host}:{self.port}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": self.revision,
            "Mcp-Session-Id": self.session,
        }
        if self.revision == wire.STATELESS and isinstance(message, dict):
            params = message.get("params", {})
            headers["Mcp-Method"] = message.get("method")
            headers["Mcp-Name"] = params.get(_NAMES_BY.get(message.get("method", ""), ""))
        return headers

    # Talk

    def initialize(self, revision: str | None = None) -> Response:
        """Do the handshake; the session is then this peer's."""
        asked = revision or self.revision
        capabilities = self.capabilities
        params = {"protocolVersion": asked, "capabilities": capabilities, "clientInfo": CLIENT_INFO}
        response = self.post(
            self.request("initialize", params), headers={"MCP-Protocol-Version": None}
        )
        if response.status == 200:
            self.revision = response.message["result"]["protocolVersion"]
            self.session = response.headers["Mcp-Session-Id"]
        return response

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> Response:
        """Send a request and take what comes."""
        return self.post(self.request(method, params))

    def call(self, tool: str, /, **arguments: Any) -> str:
        """The text that a tool answers with."""
        response = self.post(self.calling(tool, **arguments))
        assert response.status == 200, response.body
        return response.text

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> Response:
        """Send what wants no answer."""
        given = {} if params is None else {"params": dict(params)}
        return self.post({"jsonrpc": "2.0", "method": method, **given})

    def post(self, message: Any, headers: Headers | None = None) -> Response:
        """POST one message, or bytes as they are."""
        self.send(message, headers)
        return self.receive()

    def send(self, message: Any, headers: Headers | None = None) -> None:
        """POST, and do not wait for what comes back."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        sent = self.headers_for(message) | self._usual | dict(headers or {})
        self._asked = _SentRequests.of(message, sent, self.revision if self.session else None)
        self._put("POST", {"Content-Length": str(len(body)), **sent}, body)

    def receive(self) -> Response:
        """Return the response to the request that was sent."""
        return Response(self._connection.getresponse(), self._asked)

    def visit(
        self, method: str, headers: Headers | None = None, path: str | None = None
    ) -> Response:
        """GET, DELETE, or whatever else has no message."""
        sent = self.headers_for(None) | {"Content-Type": None} | self._usual | dict(headers or {})
        in_session = self.revision if self.session else None
        asked = _SentRequests.of(None, sent, in_session, is_mcp=path is None)
        self._put(method, sent, b"", path)
        return Response(self._connection.getresponse(), asked)

    def listen(self, last_event: str | None = None) -> Response:
        """Open the stream of a session, or go on with one that was lost."""
        return self.visit("GET", {"Accept": "text/event-stream", "Last-Event-ID": last_event})

    def _put(self, method: str, headers: Headers, body: bytes, path: str | None = None) -> None:
        connection = self._connection
        connection.putrequest(method, path or self._path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            for one in [value] if isinstance(value, str) else value or ():
                connection.putheader(name, one.encode() if not one.isascii() else one)
        connection.endheaders(body)

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=self._timeout)


def encoded(name: str) -> str:
    """A name as a header carries it that has no plain form."""
    return f"=?base64?{b64encode(name.encode()).decode()}?="


def text_of(reply: Message) -> str:
    """The text of a call that succeeded."""
    result = reply["result"]
    assert "isError" not in result, result
    return str(result["content"][0]["text"])


@dataclass(frozen=True)
class _SentRequests:
    """The requests that the messages of a response answer."""

    revision: str
    methods: wire.Methods
    is_post: bool
    is_mcp: bool

    @classmethod
    def of(
        cls, message: Any, headers: Headers, in_session: str | None, is_mcp: bool = True
    ) -> "_SentRequests":
        if isinstance(message, bytes):
            with suppress(ValueError, RecursionError):
                message = json.loads(message)
        members = message if isinstance(message, list) else [message]
        named = [m for m in members if isinstance(m, dict) and type(m.get("id")) in (int, str)]
        methods: wire.Methods = {m["id"]: m["method"] for m in named if "method" in m}
        said = headers.get("MCP-Protocol-Version")
        revision = in_session or (UNSAID if said is None else str(said))
        if isinstance(message, dict) and _object(message, "params").get("_meta"):
            meta = _object(_object(message, "params"), "_meta")
            if f"{META}/protocolVersion" in meta:
                revision = wire.STATELESS
        if revision not in wire.REVISIONS:
            revision = wire.STATELESS
        if isinstance(message, dict) and message.get("method") == "initialize":
            methods = "initialize"
            asked = _object(message, "params").get("protocolVersion")
            revision = asked if isinstance(asked, str) else revision
        return cls(revision, methods, message is not None, is_mcp)

    def checked(self, body: bytes, status: int) -> Any:
        revision = self.revision
        if status > 400 or not self.is_post:
            # "MAY comprise a JSON-RPC error response that has no id": in every revision.
            value = wire.decode(body)
            if isinstance(value, dict) and "error" in value and "id" not in value:
                revision = wire.NAMELESS_ERRORS
        return wire.check(body, revision=revision, method=self.methods)


def _object(value: Message, member: str) -> Message:
    found = value.get(member)
    return found if isinstance(found, dict) else {}
