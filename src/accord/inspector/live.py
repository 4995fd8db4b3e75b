"""Sends what arrives during a request as events, so that the page shows it at once."""

import asyncio
from collections import deque
from typing import Any, Final

from accord.inspector.target import OnMessage
from accord.reader.reading import to_json
from accord.serve.http.exchange import Exchange

_PAUSE: Final = 0.05  # seconds between two events
_MAX_MESSAGES: Final = 100  # in one event; of more, the newest are sent
_MAX_BYTES: Final = 16 * 1024  # of one message


class LiveResponse:
    """A response that becomes a stream of events with the first message before the result.

    Each event is JSON: messages with the number of those left out, or the result at the end.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._messages: deque[str] = deque(maxlen=_MAX_MESSAGES)
        self._omitted = 0
        self._timer: asyncio.TimerHandle | None = None
        self._has_ended = False

    def open(self) -> None:
        """Begin the stream without a message."""
        self._flush()

    @property
    def receive(self) -> OnMessage:
        """The function that receives messages."""
        return self._receive

    def _receive(self, raw: bytes) -> None:
        if len(raw) > _MAX_BYTES or len(self._messages) == _MAX_MESSAGES:
            self._omitted += 1
        if len(raw) <= _MAX_BYTES:
            self._messages.append(raw.decode(errors="replace"))
        if self._timer is None and not self._has_ended:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._flush)

    def _flush(self) -> None:
        """Send the messages, unless the client still has much to read."""
        self._timer = None
        stream = self._exchange.stream
        if stream is not None and stream.is_behind:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._flush)
            return
        event = {"messages": [*self._messages], "omitted": self._omitted}
        self._messages.clear()
        self._omitted = 0
        self._exchange.push(to_json(event))

    async def end(self, status: int, body: Any) -> bool:
        """Send the result if the response is a stream; return False if it is not."""
        self._stop()
        if self._exchange.stream is None:
            return False
        if self._messages or self._omitted:
            self._flush()
            self._stop()
        await self._exchange.end_stream(to_json({"status": status, "body": body}))
        return True

    def drop(self) -> None:
        """Send nothing more: the client is gone."""
        self._stop()
        self._exchange.drop()

    def _stop(self) -> None:
        self._has_ended = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
