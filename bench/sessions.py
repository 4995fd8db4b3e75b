"""Many sessions at once that all use the same ids: whether each gets its own answers."""

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
# By turns on the loop and in threads, so that the calls overtake each other.
TOOLS: tuple[Tool, ...] = ("add", "add_sync")


@dataclass(frozen=True)
class Crowd:
    answers: int
    memory_mb: float
    seconds: float


class Line:
    """One connection to the server, kept open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def post(self, headers: dict[str, str], body: bytes) -> tuple[bytes, str]:
        """The message in a response, and the session it names."""
        fields = {"Host": "127.0.0.1", "Content-Length": str(len(body)), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self._writer.write(f"POST {PATH} HTTP/1.1\r\n{head}\r\n".encode() + body)
        status, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        said = {name.lower(): text.strip() for name, _, text in (s.partition(":") for s in lines)}
        reply = await self._reader.readexactly(int(said.get("content-length", 0)))
        if status.split()[1][0] != "2":
            raise WrongReplyError(f"{status}: {reply[:300]!r}")
        return reply, said.get("mcp-session-id", "")

    def close(self) -> None:
        self._writer.close()


def measure_sessions() -> Crowd:
    contender = ACCORD_SESSIONS
    with HttpChild(contender.command, {}, keep_stderr=contender.keep_stderr) as child:
        child.wait_until_listening()
        begun = time.perf_counter()
        answers = asyncio.run(call_all(child.port))
        seconds = time.perf_counter() - begun
        return Crowd(answers, child.memory_bytes() / 1e6, seconds)


async def call_all(port: int) -> int:
    """How many right answers came: all of them, or an error is raised."""
    lines = [Line(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(CONNECTIONS)]
    sessions: list[str] = []
    answered = 0

    async def begin(line: Line, _: int) -> None:
        headers = wire.http_headers(HANDSHAKE, "initialize")
        reply, session = await line.post(headers, wire.initialize())
        wire.result_in(reply, 0)
        await line.post({**headers, "Mcp-Session-Id": session}, wire.initialized())
        sessions.append(session)

    async def call(line: Line, job: int) -> None:
        nonlocal answered
        number, caller = divmod(job, SESSIONS)  # all sessions with one id, then with the next
        tool = TOOLS[number % len(TOOLS)]
        params = {"name": tool, "arguments": {"a": job, "b": 0}}
        headers = wire.http_headers(HANDSHAKE, "tools/call", tool)
        headers["Mcp-Session-Id"] = sessions[caller]
        body = wire.request(HANDSHAKE, number, "tools/call", params)
        reply, _ = await line.post(headers, body)
        wire.check_value(wire.result_in(reply, number), job)
        answered += 1

    try:
        await share(lines, range(SESSIONS), begin)
        if len(set(sessions)) != SESSIONS:
            raise WrongReplyError(f"{SESSIONS} sessions have {len(set(sessions))} ids")
        await share(lines, range(SESSIONS * CALLS), call)
    finally:
        for line in lines:
            line.close()
    return answered


async def share(
    lines: Iterable[Line], jobs: range, work: Callable[[Line, int], Awaitable[None]]
) -> None:
    """Do all the jobs, one at a time on each line."""
    waiting = iter(jobs)

    async def serve(line: Line) -> None:
        for job in waiting:
            await work(line, job)

    async with asyncio.TaskGroup() as group:
        for line in lines:
            group.create_task(serve(line))
