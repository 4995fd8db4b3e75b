"""A client of a server in this process, which takes down all that is said."""

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from accord.errors import PeerError
from accord.inspector.going import Going
from accord.inspector.reading import Received, read_reply
from accord.inspector.target import Asked, Line, Said, Talk
from accord.model.answer import InputRequired
from accord.profiles import asking_for
from accord.protocol import Answered, Call
from accord.questions import Question
from accord.revisions import NEWEST, REVISIONS
from accord.serve.listener import Listener
from accord.serve.pending_requests import PendingRequests
from accord.server import Server
from accord.work import Done

_META: Final = "io.modelcontextprotocol"
_CLIENT: Final = {"name": "accord-page", "version": "1"}
ASKABLE: Final[dict[str, Any]] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {},
    "roots": {},
}
NO_ANSWER_YET: Final = b'{"jsonrpc":"2.0","id":0,"result":{"resultType":"input_required"}}'
_encode = msgspec.json.Encoder().encode


class Client(Listener):
    """One client of the server, with a connection and a record of its own.

    It can be asked all there is to ask, and waits for a person to answer.
    """

    def __init__(self, server: Server, asked: Asked, desk: PendingRequests) -> None:
        wish = asked.wish
        self._revision = REVISIONS[wish.revision or NEWEST.date]
        super().__init__(self.receive)
        self._desk = desk
        self._capabilities = ASKABLE | ({} if wish.profile is None else asking_for(wish.profile))
        self._requests = 0
        self.connection = server.connect()
        self.wire: list[Line] = []
        self.going: Going[Done] = Going(asked)
        self.asking = InputRequired({})
        """What it was asked in a revision where questions are requests of their own."""
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

    def begin_call(self, more: Mapping[str, Any] | None = None) -> Call:
        """Send the call, which wants to hear of its progress; `more` are answers so far."""
        asked = self.going.asked
        meta = {"_meta": {"progressToken": "page"}}
        params = {"name": asked.tool, "arguments": asked.arguments, **meta, **(more or {})}
        call = self.send("tools/call", params)
        if call is None:
            raise PeerError(f"the call was refused: {self.wire[-1].raw}")
        return call

    def receive(self, raw: bytes) -> None:
        """Take down a message of the server."""
        self.wire.append(Line.of("received", raw, is_prelude=self._is_prelude))
        self.going.hear(raw)

    async def ask(self, call: Call, questions: Mapping[str, Question]) -> Mapping[str, bytes]:
        """Take the questions down, and wait for somebody to answer them."""
        self.asking = InputRequired(questions)
        return await self._desk.ask(self.connection, call, questions)

    def show(self, call: Call, asking: InputRequired) -> None:
        """Take questions down that are not asked again."""
        for question in asking.questions.values():
            self.receive(self.connection.pose(question, call.revision).message)

    def answer(self, answers: Mapping[str, Said]) -> Call | None:
        """Send answers: replies of their own, or along with the call that is then made again."""
        if self._revision.stateless:
            return self.begin_call(self.going.responses(answers))
        for key, said in answers.items():
            if key in self.going.open:
                self.going.close(key)
                self._transmit({"jsonrpc": "2.0", "id": json.loads(key), **said.reply})
        return None

    def cancel(self) -> None:
        """Wait no longer."""
        self.going.cancel()

    async def talk(
        self, seconds: float, schema: Mapping[str, Any] | None, *, is_open: bool
    ) -> Talk:
        """Return the messages of the call, and what is read in its reply."""
        asked = self.going.asked
        reply = NO_ANSWER_YET if is_open else self.wire[-1].raw.encode()
        received = Received(reply, asked.tool, bytes(asked.arguments), _encode(schema))
        return Talk(
            tool=asked.tool,
            arguments=asked.arguments,
            wire=self.wire,
            reply=reply,
            report=await read_reply(received),
            seconds=seconds,
            revision=self._revision.date,
            asked=tuple(self.going.open.values()),
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
            elif isinstance(event, Answered):
                self._desk.answer(event)
        return call
