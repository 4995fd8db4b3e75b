"""An app that serves the page alone, for `accord inspect`."""

from collections.abc import Callable, Coroutine
from typing import Any

from accord.inspector.page import Page
from accord.serve.flow_control import OutputGate
from accord.serve.http.exchange import Exchange, Receive, Send
from accord.serve.http.request import Heads, refuse
from accord.serve.http.response import Response, refused
from accord.serve.isolated import close_isolated


class StandaloneApp:
    """Serves the page and nothing else; hosted by `listen.host`."""

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

    def stop(self, *, at_once: bool = False) -> None:
        """Do nothing: there are no calls to wait for."""
