"""The page: its files, the API that its scripts call, and an app that serves it alone."""

import asyncio
import gzip
import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from accord.errors import ContractError, PeerError
from accord.inspector.call_stats import CallStats, merged
from accord.inspector.reports import ReceivedReply, read_reply
from accord.inspector.target import CallRecord, CallRequest, InputResponse, RenderOptions, Target
from accord.model.arguments import Checker
from accord.profiles import profile_named
from accord.reader.report import to_json
from accord.revisions import REVISIONS
from accord.serve.flow_control import OutputGate
from accord.serve.http.endpoints import PAGE_API
from accord.serve.http.exchange import Exchange, Receive, Send
from accord.serve.http.request import Header, Heads, Refusal, refuse
from accord.serve.http.response import Response, refused
from accord.serve.isolated import close_isolated

API: Final = PAGE_API
TOKEN: Final = b"x-accord-token"
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


class Page:
    """Answers requests for `/` and `/inspector/`; API requests must carry the `token`."""

    def __init__(
        self,
        target: Target,
        stats: CallStats,
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
        self.token = token or secrets.token_urlsafe(24)
        self._target = target
        self._stats = stats
        self._stats_of_others = stats_of_others
        self._assets = Assets(self.token if is_open else None)
        self._methods: Mapping[str, Callable[[bytes], Awaitable[Any]]] = {
            "about": self._about,
            "tools": self._tools,
            "check": self._check,
            "call": self._call,
            "answer": self._continue,
            "validate": self._validate,
            "render": self._render,
            "read": self._read,
            "stats": self._get_stats,
            "reconnect": self._reconnect,
        }

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
        try:
            result = await exchange.while_connected(self._methods[method](body))
        except PeerError as error:
            return refused(refuse(502, str(error)))
        except ContractError as error:
            return refused(refuse(400, str(error)))
        return None if result is None else Response(200, to_json(result), _NO_STORE)

    def _check_request(self, method: str, exchange: Exchange) -> Refusal | None:
        given = exchange.head.fields.get(TOKEN, b"")
        if not hmac.compare_digest(given, self.token.encode()):
            return refuse(403, "The token is missing or from an earlier start; reload the page")
        if method not in self._methods:
            return refuse(404, "Not found")
        if exchange.method != "POST":
            return refuse(405, f"Method {exchange.method} not allowed; use POST")
        return exchange.head.unfit

    async def _about(self, body: bytes) -> dict[str, Any]:
        return self._target.about()

    async def _tools(self, body: bytes) -> dict[str, Any]:
        return {"tools": await self._target.tools()}

    async def _check(self, body: bytes) -> dict[str, Any]:
        return {"fields": await self._target.check(_call_request(body))}

    async def _call(self, body: bytes) -> dict[str, Any]:
        request = _call_request(body)
        number, record = await self._target.call(request)
        return _call_json(number, record)

    async def _continue(self, body: bytes) -> dict[str, Any]:
        given = _decoded(body, _InputResponses)
        if given.answers is None:
            self._target.abandon(given.call)
            return _EXPIRED
        continued = await self._target.answer(given.call, given.answers)
        return _EXPIRED if continued is None else _call_json(*continued)

    async def _validate(self, body: bytes) -> dict[str, Any]:
        filled = _decoded(body, _FilledForm)
        try:
            return {"fields": Checker(filled.schema).errors(filled.value)}
        except ContractError:  # an invalid schema: the tool validates
            return {"fields": ()}

    async def _render(self, body: bytes) -> dict[str, Any]:
        wanted = _decoded(body, _RenderRequest)
        _require_known(wanted.render)
        record = await self._target.render(wanted.call, wanted.render)
        return _EXPIRED if record is None else {"call": wanted.call, **_record_json(record)}

    async def _read(self, body: bytes) -> msgspec.Raw:
        pasted = _decoded(body, _PastedReply, json.loads)  # it accepts lone surrogates, too
        report = await read_reply(ReceivedReply.from_text(pasted.reply, pasted.tool))
        return msgspec.Raw(report.json)

    async def _reconnect(self, body: bytes) -> dict[str, Any]:
        await self._target.reconnect()
        return {}

    async def _get_stats(self, body: bytes) -> dict[str, Any]:
        if self._stats_of_others is None:
            return self._stats.report()
        others = [json.loads(report) for report in await self._stats_of_others() if report]
        return merged([self._stats.report(), *others])


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
        self.heads = Heads(())
        self.gate = OutputGate()

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
        """Do nothing: there are no calls to wait for."""
