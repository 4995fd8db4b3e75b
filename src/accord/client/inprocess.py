"""The in-process transport: a Server of this process, message by message, without sockets."""

import asyncio
from collections.abc import Mapping
from typing import Final, Self

from accord.client.dispatcher import Dispatcher
from accord.client.messages import Outgoing, Reply
from accord.errors import PeerError
from accord.model.changes import Change
from accord.model.questions import Question
from accord.protocol import Cancel, Request
from accord.protocol.messages import Wanted
from accord.serve.call import CallbackEdge, RunningCall
from accord.serve.executor import Executor
from accord.serve.lifespan import Lifespans
from accord.serve.pending_requests import PendingRequests
from accord.serve.shutdown import DEFAULT_GRACE
from accord.serve.tasks import close_tasks, offer_tasks, open_tasks
from accord.server import Server
from accord.server.operation import Done

_ANSWER_TIMEOUT: Final = 300.0  # seconds for responses to the server's own requests
_GRACE: Final = 2.0  # seconds for cancelled calls to end


class InProcessTransport(CallbackEdge):
    """A transport to a server in this process, and the Edge of its calls.

    Messages are the bytes that a client on a pipe would send and receive; calls run in an Executor.
    """

    has_headers = False
    in_session = False

    def __init__(self, server: Server, dispatcher: Dispatcher) -> None:
        super().__init__(self._deliver)
        loop = asyncio.get_running_loop()
        self._dispatcher = dispatcher
        offer_tasks(server.dispatcher)
        self._server = server
        self._connection = server.dispatcher.connect()
        self._executor = Executor(server.dispatcher, loop)
        self._requests = PendingRequests(server.registry, _ANSWER_TIMEOUT, self._announce)
        self._requests.bind(loop)
        self._requests.window = self._executor.window
        self._is_closed = False
        self._calls: dict[Request, RunningCall] = {}
        self._lifespans = Lifespans(server.registry)

    @classmethod
    async def start(cls, server: Server, dispatcher: Dispatcher) -> Self:
        """Start the server's lifespan, unless it runs on this loop, and return the transport."""
        transport = cls(server, dispatcher)
        await transport._lifespans.start()
        await open_tasks(server.dispatcher)
        return transport

    async def exchange(self, request: Outgoing, reply: "asyncio.Future[Reply]") -> None:
        """Hand a request to the server; its reply comes from the executor."""
        await self.send(request)

    async def send(self, message: Outgoing) -> None:
        """Hand a message to the server."""
        if self._is_closed:  # a request that began just before
            raise PeerError("this connection is closed")
        self._send(message)
        self._executor.run_queued()

    async def listening(self) -> None:
        """Return at once: every message arrives in the same way."""

    def cancel(self, request: Outgoing, notification: Outgoing) -> None:
        """Send the cancellation."""
        if not self._is_closed:
            self._send(notification)

    def diagnostics(self) -> str:
        """Return nothing: the server logs in this process."""
        return ""

    async def close(self) -> None:
        """Cancel the open calls, wait for the tasks of async ones, and leave the lifespan."""
        self._is_closed = True
        self._requests.end()
        tasks = [call.task for call in self._calls.values() if call.task is not None]
        for request in self._connection.abandon():
            self._cancel(request)
        self._executor.close()
        self._executor.stop_threads()
        if tasks:
            await asyncio.wait(tasks, timeout=_GRACE)
        await close_tasks(self._server.dispatcher, _GRACE)
        await asyncio.sleep(0)  # the idle worker ends
        if self._lifespans.is_used:
            await self._executor.drained(_GRACE)
            await self._lifespans.stop(DEFAULT_GRACE)

    # As the edge of calls

    async def ask(self, call: RunningCall, questions: Mapping[str, Question]) -> dict[str, bytes]:
        """Send requests to the client and wait for its responses."""
        return await self._requests.ask(self._connection, call, questions)

    async def hold(self, call: RunningCall, wanted: Wanted) -> None:
        """Send changes to a subscription until it ends."""
        await self._requests.hold(call, wanted)

    def _announce(self, change: Change) -> None:
        message = self._connection.notification(change)
        if message is not None:
            self._deliver(message)

    def _deliver(self, raw: bytes) -> None:
        """Pass a message of the server to the client."""
        for response in self._dispatcher.receive(raw):
            self._send(response)

    def _send(self, message: Outgoing) -> None:
        self._dispatcher.log.add("sent", message.raw)
        for event in self._connection.receive(message.raw):
            if isinstance(event, bytes):
                self._deliver(event)
            elif isinstance(event, Request):
                self._start(event)
            elif isinstance(event, Cancel):
                self._cancel(event.request)
                if event.reply is not None:
                    self._deliver(event.reply)
            else:
                self._requests.receive(event)

    def _start(self, request: Request) -> None:
        call = RunningCall(request, self._connection, self, self._finish)
        self._calls[request] = call
        self._executor.submit(call)

    def _finish(self, call: RunningCall, done: Done | None) -> None:
        self._calls.pop(call.request, None)
        if done is None:
            return
        reply = call.finish(done)
        if reply is not None:
            self._deliver(reply)

    def _cancel(self, request: Request) -> None:
        call = self._calls.pop(request, None)
        if call is not None:
            self._executor.cancel(call)
