"""The HTTP transport: each message is a POST, answered with JSON or an event stream."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import msgspec

from accord.client.dispatcher import Dispatcher
from accord.client.messages import (
    HTTPRefused,
    Outgoing,
    Reply,
    SessionExpired,
    client_info,
    message_headers,
    shorten,
)
from accord.client.sse import EventStreamDecoder
from accord.errors import ContractError, PeerError, SignInError

if TYPE_CHECKING:
    from accord.client.authorization import Authorization

try:
    from accord.http1 import (
        URL,
        ConnectFailed,
        HTTPError,
        InvalidURL,
        Pool,
        Response,
        TooLarge,
        encode_head,
    )
except ImportError as _error:
    from accord.extras import missing

    raise ContractError(missing("a URL", "connect")) from _error

_JSON: Final = "application/json"
_STREAM: Final = "text/event-stream"
_HEADERS: Final = {"accept": f"{_JSON}, {_STREAM}", "content-type": _JSON}
_REPEATABLE: Final = frozenset(  # requests that a server may receive twice
    {
        *("server/discover", "ping", "tools/list", "prompts/list", "prompts/get"),
        *("resources/list", "resources/templates/list", "resources/read", "completion/complete"),
    }
)
_REDIRECTS: Final = (301, 302, 307, 308)
_MAX_REDIRECTS: Final = 5
_SEND_TIMEOUT: Final = 2.0  # seconds for messages that have no reply
_RETRY: Final = 1.0  # seconds before a stream is resumed, if the server does not say
_MIN_RETRY: Final = 0.05
_MAX_TASKS: Final = 100  # responses sent at once; further ones are dropped
_MAX_QUOTED: Final = 1_024  # bytes of a body that is not a message


class HTTPTransport:
    """A transport to one URL; redirects are followed within its origin only."""

    has_headers = True

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        dispatcher: Dispatcher,
        limit: int,
        auth: "Authorization | None" = None,
    ) -> None:
        self._dispatcher = dispatcher
        self._auth = auth
        self._limit = limit
        self._session: str | None = None
        self._initialized = Outgoing(raw=b"")
        self._listener: asyncio.Task[None] | None = None
        self._is_listening = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        try:
            self._url = URL.parse(url)
            self._given = {"user-agent": f"accord/{client_info()['version']}", **_lower(headers)}
            encode_head("POST", self._url, self._given)
        except InvalidURL as error:
            raise ContractError(f"the URL or its headers are invalid: {error}") from error
        self._pool = Pool()

    @property
    def in_session(self) -> bool:
        """True if the server has given a session id."""
        return self._session is not None

    async def exchange(self, request: Outgoing, reply: "asyncio.Future[Reply]") -> None:
        """POST a request and read until its reply arrives; resume an interrupted stream."""
        events = EventStreamDecoder(self._limit)
        in_session = self._in_session(request)
        try:
            async with self._open("POST", request) as response:
                if response.status == 404 and in_session:
                    raise SessionExpired(f"{self._where} has ended the session")
                await self._take(response, request, reply, events)
        except HTTPRefused:
            if request.method == "initialize" and await self._is_http_sse(request):
                raise PeerError(
                    f"{self._where} speaks HTTP+SSE, the transport of MCP 2024-11-05, which is not "
                    "supported; connect to the URL of its Streamable HTTP endpoint, often /mcp"
                ) from None
            raise
        while not reply.done():
            if not _is_resumable(request, events):
                raise PeerError(
                    f"{self._where} ended its response to {request.method} without a reply"
                )
            await self._pause(events)
            async with self._resume(request, events) as response:
                if not _is_stream(response):
                    raise await self._http_error(response)
                await self._follow(response, request, reply, events)

    async def send(self, message: Outgoing, *, signs_in: bool = True) -> None:
        """POST a notification or a response."""
        async with self._open("POST", message, signs_in=signs_in) as response:
            if not response.is_success:
                raise await self._http_error(response)
        if message.method == "notifications/initialized":
            self._initialized = message
            self._listen()

    async def listening(self) -> None:
        """Wait until the server's own stream is open, or is known not to exist."""
        if self._listener is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_SEND_TIMEOUT):
                    await self._is_listening.wait()

    def cancel(self, request: Outgoing, notification: Outgoing) -> None:
        """Send the cancellation; in the stateless era the closed connection is the cancellation."""
        if request.revision is not None and not request.revision.stateless:
            self._run(self._send_quietly(notification))

    def diagnostics(self) -> str:
        """Return nothing: a URL has no diagnostics."""
        return ""

    async def close(self) -> None:
        """End the MCP session, if there is one, and close every connection."""
        try:
            if self._listener is not None:
                self._listener.cancel()
                await asyncio.wait([self._listener])
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=_SEND_TIMEOUT)
            if self._session is not None:
                await self._delete_session()
        finally:
            for task in self._tasks:
                task.cancel()
            await self._pool.close()

    # Requests

    @contextlib.asynccontextmanager
    async def _open(
        self,
        method: str,
        message: Outgoing,
        extra: Mapping[str, str] | None = None,
        *,
        signs_in: bool = True,
    ) -> AsyncIterator[Response]:
        """Send one message and yield its response; same-origin redirects are followed.

        If it is refused for its token, and `signs_in`, it is sent again with another one.
        """
        headers = {**self._headers(message), **(extra or {})}
        if method == "POST":
            self._dispatcher.log.add("sent", message.raw)
        with self._translated_errors():
            auth = self._auth
            token = None if auth is None else await auth.first_token()
            for attempt in count(1):
                response = await self._send(method, message, {**headers, **_bearer(token)})
                try:
                    refused = auth and signs_in and auth.refusal(response, token, attempt)
                    if not (auth and refused):
                        yield response
                        return
                finally:
                    response.close()
                token = await auth.next_token(refused)

    async def _send(self, method: str, message: Outgoing, headers: Mapping[str, str]) -> Response:
        """Send a request and return its open response; same-origin redirects are followed."""
        for _ in range(_MAX_REDIRECTS):
            response = await self._pool.open(
                method,
                self._url,
                headers,
                message.raw if method == "POST" else None,
                is_safe=message.method in _REPEATABLE,
            )
            try:
                target = self._redirect(response)
            except PeerError:
                response.close()
                raise
            if target is None:
                return response
            response.close()
            self._url = target
        raise HTTPRefused(f"{self._where} redirects too often")

    async def _is_http_sse(self, request: Outgoing) -> bool:
        """True if a GET begins a stream whose first event is the endpoint for messages."""
        events = EventStreamDecoder(self._limit)
        with contextlib.suppress(PeerError, TimeoutError):
            async with (
                asyncio.timeout(_SEND_TIMEOUT),
                self._open("GET", request, {"accept": _STREAM}, signs_in=False) as response,
            ):
                if not _is_stream(response):
                    return False
                async for chunk in response:
                    for event in events.feed(chunk):
                        return event.type == "endpoint"
        return False

    def _resume(
        self, message: Outgoing, events: EventStreamDecoder, *, signs_in: bool = True
    ) -> contextlib.AbstractAsyncContextManager[Response]:
        extra = {"accept": _STREAM}
        if _is_resumable(message, events):
            extra["last-event-id"] = events.last_id
        return self._open("GET", message, extra, signs_in=signs_in)

    def _headers(self, message: Outgoing) -> dict[str, str]:
        headers = self._given | _HEADERS | message_headers(message)
        if self._session is not None and message.method != "initialize":
            headers["mcp-session-id"] = self._session
        return headers

    def _in_session(self, message: Outgoing) -> bool:
        is_ours = self._session is not None and message.method != "initialize"
        return is_ours or "mcp-session-id" in self._given

    def _redirect(self, response: Response) -> URL | None:
        """Return the URL of a redirect within the origin; headers must not leak to another."""
        if response.status not in _REDIRECTS:
            return None
        target = self._url.join(response.headers.get("location", ""))
        if target.origin == self._url.origin:
            return target
        raise HTTPRefused(
            f"{self._where} redirects to another origin, {target.bare}; "
            "connect to that URL if you trust it"
        )

    @contextlib.contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except HTTPError as error:
            reason = shorten(str(error))
            raise PeerError(f"could not reach {self._where}: {reason}{_advice(error)}") from error

    @property
    def _where(self) -> str:
        return self._url.bare

    # Responses

    async def _take(
        self,
        response: Response,
        request: Outgoing,
        reply: "asyncio.Future[Reply]",
        events: EventStreamDecoder,
    ) -> None:
        if request.method == "initialize" and response.is_success:
            self._session = self._read_session(response)
        if _is_stream(response):
            await self._follow(response, request, reply, events)
        elif response.status != 401 and _content_type(response) == _JSON:
            body = await self._body(response)
            self._deliver(body, request)
            if not reply.done():
                raise _refused(self._where, response.status, body)
        else:
            raise await self._http_error(response)

    def _read_session(self, response: Response) -> str | None:
        session: str | None = response.headers.get("mcp-session-id")
        if session is not None and not _fits_header(session):
            raise PeerError(f"{self._where} sent a session id that is not a valid header value")
        return session

    async def _follow(
        self,
        response: Response,
        request: Outgoing,
        reply: "asyncio.Future[Reply] | None",
        events: EventStreamDecoder,
    ) -> None:
        """Read a stream to its end, or to the reply; an interrupted one may be resumed."""
        try:
            async for chunk in response:
                for event in events.feed(chunk):
                    if event.type != "message":
                        self._dispatcher.add_invalid(event.data)
                    elif event.data:
                        self._deliver(event.data, request)
                if reply is not None and reply.done():
                    return
        except HTTPError:
            if not _is_resumable(request, events):
                raise

    def _deliver(self, raw: bytes, request: Outgoing) -> None:
        for response in self._dispatcher.receive(raw, request.id):
            self._run(
                self._send_quietly(msgspec.structs.replace(response, revision=request.revision))
            )

    async def _body(self, response: Response) -> bytes:
        try:
            return await response.read(self._limit)
        except TooLarge as error:
            raise PeerError(f"{self._where} {error}") from None

    async def _http_error(self, response: Response) -> PeerError:
        if response.status == 401 and "authorization" in self._given:
            return SignInError(f"{self._where} refused the Authorization header (HTTP 401)")
        if response.status == 401:
            return SignInError(
                f"{self._where} requires authorization (HTTP 401); pass auth=, or a header"
            )
        return _refused(self._where, response.status, await self._body(response))

    # Background tasks

    def _listen(self) -> None:
        """Open the server's stream of messages that belong to no request, if it has one."""
        if self._listener is not None:
            self._listener.cancel()
        self._is_listening.clear()
        self._listener = asyncio.create_task(self._read_stream())
        self._listener.add_done_callback(lambda _: self._is_listening.set())

    async def _read_stream(self) -> None:
        events = EventStreamDecoder(self._limit)
        with contextlib.suppress(PeerError):
            while True:
                stream = self._resume(self._initialized, events, signs_in=False)
                async with stream as response:
                    if not _is_stream(response):
                        return
                    self._is_listening.set()
                    await self._follow(response, self._initialized, None, events)
                if events.retry is None:
                    return
                await self._pause(events)

    async def _pause(self, events: EventStreamDecoder) -> None:
        seconds = _RETRY if events.retry is None else events.retry / 1_000
        await asyncio.sleep(max(seconds, _MIN_RETRY))

    def _run(self, send: Coroutine[Any, Any, None]) -> None:
        if len(self._tasks) >= _MAX_TASKS:
            send.close()
            return
        task = asyncio.create_task(send)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send_quietly(self, message: Outgoing) -> None:
        with contextlib.suppress(PeerError, TimeoutError):
            async with asyncio.timeout(_SEND_TIMEOUT):
                await self.send(message, signs_in=False)

    async def _delete_session(self) -> None:
        with contextlib.suppress(PeerError, TimeoutError):
            async with (
                asyncio.timeout(_SEND_TIMEOUT),
                self._open("DELETE", self._initialized, signs_in=False),
            ):
                pass


def _bearer(token: str | None) -> dict[str, str]:
    return {} if token is None else {"authorization": f"Bearer {token}"}


def _is_resumable(message: Outgoing, events: EventStreamDecoder) -> bool:
    """True if the stream can be resumed; never in the stateless era."""
    is_handshake = message.revision is not None and not message.revision.stateless
    return is_handshake and bool(events.last_id) and _fits_header(events.last_id)


def _fits_header(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _is_stream(response: Response) -> bool:
    return response.is_success and _content_type(response) == _STREAM


def _content_type(response: Response) -> str:
    text: str = response.headers.get("content-type", "")
    return text.partition(";")[0].strip().lower()


def _refused(where: str, status: int, body: bytes) -> HTTPRefused:
    text = shorten(body[:_MAX_QUOTED].decode(errors="replace"))
    detail = f": {text}" if text else ""
    return HTTPRefused(f"{where} answered with HTTP {status}{detail}")


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers by lower-case names; raise ContractError unless all are strings."""
    if not all(isinstance(text, str) for pair in headers.items() for text in pair):
        raise ContractError("the headers are invalid: names and values must be strings")
    return {name.lower(): value for name, value in headers.items()}


def _advice(error: HTTPError) -> str:
    """Return advice for a connection that could not be opened."""
    if not isinstance(error, ConnectFailed) or not error.is_refused:
        return ""
    return "; is the server running, and the address right?"
