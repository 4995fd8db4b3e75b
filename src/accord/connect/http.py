"""A server behind a URL: each message a POST, answered with JSON or a stream of events."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from typing import Any, Final

import msgspec

from accord.connect.events import Events
from accord.connect.faults import Refused, SessionLost
from accord.connect.headers import mirror
from accord.connect.inbox import Inbox
from accord.connect.messages import Outgoing, Reply, shorten
from accord.errors import ContractError, PeerError

try:
    import httpx2
except ImportError as error:
    raise ContractError("A URL needs an extra: pip install 'accord-mcp[connect]'") from error

_JSON: Final = "application/json"
_STREAM: Final = "text/event-stream"
_OURS: Final = {"accept": f"{_JSON}, {_STREAM}", "content-type": _JSON}
_REDIRECTS: Final = (301, 302, 307, 308)
_MOST_REDIRECTS: Final = 5
_PATIENCE: Final = 2.0  # seconds for what is said when nobody waits for an answer
_RETRY: Final = 1.0  # seconds before a stream is resumed, if the server does not say
_SHORTEST_RETRY: Final = 0.05
_MOST_ERRANDS: Final = 100  # at once; a server that wants more replies gets none
_SHOWN: Final = 1_024  # bytes of a body that is no message


class Http:
    """The way to one URL. Nothing else is ever asked, but for its own redirects."""

    has_headers = True

    def __init__(self, url: str, headers: Mapping[str, str], inbox: Inbox, limit: int) -> None:
        self._inbox = inbox
        self._limit = limit
        self._session: str | None = None
        self._begun = Outgoing(raw=b"")
        self._listener: asyncio.Task[None] | None = None
        self._errands: set[asyncio.Task[None]] = set()
        try:
            self._url = httpx2.URL(url)
            self._client = httpx2.AsyncClient(
                # To read whom to trust is slow: nobody is, where there is no TLS.
                verify=self._url.scheme == "https" or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
                headers={"accept-encoding": "identity", **headers},
                timeout=None,  # each request has its own, from start to end
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=10),
            )
        except (httpx2.InvalidURL, UnicodeEncodeError, TypeError) as error:
            raise ContractError(f"this URL and its headers cannot be sent: {error}") from error
        if not self._url.host:
            raise ContractError(f"{url!r} names no host")

    async def exchange(self, request: Outgoing, answer: "asyncio.Future[Reply]") -> None:
        """POST a request and read on until its answer has come; resume a stream that breaks off."""
        events = Events(self._limit)
        async with self._open("POST", request) as response:
            await self._take(response, request, answer, events)
        while not answer.done():
            if not _is_resumable(request, events):
                raise PeerError(f"{self._where} ended its answer to {request.method} without one")
            await self._pause(events)
            async with self._resume(request, events) as response:
                if not _is_stream(response):
                    raise await self._refusal(response)
                await self._follow(response, request, answer, events)

    async def send(self, message: Outgoing) -> None:
        """POST what wants no answer."""
        async with self._open("POST", message) as response:
            if not response.is_success:
                raise await self._refusal(response)
        if message.method == "notifications/initialized":
            self._begun = message
            self._listen()

    def cancel(self, request: Outgoing, notice: Outgoing) -> None:
        """Say that nobody waits; in the stateless era the closed connection has said it."""
        if request.revision is not None and not request.revision.stateless:
            self._run(self._mention(notice))

    def hint(self) -> str:
        """Nothing more is known."""
        return ""

    async def close(self) -> None:
        """End the session, if there is one, and every connection."""
        try:
            if self._listener is not None:
                self._listener.cancel()
                await asyncio.wait([self._listener])
            if self._errands:
                await asyncio.wait(self._errands, timeout=_PATIENCE)
            if self._session is not None:
                await self._mention_end()
        finally:
            for errand in self._errands:
                errand.cancel()
            await self._client.aclose()

    # Requests

    @contextlib.asynccontextmanager
    async def _open(
        self, method: str, message: Outgoing, extra: Mapping[str, str] | None = None
    ) -> AsyncIterator[httpx2.Response]:
        """The response to one message, its redirects followed as long as they stay at home."""
        headers = {**self._headers(message), **(extra or {})}
        if method == "POST":
            self._inbox.record.add("sent", message.raw)
        with self._in_our_words():
            for _ in range(_MOST_REDIRECTS):
                content = message.raw if method == "POST" else None
                request = self._client.build_request(
                    method, self._url, content=content, headers=headers
                )
                response = await self._client.send(request, stream=True)
                try:
                    target = self._redirect(response)
                    if target is None:
                        yield response
                        return
                    self._url = target
                finally:
                    await response.aclose()
        raise Refused(f"{self._where} redirects again and again")

    def _resume(
        self, message: Outgoing, events: Events
    ) -> contextlib.AbstractAsyncContextManager[httpx2.Response]:
        extra = {"accept": _STREAM}
        if _is_resumable(message, events):
            extra["last-event-id"] = events.last_id
        return self._open("GET", message, extra)

    def _headers(self, message: Outgoing) -> dict[str, str]:
        headers = _OURS | mirror(message)
        if self._session is not None and message.method != "initialize":
            headers["mcp-session-id"] = self._session
        return headers

    def _redirect(self, response: httpx2.Response) -> httpx2.URL | None:
        """Where to go instead: what is meant for one server, headers above all, stays with it."""
        if response.status_code not in _REDIRECTS:
            return None
        target = self._url.join(response.headers.get("location", ""))
        if (target.scheme, target.host, target.port) == (
            self._url.scheme,
            self._url.host,
            self._url.port,
        ):
            return target
        raise Refused(
            f"{self._where} leads to {_bare(target)}, and is not followed there: "
            "connect to that URL if you trust it"
        )

    @contextlib.contextmanager
    def _in_our_words(self) -> Iterator[None]:
        try:
            yield
        except (httpx2.LocalProtocolError, UnicodeEncodeError) as error:
            raise ContractError(f"these headers cannot be sent: {error}") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            reason = shorten(str(error)) or type(error).__name__
            raise PeerError(f"cannot talk to {self._where}: {reason}{_advice(error)}") from error

    @property
    def _where(self) -> str:
        return _bare(self._url)

    # Responses

    async def _take(
        self,
        response: httpx2.Response,
        request: Outgoing,
        answer: "asyncio.Future[Reply]",
        events: Events,
    ) -> None:
        if response.status_code == 404 and "mcp-session-id" in response.request.headers:
            raise SessionLost(f"{self._where} has ended our session")
        if request.method == "initialize" and response.is_success:
            self._session = self._read_session(response)
        if _is_stream(response):
            await self._follow(response, request, answer, events)
        elif response.status_code != 401 and _content_type(response) == _JSON:
            body = await self._body(response)
            self._deliver(body, request)
            if not answer.done():
                raise _refused(self._where, response.status_code, body)
        else:
            raise await self._refusal(response)

    def _read_session(self, response: httpx2.Response) -> str | None:
        session: str | None = response.headers.get("mcp-session-id")
        if session is not None and not _fits_header(session):
            raise PeerError(f"{self._where} gave a session id that no header can carry")
        return session

    async def _follow(
        self,
        response: httpx2.Response,
        request: Outgoing,
        answer: "asyncio.Future[Reply] | None",
        events: Events,
    ) -> None:
        """Read a stream to its end, or to the answer. One that breaks off may be resumed."""
        try:
            async with contextlib.aclosing(response.aiter_bytes()) as chunks:
                async for chunk in chunks:
                    for event in events.feed(chunk):
                        if event.type != "message":
                            self._inbox.noise(event.data)
                        elif event.data:
                            self._deliver(event.data, request)
                    if answer is not None and answer.done():
                        return
        except httpx2.TransportError:
            if not _is_resumable(request, events):
                raise

    def _deliver(self, raw: bytes, request: Outgoing) -> None:
        for reply in self._inbox.receive(raw, request.id):
            self._run(self._mention(msgspec.structs.replace(reply, revision=request.revision)))

    async def _body(self, response: httpx2.Response) -> bytes:
        body = bytearray()
        async with contextlib.aclosing(response.aiter_bytes()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > self._limit:
                    raise PeerError(f"{self._where} sent more than {self._limit} bytes")
        return bytes(body)

    async def _refusal(self, response: httpx2.Response) -> PeerError:
        if response.status_code == 401:
            return PeerError(f"{self._where} wants authorization (HTTP 401): say it in headers")
        return _refused(self._where, response.status_code, await self._body(response))

    # What goes on meanwhile

    def _listen(self) -> None:
        """Hear what belongs to no request, if the server has a stream for that."""
        if self._listener is not None:
            self._listener.cancel()
        self._listener = asyncio.create_task(self._hear())

    async def _hear(self) -> None:
        events = Events(self._limit)
        with contextlib.suppress(PeerError):
            while True:
                async with self._resume(self._begun, events) as response:
                    if not _is_stream(response):
                        return
                    await self._follow(response, self._begun, None, events)
                if events.retry is None:
                    return
                await self._pause(events)

    async def _pause(self, events: Events) -> None:
        seconds = _RETRY if events.retry is None else events.retry / 1_000
        await asyncio.sleep(max(seconds, _SHORTEST_RETRY))

    def _run(self, errand: Coroutine[Any, Any, None]) -> None:
        if len(self._errands) >= _MOST_ERRANDS:
            errand.close()
            return
        task = asyncio.create_task(errand)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)

    async def _mention(self, message: Outgoing) -> None:
        with contextlib.suppress(PeerError, TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await self.send(message)

    async def _mention_end(self) -> None:
        with contextlib.suppress(PeerError, TimeoutError):
            async with asyncio.timeout(_PATIENCE), self._open("DELETE", self._begun):
                pass


def _is_resumable(message: Outgoing, events: Events) -> bool:
    """Whether the stream can be asked for again: not in the stateless era."""
    is_handshake = message.revision is not None and not message.revision.stateless
    return is_handshake and bool(events.last_id) and _fits_header(events.last_id)


def _fits_header(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _is_stream(response: httpx2.Response) -> bool:
    return response.is_success and _content_type(response) == _STREAM


def _content_type(response: httpx2.Response) -> str:
    text: str = response.headers.get("content-type", "")
    return text.partition(";")[0].strip().lower()


def _refused(where: str, status: int, body: bytes) -> Refused:
    words = shorten(body[:_SHOWN].decode(errors="replace"))
    said = f", and said: {words}" if words else ""
    return Refused(f"{where} answered with HTTP {status}{said}")


def _bare(url: httpx2.URL) -> str:
    """A URL without what may be secret in it."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))


def _advice(error: Exception) -> str:
    """What to do about it, where nobody was reached at all."""
    if not isinstance(error, httpx2.ConnectError) or "SSL" in str(error):
        return ""
    return "; is the server running, and the address right?"
