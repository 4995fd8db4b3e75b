"""What sessions of the handshake era have in Redis, so that any process can go on with them.

A session has a hash: the messages with which its client has changed it, the processes that follow
it, and whether it has ended. It is written when that changes, and read by a process that has not
served the session yet. Each event stream is a stream in Redis, for clients that resume it when the
process that has sent it has ended. All values are encrypted with the server's key.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import blake2b
from time import time
from typing import Any, Final, NamedTuple

import msgspec

from accord.errors import StoreError
from accord.serve.http.session_id import SessionId
from accord.signing import CLOCK_SKEW, BadSignature
from accord.tasks.redis_client import RedisClient
from accord.tasks.sealing import Sealer

_DIGEST_BYTES: Final = 12
_ENDED: Final = "ended"
_FOLLOWED: Final = "followed by "
_BATCH: Final = 100
_MAX_WAITING: Final = 10_000  # events while Redis is away; the oldest are dropped
_MAX_WAITING_BYTES: Final = 32 * 1024 * 1024
_VALUE: Final = "e"
_SUBSCRIBE, _UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"
_ORDER: Final = ("initialize", "logging/setLevel", _SUBSCRIBE)


class _Params(msgspec.Struct, frozen=True):
    uri: str = ""


class _Message(msgspec.Struct, frozen=True):
    method: str
    params: _Params = _Params()


_decode = msgspec.json.Decoder(_Message).decode


class SessionRecord(NamedTuple):
    """What Redis has of a session."""

    has_ended: bool
    changes: list[bytes]
    """The messages that change a new session to what this one is."""
    followers: list[str]
    """The processes that have a listening stream of it."""


class StoredStream(NamedTuple):
    """The events of a stream, in order."""

    first: int
    """The number of the first one."""
    events: list[bytes]
    is_closed: bool


class _Event(NamedTuple):
    """An event of a stream that is to be stored."""

    key: str
    number: int
    message: bytes | None
    """None for the end of the stream."""
    first: int
    """The number of the first event that the stream still keeps."""


class SessionStore:
    """Reads and writes what sessions have in Redis."""

    def __init__(self, client: RedisClient, server: str, key: bytes, seconds: float) -> None:
        """Event streams are kept for so many seconds after their last event."""
        self._client = client
        self._server = server
        self._sealer = Sealer(key)
        self._stream_ms = int(seconds * 1000)
        self._events: deque[_Event] = deque()
        self._waiting_bytes = 0
        self._writer: asyncio.Task[None] | None = None

    async def read(self, seal: SessionId) -> SessionRecord:
        """Return what is known of a session, with one command."""
        found = await self._client.run("HGETALL", self._key(seal.nonce))
        fields: Mapping[str, bytes] = {name.decode(): value for name, value in found.items()}
        messages: list[tuple[int, bytes]] = []
        for name, value in fields.items():
            if name != _ENDED and not name.startswith(_FOLLOWED):
                with suppress(BadSignature):
                    message = self._sealer.open(self._purpose(seal), value)
                    messages.append((_ORDER.index(_decode(message).method), message))
        return SessionRecord(
            _ENDED in fields,
            [message for _, message in sorted(messages)],
            [each.removeprefix(_FOLLOWED) for each in fields if each.startswith(_FOLLOWED)],
        )

    async def change(self, seal: SessionId, messages: Iterable[bytes]) -> None:
        """Store messages with which a client has changed its session."""
        key, commands = self._key(seal.nonce), list[tuple[Any, ...]]()
        for message in messages:
            found = _decode(message)
            if found.method == _UNSUBSCRIBE:
                commands.append(("HDEL", key, _field(found.params.uri)))
            elif found.method in _ORDER:
                name = _field(found.params.uri) if found.method == _SUBSCRIBE else found.method
                value = self._sealer.seal(self._purpose(seal), message)
                commands.append(("HSET", key, name, value))
        if commands:
            await self._write(key, seal.until, *commands)

    async def end(self, nonce: str, until: int) -> None:
        """Note that a session has ended, whose id expires at a time."""
        await self._write(self._key(nonce), until, ("HSET", self._key(nonce), _ENDED, "1"))

    async def set_follower(self, seal: SessionId, worker: str, *, is_open: bool) -> None:
        """Note that a process has begun or ended to follow a session."""
        key, name = self._key(seal.nonce), _FOLLOWED + worker
        command = ("HSET", key, name, "1") if is_open else ("HDEL", key, name)
        await self._write(key, seal.until, command)

    async def _write(self, key: str, until: int, *commands: tuple[Any, ...]) -> None:
        left = max(until + CLOCK_SKEW - time(), 1)
        expire = ("PEXPIRE", key, int(left * 1000))
        for reply in await self._client.send(*commands, expire):
            if isinstance(reply, Exception):
                raise self._client.failure(reply)

    # Event streams

    def keep(
        self, seal: SessionId, stream: str, number: int, event: bytes | None, first: int
    ) -> None:
        """Store an event in the background, or the end of a stream if it is None.

        Events before the `first` are removed: their stream does not keep them either.
        """
        self._events.append(_Event(self._stream_key(seal, stream), number, event, first))
        self._waiting_bytes += len(event or b"")
        while len(self._events) > _MAX_WAITING or self._waiting_bytes > _MAX_WAITING_BYTES:
            self._next_event()
        if self._writer is None or self._writer.done():
            self._writer = asyncio.get_running_loop().create_task(self._write_events())

    def _next_event(self) -> "_Event":
        event = self._events.popleft()
        self._waiting_bytes -= len(event.message or b"")
        return event

    async def _write_events(self) -> None:
        while self._events:
            batch = [self._next_event() for _ in range(min(_BATCH, len(self._events)))]
            commands: list[tuple[Any, ...]] = []
            for key, number, event, first in batch:
                value = b"" if event is None else self._sealer.seal(key, event)
                ids = ("MINID", f"{first + 1}-0", f"{number + 1}-0")
                commands.append(("XADD", key, *ids, _VALUE, value))
            commands += [("PEXPIRE", key, self._stream_ms) for key in {each.key for each in batch}]
            with suppress(StoreError):  # only clients whose process has ended would need them
                await self._client.send(*commands)

    async def flush(self) -> None:
        """Wait until the events so far are stored, or cannot be."""
        if self._writer is not None:
            await asyncio.wait([self._writer], timeout=self._client.seconds)

    async def read_stream(self, seal: SessionId, stream: str) -> StoredStream | None:
        """Return the events of a stream; None if there are none."""
        key = self._stream_key(seal, stream)
        found = await self._client.run("XRANGE", key, "-", "+")
        events: list[tuple[int, bytes]] = []
        is_closed = False
        for entry, fields in found:
            value = fields[_VALUE.encode()]
            if not value:
                is_closed = True
                continue
            with suppress(BadSignature):
                number, event = int(entry.partition(b"-")[0]) - 1, self._sealer.open(key, value)
                if events and events[-1][0] != number - 1:
                    events = []  # some are missing: what is before them is of no use
                events.append((number, event))
        if not events:
            return None
        return StoredStream(events[0][0], [event for _, event in events], is_closed)

    def _key(self, nonce: str) -> str:
        return f"accord:{self._server}:session:{{{nonce}}}"

    def _stream_key(self, seal: SessionId, stream: str) -> str:
        return f"accord:{self._server}:events:{{{seal.nonce}}}:{stream}"

    def _purpose(self, seal: SessionId) -> str:
        return f"session {self._server} {seal.nonce}"


def _field(uri: str) -> str:
    """Return the field of a subscription, which does not show the URI."""
    return blake2b(uri.encode(), digest_size=_DIGEST_BYTES).hexdigest()
