"""Somebody else's server: called over the wire it has, and what it says kept as it came."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from itertools import count
from time import perf_counter
from typing import Any, Final

import msgspec

from accord.connect import Peer, Reply, connect
from accord.connect.faults import Gone
from accord.errors import ContractError, PeerError
from accord.inspector.calling import Calling, unbidden
from accord.inspector.client import ASKABLE, NO_ANSWER_YET
from accord.inspector.going import Waiting
from accord.inspector.kept import Kept
from accord.inspector.reading import Received, read_reply, render_reply
from accord.inspector.tally import Tally
from accord.inspector.target import Asked, Line, Said, Talk, Wish
from accord.model.answer import FieldError
from accord.model.arguments import Checker
from accord.profiles import PROFILES
from accord.reader.report import to_json
from accord.revisions import NEWEST, REVISIONS
from accord.serve.http.access import Noted
from accord.telemetry import Ending

MAX_MESSAGE: Final = 16 * 1024 * 1024
"""Bytes of a message of the server; a longer one is not taken."""


class Others:
    """A server by its URL or command line. `open` it first, and `aclose` it at the end."""

    def __init__(
        self,
        target: str,
        *,
        headers: Mapping[str, str] | None = None,
        revision: str | None = None,
        timeout: float = 30.0,
        tally: Tally | None = None,
    ) -> None:
        self._target = target
        self._connect: Callable[[], AbstractAsyncContextManager[Peer]] = partial(
            connect,
            target,
            headers=headers or None,
            revision=revision,
            timeout=timeout,
            capabilities=ASKABLE,
            max_bytes=MAX_MESSAGE,
            on_request=self._asked,
        )
        self._tally = tally
        self._tokens = (f"page-{number}" for number in count(1))
        self._opening = asyncio.Lock()
        self._stack = AsyncExitStack()
        self._peer: Peer | None = None
        self._schemas: dict[str, Any] = {}
        self._kept: Kept[Talk] = Kept()
        self._waiting: Waiting[Calling] = Waiting()
        self._under_way: list[Calling] = []

    async def open(self) -> None:
        """Reach the server, or raise a PeerError that says why that cannot be."""
        await self.aclose()
        self._peer = await self._stack.enter_async_context(self._connect())

    async def aclose(self) -> None:
        """Leave the server; if we have started it, end it."""
        self._peer = None
        await self._stack.aclose()

    def about(self) -> dict[str, Any]:
        """What the server calls itself."""
        peer = self._peer
        return {
            "server": {} if peer is None else peer.server,
            "instructions": None if peer is None else peer.instructions,
            "kind": "other",
            "target": self._target,
            "revision": NEWEST.date if peer is None else peer.revision,
            "revisions": list(REVISIONS),
            "profile": None,
            "profiles": list(PROFILES),
        }

    async def tools(self) -> list[dict[str, Any]]:
        """All tools, page by page."""
        peer = await self._reach()
        try:
            tools = await peer.tools()
        except PeerError as error:
            self._lose(peer, error)
            raise
        self._schemas = {str(tool.get("name")): tool.get("inputSchema") for tool in tools}
        return tools

    def schema(self, tool: str) -> dict[str, Any] | None:
        """What a tool said it takes, when the tools were last listed."""
        schema = self._schemas.get(tool)
        return schema if isinstance(schema, dict) else None

    async def check(self, asked: Asked) -> Sequence[FieldError]:
        """What the tool's schema says of its arguments; a schema that is none says nothing."""
        schema = self.schema(asked.tool)
        if schema is None:
            return ()
        try:
            return Checker(schema).errors(msgspec.json.decode(asked.arguments))
        except ContractError:
            return ()

    async def call(self, asked: Asked) -> tuple[int, Talk]:
        """Call a tool, as the server's own revision has it."""
        call = Calling(asked, await self._reach(), next(self._tokens))
        call.begin(self._run(call))
        return await self._go_on(call)

    async def answer(self, number: int, answers: Mapping[str, Said]) -> tuple[int, Talk] | None:
        """Go on with a call that waits, or that is made again with the answers."""
        call = self._waiting.take(number)
        if call is None:
            return None
        if REVISIONS[call.peer.revision].stateless:
            call.begin(self._run(call, call.responses(answers)))
        else:
            await call.reply(answers)
        return await self._go_on(call)

    def leave(self, number: int) -> None:
        """End a call that waits."""
        self._waiting.leave(number)

    async def _run(self, call: Calling, answers: Mapping[str, Any] | None = None) -> Reply:
        began = perf_counter()
        self._under_way.append(call)
        try:
            reply = await call.send(answers)
        except PeerError as error:
            self._note((call.asked.tool, "unavailable", perf_counter() - began))
            self._lose(call.peer, error)
            raise
        finally:
            self._under_way.remove(call)
        call.hear_result(reply.result)
        return reply

    async def _go_on(self, call: Calling) -> tuple[int, Talk]:
        """As far as the call goes: to its end, or to a question."""
        reply = await call.wait()
        if reply is not None and not REVISIONS[call.peer.revision].stateless:
            await call.dismiss()
        raw = NO_ANSWER_YET if reply is None else reply.raw
        asked = call.asked
        report = await read_reply(self._received(asked, raw))
        if reply is not None:
            ending: Ending = "internal" if report.is_failure else "success"
            self._note((asked.tool, ending, call.seconds))
        wire, omitted = call.wire(reply, is_whole=reply is not None and not report.is_heavy)
        talk = Talk(
            tool=asked.tool,
            arguments=asked.arguments,
            wire=wire,
            reply=raw,
            report=report,
            seconds=call.seconds,
            revision=call.peer.revision,
            asked=tuple(call.open.values()),
            omitted=omitted,
        )
        number = self._kept.add(talk, 2 * len(raw) + len(report.json))
        if call.open:
            self._waiting.add(number, call)
        return number, talk

    def _asked(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Whoever called last is asked; what is asked unbidden, nobody answers."""
        if self._under_way and self._under_way[-1].hear_request(request):
            return None
        return unbidden(str(request["method"]))

    async def word(self, number: int, wish: Wish) -> Talk | None:
        """The answer as the server sent it; or in our words, if a profile is wished for."""
        talk = self._kept.get(number)
        if talk is None or wish.profile is None:
            return talk
        date = wish.revision or talk.revision
        received = Received(talk.reply, talk.tool, bytes(talk.arguments))
        rendered = await render_reply(received, wish.profile, date)
        sent = [line for line in talk.wire if line.direction == "sent"]
        return msgspec.structs.replace(
            talk,
            wire=[*sent, Line.of("received", rendered.raw)],
            reply=rendered.raw,
            report=rendered.report,
            revision=date,
            is_ours=True,
        )

    def _received(self, asked: Asked, raw: bytes) -> Received:
        schema = to_json(self.schema(asked.tool))
        return Received(raw, asked.tool, bytes(asked.arguments), schema)

    async def reconnect(self) -> None:
        """Leave the server and reach it anew."""
        async with self._opening:
            await self.open()

    async def _reach(self) -> Peer:
        """The server, reached anew if it has ended since."""
        async with self._opening:
            if self._peer is None:
                await self.open()
            assert self._peer is not None
            return self._peer

    def _lose(self, peer: Peer, error: PeerError) -> None:
        """Let go of a server that has ended, unless another has taken its place."""
        if isinstance(error, Gone) and self._peer is peer:
            self._peer = None

    def _note(self, noted: Noted) -> None:
        if self._tally is not None:
            self._tally.add([noted])
