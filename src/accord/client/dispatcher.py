"""Matches incoming messages to pending requests, without I/O."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from time import time
from typing import Any, Final

from accord.client.messages import (
    Direction,
    Message,
    Outgoing,
    Reply,
    Response,
    method_not_found,
    parse_messages,
    response,
    shorten,
)
from accord.errors import PeerError

OnNotification = Callable[[dict[str, Any]], object]
OnRequest = Callable[[dict[str, Any]], Response | None]
"""Returns the response to a request of the server; None if it is sent later."""

_MAX_MESSAGES: Final = 1_000  # messages in the log
_MAX_BYTES: Final = 64 * 1024 * 1024


class MessageLog:
    """The most recent messages, bounded by count and bytes."""

    def __init__(self, max_messages: int = _MAX_MESSAGES, max_bytes: int = _MAX_BYTES) -> None:
        self.messages: deque[Message] = deque()
        self._max_messages = max_messages
        self._max_bytes = max_bytes
        self._size = 0

    def add(self, direction: Direction, raw: bytes) -> None:
        """Add a message; the oldest are dropped beyond the limits, the newest is always kept."""
        self.messages.append(Message(direction, raw, time()))
        self._size += len(raw)
        while len(self.messages) > 1 and (
            len(self.messages) > self._max_messages or self._size > self._max_bytes
        ):
            self._size -= len(self.messages.popleft().raw)

    @property
    def notifications(self) -> list[dict[str, Any]]:
        """The notifications of the server among the messages."""
        received = [each.raw for each in self.messages if each.direction == "received"]
        found = [message for raw in received for _, message in parse_messages(raw)]
        return [message for message in found if "method" in message and "id" not in message]


class Dispatcher:
    """Receives every message of one server, from any number of transports."""

    def __init__(
        self,
        on_notification: OnNotification | None = None,
        on_request: OnRequest = method_not_found,
    ) -> None:
        self.log: MessageLog = MessageLog()
        self.accepts_requests = False
        """False in the stateless era, where a server sends no requests."""
        self.related_id: int | None = None
        """While a callback runs: the request that its message came with, where that is known."""
        self._on_notification = on_notification
        self._on_request = on_request
        self._open_requests: list[Any] = []
        self._sign_ins = 0
        self._ids = count(1)
        self._pending: dict[int, asyncio.Future[Reply]] = {}
        self.watchers: set[asyncio.Future[None]] = set()
        """Futures that fail together with all requests: when the connection is lost."""
        self._unmatched: deque[str] = deque(maxlen=3)
        self._invalid = 0

    def add_pending(self) -> tuple[int, "asyncio.Future[Reply]"]:
        """Return a new request id and the future of its reply."""
        request_id = next(self._ids)
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._pending[request_id] = answer
        return request_id, answer

    def remove_pending(self, request_id: int) -> None:
        """Stop waiting for the reply to a request."""
        self._pending.pop(request_id, None)

    def add_invalid(self, raw: bytes) -> None:
        """Log data that is not a JSON-RPC message."""
        self._invalid += 1
        self.log.add("noise", raw)

    def receive(self, raw: bytes, answered_id: int | None = None) -> list[Outgoing]:
        """Deliver the messages in `raw`, and return the responses to send.

        `answered_id` is the request that this data answers, where the transport knows.
        """
        messages = parse_messages(raw)
        if not messages:
            self.add_invalid(raw)
        return [
            reply for part, message in messages for reply in self._take(part, message, answered_id)
        ]

    def _take(self, raw: bytes, message: dict[str, Any], answered_id: int | None) -> list[Outgoing]:
        self.log.add("received", raw)
        if "method" not in message:
            self._resolve(Reply(raw, message), answered_id)
        elif "id" in message:
            self.related_id = answered_id
            return self._respond(message) if self.accepts_requests else []
        else:
            self._close_cancelled(message)
            if self._on_notification is not None:  # as a callback: its errors stop nothing
                asyncio.get_running_loop().call_soon(self._notify, message, answered_id)
        return []

    def _notify(self, message: dict[str, Any], answered_id: int | None) -> None:
        self.related_id = answered_id
        if self._on_notification is not None:
            self._on_notification(message)

    def _respond(self, request: dict[str, Any]) -> list[Outgoing]:
        """Return the response to a request of the server, or nothing if it is sent later."""
        request_id = request["id"]
        answer = {"result": {}} if request["method"] == "ping" else self._on_request(request)
        if answer is None:
            self._open_requests.append(request_id)
            return []
        return [response(request_id, answer)]

    @property
    def has_open_requests(self) -> bool:
        """True while a request of the server has no response yet, or a person signs in."""
        return bool(self._open_requests or self._sign_ins)

    @contextmanager
    def signing_in(self) -> Iterator[None]:
        """Extend the time limits of all requests until a person has signed in."""
        self._sign_ins += 1
        try:
            yield
        finally:
            self._sign_ins -= 1

    def close_request(self, request_id: Any) -> bool:
        """Close a request of the server; return True if it was open."""
        if request_id not in self._open_requests:
            return False
        self._open_requests.remove(request_id)
        return True

    def _close_cancelled(self, notification: dict[str, Any]) -> None:
        params = notification.get("params")
        if notification.get("method") == "notifications/cancelled" and isinstance(params, dict):
            self.close_request(params.get("requestId"))

    def _resolve(self, reply: Reply, answered_id: int | None) -> None:
        answer = self._match(reply.message, answered_id)
        if answer is None or answer.done():
            self._unmatched.append(shorten(f"id {reply.message.get('id')!r}"))
        else:
            answer.set_result(reply)

    def _match(
        self, message: dict[str, Any], answered_id: int | None
    ) -> "asyncio.Future[Reply] | None":
        request_id = message.get("id")
        if (
            type(request_id) is int and request_id in self._pending
        ):  # a bool is an int, but not an id
            return self._pending[request_id]
        if "error" not in message:
            return None
        if answered_id is not None:  # error replies often lack the id
            return self._pending.get(answered_id)
        if request_id is None and len(self._pending) == 1:
            return next(iter(self._pending.values()))
        return None

    def fail_all(self, error: PeerError) -> None:
        """Fail every pending request."""
        self._open_requests.clear()
        futures: list[asyncio.Future[Any]] = [*self._pending.values(), *self.watchers]
        for future in futures:
            if not future.done():
                future.set_exception(error)

    @property
    def unmatched(self) -> str:
        """Describe invalid and unmatched messages, to end an error message with."""
        text = ""
        if self._invalid:
            text += (
                f"; received messages that are not JSON-RPC, or nested too deep: {self._invalid}"
            )
        if self._unmatched:
            text += f"; received replies that match no open request: {', '.join(self._unmatched)}"
        return text
