"""A server of ours: called in this process, message by message, as a client would."""

import asyncio
from collections.abc import Sequence
from time import perf_counter
from typing import Any, Final

import msgspec

from accord.answer import FieldError, Problem
from accord.errors import PeerError
from accord.inspector.kept import Kept
from accord.inspector.target import Asked, Line, Talk, Wish
from accord.outcome import Outcome, misfit_of
from accord.profiles import PROFILES, asking_for
from accord.protocol import Call
from accord.reader import read
from accord.revisions import NEWEST, REVISIONS, Revision
from accord.serve.http.access import AccessLog
from accord.serve.pool import Pool
from accord.server import Done, Job, Server
from accord.telemetry import outcome_of
from accord.tool import Tool

_META: Final = "io.modelcontextprotocol"
_CLIENT: Final = {"name": "accord-page", "version": "1"}
_MOST_PAGES: Final = 1_000
_encode = msgspec.json.Encoder().encode


class _Ended(msgspec.Struct, frozen=True):
    """A call that was made: what it takes to word its answer again."""

    asked: Asked
    outcome: Outcome
    seconds: float


class Own:
    """A Server that is loaded here. A call is noted in the access log like any other."""

    def __init__(self, server: Server, access: AccessLog | None = None, path: str = "/mcp") -> None:
        self._server = server
        self._access = access
        self._path = path
        self._kept: Kept[_Ended] = Kept()
        self._pool: Pool | None = None

    def about(self) -> dict[str, Any]:
        """What the server calls itself, and how it words its answers if nobody asks."""
        server = self._server
        return {
            "server": server.identity,
            "instructions": server.instructions,
            "kind": "own",
            "endpoint": self._path,
            "revision": NEWEST.date,
            "revisions": list(REVISIONS),
            "profile": server.profile.name,
            "profiles": list(PROFILES),
        }

    async def tools(self) -> list[dict[str, Any]]:
        """All tools, page by page."""
        client = _Client(self._server, Wish())
        found: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        for _ in range(_MOST_PAGES):
            client.send("tools/list", cursor)
            result = msgspec.json.decode(client.wire[-1].raw)["result"]
            found += result["tools"]
            if "nextCursor" not in result:
                break
            cursor = {"cursor": result["nextCursor"]}
        return found

    def schema(self, tool: str) -> dict[str, Any] | None:
        """What a tool takes."""
        found = self._server.tools.get(tool)
        return None if found is None else found.input_schema

    async def check(self, asked: Asked) -> Sequence[FieldError]:
        """What the tool itself would say of its arguments."""
        tool = self._server.tools.get(asked.tool)
        misfit = None if tool is None else _misfit(tool, bytes(asked.arguments))
        return () if misfit is None else misfit.fields

    async def call(self, asked: Asked) -> tuple[int, Talk]:
        """Call a tool; whoever cancels this cancels the call."""
        client = _Client(self._server, asked.wish)
        began = perf_counter()
        call = client.begin_call(asked)
        done = self._server.prepare(call)
        if isinstance(done, Job):
            call.send = client.receive
            done = await self._run(done)
        client.receive(client.connection.finish(call, done.reply) or b"")
        seconds = perf_counter() - began
        self._note(call, done, seconds)
        number = self._kept.add(_Ended(asked, done.outcome, seconds), len(done.reply))
        return number, await client.talk(asked, seconds)

    async def word(self, number: int, wish: Wish) -> Talk | None:
        """The same answer as another client would get it."""
        ended = self._kept.get(number)
        if ended is None:
            return None
        asked = msgspec.structs.replace(ended.asked, wish=wish)
        client = _Client(self._server, wish)
        call = client.begin_call(asked)
        done = self._server.prepare(call)
        if isinstance(done, Job):
            outcome = _outcome(ended, done.tool, call.revision)
            done = await asyncio.to_thread(self._worded, call, done.tool, outcome)
        client.receive(client.connection.finish(call, done.reply) or b"")
        return await client.talk(asked, ended.seconds)

    def _worded(self, call: Call, tool: Tool, outcome: Outcome) -> Done:
        """An outcome in other words, of which there may be too many."""
        try:
            return self._server.word(call, tool, outcome)
        except Problem as problem:
            return self._server.word(call, tool, problem)

    async def _run(self, job: Job) -> Done:
        """Run it where a client's call would run: on the loop, or in a thread."""
        loop = asyncio.get_running_loop()
        pool = self._pool = self._pool or Pool(loop, _deliver)
        ended: asyncio.Future[Done]
        if job.is_async:
            ended = loop.create_task(job.run())
        else:
            ended = job.call.running = loop.create_future()
            if not pool.submit(job):
                return job.refuse(Problem.unavailable("Too many calls are open; try again later"))
        try:
            return await asyncio.shield(ended)
        except asyncio.CancelledError:
            job.call.cancelled = True
            ended.cancel()
            pool.abandon(job.call)
            raise

    def _note(self, call: Call, done: Done, seconds: float) -> None:
        if self._access is not None:
            name = call.name if call.name in self._server.tools else "?"
            soon = asyncio.get_running_loop().call_soon
            self._access.note(name, outcome_of(done.outcome), seconds, soon)


class _Client:
    """One client of the server, with a connection and a record of its own."""

    def __init__(self, server: Server, wish: Wish) -> None:
        self._revision = REVISIONS[wish.revision or NEWEST.date]
        self._capabilities = {} if wish.profile is None else asking_for(wish.profile)
        self._requests = 0
        self.connection = server.connect()
        self.wire: list[Line] = []
        self._is_prelude = True
        if not self._revision.stateless:
            self._shake_hands()
        self._is_prelude = False

    def _shake_hands(self) -> None:
        hello = {
            "protocolVersion": self._revision.date,
            "capabilities": self._capabilities,
            "clientInfo": _CLIENT,
        }
        self.send("initialize", hello)
        self._transmit({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, method: str, params: dict[str, Any]) -> Call | None:
        """Send a request; the call that it begins, unless it is answered already."""
        self._requests += 1
        if self._revision.stateless:
            params = {**params, "_meta": {**params.get("_meta", {}), **self._introduction()}}
        return self._transmit(
            {"jsonrpc": "2.0", "id": self._requests, "method": method, "params": params}
        )

    def begin_call(self, asked: Asked) -> Call:
        """Send a call of a tool that wants to hear of its progress."""
        meta = {"_meta": {"progressToken": "page"}}
        params = {"name": asked.tool, "arguments": asked.arguments, **meta}
        call = self.send("tools/call", params)
        if call is None:
            raise PeerError(f"the call was refused: {self.wire[-1].raw}")
        return call

    def receive(self, raw: bytes) -> None:
        """Take down a message of the server."""
        self.wire.append(Line.of("received", raw, is_prelude=self._is_prelude))

    async def talk(self, asked: Asked, seconds: float) -> Talk:
        """All that was said, and what it means; a large reply is read beside the loop."""
        reply = self.wire[-1].raw.encode()
        arguments = msgspec.json.decode(asked.arguments)
        reading = await asyncio.to_thread(read, reply, asked.tool, arguments)
        return Talk(
            tool=asked.tool,
            wire=self.wire,
            reply=reply,
            reading=reading,
            seconds=seconds,
            revision=self._revision.date,
        )

    def _introduction(self) -> dict[str, Any]:
        return {
            f"{_META}/protocolVersion": self._revision.date,
            f"{_META}/clientInfo": _CLIENT,
            f"{_META}/clientCapabilities": self._capabilities,
        }

    def _transmit(self, message: dict[str, Any]) -> Call | None:
        raw = _encode(message)
        self.wire.append(Line.of("sent", raw, is_prelude=self._is_prelude))
        call = None
        for event in self.connection.receive(raw):
            if isinstance(event, bytes):
                self.receive(event)
            elif isinstance(event, Call):
                call = event
        return call


def _outcome(ended: _Ended, tool: Tool, revision: Revision) -> Outcome:
    """How it ended, as this revision knows it: arguments that don't fit are not alike to all."""
    misfit = _misfit(tool, bytes(ended.asked.arguments))
    if misfit is None:
        return ended.outcome
    meaning = misfit_of(misfit, revision)
    assert not isinstance(meaning, BaseException) or isinstance(meaning, Problem)
    return meaning


def _misfit(tool: Tool, arguments: bytes) -> Problem | None:
    try:
        tool.bind(arguments)
    except Problem as problem:
        return problem
    return None


def _deliver(call: Call, done: Done) -> None:
    if not call.running.done():
        call.running.set_result(done)
