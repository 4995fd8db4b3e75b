"""Raw HTTP server in the event loop of a test: each reply is what the test scripts."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from accord.client.peer import Peer, connect
from accord.errors import PeerError
from client.connections import run, text

Message = dict[str, Any]
T = TypeVar("T")

NOTE = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"hi"}}'


@dataclass
class Request:
    """A request that came, with methods that answer it."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    writer: asyncio.StreamWriter
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client closes the connection before it is answered."""

    @property
    def message(self) -> Message:
        return dict(json.loads(self.body))

    @property
    def rpc(self) -> str:
        """The JSON-RPC method."""
        return str(self.message.get("method")) if self.body else ""

    async def reply(
        self,
        status: int,
        body: bytes = b"",
        kind: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Answer with a whole body."""
        given = {"Content-Length": str(len(body)), "Content-Type": kind, **(headers or {})}
        await self.write(_head(status, given) + body)

    async def result(self, result: Any, **options: Any) -> None:
        await self.reply(200, self.envelope(result), **options)

    async def error(self, status: int, code: int, **members: Any) -> None:
        error = {"code": code, "message": "no", **members}
        message = {"jsonrpc": "2.0", "id": self.message.get("id"), "error": error}
        await self.reply(status, json.dumps(message).encode())

    def envelope(self, result: Any) -> bytes:
        message = {"jsonrpc": "2.0", "id": self.message["id"], "result": result}
        return json.dumps(message).encode()

    async def stream(self, *events: bytes) -> None:
        """Begin a stream of events; it ends with the connection."""
        given = {"Content-Type": "text/event-stream", "Connection": "close"}
        await self.write(_head(200, given) + b"".join(events))

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def end(self) -> None:
        """Close the connection."""
        self.writer.close()

    async def until_left(self) -> None:
        """Wait until the client is gone."""
        await self.left.wait()


Answer = Callable[[Request], Awaitable[None]]


def event(data: bytes, **fields: object) -> bytes:
    lines = [f"{name}: {value}\n".encode() for name, value in fields.items()]
    return b"".join([*lines, b"data: ", data, b"\n\n"])


class ScriptedServer:
    """The URL of the server, and the requests that came."""

    def __init__(self, answer: Answer) -> None:
        self.requests: list[Request] = []
        self.url = ""
        self._answer = answer
        self._tasks: set[asyncio.Task[Any]] = set()

    def asked(self, method: str) -> list[Request]:
        """The requests of one HTTP method, or of one JSON-RPC method."""
        return [each for each in self.requests if method in (each.method, each.rpc)]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while (request := await _read(reader, writer)) is not None:
                self.requests.append(request)
                watcher = asyncio.create_task(_watch(reader, request))
                try:
                    await self._answer(request)
                finally:
                    watcher.cancel()
                    await asyncio.wait([watcher])
        except ConnectionError:
            pass
        except asyncio.CancelledError:
            pass  # `close`; asyncio would complain of a handler that is cancelled
        finally:
            self._tasks.discard(task)
            writer.close()

    async def deserted(self) -> None:
        """Wait until every client has left."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)


@asynccontextmanager
async def scripted_server(
    answer: Answer, tls: ssl.SSLContext | None = None
) -> AsyncIterator[ScriptedServer]:
    """Start a server that answers each request with this."""
    server = ScriptedServer(answer)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    scheme = "http" if tls is None else "https"
    server.url = f"{scheme}://127.0.0.1:{listener.sockets[0].getsockname()[1]}/mcp"
    try:
        yield server
    finally:
        listener.close()
        await server.close()


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.strip().split("\r\n")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    method, path, _ = first.split(" ")
    return Request(method, path, headers, body, writer)


async def _watch(reader: asyncio.StreamReader, request: Request) -> None:
    """See the client leave: it sends nothing while it waits."""
    while not reader.at_eof() and not reader.exception():
        await reader._wait_for_data("watch")  # type: ignore[attr-defined]
    request.left.set()


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode()


# Scripts without a fault, which tests change in one place


async def handshake(
    request: Request, *, session: str | None = "s1", date: str | None = None
) -> None:
    """A server of the handshake era that has sessions and plain answers."""
    headers = {} if session is None else {"Mcp-Session-Id": session}
    if request.method == "GET":
        await request.reply(405)
    elif request.method == "DELETE":
        await request.reply(204)
    elif request.rpc == "initialize":
        asked = date or request.message["params"]["protocolVersion"]
        info = {"name": "scripted", "version": "1"}
        result: Message = {
            "protocolVersion": asked,
            "capabilities": {"tools": {}},
            "serverInfo": info,
        }
        await request.result(result, headers=headers)
    elif request.rpc == "server/discover":
        await request.error(400, -32000)
    elif "id" not in request.message:
        await request.reply(202)
    else:
        await request.result({"content": [{"type": "text", "text": "well"}]})


async def stateless(request: Request) -> None:
    """A server of the stateless era."""
    if request.rpc == "server/discover":
        meta = {"io.modelcontextprotocol/serverInfo": {"name": "scripted", "version": "2"}}
        result: Message = {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "_meta": meta,
        }
        await request.result(result)
    else:
        content = [{"type": "text", "text": "well"}]
        await request.result({"resultType": "complete", "content": content})


def replying(status: int, body: bytes, kind: str = "application/json") -> Answer:
    async def answer(request: Request) -> None:
        await request.reply(status, body, kind)

    return answer


# Connecting to them


def with_peer(
    answer: Answer, say: Callable[[Peer, ScriptedServer], Awaitable[T]], **options: Any
) -> T:
    """Connect to a server with this script, and return the result of `say`."""

    async def main() -> T:
        given = {"timeout": 20, **options}
        async with scripted_server(answer) as server, connect(server.url, **given) as peer:
            return await say(peer, server)

    return run(main())


def refused(
    answer: Answer, sentence: str, kind: type[Exception] = PeerError, **options: Any
) -> None:
    """Assert that connecting fails with this message."""

    async def say(peer: Peer, server: ScriptedServer) -> None:
        await peer.call("hello")

    with pytest.raises(kind, match=sentence):
        with_peer(answer, say, **options)


def calling(answer: Answer, begin: Answer = handshake) -> Answer:
    """Script that negotiates as usual, and answers calls by `answer`."""

    async def both(request: Request) -> None:
        await (answer if request.rpc == "tools/call" else begin)(request)

    return both


async def call_in_handshake_era(answer: Answer) -> str:
    """Call a tool of a server with this script, and return the text of the result."""
    async with scripted_server(answer) as server, connect(server.url, era="handshake") as peer:
        return text(await peer.call("hello"))


async def call(peer: Peer, server: ScriptedServer) -> str:
    return text(await peer.call("hello"))
