"""A server of ours: called in this process, message by message, as a client would."""

import asyncio
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, Final

import msgspec

from accord.context import MissingCapability
from accord.inspector.client import Client
from accord.inspector.going import PATIENCE, Waiting
from accord.inspector.kept import Kept
from accord.inspector.target import Asked, Said, Talk, Wish
from accord.model.answer import FieldError, InputRequired, Problem
from accord.model.tool import Tool
from accord.outcome import Outcome, meaning_of, misfit_of
from accord.profiles import PROFILES
from accord.protocol import Call
from accord.revisions import NEWEST, REVISIONS
from accord.serve.http.access import AccessLog
from accord.serve.pending_requests import PendingRequests
from accord.serve.thread_runner import ThreadRunner
from accord.server import Job, Server
from accord.telemetry import outcome_of
from accord.work import Done, Work

_MOST_PAGES: Final = 1_000


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
        self._waiting: Waiting[Client] = Waiting()
        self._desk = PendingRequests(server, PATIENCE, lambda change: None)
        self._pool: ThreadRunner | None = None

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
        client = Client(self._server, Asked(""), self._desk)
        found: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        for _ in range(_MOST_PAGES):
            call = client.send("tools/list", cursor)
            if call is not None:  # it depends on who asks
                await self._end(client, call)
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
        client = Client(self._server, asked, self._desk)
        return await self._go_on(client, client.begin_call())

    async def answer(self, number: int, answers: Mapping[str, Said]) -> tuple[int, Talk] | None:
        """Go on with a call that waits, or that is made again with the answers."""
        client = self._waiting.take(number)
        return None if client is None else await self._go_on(client, client.answer(answers))

    def leave(self, number: int) -> None:
        """End a call that waits."""
        self._waiting.leave(number)

    async def reconnect(self) -> None:
        """A server of this process is always reached."""

    async def _go_on(self, client: Client, call: Call | None) -> tuple[int, Talk]:
        """As far as the call goes: to its end, or to a question."""
        going = client.going
        if call is not None:
            going.begin(self._noted(client, call))
        done = await going.wait()
        outcome = client.asking if done is None else done.outcome
        ended = _Ended(going.asked, outcome, going.seconds)
        number = self._kept.add(ended, 0 if done is None else len(done.reply))
        if going.open:
            self._waiting.add(number, client)
        schema = self.schema(going.asked.tool)
        return number, await client.talk(going.seconds, schema, is_open=done is None)

    async def word(self, number: int, wish: Wish) -> Talk | None:
        """The same answer as another client would get it."""
        ended = self._kept.get(number)
        if ended is None:
            return None
        asked = msgspec.structs.replace(ended.asked, wish=wish)
        client = Client(self._server, asked, self._desk)
        call = client.begin_call()
        done: Work | Done | None = self._server.prepare(call)
        if not isinstance(done, Done):
            assert isinstance(done, Job)
            done = await asyncio.to_thread(self._worded, done, client, ended.outcome)
        if done is not None:
            client.receive(client.connection.finish(call, done.reply) or b"")
        schema = self.schema(asked.tool)
        return await client.talk(ended.seconds, schema, is_open=done is None)

    def _worded(self, job: Job, client: Client, outcome: Outcome) -> Done | None:
        """An outcome in other words, of which there may be too many."""
        call, tool = job.call, job.tool
        try:
            place = self._server.resume(call, tool, job.place)
            said = _outcome(call, tool, outcome)
            if isinstance(said, InputRequired):
                if call.revision.stateless:
                    return self._server.asking(call, said)
                client.show(call, said)
                return None
            return self._server.word(call, tool, said, place=place)
        except Problem as problem:
            return self._server.word(call, tool, problem)

    async def _noted(self, client: Client, call: Call) -> Done:
        began = perf_counter()
        done = await self._end(client, call)
        self._note(call, done, perf_counter() - began)
        return done

    async def _end(self, client: Client, call: Call) -> Done:
        """Run a call to its end, which its client hears."""
        done = self._server.prepare(call)
        if not isinstance(done, Done):
            done = await self._run(done)
        client.receive(client.connection.finish(call, done.reply) or b"")
        if isinstance(done.outcome, InputRequired):
            client.going.hear_result(msgspec.json.decode(done.reply)["result"])
        return done

    async def _run(self, job: Work) -> Done:
        """Run it where a client's call would run: on the loop, or in a thread."""
        loop = asyncio.get_running_loop()
        pool = self._pool = self._pool or ThreadRunner(loop, _deliver)
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
            pool.cancel(job.call)
            raise

    def _note(self, call: Call, done: Done, seconds: float) -> None:
        if self._access is not None:
            name = call.name if call.name in self._server.tools else "?"
            soon = asyncio.get_running_loop().call_soon
            self._access.note(name, outcome_of(done.outcome), seconds, soon)


def _outcome(call: Call, tool: Tool, outcome: Outcome) -> Outcome:
    """How it ended, as this caller knows it: what fits and what is lacking is not alike to all."""
    meaning: Outcome | BaseException = outcome
    misfit = _misfit(tool, call.arguments)
    if misfit is not None:
        meaning = misfit_of(misfit, call.revision)
    elif isinstance(outcome, InputRequired):
        lacking = _lacking(call, outcome)
        if lacking is not None:
            meaning = meaning_of(lacking, call.revision)
    assert not isinstance(meaning, BaseException) or isinstance(meaning, Problem | InputRequired)
    return meaning


def _lacking(call: Call, asking: InputRequired) -> MissingCapability | None:
    """What a client would need to be asked this, if its revision has not got it."""
    needed = (
        question.lacks(call.client.capabilities, call.revision)
        for question in asking.questions.values()
    )
    missing = next((each for each in needed if each is not None), None)
    return None if missing is None else MissingCapability(missing)


def _misfit(tool: Tool, arguments: bytes) -> Problem | None:
    try:
        tool.bind(arguments)
    except Problem as problem:
        return problem
    return None


def _deliver(call: Call, done: Done | None) -> None:
    if not call.running.done():
        call.running.set_result(done)
