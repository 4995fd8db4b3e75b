"""The page: its files, the API that its scripts call, and an app that serves it alone."""

import asyncio
import gzip
import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from accord.errors import ContractError, PeerError
from accord.inspector.call_stats import CallStats, merged
from accord.inspector.live import LiveResponse
from accord.inspector.reports import ReceivedReply, read_reply
from accord.inspector.target import (
    CallRecord,
    CallRequest,
    InputResponse,
    RenderOptions,
    ServerRequest,
    Target,
)
from accord.model.arguments import Checker
from accord.profiles import profile_named
from accord.reader.reading import to_json
from accord.revisions import REVISIONS
from accord.serve.flow_control import OutputGate
from accord.serve.http.endpoints import PAGE_API
from accord.serve.http.exchange import Exchange, Receive, Send
from accord.serve.http.request import Header, Heads, Refusal, refuse
from accord.serve.http.response import Response, refused
from accord.serve.isolated import close_isolated

API: Final = PAGE_API
TOKEN: Final = b"x-accord-token"
SERVER: Final = b"x-accord-server"
"""The number of the server that a request is for, by default the first."""
_MAX_WATCHED: Final = 100
_NO_STORE: Final = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
_EXPIRED: Final = {"expired": True}
_T = TypeVar("_T")
_FOLDER: Final = Path(__file__).with_name("static")
_CONTENT_TYPES: Final = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}
_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"
    b"; img-src 'self' data:; media-src data:; frame-src blob:"
    b"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    b"; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS: Final = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (b"vary", b"accept-encoding"),
)
_INDEX: Final = "index.html"
_TOKEN_TAG: Final = b'<meta name="accord-token" content="">'


class _RenderRequest(msgspec.Struct, frozen=True):
    """A call to render again, and the options for it."""

    call: int
    render: RenderOptions = RenderOptions()


class _InputResponses(msgspec.Struct, frozen=True):
    """Input responses for a call; None cancels it."""

    call: int
    answers: dict[str, InputResponse] | None = None


class _FilledForm(msgspec.Struct, frozen=True):
    """A form of an elicitation, with the values entered."""

    schema: dict[str, Any]
    value: dict[str, Any]


class _PastedReply(msgspec.Struct, frozen=True):
    """A pasted reply, with the name of its tool if known."""

    reply: str
    tool: str | None = None


class _WatchedResources(msgspec.Struct, frozen=True):
    """The URIs of the resources whose changes are shown."""

    uris: list[str] = []


class InspectedServer(NamedTuple):
    """A server that the page shows, and the statistics of its calls."""

    target: Target
    stats: CallStats
    name: str = ""
    """Its name in the list of servers; by default the server's own."""


class _ApiRequest(NamedTuple):
    """A request to the page's API."""

    server: InspectedServer
    body: bytes
    live: LiveResponse

    @property
    def target(self) -> Target:
        return self.server.target


_Method = Callable[[_ApiRequest], Awaitable[Any]]


class Page:
    """Answers requests for `/` and `/inspector/`; API requests must carry the `token`."""

    def __init__(
        self,
        servers: Sequence[InspectedServer],
        *,
        is_open: bool,
        mcp_path: str | None = None,
        token: str | None = None,
        stats_of_others: Callable[[], Awaitable[list[bytes]]] | None = None,
    ) -> None:
        """With `is_open` the page contains its token; otherwise only the printed link has it.

        `mcp_path` is named in errors to MCP clients that use the wrong path. `token` is the one
        that several workers share, by default a new one; `stats_of_others` returns the
        statistics of the other workers, as JSON.
        """
        self._mcp_hint = "" if mcp_path is None else f"; MCP is at {mcp_path}"
        self.token: str = token or secrets.token_urlsafe(24)
        self._servers = servers
        self._stats_of_others = stats_of_others
        self._listening: set[asyncio.Future[None]] = set()
        self._assets = Assets(self.token if is_open else None)
        self._methods: Mapping[str, _Method] = {
            "servers": self._list_servers,
            "about": self._about,
            "state": self._state,
            "tools": self._tools,
            "features": self._features,
            "request": self._request,
            "listen": self._listen,
            "upstreams": self._upstreams,
            "sign-in": self._sign_in,
            "sign-out": self._sign_out,
            "check": self._check,
            "call": self._call,
            "answer": self._continue,
            "validate": self._validate,
            "render": self._render,
            "read": self._read,
            "stats": self._get_stats,
            "reconnect": self._reconnect,
        }

    def close(self) -> None:
        """End the responses that wait for notifications: the server stops."""
        for each in list(self._listening):
            each.cancel()

    def link(self, url: str) -> str:
        """Return the link to the page; browsers do not send the fragment."""
        return f"{url}/#token={self.token}"

    def __call__(self, exchange: Exchange) -> Coroutine[Any, Any, Response | None] | None:
        """Return a coroutine of the response, or None if the path is not the page's."""
        path = exchange.path
        if path.startswith(API):
            return self._answer(path.removeprefix(API), exchange)
        gzipped = b"gzip" in exchange.head.fields.get(b"accept-encoding", b"")
        found = self._assets.find(path, gzipped=gzipped)
        return None if found is None else self._serve_file(found, exchange.method)

    async def _serve_file(self, found: Response, method: str) -> Response:
        if method not in ("GET", "HEAD"):
            reason = f"Method {method} not allowed{self._mcp_hint}"
            return refused(refuse(405, reason), allow="GET, HEAD")
        return found

    async def _answer(self, method: str, exchange: Exchange) -> Response | None:
        refusal = self._check_request(method, exchange)
        if refusal is not None:
            return refused(refusal, allow="POST" if refusal.status == 405 else None)
        try:
            return await self._run(method, exchange)
        finally:
            exchange.release()

    async def _run(self, method: str, exchange: Exchange) -> Response | None:
        body = exchange.read_at_once()
        if body is None:
            body = await exchange.read(asyncio.get_running_loop())
        if body is None:  # the client has left
            return None
        if isinstance(body, Refusal):
            return refused(body)
        live = LiveResponse(exchange)
        request = _ApiRequest(self._server_of(exchange), body, live)
        try:
            result = await exchange.while_connected(self._methods[method](request))
        except PeerError as error:
            return await self._fail(live, refuse(502, str(error)))
        except ContractError as error:
            return await self._fail(live, refuse(400, str(error)))
        except BaseException:
            live.drop()
            raise
        if result is None:
            live.drop()
            return None
        if await live.end(200, result):
            return None
        return Response(200, to_json(result), _NO_STORE)

    async def _fail(self, live: LiveResponse, refusal: Refusal) -> Response | None:
        error = {"error": {"message": refusal.error.message}}
        return None if await live.end(refusal.status, error) else refused(refusal)

    def _server_of(self, exchange: Exchange) -> InspectedServer:
        number = exchange.head.fields.get(SERVER, b"0")
        return self._servers[int(number)]

    def _check_request(self, method: str, exchange: Exchange) -> Refusal | None:
        given = exchange.head.fields.get(TOKEN, b"")
        if not hmac.compare_digest(given, self.token.encode()):
            return refuse(403, "The token is missing or from an earlier start; reload the page")
        if method not in self._methods:
            return refuse(404, "Not found")
        if exchange.method != "POST":
            return refuse(405, f"Method {exchange.method} not allowed; use POST")
        number = exchange.head.fields.get(SERVER, b"0")
        if len(number) > 4 or not number.isdigit() or int(number) >= len(self._servers):
            return refuse(404, "This server is not known; reload the page")
        return exchange.head.unfit

    async def _list_servers(self, request: _ApiRequest) -> dict[str, Any]:
        return {"servers": [_named(each) for each in self._servers]}

    async def _about(self, request: _ApiRequest) -> dict[str, Any]:
        return request.target.about()

    async def _state(self, request: _ApiRequest) -> dict[str, Any]:
        return request.target.state()

    async def _tools(self, request: _ApiRequest) -> dict[str, Any]:
        return {"tools": await request.target.tools()}

    async def _features(self, request: _ApiRequest) -> dict[str, Any]:
        return await request.target.features()

    async def _check(self, request: _ApiRequest) -> dict[str, Any]:
        return {"fields": await request.target.check(_call_request(request.body))}

    async def _call(self, request: _ApiRequest) -> dict[str, Any]:
        wanted = _call_request(request.body)
        number, record = await request.target.call(wanted, request.live.receive)
        return _call_json(number, record)

    async def _continue(self, request: _ApiRequest) -> dict[str, Any]:
        given = _decoded(request.body, _InputResponses)
        if given.answers is None:
            request.target.abandon(given.call)
            return _EXPIRED
        continued = await request.target.answer(given.call, given.answers, request.live.receive)
        return _EXPIRED if continued is None else _call_json(*continued)

    async def _request(self, request: _ApiRequest) -> dict[str, Any]:
        wanted = _decoded(request.body, ServerRequest)
        return {"reply": (await request.target.request(wanted)).decode(errors="replace")}

    async def _listen(self, request: _ApiRequest) -> dict[str, Any] | None:
        """Send notifications until the page closes the request, or the server stops."""
        uris = _decoded(request.body, _WatchedResources).uris
        if len(uris) > _MAX_WATCHED:
            raise ContractError(f"at most {_MAX_WATCHED} resources can be watched")
        live = request.live
        listening = asyncio.ensure_future(request.target.listen(uris, live.receive, live.open))
        self._listening.add(listening)
        try:
            await asyncio.wait({listening})
        finally:
            self._listening.discard(listening)
            listening.cancel()
        with suppress(asyncio.CancelledError):
            listening.result()
        return {}

    async def _upstreams(self, request: _ApiRequest) -> dict[str, Any]:
        return {"upstreams": request.target.upstreams()}

    async def _sign_in(self, request: _ApiRequest) -> dict[str, Any]:
        await request.target.sign_in()
        return {}

    async def _sign_out(self, request: _ApiRequest) -> dict[str, Any]:
        await request.target.sign_out()
        return {}

    async def _validate(self, request: _ApiRequest) -> dict[str, Any]:
        filled = _decoded(request.body, _FilledForm)
        try:
            return {"fields": Checker(filled.schema).errors(filled.value)}
        except ContractError:  # an invalid schema: the tool validates
            return {"fields": ()}

    async def _render(self, request: _ApiRequest) -> dict[str, Any]:
        wanted = _decoded(request.body, _RenderRequest)
        _require_known(wanted.render)
        record = await request.target.render(wanted.call, wanted.render)
        return _EXPIRED if record is None else {"call": wanted.call, **_record_json(record)}

    async def _read(self, request: _ApiRequest) -> msgspec.Raw:
        pasted = _decoded(request.body, _PastedReply, json.loads)  # accepts lone surrogates, too
        report = await read_reply(ReceivedReply.from_text(pasted.reply, pasted.tool))
        return msgspec.Raw(report.json)

    async def _reconnect(self, request: _ApiRequest) -> dict[str, Any]:
        await request.target.reconnect()
        return {}

    async def _get_stats(self, request: _ApiRequest) -> dict[str, Any]:
        own = request.server.stats.report()
        if self._stats_of_others is None:
            return own
        others = [json.loads(report) for report in await self._stats_of_others() if report]
        return merged([own, *others])


def _named(server: InspectedServer) -> dict[str, Any]:
    about = server.target.about()
    identity = msgspec.to_builtins(about["server"])
    own = identity.get("title") or identity.get("name")
    name = server.name or (own if isinstance(own, str) else "") or str(about.get("target", ""))
    return {"name": name, "isConnected": about.get("isConnected", True)}


def _call_request(body: bytes) -> CallRequest:
    request = _decoded(body, CallRequest)
    _decoded(bytes(request.arguments), dict[str, Any])
    _require_known(request.render)
    return request


def _decoded(body: bytes, kind: type[_T], loads: Callable[[bytes], Any] | None = None) -> _T:
    try:
        if loads is None:
            return msgspec.json.decode(body, type=kind)
        return msgspec.convert(loads(body), kind)
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise ContractError(f"The request body is invalid: {error}") from error


def _require_known(options: RenderOptions) -> None:
    if options.profile is not None:
        profile_named(options.profile)
    if options.revision not in (None, *REVISIONS):
        raise ContractError(
            f"revision must be one of {', '.join(REVISIONS)}, not {options.revision!r}"
        )


def _call_json(number: int, record: CallRecord) -> dict[str, Any]:
    following = None if record.input_requests else msgspec.Raw(record.report.next)
    requests = msgspec.Raw(to_json(record.input_requests))  # it may contain lone surrogates
    return {"call": number, **_record_json(record), "inputRequests": requests, "next": following}


def _record_json(record: CallRecord) -> dict[str, Any]:
    return {
        "tool": record.tool,
        "ms": round(record.seconds * 1_000, 3),
        "revision": record.revision,
        "messages": record.messages,
        "omitted": record.omitted,
        "isRendered": record.is_rendered,
        "reading": msgspec.Raw(record.report.json),
        "upstream": record.upstream,
    }


class Assets:
    """The page's files by path, read once: `/` is the HTML, the others are at `/inspector/`."""

    def __init__(self, token: str | None) -> None:
        """With a token, the HTML contains it."""
        files = {path.name: path.read_bytes() for path in _FOLDER.iterdir()}
        index = files.pop(_INDEX)
        if token is not None:
            index = index.replace(_TOKEN_TAG, _TOKEN_TAG.replace(b'""', b'"%b"' % token.encode()))
        found = {f"/inspector/{name}": (name, body) for name, body in files.items()}
        found["/"] = (_INDEX, index)
        self._plain = {path: _response(name, body) for path, (name, body) in found.items()}
        self._gzipped = {path: _gzipped(name, body) for path, (name, body) in found.items()}

    def find(self, path: str, *, gzipped: bool = False) -> Response | None:
        """Return the file at a path, if there is one; gzipped if the client accepts it."""
        return (self._gzipped if gzipped else self._plain).get(path)


def _response(name: str, body: bytes, *more: Header) -> Response:
    return Response(200, body, (*_HEADERS, *more), _CONTENT_TYPES[Path(name).suffix])


def _gzipped(name: str, body: bytes) -> Response:
    return _response(name, gzip.compress(body, mtime=0), (b"content-encoding", b"gzip"))


class StandaloneApp:
    """Serves the page and nothing else; hosted by `listen.host`."""

    has_lifespan = False

    def __init__(self, page: Page, ready: Callable[[], None]) -> None:
        """`ready` is called once requests are accepted and signals are handled."""
        self._page = page
        self._ready = ready
        self.heads: Heads = Heads(())
        self.gate: OutputGate = OutputGate()

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Run the ASGI lifespan."""
        await receive()
        self._ready()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        close_isolated()
        await send({"type": "lifespan.shutdown.complete"})

    def answer(self, exchange: Exchange) -> Response | Coroutine[Any, Any, Response | None]:
        """Return the response to a request, or a coroutine of it."""
        if exchange.head.refusal is not None:
            return refused(exchange.head.refusal)
        return self._page(exchange) or refused(refuse(404, "Not found; the page is at /"))

    async def start(self) -> None:
        """Do nothing: there is no lifespan."""

    def drain(self) -> None:
        """Do nothing: there are no streams."""

    def stop(self, *, at_once: bool = False) -> None:
        """End the responses that wait for notifications."""
        self._page.close()
