"""Links between the processes of several machines, through Redis.

Each process has an inbox, a stream that it alone reads; the others append messages to it, encrypted
with the server's key. So a message waits while its reader is disconnected, and arrives once, in
order. Processes show that they live by a number in a hash, which they increase each second. Workers
of one machine have links of their own (`siblings`), and use them.
"""

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Awaitable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from accord.child_process import PipeClosed
from accord.errors import StoreError
from accord.serve.http.exchange import Exchange
from accord.serve.http.links import (
    ACK_SECONDS,
    GONE,
    Ack,
    AnswerRelayed,
    Figures,
    Frame,
    Linked,
    RelayedRequest,
    Sent,
    SessionState,
    Switched,
    no_owner,
    relay_through,
    serve_relayed,
)
from accord.serve.http.response import Response
from accord.serve.http.siblings import Siblings
from accord.signing import BadSignature
from accord.tasks.redis_client import FAILURES, RedisClient
from accord.tasks.sealing import Sealer

log: logging.Logger = logging.getLogger("accord")

_NAME_BYTES: Final = 4
_BEAT: Final = 1.0  # seconds between signs of life
_MAX_STALE: Final = 4  # looks in which the number of a process has not changed
_INBOX_MS: Final = 60_000  # until the inbox of a process that has died is removed
_MEMBERS_MS: Final = 24 * 60 * 60_000
_BLOCK_MS: Final = 1_000
_BATCH: Final = 100  # messages in one command
_MAX_UNSENT: Final = 10_000  # messages that are kept while Redis is away
_PAUSE: Final = 0.2  # seconds before the next attempt
_START_SECONDS: Final = 0.5  # for the others to answer at the start
_CHECK: Final = 0.01
_VALUE: Final = "m"
_CONTENT: Final = "content"  # in the hash of processes; their names have only hexadecimal digits


class _Greeting(msgspec.Struct, frozen=True, tag="greeting"):
    """A process links itself to another."""

    is_reply: bool = False


class _Bye(msgspec.Struct, frozen=True, tag="bye"):
    """A process ends."""


class _Close(msgspec.Struct, frozen=True, tag="close"):
    """A pipe is closed."""


_Content = Frame | _Greeting | _Bye | _Close


class _Envelope(msgspec.Struct, frozen=True, array_like=True):
    sender: str
    number: int
    """Increases with each message to one process, so that none is taken twice."""
    pipe: str
    """The pipe that the content belongs to, if it does to one."""
    content: _Content


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Envelope).decode


class _Outgoing:
    """A message that is to be sent."""

    __slots__ = ("sealed", "sent", "worker")

    def __init__(self, worker: str, sealed: bytes, sent: "asyncio.Future[bool] | None") -> None:
        self.worker = worker
        self.sealed = sealed
        self.sent = sent
        """Done once Redis has it: True unless the process has ended, and its inbox is gone.

        Without one, the message is sent again after a failure.
        """


class Replicas:
    """The links of one process to all others of its server."""

    def __init__(
        self, client: RedisClient, server: str, key: bytes, local: Siblings | None = None
    ) -> None:
        """`local` are the links to the workers of this machine, if there are any."""
        self.name: str = secrets.token_hex(_NAME_BYTES) if local is None else local.name
        self._client = client
        self._server = server
        self._sealer = Sealer(key)
        self._local = local
        self._own_content = secrets.token_hex(_NAME_BYTES)
        self._linked: set[str] = set()
        self._closing = asyncio.Event()
        self._reset()

    def _reset(self) -> None:
        """Begin anew, on another event loop perhaps."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._linked.clear()
        self._seen: dict[str, tuple[int, int]] = {}
        """The last number of each process, and how often it was found unchanged."""
        self._beats = 0
        self._content: bytes | None = None
        """What identifies the content of Redis: another one if it was lost."""
        self._is_away = False
        self._position = b"0"
        self._taken: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._pipe_count = 0
        self._pipes: dict[str, _Pipe] = {}
        self._asked: dict[int, asyncio.Future[None]] = {}
        self._ask_count = 0
        self._unsent: deque[_Outgoing] = deque(maxlen=_MAX_UNSENT)
        self._has_unsent = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._relayed: set[asyncio.Task[Any]] = set()

    # The other processes

    def has(self, worker: str) -> bool:
        """True if a process of this name is linked."""
        return self._is_local(worker) or worker in self._linked

    def _is_local(self, worker: str) -> bool:
        return self._local is not None and self._local.has(worker)

    async def start(self, sessions: SessionState, answer: AnswerRelayed, figures: Figures) -> None:
        """Link this process to those that there are; raise StoreError if Redis is away."""
        self._reset()
        self._closing.clear()
        self._sessions = sessions
        self._answer = answer
        self._loop = asyncio.get_running_loop()
        if self._local is not None:
            await self._local.start(sessions, answer, figures)
        await self._client.open()
        await self._beat()
        for work in (self._read_inbox(), self._send_messages(), self._keep_beating()):
            self._spawn(work)
        with suppress(TimeoutError):
            async with asyncio.timeout(_START_SECONDS):
                while any(not self.has(each) for each in self._seen):  # noqa: ASYNC110
                    await asyncio.sleep(_CHECK)

    def stop(self) -> None:
        """End the requests that are relayed."""
        self._closing.set()
        if self._local is not None:
            self._local.stop()

    async def close(self) -> None:
        """Tell the others that this process ends, and disconnect."""
        self._closing.set()
        if self._local is not None:
            await self._local.close()
        if self._loop is None:
            return
        if self._relayed:  # their streams have ended, and are sent to the end
            await asyncio.wait(self._relayed, timeout=ACK_SECONDS)
        with suppress(StoreError):
            await asyncio.gather(*(self._post(each, _Bye()) for each in self._linked))
            await self._client.send(
                ("HDEL", self._members, self.name), ("DEL", self._inbox(self.name))
            )
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.close()
        self._reset()

    async def _keep_beating(self) -> None:
        while True:
            await asyncio.sleep(_BEAT)
            try:
                await self._beat()
            except StoreError as error:
                if not self._is_away:
                    log.warning("%s", error)
                self._is_away = True
            else:
                self._is_away = False

    async def _beat(self) -> None:
        """Show that this process lives, and look for the others."""
        self._beats += 1
        inbox = self._inbox(self.name)
        replies = await self._client.send(
            ("HSET", self._members, self.name, self._beats),
            ("HSETNX", self._members, _CONTENT, self._own_content),
            ("PEXPIRE", self._members, _MEMBERS_MS),
            ("PEXPIRE", inbox, _INBOX_MS),
            ("HGETALL", self._members),
        )
        self._raise_first(replies)
        is_new, _, _, has_inbox, members = replies
        content = members.pop(_CONTENT.encode())
        if not has_inbox:
            self._position = b"0"
            made = await self._client.send(
                ("XADD", inbox, "*", _VALUE, b""), ("PEXPIRE", inbox, _INBOX_MS)
            )
            self._raise_first(made)
        if self._content not in (None, content):
            log.warning("Redis has lost its content; what is known here is stored again")
            self._sessions.restore()
        elif self._beats > 1 and (
            is_new or not has_inbox
        ):  # the others have removed it, as one that has died
            self._sessions.refresh()
        self._content = content
        self._look_at({name.decode(): int(count) for name, count in members.items()})

    def _raise_first(self, replies: Sequence[Any]) -> None:
        for reply in replies:
            if isinstance(reply, Exception):
                raise self._client.failure(reply)

    def _look_at(self, members: dict[str, int]) -> None:
        for name, count in members.items():
            if name == self.name or self._is_local(name):
                continue
            before, stale = self._seen.get(name, (None, 0))
            stale = stale + 1 if before == count else 0
            self._seen[name] = count, stale
            if stale >= _MAX_STALE:
                self._lose(name)
                self._spawn(self._remove(name))
            elif stale == 0 and name not in self._linked:
                self._tell_one(name, _Greeting())
        for name in self._seen.keys() - members.keys():
            self._lose(name)

    async def _remove(self, name: str) -> None:
        """Remove what a process has left that has died."""
        with suppress(StoreError):
            await self._client.send(("HDEL", self._members, name), ("DEL", self._inbox(name)))

    def _link(self, worker: str) -> None:
        """Link a process, and tell it what is enabled here; sessions it finds in Redis."""
        if not self._is_local(worker) and worker not in self._linked:
            self._linked.add(worker)
            self._seen.setdefault(worker, (0, 0))
            for message in self._sessions.greeting():
                if isinstance(message, Switched):
                    self._tell_one(worker, Sent(0, message))

    def _lose(self, worker: str) -> None:
        self._seen.pop(worker, None)
        for pipe in [each for each in self._pipes.values() if each.worker == worker]:
            pipe.receive(_Close())
        if worker in self._linked:
            self._linked.discard(worker)
            self._sessions.lose(worker)

    # To the others

    def send(self, worker: str, message: Linked) -> Awaitable[object]:
        """Send a message to one linked process; the awaitable raises StoreError if it is lost."""
        if self._local is not None and self._local.has(worker):
            return self._local.send(worker, message)
        return self._spawn(self._deliver(worker, Sent(0, message)))

    async def _deliver(self, worker: str, content: _Content, pipe: str = "") -> None:
        """Send a message that has to arrive."""
        if not await self._post(worker, content, pipe):
            raise StoreError("the process that this is for has ended")

    def tell(self, message: Linked) -> None:
        """Send a message to all."""
        if self._local is not None:
            self._local.tell(message)
        for worker in self._linked:
            self._tell_one(worker, Sent(0, message))

    def tell_threadsafe(self, message: Linked) -> None:
        """Send a message to all, from any thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self.tell, message)

    def broadcast(self, message: Linked) -> Awaitable[object]:
        """Send a message to all; the awaitable waits for their acknowledgements."""
        parts: list[Awaitable[object]] = []
        if self._local is not None:
            parts.append(self._local.broadcast(message))
        parts += [self._ask(worker, message) for worker in self._linked]
        return _All(parts)

    def _ask(self, worker: str, message: Linked) -> "asyncio.Task[None]":
        """Send a message, and wait for a while until it is acknowledged."""
        self._ask_count += 1
        number, loop = self._ask_count, asyncio.get_running_loop()
        acknowledged = self._asked[number] = loop.create_future()
        sent = self._post(worker, Sent(number, message))

        async def wait() -> None:
            try:
                if await sent:
                    await asyncio.wait([acknowledged], timeout=ACK_SECONDS)
            finally:
                del self._asked[number]

        return self._spawn(wait())

    async def relay(self, worker: str, exchange: Exchange, body: bytes) -> Response | None:
        """Let another process answer a request; None if the response was a stream."""
        if self._local is not None and self._local.has(worker):
            return await self._local.relay(worker, exchange, body)
        if worker not in self._linked:
            return no_owner()
        self._pipe_count += 1
        pipe = self._open_pipe(worker, f"{self.name}.{self._pipe_count}")
        return await relay_through(pipe, exchange, body, self._closing)

    def _open_pipe(self, worker: str, name: str) -> "_Pipe":
        pipe = self._pipes[name] = _Pipe(self, worker, name)
        return pipe

    def post_to_pipe(self, worker: str, pipe: str, frame: Frame) -> Awaitable[None]:
        """Write a frame into a pipe."""
        return self._deliver(worker, frame, pipe)

    def close_pipe(self, worker: str, pipe: str) -> None:
        """Close a pipe on this side."""
        if self._pipes.pop(pipe, None) is not None and worker in self._linked:
            self._tell_one(worker, _Close(), pipe)

    def _post(self, worker: str, content: _Content, pipe: str = "") -> "asyncio.Future[bool]":
        """Send a message; the future raises StoreError unless Redis takes it in time."""
        loop = asyncio.get_running_loop()
        sent: asyncio.Future[bool] = loop.create_future()
        sent.add_done_callback(_retrieve)
        late = loop.call_later(self._client.seconds, _fail, sent, "no answer in time")
        sent.add_done_callback(lambda _: late.cancel())
        self._enqueue(worker, content, pipe, sent)
        return sent

    def _tell_one(self, worker: str, content: _Content, pipe: str = "") -> None:
        self._enqueue(worker, content, pipe, None)

    def _enqueue(
        self, worker: str, content: _Content, pipe: str, sent: "asyncio.Future[bool] | None"
    ) -> None:
        number = self._numbers[worker] = self._numbers.get(worker, 0) + 1
        envelope = _encode(_Envelope(self.name, number, pipe, content))
        sealed = self._sealer.seal(self._purpose(worker), envelope)
        self._unsent.append(_Outgoing(worker, sealed, sent))
        self._has_unsent.set()

    async def _send_messages(self) -> None:
        while True:
            await self._has_unsent.wait()
            batch: list[_Outgoing] = []
            while self._unsent and len(batch) < _BATCH:
                message = self._unsent.popleft()
                if message.sent is None or not message.sent.done():
                    batch.append(message)
            if not self._unsent:
                self._has_unsent.clear()
            if batch and not await self._send(batch):
                await asyncio.sleep(_PAUSE)

    async def _send(self, batch: list[_Outgoing]) -> bool:
        """Send messages; False if Redis is away: some are kept for the next attempt."""
        commands = [
            ("XADD", self._inbox(each.worker), "NOMKSTREAM", "*", _VALUE, each.sealed)
            for each in batch
        ]
        try:
            replies = await self._client.send(*commands)
        except StoreError as error:
            kept = [each for each in batch if each.sent is None]
            for each in batch:
                _fail(each.sent, str(error))
            self._unsent.extendleft(reversed(kept))
            if kept:
                self._has_unsent.set()
            return False
        for each, reply in zip(batch, replies, strict=True):
            if isinstance(reply, Exception):
                _fail(each.sent, str(self._client.failure(reply)))
            elif each.sent is not None and not each.sent.done():
                each.sent.set_result(reply is not None)
        return True

    # From the others

    async def _read_inbox(self) -> None:
        while True:
            with suppress(*FAILURES):
                async with self._client.waiting(self._inbox(self.name)) as redis:
                    while True:
                        await self._read_once(redis)
            await asyncio.sleep(_PAUSE)

    async def _read_once(self, redis: Any) -> None:
        inbox = self._inbox(self.name)
        async with asyncio.timeout(_BLOCK_MS / 1000 + self._client.seconds):
            found = await redis.xread({inbox: self._position}, _BATCH, _BLOCK_MS)
        for _, entries in found or ():
            for entry, fields in entries:
                self._position = entry
                if fields.get(_VALUE.encode()):
                    self._take(fields[_VALUE.encode()])
            await redis.xtrim(inbox, minid=self._position, approximate=False)

    def _take(self, sealed: bytes) -> None:
        try:
            message = _decode(self._sealer.open(self._purpose(self.name), sealed))
        except (BadSignature, msgspec.MsgspecError):
            log.warning("A message of another process in Redis cannot be read: it has another key")
            return
        sender = message.sender
        if message.number <= self._taken.get(sender, 0):
            return
        self._taken[sender] = message.number
        try:
            self._handle(sender, message.pipe, message.content)
        except Exception:
            log.exception("A message of another process failed")

    def _handle(self, sender: str, pipe: str, content: _Content) -> None:
        match content:
            case _Greeting():
                self._link(sender)
                if not content.is_reply:
                    self._tell_one(sender, _Greeting(is_reply=True))
            case _Bye():
                self._lose(sender)
                for numbers in (self._taken, self._numbers):  # it begins anew if it comes back
                    numbers.pop(sender, None)
            case Sent():
                try:
                    self._sessions.take(sender, content.message)
                finally:
                    if content.number:
                        self._tell_one(sender, Ack(content.number))
            case Ack():
                waiting = self._asked.get(content.number)
                if waiting is not None and not waiting.done():
                    waiting.set_result(None)
            case RelayedRequest():
                opened = self._open_pipe(sender, pipe)
                opened.receive(content)
                task = self._spawn(self._serve_relayed(opened))
                self._relayed.add(task)
                task.add_done_callback(self._relayed.discard)
            case _ if pipe in self._pipes:
                self._pipes[pipe].receive(content)

    async def _serve_relayed(self, pipe: "_Pipe") -> None:
        try:
            with suppress(*GONE):
                await serve_relayed(pipe, self._answer)
        finally:
            pipe.close()

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(_retrieve)
        return task

    def _inbox(self, worker: str) -> str:
        return f"accord:{self._server}:inbox:{{{worker}}}"

    @property
    def _members(self) -> str:
        return f"accord:{self._server}:processes"

    def _purpose(self, worker: str) -> str:
        return f"message {self._server} {worker}"


class _Pipe:
    """A connection for one request."""

    def __init__(self, links: Replicas, worker: str, name: str) -> None:
        self.worker = worker
        self._links = links
        self._name = name
        self._frames: asyncio.Queue[Frame | None] = asyncio.Queue()
        self._ended = asyncio.Event()

    def receive(self, content: _Content) -> None:
        """Take what the other side has sent."""
        if isinstance(content, _Close):
            self._ended.set()
            self._frames.put_nowait(None)
        elif not isinstance(content, _Greeting | _Bye):
            self._frames.put_nowait(content)

    @property
    def is_closing(self) -> bool:
        """True if nothing can be written any more."""
        return self._ended.is_set()

    async def read(self) -> Frame:
        """Return the next frame."""
        frame = await self._frames.get()
        if frame is None:
            raise PipeClosed
        return frame

    async def ended(self) -> None:
        """Wait until the other side has closed it."""
        await self._ended.wait()

    async def write(self, frame: Frame) -> None:
        """Write a frame, and wait until Redis has it."""
        if self.is_closing:
            raise PipeClosed
        await self._links.post_to_pipe(self.worker, self._name, frame)

    def close(self) -> None:
        """Close it on this side."""
        self._ended.set()
        self._links.close_pipe(self.worker, self._name)


class _All:
    """Awaits several things when awaited; raises the first error once all are done."""

    def __init__(self, parts: Sequence[Awaitable[object]]) -> None:
        self._parts = parts

    def __await__(self) -> Any:
        return self._wait().__await__()

    async def _wait(self) -> None:
        for found in await asyncio.gather(*self._parts, return_exceptions=True):
            if isinstance(found, BaseException):
                raise found


def _fail(sent: "asyncio.Future[bool] | None", reason: str) -> None:
    if sent is not None and not sent.done():
        sent.set_exception(StoreError(reason))


def _retrieve(future: "asyncio.Future[Any]") -> None:
    """Mark an exception as known: nothing may wait for it."""
    if not future.cancelled():
        future.exception()
