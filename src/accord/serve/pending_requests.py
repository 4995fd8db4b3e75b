"""Requests of the server to its clients that wait for a response, and held subscriptions."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress

import msgspec

from accord.model.answer import Problem
from accord.model.changes import Change
from accord.model.questions import Question
from accord.protocol import ClientResponse, Connection, ServerRequest
from accord.protocol.messages import Wanted
from accord.protocol.notifications import subscription_notification
from accord.serve.call import RunningCall
from accord.serve.flow_control import StartWindow
from accord.server.registry import Registry


class _Fault(msgspec.Struct, frozen=True):
    """The error with which a client refuses a request."""

    message: str = "it gave no reason"


class PendingRequests:
    """Sends requests to clients and waits for responses; passes changes to subscribers.

    One for all connections of an edge. Only `notify` may be called from another thread.
    """

    def __init__(
        self,
        registry: Registry,
        seconds: float,
        announce: Callable[[Change], None],
        is_full: Callable[[], bool] = lambda: False,
    ) -> None:
        """`seconds` is how long a client may take to answer; `announce` sends a change to sessions.

        While the output `is_full`, changes are kept, each once, and sent later.
        """
        self._seconds = seconds
        self._announce = announce
        self._is_full = is_full
        self._late: dict[Change, None] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self.window: StartWindow | None = None
        """Does not count calls while they wait here."""
        self._waiters: dict[ServerRequest, asyncio.Future[bytes]] = {}
        self._held: dict[RunningCall, tuple[Wanted, asyncio.Future[None]]] = {}
        registry.changes.subscribe(self.notify)

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Set the loop on which changes are sent; without one they are dropped."""
        self._loop = loop

    def notify(self, change: Change) -> None:
        """Send a change of the server to its subscribers. Safe in any thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._send_change, change)

    def catch_up(self) -> None:
        """Send the changes that were kept while the output was full."""
        if self._late and not self._is_full():
            late, self._late = self._late, {}
            for change in late:
                self._send_change(change)

    def _send_change(self, change: Change) -> None:
        if self._is_full():
            self._late[change] = None
            return
        for call, (wanted, _) in list(self._held.items()):
            message = subscription_notification(call.request.id, wanted, change)
            if message is not None and call.edge is not None:
                call.edge.tell(message)
        self._announce(change)

    async def hold(self, call: RunningCall, wanted: Wanted) -> None:
        """Send changes to a subscription until it is cancelled or the server ends."""
        self.bind(asyncio.get_running_loop())
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._held[call] = (wanted, ended)
        try:
            with self._uncounted():
                await ended
        except asyncio.CancelledError:
            if not call.cancelled:
                raise
        finally:
            del self._held[call]

    def end(self) -> None:
        """End all subscriptions."""
        for _, ended in self._held.values():
            if not ended.done():
                ended.set_result(None)

    async def ask(
        self, connection: Connection, call: RunningCall, questions: Mapping[str, Question]
    ) -> dict[str, bytes]:
        """Send requests to a client and wait for all responses, up to the time limit."""
        loop = asyncio.get_running_loop()
        waiting: dict[str, asyncio.Future[bytes]] = {key: loop.create_future() for key in questions}
        requests: list[ServerRequest] = []
        try:
            for key, question in questions.items():
                request = connection.ask(question, call.request.revision)
                self._waiters[request] = waiting[key]
                requests.append(request)
                _push(call, request.message)
            with self._uncounted():
                async with asyncio.timeout(self._seconds):
                    await asyncio.gather(*waiting.values())
        except TimeoutError:
            raise Problem.timeout("The client has not answered in time") from None
        finally:
            for request in requests:
                del self._waiters[request]
                withdrawal = connection.withdraw(request)
                if withdrawal is not None:
                    _push(call, withdrawal)
        return {key: future.result() for key, future in waiting.items()}

    def _uncounted(self) -> AbstractContextManager[None]:
        return nullcontext() if self.window is None else self.window.left()

    def receive(self, response: ClientResponse) -> None:
        """Pass a response to the call that waits for it."""
        waiter = self._waiters.get(response.request)
        if waiter is None or waiter.done():
            return
        if response.error:
            waiter.set_exception(_refusal(bytes(response.error)))
        else:
            waiter.set_result(bytes(response.result))


def _push(call: RunningCall, message: bytes) -> None:
    if call.edge is not None:
        call.edge.push(message)


def _refusal(error: bytes) -> Problem:
    try:
        reason = msgspec.json.decode(error, type=_Fault).message
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        reason = "it gave no reason"
    return Problem.unavailable(f"The client has not answered: {reason}", retryable=False)
