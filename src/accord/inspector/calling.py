"""A call of somebody else's server, and which messages on its wire belong to it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from accord.connect import Message, Peer, Reply
from accord.connect.messages import read
from accord.inspector.going import Going
from accord.inspector.target import Asked, Line, Posed, Said

_NOBODY: Final = {"error": {"code": -1, "message": "Nobody is here who could be asked"}}
_UNBIDDEN: Final[Mapping[str, dict[str, Any]]] = {
    "roots/list": {"result": {"roots": []}},
    "elicitation/create": {"result": {"action": "cancel"}},
}
_MOMENT: Final = 0.3  # seconds that a call may go on with a question open before anybody is asked


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

    def hear_request(self, request: Mapping[str, Any]) -> None:
        """Note what the server asks because of this call."""
        identity = request["id"]
        self._questions.append(identity)
        key, method = json.dumps(identity), str(request["method"])
        self.pose(Posed(key, method, request.get("params", {})))

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

    def wire(self) -> list[Line]:
        """What was said because of this call, among what was said at the same time."""
        since = [(message, _decoded(message)) for message in self._since()]
        ours = [
            said.get("id")
            for message, said in since
            if message.direction == "sent" and _token(said) == self._token
        ]
        return [
            Line.of(message.direction, message.raw)
            for message, said in since
            if message.direction != "noise" and self._is_about(message, said, ours)
        ]

    def _since(self) -> Sequence[Message]:
        """What came after it began, or all of it if that is no longer known."""
        found: list[Message] = []
        for message in reversed(self.peer.messages):
            if message is self._before:
                break
            found.append(message)
        return found[::-1]

    def _is_about(self, message: Message, said: Mapping[str, Any], ours: list[Any]) -> bool:
        method, identity = said.get("method"), said.get("id")
        if identity is None:
            token = _object(said.get("params")).get("progressToken", self._token)
            return bool(token == self._token)
        is_question = (message.direction == "received") == (method is not None)
        return identity in (self._questions if is_question else ours)


def unbidden(method: str) -> dict[str, Any]:
    """The answer to what is asked without a call."""
    return _UNBIDDEN.get(method, _NOBODY)


def _decoded(message: Message) -> Mapping[str, Any]:
    found = read(message.raw)
    return found[0][1] if found else {}


def _token(said: Mapping[str, Any]) -> Any:
    return _object(_object(said.get("params")).get("_meta")).get("progressToken")


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
