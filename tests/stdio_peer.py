"""A client on the other side of the pipes: it starts a server, talks to it, and checks each reply."""

import itertools
import json
import queue
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from time import monotonic
from types import TracebackType
from typing import IO, Any, NoReturn, Self

import commands
import wire
from wire import Message, RequestId

CLIENT_INFO = {"name": "stdio-peer", "version": "1"}
META = "io.modelcontextprotocol"


def modern_params(
    params: Mapping[str, Any] | None = None,
    *,
    revision: str = wire.STATELESS,
    capabilities: Mapping[str, Any] | None = None,
) -> Message:
    """Params as a request of the stateless era carries them, with its three `_meta` keys."""
    given = dict(params or {})
    meta = {
        f"{META}/protocolVersion": revision,
        f"{META}/clientInfo": CLIENT_INFO,
        f"{META}/clientCapabilities": dict(capabilities or {}),
    }
    return {**given, "_meta": {**meta, **given.get("_meta", {})}}


@dataclass(frozen=True)
class _PendingRequest:
    """A request in flight; if it names no revision, that of the session counts."""

    method: str | None
    revision: str | None


class StdioPeer:
    """Runs `command` as a child and speaks MCP with it over pipes.

    A context manager. Leaving it closes the server's input, gives it `grace` seconds to end, kills
    it if it has not, and checks what it had sent and nobody received. Every message is checked by
    `wire.check` under the revision and method of the request it answers. `receive` and what is
    built on it raise TimeoutError when nothing comes and EOFError when the server has closed its
    output; both show its stderr.
    """

    def __init__(
        self,
        command: list[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | PathLike[str] | None = None,
        grace: float = 5,
    ) -> None:
        self.command = command
        self.revision: str | None = None
        self._env = env
        self._cwd = cwd
        self._grace = grace
        self._ids = itertools.count(1)
        self._in_flight: dict[RequestId, list[_PendingRequest]] = {}
        self._eras: set[str] = set()
        self._unsent = b""
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting: deque[Message | list[Message]] = deque()
        self._stderr: list[bytes] = []
        self._input_closed = False
        self._killed = False

    def __enter__(self) -> Self:
        pipe = subprocess.PIPE
        self.process = commands.start(
            self.command, stdin=pipe, stdout=pipe, stderr=pipe, env=self._env, cwd=self._cwd
        )
        work: list[tuple[Callable[[IO[bytes]], None], IO[bytes] | None]] = [
            (self._write, self.process.stdin),
            (self._read_lines, self.process.stdout),
            (self._read_stderr, self.process.stderr),
        ]
        self._threads = [
            threading.Thread(target=target, args=(stream,), daemon=True) for target, stream in work
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close_input()
        if kind is None:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(self._grace)
        self.kill()
        self._join()
        if kind is None:
            self._take_what_is_left()

    # Sending

    def send(self, message: Mapping[str, Any] | list[Any] | bytes) -> None:
        """Send one message as a line, or bytes exactly as they are, without a newline added."""
        data = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        *lines, self._unsent = (self._unsent + data).split(b"\n")
        for line in lines:
            self._note_requests(line)
        self._outbox.put(data)

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        self.send(_call(method, params))

    def close_input(self) -> None:
        """End the server's input once all that was sent is written."""
        if not self._input_closed:
            self._input_closed = True
            self._note_requests(self._unsent)
            self._outbox.put(None)

    # Asking

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        id: RequestId | None = None,
        timeout: float = 30,
    ) -> Message:
        """Send a request and return its reply; what else arrives is kept for `receive`."""
        identity = next(self._ids) if id is None else id
        self.send({**_call(method, params), "id": identity})
        return self._first(
            lambda message: _is_reply(message) and message["id"] == identity, timeout
        )

    def initialize(
        self,
        revision: str = "2025-11-25",
        capabilities: Mapping[str, Any] | None = None,
        timeout: float = 30,
    ) -> Message:
        """Do the handshake and return the reply; `revision` of the peer is then the agreed one."""
        reply = self.request(
            "initialize",
            {
                "protocolVersion": revision,
                "capabilities": dict(capabilities or {}),
                "clientInfo": CLIENT_INFO,
            },
            timeout=timeout,
        )
        if "result" in reply:
            self.notify("notifications/initialized")
        return reply

    def modern(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        revision: str = wire.STATELESS,
        capabilities: Mapping[str, Any] | None = None,
        id: RequestId | None = None,
        timeout: float = 30,
    ) -> Message:
        """A request of the stateless era, which needs no handshake."""
        full = modern_params(params, revision=revision, capabilities=capabilities)
        return self.request(method, full, id=id, timeout=timeout)

    # Receiving

    def receive(self, timeout: float = 30) -> Message:
        """The next message, of whatever kind, in the order of arrival."""
        message = self._waiting.popleft() if self._waiting else self._take(timeout)
        assert isinstance(message, dict), f"one message was expected, not a batch: {message}"
        return message

    def receive_batch(self, timeout: float = 30) -> list[Message]:
        """The next message, which must be a batch."""
        message = self._waiting.popleft() if self._waiting else self._take(timeout)
        assert isinstance(message, list), f"a batch was expected, not one message: {message}"
        return message

    def replies(self, n: int, timeout: float = 30) -> list[Message]:
        """The next `n` replies in the order of arrival; notifications are kept for `receive`."""
        found = self._kept_replies(n)
        end = monotonic() + timeout
        while len(found) < n:
            found.append(self._first(_is_reply, end - monotonic()))
        return found

    def rest(self, timeout: float = 30) -> list[Message | list[Message]]:
        """All messages until the server closes its output: the way to see that none came."""
        end = monotonic() + timeout
        with suppress(EOFError):
            while True:
                self._waiting.append(self._take(end - monotonic()))
        messages = list(self._waiting)
        self._waiting.clear()
        return messages

    # The child

    @property
    def stderr(self) -> str:
        """Text on stderr so far; all of it after `wait`."""
        return b"".join(self._stderr).decode(errors="replace")

    def wait(self, timeout: float = 30) -> int:
        """The exit code, once the server ended by itself."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"the server runs on after {timeout} s{self._said()}") from None
        self._join()
        return code

    def kill(self) -> None:
        """Kill the child, if it still runs, and reap it."""
        if self.process.poll() is None:
            self._killed = True
            self.process.kill()
            self.process.wait()

    def _join(self) -> None:
        self._outbox.put(None)
        for thread in self._threads:
            thread.join(timeout=10)

    def _write(self, stream: IO[bytes]) -> None:
        with suppress(OSError), stream:
            while (data := self._outbox.get()) is not None:
                stream.write(data)
                stream.flush()

    def _read_lines(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                self._lines.put(line)
        self._lines.put(None)

    def _read_stderr(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                self._stderr.append(line)

    # Which reply belongs to which request

    def _note_requests(self, line: bytes) -> None:
        try:
            sent = json.loads(line)
        except (ValueError, RecursionError):
            return
        for message in sent if isinstance(sent, list) else [sent]:
            if _is_request(message):
                self._note_request(message)

    def _note_request(self, message: Message) -> None:
        asked = _PendingRequest(message["method"], _revision_named_by(message))
        if asked.revision and asked.method != "initialize":
            self._eras.add(asked.revision)
        same_id = self._in_flight.setdefault(message["id"], [])
        same_id.append(asked)
        if len(set(same_id)) > 1:
            same_id[:] = [_PendingRequest(None, None)] * len(same_id)

    def _answered(self, message: Message) -> _PendingRequest:
        identity = message["id"]
        asked = self._in_flight.get(identity) if isinstance(identity, int | str) else None
        return asked.pop() if asked else _PendingRequest(None, None)

    def _checked(self, value: Any) -> Message:
        if not isinstance(value, dict) or "method" in value:
            return wire.check(value, revision=self._only_era(), method=None)
        if "id" not in value:
            raise wire.WireError("On stdio a reply has an id member.", value)
        asked = self._answered(value)
        revision = asked.revision or (self.revision if asked.method else None)
        wire.check(value, revision=revision, method=asked.method)
        if asked.method == "initialize" and "result" in value:
            self.revision = value["result"]["protocolVersion"]
            self._eras.add(value["result"]["protocolVersion"])
        return value

    def _only_era(self) -> str | None:
        return next(iter(self._eras)) if len(self._eras) == 1 else None

    # Lines in

    def _first(self, wanted: Callable[[Any], bool], timeout: float) -> Message:
        end = monotonic() + timeout
        while not wanted(message := self._take(end - monotonic())):
            self._waiting.append(message)
        assert isinstance(message, dict)
        return message

    def _kept_replies(self, most: int) -> list[Message]:
        kept = list(self._waiting)
        self._waiting.clear()
        found: list[Message] = []
        for message in kept:
            if isinstance(message, dict) and _is_reply(message) and len(found) < most:
                found.append(message)
            else:
                self._waiting.append(message)
        return found

    def _take(self, timeout: float) -> Message | list[Message]:
        try:
            line = self._lines.get(timeout=max(timeout, 0))
        except queue.Empty:
            raise TimeoutError(f"the server sent nothing more in time{self._said()}") from None
        if line is None:
            self._end()
        if not line.endswith(b"\n"):
            if self._killed:
                self._end()
            raise wire.WireError("A message ends with a newline.", line)
        return self._read(wire.decode(line))

    def _read(self, value: Any) -> Message | list[Message]:
        if not isinstance(value, list):
            return self._checked(value)
        methods = {
            identity: asked[-1].method
            for identity, asked in self._in_flight.items()
            if asked and asked[-1].method
        }
        for member in wire.check(value, revision=self.revision, method=methods):
            self._answered(member)
        return value

    def _end(self) -> NoReturn:
        self._lines.put(None)
        raise EOFError(f"the server has closed its output{self._said()}")

    def _take_what_is_left(self) -> None:
        with suppress(EOFError, TimeoutError):
            while True:
                self._take(0)

    def _said(self) -> str:
        kept = f"; received but not asked for: {list(self._waiting)}" if self._waiting else ""
        return f"{kept}; its stderr: {self.stderr}" if self._stderr else kept


def _call(method: str, params: Mapping[str, Any] | None) -> Message:
    return {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}


def _is_reply(message: object) -> bool:
    return isinstance(message, dict) and "method" not in message


def _is_request(message: object) -> bool:
    return (
        isinstance(message, dict)
        and type(message.get("id")) in (int, str)
        and isinstance(message.get("method"), str)
    )


def _revision_named_by(request: Message) -> str | None:
    """Return the revision that a request names: in `initialize`, or in `_meta`."""
    params = _object(request.get("params"))
    if request["method"] == "initialize":
        asked = params.get("protocolVersion")
        return asked if isinstance(asked, str) else None
    named = _object(params.get("_meta")).get(f"{META}/protocolVersion")
    if named is None:
        return None
    return named if named in wire.REVISIONS else wire.STATELESS


def _object(value: object) -> Message:
    return value if isinstance(value, dict) else {}
