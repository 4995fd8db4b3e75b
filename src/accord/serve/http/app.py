"""The ASGI app: what comes in, who it is for, and what goes out."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from contextlib import suppress
from time import perf_counter
from typing import Any, Final

from accord.answer import Problem
from accord.changes import Change
from accord.errors import INTERNAL_ERROR, ContractError, Reject
from accord.protocol import Call, Cancel, Connection
from accord.revisions import Revision
from accord.serve.desk import Desk
from accord.serve.eager import Pending, start
from accord.serve.http.access import AccessLog
from accord.serve.http.exchange import Exchange
from accord.serve.http.replies import response_to, unacceptable, without_null_id
from accord.serve.http.request import (
    Head,
    Heads,
    Refusal,
    accepts,
    refuse,
    text,
)
from accord.serve.http.response import Response, refused
from accord.serve.http.run import Begun, Run
from accord.serve.http.sessions import Session, Sessions
from accord.serve.http.settings import Settings
from accord.serve.pool import Pool
from accord.server import Server
from accord.telemetry import Telemetry, outcome_of
from accord.work import Done, Work

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Beside = Callable[[Exchange], Coroutine[Any, Any, Response | None] | None]
"""What else is served: an answer to be awaited, or None if a request is not for it."""

_USUAL: Final = Settings()
_CANCELLED: Final = Done(Reject(INTERNAL_ERROR, "Cancelled"), b"")  # never sent
_ENDING: Final = "The server is about to end"
_SMALL: Final = 32 * 1024  # bytes that are read at once
_PATIENCE: Final = 0.05  # seconds after which we look whether a stateless caller is still there


class App:
    """A server as an ASGI app: MCP at its path, `/health` and perhaps more beside it."""

    def __init__(
        self,
        server: Server,
        settings: Settings = _USUAL,
        access: AccessLog | None = None,
        page: Beside | None = None,
    ) -> None:
        self._server = server
        self._page = page
        self._settings = settings
        self._most = settings.max_calls
        self._access = access
        self.heads = Heads(settings.allow_hosts)
        """What is known of headers: whoever makes an Exchange looks there."""
        self._stateless = Connection(server, handshake=False, is_shared=True)
        self._sessions = Sessions(settings.max_sessions, settings.session_seconds)
        self._desk = Desk(server, settings.answer_seconds, self._announce)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pool: Pool | None = None
        self._paths = frozenset({settings.path.rstrip("/"), settings.path.rstrip("/") + "/"})
        self._runs: set[Run] = set()
        self._watch: asyncio.TimerHandle | None = None
        self._closing = False
        self._quiet = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["path"].removeprefix(scope.get("root_path", ""))
            head = self.heads.find(scope["headers"])
            exchange = Exchange(scope["method"], path, head, receive, send, self._settings, scope)
            found = self.answer(exchange)
            response = found if isinstance(found, Response) else await found
            if response is not None:
                headers = response.headers()
                await send(
                    {"type": "http.response.start", "status": response.status, "headers": headers}
                )
                await send({"type": "http.response.body", "body": response.body})
        elif scope["type"] == "lifespan":
            await self._live(receive, send)

    def stop(self) -> None:
        """Take no further calls, and close the streams that nothing is in flight for."""
        self._closing = True
        self._sessions.close_listeners()
        self._desk.end()
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

    def answer(self, exchange: Exchange) -> "Response | Coroutine[Any, Any, Response | None]":
        """What answers a request, or what has to be awaited for that.

        That comes to None if it has been answered by then, or nobody waits for it.
        """
        head = exchange.head
        if head.refusal is not None:
            return refused(head.refusal)
        if exchange.path not in self._paths:
            return self._beside(exchange)
        if exchange.method != "POST":
            return self._visit(exchange)
        unfit = None if head.revision is None else self._join_session(exchange)
        is_unfit = self._closing or head.unfit is not None
        body = self._unfit(head) if is_unfit else exchange.read_at_once()
        if body is None:
            return self._read_on(exchange, unfit)
        if isinstance(body, Refusal):
            return refused(body)
        taken = refused(unfit) if unfit is not None else self._take(body, exchange)
        return taken if isinstance(taken, Response) else self._run(taken)

    async def _read_on(self, exchange: Exchange, unfit: Refusal | None) -> Response | None:
        """The same where the body takes a while to come."""
        body = await exchange.read(self._find_loop())
        if body is None:  # the client has left
            return None
        if isinstance(body, Refusal):
            return refused(body)
        taken = refused(unfit) if unfit is not None else self._take(body, exchange)
        return taken if isinstance(taken, Response) else await self._run(taken)

    async def _beside(self, exchange: Exchange) -> Response | None:
        if exchange.path == "/health":
            return Response(200, b'{"status":"ok"}')
        if exchange.path == "/metrics" and self._server.telemetry is not None:
            return _metrics(self._server.telemetry, text(exchange.head.fields.get(b"accept")))
        if exchange.path == "/read" and self._settings.reader:
            return await self._read(exchange)
        visit = None if self._page is None else self._page(exchange)
        if visit is not None:
            return await visit
        return refused(refuse(404, f"Nothing is here; MCP is at {self._settings.path}"))

    async def _read(self, exchange: Exchange) -> Response | None:
        """Read the reply in a body; one that takes long does not hold up the others."""
        if exchange.method != "POST":
            return refused(refuse(405, f"{exchange.method} is not for here"), allow="POST")
        body = self._unfit(exchange.head) or exchange.read_at_once()
        if body is None:
            body = await exchange.read(self._find_loop())
        if isinstance(body, Refusal):
            return refused(body)
        if body is None:  # the client has left
            return None
        from accord.serve.http.reading import answer  # a server starts without it, and faster

        return answer(body) if len(body) <= _SMALL else await asyncio.to_thread(answer, body)

    async def _visit(self, exchange: Exchange) -> Response | None:
        """GET and DELETE of the handshake era: to listen to a session, and to end it."""
        method, head = exchange.method, exchange.head
        if head.revision is None or method not in ("GET", "DELETE"):
            allow = "POST" if head.revision is None else "POST, GET, DELETE"
            return refused(refuse(405, f"{method} is not for here"), allow=allow)
        session = refuse(503, _ENDING) if self._closing else self._session(exchange)
        if isinstance(session, Refusal):
            return refused(session)
        if method == "DELETE":
            self._sessions.end(session)
            return Response(204)
        if not accepts(head.fields.get(b"accept"), b"text/event-stream"):
            return refused(refuse(406, "A GET here is answered with text/event-stream"))
        return await self._listen(session, exchange)

    async def _listen(self, session: Session, exchange: Exchange) -> Response | None:
        last_event = text(exchange.head.fields.get(b"last-event-id"))
        place = (session.listen(), 0) if last_event is None else session.resume(last_event)
        if place is None:
            return refused(refuse(400, "No stream is known that had this Last-Event-ID"))
        stream, start = place
        try:
            await exchange.follow(stream, start)
        finally:
            session.leave(stream)
        return None

    def _session(self, exchange: Exchange) -> Session | Refusal:
        session_id = exchange.head.session
        if session_id is None:
            return refuse(400, "The header Mcp-Session-Id is missing")
        session = self._sessions.find(session_id, exchange.head.principal)
        return session or refuse(404, "There is no such session; begin again with initialize")

    def _join_session(self, exchange: Exchange) -> Refusal | None:
        """Find the session that a request of the handshake era names, if it names one."""
        if exchange.head.session is None:
            return None
        session = self._session(exchange)
        if isinstance(session, Refusal):
            return session
        exchange.session = session
        return None

    def _unfit(self, head: Head) -> Refusal | None:
        return refuse(503, _ENDING) if self._closing else head.unfit

    def _take(self, body: bytes, exchange: Exchange) -> Response | Run:
        """What answers a message, or the calls that have to be awaited first."""
        head = exchange.head
        revision = head.revision
        connection = self._stateless if revision is None else self._connection(exchange, revision)
        events = connection.receive(body, head.mirror)
        if len(events) == 1 and isinstance(events[0], Call):
            return self._call(events[0], connection, exchange, revision)
        calls: list[Call] = []
        reply: bytes | None = None
        for event in events:
            if isinstance(event, Call):
                calls.append(event)
            elif isinstance(event, bytes):
                reply = event if revision and revision.null_ids else without_null_id(event)
            elif isinstance(event, Cancel):
                self._cancel(event)
            else:
                self._desk.answer(event)
        calls = [call for call in calls if not call.cancelled]
        if calls:
            return Run(calls, connection, exchange, revision, perf_counter())
        if exchange.session is None and connection.has_begun:
            return self._begin_session(connection, exchange, reply or b"")
        if reply is None:
            reply = unacceptable(body, head.mirror.revision, revision)
        return response_to(reply, revision)

    def _connection(self, exchange: Exchange, revision: Revision) -> Connection:
        if exchange.session is not None:
            return exchange.session.connection
        return self._server.connect(revision=revision)

    def _begin_session(self, connection: Connection, exchange: Exchange, reply: bytes) -> Response:
        session = Session(connection, exchange.principal)
        self._desk.attend(self._find_loop())
        if not self._sessions.add(session):
            return refused(refuse(503, "There are too many sessions; try again later"))
        return Response(200, reply, ((b"mcp-session-id", session.id.encode()),))

    def _call(
        self, call: Call, connection: Connection, exchange: Exchange, revision: Revision | None
    ) -> Response | Run:
        """What answers a single call, unless it has to wait."""
        access = self._access
        began = perf_counter() if access is not None else 0.0
        done = self._begin(call, exchange)
        if isinstance(done, Done) and exchange.stream is None:
            if access is not None:
                self._note(access, call, done, began)
            reply = connection.finish(call, done.reply)
            return Response(200, reply) if type(reply) is bytes else response_to(reply, revision)
        return Run([call], connection, exchange, revision, began, done)

    def _begin(self, call: Call, exchange: Exchange) -> Begun:
        """Run a call in the task of its own request, as far as it goes without waiting."""
        call.edge = exchange
        exchange.desk = self._desk
        server = self._server
        mismatch = server.mismatch(call, exchange.fields) if server.mirrored else None
        job = mismatch or server.prepare(call)
        if isinstance(job, Done) or not job.is_async or len(self._runs) >= self._most:
            return job
        return start(job.run())

    def _announce(self, change: Change) -> None:
        """Tell every session that wants to hear of a change."""
        self._sessions.tell(lambda connection: connection.news(change))

    async def _run(self, run: Run) -> Response | None:
        """Wait for the calls of one request, and give back what answers it."""
        loop = self._find_loop()
        *others, last = run.calls
        begun = run.begun or self._begin(last, run.exchange)
        self._runs.add(run)
        if run.is_stateless and self._watch is None:
            self._watch = loop.call_later(_PATIENCE, self._look_after)
        try:
            tasks = [
                asyncio.Task(self._alone(c, run, loop), loop=loop, name=c.name) for c in others
            ]
            for call, task in zip(others, tasks, strict=True):
                call.running = task
            reply = self._settle(run, last, await self._rest(last, begun, loop))
            if tasks:
                await asyncio.wait(tasks)  # which leaves them alone if we are cancelled meanwhile
            for call, task in zip(others, tasks, strict=True):
                done = _CANCELLED if task.cancelled() else task.result()
                reply = self._settle(run, call, done) or reply
        except asyncio.CancelledError:
            self._drop(run)
            raise
        finally:
            self._runs.discard(run)
            run.end()
            if self._closing and not self._runs:
                self._quiet.set()
        if run.exchange.stream is None:
            return response_to(reply or run.reply, run.revision)
        await run.exchange.end_stream(reply or run.reply)
        return None

    def _settle(self, run: Run, call: Call, done: Done) -> bytes | None:
        run.calls.remove(call)
        return self._finish(run.connection, call, done, run.began)

    def _drop(self, run: Run) -> None:
        """Whoever serves this app has cancelled a request: nobody is left to answer."""
        for call in run.calls:
            run.connection.finish(call, b"")
            call.cancelled = True
            self._finish(run.connection, call, _CANCELLED, run.began)
            self._stop(call)
        run.exchange.drop()

    async def _rest(self, call: Call, begun: Begun, loop: asyncio.AbstractEventLoop) -> Done:
        """How a call ends that was begun in the task of its own request."""
        if isinstance(begun, Done):
            return begun
        if not isinstance(begun, Pending):
            return await self._elsewhere(begun, loop)
        task = call.running = asyncio.current_task(loop)
        before = 0 if task is None else task.cancelling()
        done = await begun
        call.running = None
        while task is not None and task.cancelling() > before:
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:  # still to come when the tool ended: its own doing
                pass
            else:
                if not call.cancelled:  # so it is the request that was
                    raise asyncio.CancelledError
            task.uncancel()
        return done

    async def _alone(self, call: Call, run: Run, loop: asyncio.AbstractEventLoop) -> Done:
        """Run a call in a task of its own, beside others of a batch."""
        call.edge = run.exchange
        run.exchange.desk = self._desk
        job = self._server.prepare(call)
        if isinstance(job, Done):
            return job
        return await (job.run() if job.is_async else self._elsewhere(job, loop))

    async def _elsewhere(self, job: Work, loop: asyncio.AbstractEventLoop) -> Done:
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
            return _CANCELLED  # and counted where it runs

    def _finish(self, connection: Connection, call: Call, done: Done, began: float) -> bytes | None:
        if self._access is not None:
            self._note(self._access, call, done, began)
        return connection.finish(call, done.reply)

    def _note(self, access: AccessLog, call: Call, done: Done, began: float) -> None:
        seconds = perf_counter() - began
        name = self._server.known_name(call)
        ending = "cancelled" if call.cancelled else outcome_of(done.outcome)
        access.note(name, ending, seconds, self._find_loop().call_soon)

    def _look_after(self) -> None:
        """Now and then, see to it that calls whose client has left do not go on."""
        self._watch = None
        for run in self._runs:
            if run.is_stateless and not run.is_watched:
                run.watch(self._stop)

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


def _metrics(telemetry: Telemetry, accept: str | None) -> Response:
    """The server's figures, as far as the extra that writes them is installed."""
    try:
        from accord.telemetry.prometheus import exposition
    except ContractError as error:
        return refused(refuse(501, str(error)))
    body, content_type = exposition(telemetry, accept)
    return Response(200, body, content_type=content_type.encode())
