"""Concurrent HTTP sessions that use the same request ids: every reply must reach its own session."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from bench import wire
from bench.child import HttpChild
from bench.contenders import ACCORD_SESSIONS
from bench.http_trial import PATH
from bench.wire import HANDSHAKE, Tool, WrongReplyError

SESSIONS = 1_000
CALLS = 10
CONNECTIONS = 100
MEMORY_LIMIT_MB = 400
# Alternately on the event loop and in threads, so that replies change order.
TOOLS: tuple[Tool, ...] = ("add", "add_sync")


@dataclass(frozen=True)
class Sessions:
    """Result of the calls of all sessions."""

    replies: int
    memory_mb: float
    seconds: float


class KeptAliveConnection:
    """A keep-alive connection to the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def post(self, headers: dict[str, str], body: bytes) -> tuple[bytes, str]:
        """Return the body and the session id of the response."""
        fields = {"Host": "127.0.0.1", "Content-Length": str(len(body)), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self._writer.write(f"POST {PATH} HTTP/1.1\r\n{head}\r\n".encode() + body)
        status, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        received = {
            name.lower(): text.strip() for name, _, text in (s.partition(":") for s in lines)
        }
        reply = await self._reader.readexactly(int(received.get("content-length", 0)))
        if status.split()[1][0] != "2":
            raise WrongReplyError(f"{status}: {reply[:300]!r}")
        return reply, received.get("mcp-session-id", "")

    def close(self) -> None:
        self._writer.close()


def measure_sessions() -> Sessions:
    contender = ACCORD_SESSIONS
    with HttpChild(contender.command, {}, keep_stderr=contender.keep_stderr) as child:
        child.wait_until_listening()
        started = time.perf_counter()
        replies = asyncio.run(call_all(child.port))
        seconds = time.perf_counter() - started
        return Sessions(replies, child.memory_bytes() / 1e6, seconds)


async def call_all(port: int) -> int:
    """Make all calls and return the number of correct replies; raise if one is wrong."""
    connections = [
        KeptAliveConnection(*await asyncio.open_connection("127.0.0.1", port))
        for _ in range(CONNECTIONS)
    ]
    sessions: list[str] = []
    replied = 0

    async def initialize(connection: KeptAliveConnection, _: int) -> None:
        headers = wire.http_headers(HANDSHAKE, "initialize")
        reply, session = await connection.post(headers, wire.initialize())
        wire.result_in(reply, 0)
        await connection.post({**headers, "Mcp-Session-Id": session}, wire.initialized())
        sessions.append(session)

    async def call(connection: KeptAliveConnection, job: int) -> None:
        nonlocal replied
        number, caller = divmod(job, SESSIONS)  # all sessions with one id, then with the next
        tool = TOOLS[number % len(TOOLS)]
        params = {"name": tool, "arguments": {"a": job, "b": 0}}
        headers = wire.http_headers(HANDSHAKE, "tools/call", tool)
        headers["Mcp-Session-Id"] = sessions[caller]
        body = wire.request(HANDSHAKE, number, "tools/call", params)
        reply, _ = await connection.post(headers, body)
        wire.check_value(wire.result_in(reply, number), job)
        replied += 1

    try:
        await run_all(connections, range(SESSIONS), initialize)
        if len(set(sessions)) != SESSIONS:
            raise WrongReplyError(f"{SESSIONS} sessions have {len(set(sessions))} ids")
        await run_all(connections, range(SESSIONS * CALLS), call)
    finally:
        for connection in connections:
            connection.close()
    return replied


async def run_all(
    connections: Iterable[KeptAliveConnection],
    jobs: range,
    run: Callable[[KeptAliveConnection, int], Awaitable[None]],
) -> None:
    """Run all jobs, one at a time on each connection."""
    pending = iter(jobs)

    async def run_on(connection: KeptAliveConnection) -> None:
        for job in pending:
            await run(connection, job)

    async with asyncio.TaskGroup() as group:
        for connection in connections:
            group.create_task(run_on(connection))
