"""Who waits for what, and what came: no I/O, messages in, replies to the right ones out."""

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import count
from time import time
from typing import Any, Final

from accord.connect.messages import (
    Answer,
    Direction,
    Message,
    Outgoing,
    Reply,
    read,
    refusal,
    response,
    shorten,
)
from accord.errors import PeerError

Hear = Callable[[dict[str, Any]], object]
Consider = Callable[[dict[str, Any]], Answer | None]
"""What a request of the server's is answered with; None if that comes later."""

_MOST: Final = 1_000  # messages that are kept
_MOST_BYTES: Final = 64 * 1024 * 1024


class Record:
    """The last messages, as far as they fit into a limit."""

    def __init__(self, most: int = _MOST, most_bytes: int = _MOST_BYTES) -> None:
        self.messages: deque[Message] = deque()
        self._most = most
        self._most_bytes = most_bytes
        self._size = 0

    def add(self, direction: Direction, raw: bytes) -> None:
        """Keep one more; the oldest make room, the newest always stays."""
        self.messages.append(Message(direction, raw, time()))
        self._size += len(raw)
        while len(self.messages) > 1 and (
            len(self.messages) > self._most or self._size > self._most_bytes
        ):
            self._size -= len(self.messages.popleft().raw)


class Inbox:
    """Everything that comes from one peer, over whatever wires lead to it."""

    def __init__(self, hear: Hear | None = None, consider: Consider = refusal) -> None:
        self.record = Record()
        self.notifications: deque[dict[str, Any]] = deque(maxlen=_MOST)
        self.answers_requests = False
        """In the stateless era a server has no requests to make, and we no replies to send."""
        self._hear = hear
        self._consider = consider
        self._asked: list[Any] = []
        self._ids = count(1)
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._strays: deque[str] = deque(maxlen=3)
        self._noises = 0

    def expect(self) -> tuple[int, "asyncio.Future[Reply]"]:
        """A new id, and what will be the reply to it."""
        identity = next(self._ids)
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[identity] = answer
        return identity, answer

    def forget(self, identity: int) -> None:
        """Nobody waits for this any longer."""
        self._waiting.pop(identity, None)

    def noise(self, raw: bytes) -> None:
        """Keep something that is no message."""
        self._noises += 1
        self.record.add("noise", raw)

    def receive(self, raw: bytes, asked: int | None = None) -> list[Outgoing]:
        """Give what came to whom it is for; our own replies, where it wants any.

        `asked` is the request that it came in response to, where the wire can tell.
        """
        messages = read(raw)
        if not messages:
            self.noise(raw)
        return [reply for part, message in messages for reply in self._take(part, message, asked)]

    def _take(self, raw: bytes, message: dict[str, Any], asked: int | None) -> list[Outgoing]:
        self.record.add("received", raw)
        if "method" not in message:
            self._settle(Reply(raw, message), asked)
        elif "id" in message:
            return self._answers(message) if self.answers_requests else []
        else:
            self._withdraw(message)
            self.notifications.append(message)
            if self._hear is not None:  # in a turn of its own: what it raises is not for us
                asyncio.get_running_loop().call_soon(self._hear, message)
        return []

    def _answers(self, request: dict[str, Any]) -> list[Outgoing]:
        """Our reply to a request, if it can be said at once: a ping always is."""
        identity = request["id"]
        answer = {"result": {}} if request["method"] == "ping" else self._consider(request)
        if answer is None:
            self._asked.append(identity)
            return []
        return [response(identity, answer)]

    @property
    def is_asked(self) -> bool:
        """Whether a request of the server's is still to be answered."""
        return bool(self._asked)

    def answered(self, identity: Any) -> bool:
        """A request of the server's is answered, or no longer matters; whether it was open."""
        if identity not in self._asked:
            return False
        self._asked.remove(identity)
        return True

    def _withdraw(self, notification: dict[str, Any]) -> None:
        params = notification.get("params")
        if notification.get("method") == "notifications/cancelled" and isinstance(params, dict):
            self.answered(params.get("requestId"))

    def _settle(self, reply: Reply, asked: int | None) -> None:
        answer = self._addressee(reply.message, asked)
        if answer is None or answer.done():
            self._strays.append(shorten(f"id {reply.message.get('id')!r}"))
        else:
            answer.set_result(reply)

    def _addressee(
        self, message: dict[str, Any], asked: int | None
    ) -> "asyncio.Future[Reply] | None":
        identity = message.get("id")
        if type(identity) is int and identity in self._waiting:  # True is no id
            return self._waiting[identity]
        if "error" not in message:
            return None
        if asked is not None:  # an error often cannot tell what it answers
            return self._waiting.get(asked)
        if identity is None and len(self._waiting) == 1:
            return next(iter(self._waiting.values()))
        return None

    def lose(self, error: PeerError) -> None:
        """No reply will come to anybody who waits now."""
        self._asked.clear()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(error)

    @property
    def strays(self) -> str:
        """What is to be said of replies that answered nothing that was asked, and of no replies."""
        said = ""
        if self._noises:
            said += f"; messages came that are not JSON-RPC, or too deep: {self._noises}"
        if self._strays:
            said += f"; replies came that answer nothing that is open: {', '.join(self._strays)}"
        return said
