"""The endpoints beside MCP: health, counters, the reader, and the page."""

from collections.abc import Coroutine
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from accord.errors import ContractError
from accord.model.caller import CALLER
from accord.serve.http.exchange import Exchange
from accord.serve.http.execution import Execution
from accord.serve.http.links import Figures
from accord.serve.http.request import (
    HEALTH,
    NOT_PUBLIC,
    READY,
    SHUTTING_DOWN,
    Refusal,
    refuse,
    text,
)
from accord.serve.http.response import Response, refused, retry_after
from accord.serve.http.settings import Settings
from accord.serve.http.siblings import Siblings
from accord.server import Server
from accord.telemetry import ToolStats, UpstreamStats

if TYPE_CHECKING:
    from accord.serve.http.guard import Guard


class OtherRoute(Protocol):
    """Answers requests to other paths."""

    def __call__(self, exchange: Exchange) -> Coroutine[Any, Any, Response | None] | None:
        """Return a coroutine of the response; None if the path is not known."""

    def close(self) -> None:
        """End what waits for something to happen: the server stops."""


NO_FIGURES: Final[Figures] = MappingProxyType({})

_RETRY_AFTER: Final = 1.0  # seconds
_COUNTERS: Final = "counters"
_UPSTREAMS: Final = "upstreams"
PAGE_API: Final = "/inspector/api/"
"""Path of the page's API, which one worker answers for all."""
_UNCOUNTED: Final = "Calls are not counted here; accord serve --telemetry does that"


class Endpoints:
    """Answers requests to other paths than that of MCP."""

    def __init__(
        self,
        server: Server,
        settings: Settings,
        execution: Execution,
        guard: "Guard | None",
        page: OtherRoute | None,
        siblings: Siblings | None,
        figures: Figures,
    ) -> None:
        self._server = server
        self._settings = settings
        self._execution = execution
        self._guard = guard
        self._page = page
        self._siblings = siblings
        self.is_ending = False
        """True once this process is to end: it is not ready for more requests."""
        self.figures: Figures = {
            _COUNTERS: self._counters,
            _UPSTREAMS: self._upstream_figures,
            **figures,
        }
        """Functions that return figures of this process, for all workers."""

    def close(self) -> None:
        """End the requests that wait for something to happen."""
        if self._page is not None:
            self._page.close()

    async def answer(self, exchange: Exchange) -> Response | None:
        """Answer a request to any other path than that of MCP; None if it was a stream."""
        if exchange.path in HEALTH:
            return self._state(exchange)
        if exchange.path == "/health":
            return Response(200, self._health(exchange))
        if self._guard is None and self._settings.public_url and exchange.path != "/read":
            return refused(refuse(403, NOT_PUBLIC))
        if exchange.path == "/metrics":
            return await self._metrics(text(exchange.head.fields.get(b"accept")))
        if exchange.path == "/read" and self._settings.reader:
            try:
                return await self._read(exchange)
            finally:
                exchange.release()
        if exchange.path.startswith(PAGE_API) and self._page is not None:
            worker = self._worker_of_page(exchange)
            if worker is not None:
                return await self._relay(worker, exchange)
        answer = None if self._page is None else self._page(exchange)
        if answer is not None:
            before = CALLER.set(exchange.caller)
            try:
                return await answer
            finally:
                CALLER.reset(before)
        return refused(refuse(404, f"Nothing is here; MCP is at {self._settings.path}"))

    def _state(self, exchange: Exchange) -> Response:
        """Return whether this process lives, or is ready for requests."""
        if exchange.method not in ("GET", "HEAD"):
            fault = f"Method {exchange.method} not allowed; use GET"
            return refused(refuse(405, fault), allow="GET, HEAD")
        if exchange.path == READY and self.is_ending:
            return Response(503, b'{"status":"ending"}', (retry_after(_RETRY_AFTER),))
        return Response(200, b'{"status":"ok"}')

    def _health(self, exchange: Exchange) -> bytes:
        """Return the state of this process; on this machine, of the foreign servers too."""
        guard, is_public = self._guard, self._settings.public_url is not None
        is_local = not is_public if guard is None else guard.is_local(exchange)
        upstreams = self._server.registry.upstreams if is_local else None
        return msgspec.json.encode(
            {"status": "ok"} | ({"upstreams": upstreams} if upstreams else {})
        )

    async def _read(self, exchange: Exchange) -> Response | None:
        """Read the reply in a body; a large one is read in a child process."""
        if exchange.method != "POST":
            return refused(
                refuse(405, f"Method {exchange.method} not allowed; use POST"), allow="POST"
            )
        if self._execution.is_closing:
            return refused(refuse(503, SHUTTING_DOWN))
        body = exchange.head.unfit or exchange.read_at_once()
        if body is None:
            body = await exchange.read(self._execution.find_loop())
        if isinstance(body, Refusal):
            return refused(body)
        if body is None:  # the client has left
            return None
        from accord.serve.http.read_endpoint import answer, answer_isolated  # slow to import
        from accord.serve.isolated import IN_PLACE

        if len(body) <= IN_PLACE:
            return answer(body)
        return await exchange.while_connected(answer_isolated(body, self._settings.read_seconds))

    def _worker_of_page(self, exchange: Exchange) -> str | None:
        """Return the worker that answers for the page, if that is another one."""
        if (
            self._siblings is None
            or exchange.is_relayed
            or self._siblings.first == self._siblings.name
        ):
            return None
        return self._siblings.first

    async def _relay(self, worker: str, exchange: Exchange) -> Response | None:
        """Let another worker answer a request."""
        assert self._siblings is not None
        try:
            body = exchange.read_at_once()
            if body is None:
                body = await exchange.read(self._execution.find_loop())
            if body is None:  # the client has left
                return None
            if isinstance(body, Refusal):
                return refused(body)
            return await self._siblings.relay(worker, exchange, body)
        finally:
            exchange.release()

    # Figures

    async def _gather(self, what: str) -> list[bytes]:
        """Return figures of all workers."""
        others = [] if self._siblings is None else await self._siblings.gather(what)
        return [self.figures[what](), *filter(None, others)]

    def _counters(self) -> bytes:
        telemetry = self._server.telemetry
        return b"" if telemetry is None else _encode_counters(dict(telemetry.snapshot()))

    def _upstream_figures(self) -> bytes:
        found = {
            name: UpstreamStats(each["status"] == "ok", each["calls"], each["repairs"])
            for name, each in self._server.registry.upstream_details.items()
        }
        return _encode_upstreams(found)

    async def _metrics(self, accept: str | None) -> Response:
        """Return the counters for Prometheus, if telemetry and its extra are there."""
        if self._server.telemetry is None:
            return refused(refuse(404, _UNCOUNTED))
        try:
            from accord.telemetry.prometheus import exposition
        except ContractError as error:
            return refused(refuse(501, str(error)))
        total: dict[str, ToolStats] = {}
        for counters in await self._gather(_COUNTERS):
            for tool, stats in _decode_counters(counters).items():
                total[tool] = total[tool] + stats if tool in total else stats
        upstreams: dict[str, UpstreamStats] = {}
        for figures in await self._gather(_UPSTREAMS):
            for name, one in _decode_upstreams(figures).items():
                upstreams[name] = upstreams[name] + one if name in upstreams else one
        body, content_type = exposition(total, accept, upstreams)
        return Response(200, body, content_type=content_type.encode())


_encode_upstreams = msgspec.msgpack.Encoder().encode
_decode_upstreams = msgspec.msgpack.Decoder(dict[str, UpstreamStats]).decode
_encode_counters = msgspec.msgpack.Encoder(enc_hook=dict).encode  # of read-only mappings
_decode_counters = msgspec.msgpack.Decoder(dict[str, ToolStats]).decode
