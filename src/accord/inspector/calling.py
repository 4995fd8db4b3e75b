"""A call of somebody else's server, and which messages on its wire belong to it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from accord.connect import Message, Peer, Reply
from accord.connect.messages import read
from accord.inspector.going import Going
from accord.inspector.target import Asked, Direction, Line, Posed, Said
from accord.reader.report import to_json

_NOBODY: Final = {"error": {"code": -1, "message": "Nobody is here who could be asked"}}
_UNBIDDEN: Final[Mapping[str, dict[str, Any]]] = {
    "roots/list": {"result": {"roots": []}},
    "elicitation/create": {"result": {"action": "cancel"}},
}
_MAX_LINES: Final = 200  # messages of a call that are shown
_LINE_BYTES: Final = 64 * 1024  # of a message that are shown
_OTHERS_BYTES: Final = 1024 * 1024  # of all messages but the reply
_MAX_QUESTIONS: Final = 20  # that are open at once; a server that asks more is answered at once
_QUESTION_BYTES: Final = 256 * 1024
_MOMENT: Final = 0.3  # seconds that a call may go on with a question open before anybody is asked


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    progress_token: Any = None


class _Params(msgspec.Struct, frozen=True, rename="camel"):
    progress_token: Any = None
    meta: _Meta = msgspec.field(default=_Meta(), name="_meta")


class _Frame(msgspec.Struct, frozen=True):
    """As much of a message as tells which call it belongs to."""

    id: Any = None
    method: Any = None
    params: _Params = _Params()

    @property
    def token(self) -> Any:
        return self.params.progress_token

    @property
    def sent_token(self) -> Any:
        return self.params.meta.progress_token


_decode = msgspec.json.Decoder(_Frame).decode


class Calling(Going[Reply]):
    """One call; its token tells it from others on the same wire."""

    def __init__(self, asked: Asked, peer: Peer, token: str) -> None:
        super().__init__(asked)
        self.peer = peer
        self._token = token
        self._before = peer.messages[-1] if peer.messages else None
        self._questions: list[Any] = []

    async def send(self, answers: Mapping[str, Any] | None = None) -> Reply:
        """Call the tool, again if there are answers."""
        arguments = msgspec.json.decode(self.asked.arguments)
        return await self.peer.call(
            self.asked.tool, arguments, progress_token=self._token, answers=answers
        )

    def hear_request(self, request: Mapping[str, Any]) -> bool:
        """Note what the server asks because of this call; whether there is room for that."""
        identity = request["id"]
        self._questions.append(identity)
        key, method = json.dumps(identity), str(request["method"])
        self.pose(Posed(key, method, request.get("params", {})))
        return key in self.open

    def pose(self, posed: Posed) -> None:
        """Note a question, unless it is more than a person would answer."""
        if len(self.open) < _MAX_QUESTIONS and len(to_json(posed)) <= _QUESTION_BYTES:
            super().pose(posed)

    async def wait(self) -> Reply | None:
        """How it ended; None if it asks first.

        A server may ask something that has nothing to do with this call, which then goes on.
        """
        reply = await super().wait()
        if reply is None and await self.ends_within(_MOMENT):
            reply = await super().wait()
        return reply

    async def reply(self, answers: Mapping[str, Said]) -> None:
        """Send answers that are replies of their own."""
        for key, said in answers.items():
            if key in self.open:
                self.close(key)
                await self.peer.answer(json.loads(key), said.reply)

    async def dismiss(self) -> None:
        """Answer what nobody will, since the call is over."""
        for key, posed in list(self.open.items()):
            self.close(key)
            await self.peer.answer(json.loads(key), unbidden(posed.method))

    def wire(self, reply: Reply | None, *, is_whole: bool) -> tuple[list[Line], int]:
        """Return the messages of this call, and how many are left out.

        The last, which is the reply, may be whole; the others share some room.
        """
        since = [(message, _frame(message)) for message in self._since()]
        ours = [frame.id for message, frame in since if self._is_ours(message, frame)]
        if reply is not None:  # of which the request may be forgotten by now
            ours.append(reply.message.get("id"))
        about = [message for message, frame in since if self._is_about(message, frame, ours)]
        shown = about[:1] + about[1:][-_MAX_LINES:]
        room = _OTHERS_BYTES
        found: list[Line] = []
        for message in shown[:-1]:
            found.append(Line.up_to(min(room, _LINE_BYTES), _way(message), message.raw))
            room = max(room - len(message.raw), 0)
        for message in shown[-1:]:
            limit = len(message.raw) if is_whole else _LINE_BYTES
            found.append(Line.up_to(limit, _way(message), message.raw))
        return found, len(about) - len(shown)

    def _is_ours(self, message: Message, frame: "_Frame") -> bool:
        return message.direction == "sent" and frame.sent_token == self._token

    def _since(self) -> Sequence[Message]:
        """What came after it began, or all of it if that is no longer known."""
        found: list[Message] = []
        for message in reversed(self.peer.messages):
            if message is self._before:
                break
            found.append(message)
        return found[::-1]

    def _is_about(self, message: Message, frame: "_Frame", ours: list[Any]) -> bool:
        if message.direction == "noise":
            return False
        if frame.id is None:
            return frame.token in (None, self._token)
        is_question = (message.direction == "received") == (frame.method is not None)
        return frame.id in (self._questions if is_question else ours)


def unbidden(method: str) -> dict[str, Any]:
    """The answer to what is asked without a call."""
    return _UNBIDDEN.get(method, _NOBODY)


def _way(message: Message) -> Direction:
    return "sent" if message.direction == "sent" else "received"


def _frame(message: Message) -> _Frame:
    """Decode what tells whose a message is, without its result, which may be anything."""
    try:
        return _decode(message.raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = read(message.raw)
        said = found[0][1] if found else {}
        params = _object(said.get("params"))
        meta = _object(params.get("_meta"))
        tokens = _Params(params.get("progressToken"), _Meta(meta.get("progressToken")))
        return _Frame(said.get("id"), said.get("method"), tokens)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
