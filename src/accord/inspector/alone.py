"""The page by itself, where no MCP is served: for somebody else's server."""

from collections.abc import Callable, Coroutine
from typing import Any

from accord.inspector.page import Page
from accord.serve.flow_control import OutputGate
from accord.serve.http.exchange import Exchange, Receive, Send
from accord.serve.http.request import Heads, refuse
from accord.serve.http.response import Response, refused
from accord.serve.isolated import close_isolated


class Alone:
    """The page and nothing else, for `listen.host`."""

    def __init__(self, page: Page, ready: Callable[[], None]) -> None:
        """`ready` is called once it is served, and a signal would end it well."""
        self._page = page
        self._ready = ready
        self.heads = Heads(())
        self.gate = OutputGate()

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Live as long as whoever serves it."""
        await receive()
        self._ready()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        close_isolated()
        await send({"type": "lifespan.shutdown.complete"})

    def answer(self, exchange: Exchange) -> Response | Coroutine[Any, Any, Response | None]:
        """What answers a request, or what has to be awaited for that."""
        if exchange.head.refusal is not None:
            return refused(exchange.head.refusal)
        return self._page(exchange) or refused(refuse(404, "Nothing is here; the page is at /"))

    def stop(self, *, at_once: bool = False) -> None:
        """There is nothing to wait for."""
