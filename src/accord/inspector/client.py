"""A client of a server in this process, which takes down all that is said."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from accord.answer import Asking, Problem
from accord.errors import PeerError
from accord.inspector.target import Asked, Line, Talk, Wish
from accord.outcome import Outcome
from accord.profiles import asking_for
from accord.protocol import Call
from accord.questions import Question
from accord.reader import read
from accord.revisions import NEWEST, REVISIONS
from accord.serve.listener import Listener
from accord.server import Server
from accord.work import Done

_META: Final = "io.modelcontextprotocol"
_CLIENT: Final = {"name": "accord-page", "version": "1"}
_ASKABLE: Final[dict[str, Any]] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {},
    "roots": {},
}
_encode = msgspec.json.Encoder().encode


class Client(Listener):
    """One client of the server, with a connection and a record of its own.

    It can be asked all there is to ask, and answers nothing: a person sees the question.
    """

    def __init__(self, server: Server, wish: Wish) -> None:
        self._revision = REVISIONS[wish.revision or NEWEST.date]
        super().__init__(self.receive)
        self._capabilities = _ASKABLE | ({} if wish.profile is None else asking_for(wish.profile))
        self._requests = 0
        self.connection = server.connect()
        self.wire: list[Line] = []
        self._asking: Asking | None = None
        self._unanswered: Problem | None = None
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

    async def ask(self, call: Call, questions: Mapping[str, Question]) -> Mapping[str, bytes]:
        """Take the questions down, and let them go unanswered."""
        self._asking = Asking(questions)
        self._unanswered = self.unanswered(call, self._asking)
        raise self._unanswered

    def unanswered(self, call: Call, asking: Asking) -> Problem:
        """What comes of questions that are requests of their own."""
        posed = [self.connection.pose(each, call.revision) for each in asking.questions.values()]
        for each in posed:
            self.receive(each.message)
        for each in posed:
            self.receive(self.connection.withdraw(each) or b"")
        return Problem.unavailable("The page shows questions, and answers none", retryable=False)

    def outcome(self, done: Done) -> Outcome:
        """How a call really ended: with its questions, if it failed for want of answers."""
        is_asking = self._asking is not None and done.outcome is self._unanswered
        return self._asking if is_asking and self._asking is not None else done.outcome

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
                call.edge = self
        return call
