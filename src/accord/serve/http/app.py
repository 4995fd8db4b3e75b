"""The ASGI app: what comes in, who it is for, and what goes out."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from time import perf_counter
from typing import Any, Final

from accord.answer import Problem
from accord.errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from accord.protocol import Call, Cancel, Connection, ErrorReply, messages
from accord.revisions import REVISIONS, Revision
from accord.serve.http.access import AccessLog
from accord.serve.http.exchange import Exchange
from accord.serve.http.request import (
    Headers,
    Refusal,
    accepts,
    admit,
    is_json,
    read_headers,
    refuse,
)
from accord.serve.http.run import Run
from accord.serve.http.sessions import Session, Sessions
from accord.serve.http.settings import Settings
from accord.serve.pool import Pool
from accord.server import Done, Job, Server

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_USUAL: Final = Settings()
_UNSAID_REVISION: Final = "2025-03-26"  # what a client speaks that sends no header
_STATELESS_STATUS: Final = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}
_HANDSHAKE_STATUS: Final = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    HEADER_MISMATCH: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
}
_ENDING: Final = "The server is about to end"
_PATIENCE: Final = 0.05  # seconds after which we look whether a stateless caller is still there


class App:
    """A server as an ASGI app: MCP at its path, and `/health` beside it."""

    def __init__(
        self, server: Server, settings: Settings = _USUAL, access: AccessLog | None = None
    ) -> None:
        self._server = server
        self._settings = settings
        self._access = access
        self._allowed = frozenset(host.lower() for host in settings.allow_hosts)
        self._sessions = Sessions(settings.max_sessions, settings.session_seconds)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pool: Pool | None = None
        self._paths = frozenset({settings.path.rstrip("/"), settings.path.rstrip("/") + "/"})
        self._runs: set[Run] = set()
        self._watch: asyncio.TimerHandle | None = None
        self._closing = False
        self._quiet = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)

    def stop(self) -> None:
        """Take no further calls, and close the streams that nothing is in flight for."""
        self._closing = True
        self._sessions.close_listeners()
        if not self._runs:
            self._quiet.set()

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.grace):
                await self._quiet.wait()
        self._sessions.end_all()
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(receive, send, self._settings)
        headers = read_headers(scope["headers"])
        refusal = admit(headers.get(b"host"), headers.get(b"origin"), self._allowed)
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if refusal is not None:
            await exchange.refuse(refusal)
        elif path in self._paths:
            await self._endpoint(scope["method"], headers, exchange)
        elif path == "/health":
            await exchange.reply(200, b'{"status":"ok"}')
        else:
            await exchange.refuse(refuse(404, f"Nothing is here; MCP is at {self._settings.path}"))

    async def _endpoint(self, method: str, headers: Headers, exchange: Exchange) -> None:
        """`revision` is None for the stateless era, whose requests name it themselves."""
        date = headers.text(b"mcp-protocol-version")
        revision = REVISIONS.get(_UNSAID_REVISION if date is None else date)
        if revision is not None and revision.stateless:
            revision = None
        if method == "POST":
            await self._post(headers, exchange, revision)
        elif revision is None or method not in ("GET", "DELETE"):
            allow = "POST" if revision is None else "POST, GET, DELETE"
            await exchange.refuse(refuse(405, f"{method} is not for here"), allow=allow)
        else:
            await self._visit(method, headers, exchange)

    async def _visit(self, method: str, headers: Headers, exchange: Exchange) -> None:
        """GET and DELETE of the handshake era: to listen to a session, and to end it."""
        session = refuse(503, _ENDING) if self._closing else self._session(headers)
        if isinstance(session, Refusal):
            await exchange.refuse(session)
        elif method == "DELETE":
            self._sessions.end(session)
            await exchange.reply(204, b"")
        elif not accepts(headers.get(b"accept"), b"text/event-stream"):
            await exchange.refuse(refuse(406, "A GET here is answered with text/event-stream"))
        else:
            await self._listen(headers.text(b"last-event-id"), session, exchange)

    async def _listen(self, last_event: str | None, session: Session, exchange: Exchange) -> None:
        place = (session.listen(), 0) if last_event is None else session.resume(last_event)
        if place is None:
            await exchange.refuse(refuse(400, "No stream is known that had this Last-Event-ID"))
            return
        stream, start = place
        try:
            await exchange.follow(stream, start)
        finally:
            session.listeners.discard(stream)

    def _session(self, headers: Headers) -> Session | Refusal:
        session_id = headers.text(b"mcp-session-id")
        if session_id is None:
            return refuse(400, "The header Mcp-Session-Id is missing")
        session = self._sessions.find(session_id, headers.get(b"authorization"))
        return session or refuse(404, "There is no such session; begin again with initialize")

    async def _post(self, headers: Headers, exchange: Exchange, revision: Revision | None) -> None:
        session = None
        if revision is not None and b"mcp-session-id" in headers:
            session = self._session(headers)
        body = self._unfit(headers) or await exchange.read(headers, self._find_loop())
        if isinstance(body, Refusal):
            await exchange.refuse(body)
        elif isinstance(session, Refusal):
            await exchange.refuse(session)
        elif body is not None:  # None: the client has left
            await self._take(body, headers, exchange, session, revision)

    def _unfit(self, headers: Headers) -> Refusal | None:
        if self._closing:
            return refuse(503, _ENDING)
        if not is_json(headers.get(b"content-type")):
            return refuse(415, "A message comes as application/json")
        if not accepts(headers.get(b"accept"), b"application/json"):
            return refuse(406, "A message is answered with application/json or text/event-stream")
        return None

    async def _take(
        self,
        body: bytes,
        headers: Headers,
        exchange: Exchange,
        session: Session | None,
        revision: Revision | None,
    ) -> None:
        connection = session.connection if session else self._connect(revision)
        calls: list[Call] = []
        reply: bytes | None = None
        mirror = headers.mirror
        for event in connection.receive(body, mirror):
            if isinstance(event, Call):
                calls.append(event)
            elif isinstance(event, bytes):
                reply = event if revision and revision.null_ids else _without_null_id(event)
            else:
                self._cancel(event)
        calls = [call for call in calls if not call.cancelled]
        if calls:
            run = Run(calls, connection, exchange, session, is_stateless=revision is None)
            reply = await self._run(run)
        elif session is None and connection.has_begun:
            await self._begin(connection, headers, exchange, reply or b"")
            return
        elif reply is None:
            reply = _unacceptable(body, mirror.revision, revision)
        await exchange.finish(_status(reply, revision), reply)

    def _connect(self, revision: Revision | None) -> Connection:
        return self._server.connect(revision=revision, handshake=revision is not None)

    async def _begin(
        self, connection: Connection, headers: Headers, exchange: Exchange, reply: bytes
    ) -> None:
        session = Session(connection, headers.get(b"authorization"))
        if not self._sessions.add(session):
            await exchange.refuse(refuse(503, "There are too many sessions; try again later"))
            return
        await exchange.reply(200, reply, [(b"mcp-session-id", session.id.encode())])

    async def _run(self, run: Run) -> bytes | None:
        """Run the calls of one request and give back what answers it."""
        loop = self._find_loop()
        began = perf_counter()
        self._runs.add(run)
        if run.is_stateless and self._watch is None:
            self._watch = loop.call_later(_PATIENCE, self._look_after)
        try:
            *others, last = run.calls
            for call in others:
                call.running = asyncio.Task(self._alone(call, run, loop), loop=loop, name=call.name)
            reply = self._finish(run, last, await self._here(last, run, loop), began)
            for call in others:
                reply = self._finish(run, call, await call.running, began) or reply
            return reply or run.reply
        finally:
            self._runs.discard(run)
            run.end()
            if self._closing and not self._runs:
                self._quiet.set()

    async def _here(self, call: Call, run: Run, loop: asyncio.AbstractEventLoop) -> Done:
        """Run a call in the task of its own request, which saves another."""
        call.send = run.send
        job = self._server.prepare(call)
        if isinstance(job, Done):
            return job
        if not job.is_async or len(self._runs) > self._settings.max_calls:
            return await self._elsewhere(job, loop)
        task = call.running = asyncio.current_task(loop)
        done = await job.run()
        while task is not None and task.cancelling():  # the call was cancelled, not the request
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
            task.uncancel()
        return done

    async def _alone(self, call: Call, run: Run, loop: asyncio.AbstractEventLoop) -> Done:
        """Run a call in a task of its own, beside others of a batch."""
        call.send = run.send
        job = self._server.prepare(call)
        if isinstance(job, Done):
            return job
        return await (job.run() if job.is_async else self._elsewhere(job, loop))

    async def _elsewhere(self, job: Job, loop: asyncio.AbstractEventLoop) -> Done:
        """Run a call in a thread, if there is room."""
        future: asyncio.Future[Done] = loop.create_future()
        job.call.running = future
        if job.is_async or not self._threads(loop).submit(job):
            return job.refuse(Problem.unavailable("Too many calls are open; try again later"))
        try:
            return await future
        except asyncio.CancelledError:
            if not job.call.cancelled:
                raise
            return job.refuse(Problem.internal("Cancelled"))  # which nobody will see

    def _finish(self, run: Run, call: Call, done: Done, began: float) -> bytes | None:
        if self._access is not None:
            seconds = perf_counter() - began
            name = call.name if call.name in self._server.tools else "?"
            self._access.note(name, done.outcome, seconds, self._find_loop().call_soon)
        return run.connection.finish(call, done.result)

    def _look_after(self) -> None:
        """Now and then, see to it that calls whose client has left do not go on."""
        self._watch = None
        stateless = [run for run in self._runs if run.is_stateless]
        for run in stateless:
            run.watch(self._stop)
        if stateless:
            self._watch = self._find_loop().call_later(_PATIENCE, self._look_after)

    def _cancel(self, cancel: Cancel) -> None:
        self._stop(cancel.call)
        for run in self._runs:
            if cancel.reply is not None and cancel.call in run.calls:
                run.reply = cancel.reply

    def _stop(self, call: Call) -> None:
        if call.running is not None:
            call.running.cancel()
        if self._pool is not None:
            self._pool.abandon(call)

    def _find_loop(self) -> asyncio.AbstractEventLoop:
        """The loop, asked for as seldom as can be: Python 3.11 makes a system call of it."""
        if self._loop is None or not self._loop.is_running():
            self._loop = asyncio.get_running_loop()
            self._pool = self._watch = None  # which belonged to another loop
        return self._loop

    def _threads(self, loop: asyncio.AbstractEventLoop) -> Pool:
        if self._pool is None:
            self._pool = Pool(
                loop,
                _deliver,
                threads=self._settings.threads,
                capacity=self._settings.max_calls,
            )
        return self._pool


def _deliver(call: Call, done: Done) -> None:
    if not call.running.done():
        call.running.set_result(done)


def _unacceptable(body: bytes, date: str | None, revision: Revision | None) -> bytes | None:
    """Of what gets no reply, the reply to what cannot be accepted either."""
    if body.strip() and (date is None or date in REVISIONS):
        return None
    blank = messages.parse_error()
    unknown = messages.invalid_request("the revision in MCP-Protocol-Version is not known here")
    reply = messages.failure(None, unknown if body.strip() else blank)
    return reply if revision and revision.null_ids else reply.without_null_id()


def _without_null_id(reply: bytes) -> bytes:
    return reply.without_null_id() if isinstance(reply, ErrorReply) else reply


def _status(reply: bytes | None, revision: Revision | None) -> int:
    if not isinstance(reply, ErrorReply):
        return 200
    return (_STATELESS_STATUS if revision is None else _HANDSHAKE_STATUS).get(reply.code, 200)
