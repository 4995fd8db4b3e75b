"""The ASGI app: routes requests to sessions, calls and the other endpoints."""

import asyncio
import logging
import re
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    MutableMapping,
)
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from accord.errors import AccordError, LifespanError, StoreError
from accord.model.caller import CALLER
from accord.protocol import Cancel, Connection, Request, is_batch
from accord.revisions import Revision
from accord.serve.flow_control import OutputGate
from accord.serve.http.access import AccessLog
from accord.serve.http.endpoints import NO_FIGURES, Endpoints, OtherRoute
from accord.serve.http.exchange import Exchange
from accord.serve.http.execution import Execution, RequestRun
from accord.serve.http.linking import links_of
from accord.serve.http.links import Figures, Links, Relayed
from accord.serve.http.policy import CallPolicy
from accord.serve.http.replies import response_to, unacceptable, without_null_id
from accord.serve.http.request import (
    HEALTH,
    SHUTTING_DOWN,
    Head,
    Header,
    Heads,
    Refusal,
    accepts,
    refuse,
    text,
)
from accord.serve.http.response import Response, refused, store_is_away
from accord.serve.http.sessions import Session, process_of
from accord.serve.http.settings import Settings, hosts_of
from accord.serve.http.shared_sessions import SharedSessions
from accord.serve.http.siblings import Siblings
from accord.serve.lifespan import CALLS_SHARE, NOT_STARTED, Lifespans, ensure, log_lifespan
from accord.serve.limits import CallLimits
from accord.serve.pending_requests import PendingRequests
from accord.serve.tasks import (
    close_tasks,
    drain_tasks,
    offer_tasks,
    open_rates,
    open_tasks,
    shared_rates,
)
from accord.serve.worker_name import set_worker_name
from accord.server import Server

if TYPE_CHECKING:
    from accord.serve.http.guard import Guard
    from accord.serve.rate_sync import RateSync

log: logging.Logger = logging.getLogger("accord")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_DEFAULTS: Final = Settings()

_PARKED: Final = b'"call.'
"""The beginning of the keys of questions in calls that wait in a worker: see `accord.gateway`."""
_OWNER: Final = re.compile(rb'"call\.([0-9a-f]+)-')
_NO_STREAM: Final = (
    "No stream is known that had this Last-Event-ID; streams are kept in memory by the process that"
    " sent them"
)
_RETRY_EXPIRED: Final = 1.0  # seconds before a client comes back with a fresh token
_NO_VERIFIER: Final = (
    "%s, but the server verifies no tokens: every client may use its tools, prompts and resources."
    " Server(auth=...) verifies tokens"
)


class App:
    """A server as an ASGI app: MCP at its path, `/health` and other endpoints beside it."""

    def __init__(
        self,
        server: Server,
        settings: Settings = _DEFAULTS,
        access: AccessLog | None = None,
        page: OtherRoute | None = None,
        siblings: Siblings | None = None,
        figures: Figures = NO_FIGURES,
    ) -> None:
        """`siblings` are the links to the other workers of the port.

        `figures` are functions that return figures of this process for them.
        """
        self._server = server
        self._links: Links | None
        self._links, store = links_of(server, settings, siblings)
        if siblings is not None:
            set_worker_name(siblings.name)
        self._settings = settings
        hosts = hosts_of(settings)
        self._guard = _guard(server, settings, hosts)
        """Verifies tokens, if the server has a verifier."""
        self.heads: Heads = Heads(hosts, has_tokens=self._guard is not None)
        """Parses request headers, with a cache; for the Exchanges of this app."""
        offer_tasks(server.dispatcher)
        self._stateless = Connection(server.dispatcher, handshake=False, is_shared=True)
        self._requests = PendingRequests(
            server.registry,
            settings.answer_seconds,
            lambda change: self._sessions.send_change(change),  # noqa: PLW0108 - set below
        )
        rate, most = settings.rate, settings.max_concurrent
        limits = None if rate is None and most is None else CallLimits(rate, most)
        self._rate = None if limits is None else limits.rate
        self._policy = self._call_policy(limits)
        counting = None if most is None else self._policy
        self._execution = Execution(server, settings, self._requests, access, counting)
        self._sessions = SharedSessions(
            server, settings, self._execution, self._requests, self._links, store
        )
        self._endpoints = Endpoints(
            server, settings, self._execution, self._guard, page, siblings, figures
        )
        self._lifespans = Lifespans(server.registry, self._lose)
        self._started_on: asyncio.AbstractEventLoop | None = None
        """The loop on which the server's lifespan has started; it may have none."""
        self._rates: RateSync | None = None
        """Shares the rates of calls with other processes."""
        self._linked_on: asyncio.AbstractEventLoop | None = None
        """The loop on which the links to other processes were opened."""
        self._deadline: float | None = None
        """Time of the loop by which the app has to end."""
        self._paths = frozenset({settings.path.rstrip("/"), settings.path.rstrip("/") + "/"})

    def _call_policy(self, limits: CallLimits | None) -> CallPolicy | None:
        """Return what excludes calls, if anything can."""
        if self._guard is None and limits is None:
            return None
        return CallPolicy(self._server.dispatcher, self._guard, limits)

    @property
    def gate(self) -> OutputGate:
        """Closed while clients have too much output to read."""
        return self._execution.gate

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
            await self._run_lifespan(receive, send)

    def drain(self) -> None:
        """Prepare to end: say so to balancers, and send streams and tasks to other processes.

        Calls are still taken, until `stop`.
        """
        self._endpoints.is_ending = True
        self._sessions.close_listeners()
        self._requests.end()
        drain_tasks(self._server.dispatcher)

    def stop(self, *, at_once: bool = False) -> None:
        """Take no further calls, and close the streams without a call in flight.

        `at_once`, what is in flight ends as cancelled.
        """
        self._endpoints.is_ending = True
        if self._deadline is None:
            self._deadline = monotonic() + self._settings.grace
        self._execution.close(at_once=at_once)
        self._sessions.close_listeners()
        self._endpoints.close()
        self._requests.end()
        if self._links is not None:
            self._links.stop()

    @asynccontextmanager
    async def lifespan(self, app: object = None) -> AsyncIterator[None]:
        """Run the server's lifespan, and let open calls finish at the end.

        For an app that this one is mounted in, to which ASGI servers send the events of the
        lifespan: `FastAPI(lifespan=mcp.lifespan)`, or `async with mcp.lifespan(app)` in a lifespan
        of its own.
        """
        await self.start()
        try:
            yield
        finally:
            await self._shut_down()

    @property
    def has_lifespan(self) -> bool:
        """True if a lifespan has to end after the last call."""
        return self._lifespans.is_used

    async def start(self) -> None:
        """Start the server's lifespan, unless this app has done so; raise if it fails."""
        loop = self._execution.find_loop()
        if self._started_on is not loop:
            self._execution.reopen()
            self._endpoints.is_ending = False
            self._deadline = None
            await self._lifespans.start()
            await open_tasks(self._server.dispatcher)
            self._rates = await open_rates(self._server.dispatcher, self._rate)
            await self._start_links(loop)

    async def _start_links(self, loop: asyncio.AbstractEventLoop) -> None:
        """Link this process to the others; raise StoreError if that is not possible."""
        if self._links is not None and self._linked_on is not loop:
            figures = self._endpoints.figures
            await self._links.start(self._sessions, self._answer_relayed, figures)
            self._linked_on = loop
        self._started_on = loop

    async def _shut_down(self) -> None:
        """Take no further calls, wait for the open ones, then leave the server's lifespan."""
        self.stop()
        assert self._deadline is not None
        seconds = self._deadline - monotonic()
        if self.has_lifespan:
            seconds *= CALLS_SHARE
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._execution.ended()
        if self._links is not None:
            await self._sessions.flush()
            await self._links.close()
            self._linked_on = None
        self._sessions.drop_all()
        if self._rates is not None:
            await self._rates.close()
            self._rates = None
        seconds = self._deadline - monotonic()
        await close_tasks(self._server.dispatcher, seconds / 2 if self.has_lifespan else seconds)
        from accord.serve.isolated import close_isolated  # which a server seldom needs

        close_isolated()
        self._started_on = None
        if self.has_lifespan:
            await self._execution.abandon((self._deadline - monotonic()) / 2)
        await self._lifespans.stop(self._deadline - monotonic())

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        """Answer the events of an ASGI server."""
        event = "startup"
        try:
            await receive()
            async with self.lifespan():
                await send({"type": "lifespan.startup.complete"})
                await receive()
                event = "shutdown"
        except AccordError as error:
            log.debug("%s", error, exc_info=error.__cause__)
            await send({"type": f"lifespan.{event}.failed", "message": str(error)})
        else:
            await send({"type": "lifespan.shutdown.complete"})

    def _lose(self, failure: LifespanError) -> None:
        """Start the lifespan again with the next request: it has ended by itself."""
        self._started_on = None

    def _is_started(self) -> bool:
        """True if there is no lifespan to start."""
        if self._server.registry.has_lifespan or self._links is not None:
            return False
        if shared_rates(self._server.dispatcher, self._rate):
            return False
        self._started_on = self._execution.find_loop()
        return True

    async def _answer_first(self, exchange: Exchange) -> Response | None:
        """Start the lifespan, then answer: a mounted app gets no events of the ASGI server.

        It ends with the event loop. A start that no client waits for is cancelled.
        """
        loop = self._execution.find_loop()
        try:
            body = self._refusal(exchange.head) or exchange.read_at_once()
            if body is None:
                body = await exchange.read(loop)
            if body is None:  # the client has left
                return None
            if isinstance(body, Refusal):
                return refused(body)
            exchange.body = body
            if await exchange.while_connected(self._start_lazily(loop)) is None:
                return None
            if self._started_on is not loop:
                return refused(refuse(503, NOT_STARTED))
            found = self.answer(exchange)
            return found if isinstance(found, Response) else await found
        finally:
            exchange.release()

    async def _start_lazily(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Start the lifespan unless it runs; log a failure."""
        try:
            await ensure(self._server.registry)
            self._rates = await open_rates(self._server.dispatcher, self._rate)
            await self._start_links(loop)
        except AccordError as error:
            log_lifespan(error)
            return False
        return True

    def answer(self, exchange: Exchange) -> "Response | Coroutine[Any, Any, Response | None]":
        """Return the response to a request, or a coroutine that does.

        The coroutine returns None if the response was a stream, or the client is gone.
        """
        head, guard = exchange.head, self._guard
        if guard is not None and exchange.grant is None:
            admission = guard.admit(exchange)
            if admission is not None:
                if isinstance(admission, Response):
                    return admission
                return self._answer_admitted(exchange, admission)
        if head.refusal is not None and exchange.path not in HEALTH:
            return refused(head.refusal)
        if exchange.path not in self._paths:
            return self._endpoints.answer(exchange)
        if head.session is not None and self._is_unread(exchange, head.session):
            return self._answer_read(exchange, head.session)
        if exchange.method != "POST":
            return self._get_or_delete(exchange)
        if self._execution.find_loop() is not self._started_on and not self._is_started():
            return self._answer_first(exchange)
        unfit = None if head.revision is None else self._join_session(exchange)
        is_unfit = self._execution.is_closing or head.unfit is not None
        body = self._refusal(head) if is_unfit else exchange.read_at_once()
        if body is None:
            return self._answer_late(exchange, unfit)
        if isinstance(body, Refusal):
            return refused(body)
        taken = refused(unfit) if unfit is not None else self._receive(body, exchange)
        return self._execution.wait(taken) if isinstance(taken, RequestRun) else taken

    async def _answer_admitted(
        self, exchange: Exchange, admission: Coroutine[Any, Any, Response | None]
    ) -> Response | None:
        """Answer a request once its token is verified."""
        refusal = await admission
        if refusal is not None:
            return refusal
        found = self.answer(exchange)
        return found if isinstance(found, Response) else await found

    def _is_unread(self, exchange: Exchange, session_id: str) -> bool:
        """True if the session of a request is to be read from the store first."""
        has_sessions = exchange.head.revision is not None and not self._settings.stateless
        return has_sessions and self._sessions.is_unread(session_id, exchange.principal)

    async def _answer_read(self, exchange: Exchange, session_id: str) -> Response | None:
        """Answer a request once its session is read from the store."""
        try:
            session = await self._sessions.load(session_id, exchange.principal)
        except StoreError:
            return store_is_away()
        if isinstance(session, Refusal):
            return refused(session)
        found = self.answer(exchange)
        return found if isinstance(found, Response) else await found

    async def _answer_late(self, exchange: Exchange, unfit: Refusal | None) -> Response | None:
        """Answer a request whose body is not complete yet."""
        try:
            body = await exchange.read(self._execution.find_loop())
            if body is None:  # the client has left
                return None
            if isinstance(body, Refusal):
                return refused(body)
            taken = refused(unfit) if unfit is not None else self._receive(body, exchange)
            if isinstance(taken, Response):
                return taken
            return await (self._execution.wait(taken) if isinstance(taken, RequestRun) else taken)
        finally:
            exchange.release()

    async def _get_or_delete(self, exchange: Exchange) -> Response | None:
        """GET and DELETE of the handshake era: to listen to a session, and to end it."""
        method, head = exchange.method, exchange.head
        has_sessions = head.revision is not None and not self._settings.stateless
        if not has_sessions or method not in ("GET", "DELETE"):
            allow = "POST, GET, DELETE" if has_sessions else "POST"
            return refused(refuse(405, f"Method {method} not allowed; use {allow}"), allow=allow)
        is_ending = self._execution.is_closing and not exchange.is_relayed
        session = refuse(503, SHUTTING_DOWN) if is_ending else self._session(exchange)
        if isinstance(session, Refusal):
            return refused(session)
        if method == "DELETE":
            self._sessions.told = []
            self._sessions.end(session)
            return await self._sessions.all_know(Response(204))
        if not accepts(head.fields.get(b"accept"), b"text/event-stream"):
            return refused(refuse(406, "A GET here is answered with text/event-stream"))
        return await self._listen(session, exchange)

    async def _listen(self, session: Session, exchange: Exchange) -> Response | None:
        last_event = text(exchange.head.fields.get(b"last-event-id"))
        if last_event is not None and not exchange.is_relayed:
            worker = process_of(last_event)
            if self._links is not None and self._links.has(worker):
                return await self._links.relay(worker, exchange, b"")
            try:
                await self._sessions.resumed(session, last_event)
            except StoreError:
                return store_is_away()
        self._sessions.told = []
        place = (session.listen(), 0) if last_event is None else session.resume(last_event)
        if place is None:
            return refused(refuse(400, _NO_STREAM))
        stream, start = place
        seconds = exchange.listening_seconds
        timer = None
        if seconds is not None:
            loop = self._execution.find_loop()
            timer = loop.call_later(seconds, stream.pause, _RETRY_EXPIRED)
        try:
            await self._sessions.all_know()
            await exchange.follow(stream, start)
        finally:
            if timer is not None:
                timer.cancel()
            session.leave(stream)
        return None

    def _session(self, exchange: Exchange) -> Session | Refusal:
        head = exchange.head
        if head.session is None:
            return refuse(400, "The header Mcp-Session-Id is missing")
        return self._sessions.find(head.session, exchange.principal)

    def _join_session(self, exchange: Exchange) -> Refusal | None:
        """Set the session of a request that names one."""
        if exchange.head.session is None or self._settings.stateless:
            return None
        session = self._session(exchange)
        if isinstance(session, Refusal):
            return session
        exchange.session = session
        return None

    def _refusal(self, head: Head) -> Refusal | None:
        return refuse(503, SHUTTING_DOWN) if self._execution.is_closing else head.unfit

    def _receive(
        self, body: bytes, exchange: Exchange
    ) -> Response | RequestRun | Coroutine[Any, Any, Response | None]:
        """Return the response to a message, or what to await for it; see `CALLER`."""
        owner = _owner_of(body) if _PARKED in body and not exchange.is_relayed else ""
        if self._links is not None and self._links.has(owner):
            return self._links.relay(owner, exchange, body)
        before = None if exchange.grant is None else CALLER.set(exchange.grant.caller)
        try:
            run, ready = self._parse(body, exchange)
            if isinstance(ready, Response):
                return ready
            if run.calls:
                self._execution.executor.run_queued()
            if run.calls or exchange.stream is not None:
                return run
            return self._conclude(run, ready, body)
        finally:
            if before is not None:
                CALLER.reset(before)

    def _parse(self, body: bytes, exchange: Exchange) -> tuple[RequestRun, Response | bytes | None]:
        """Submit the calls of a message; return them and a reply that is ready."""
        if self._sessions.told:
            self._sessions.told = []
        head = exchange.head
        revision = head.revision
        connection = self._stateless if revision is None else self._connection(exchange, revision)
        exchange.requests = self._requests
        run = RequestRun(self._execution, connection, exchange, revision)
        reply: bytes | None = None
        for event in connection.receive(body, head.repeated):
            if isinstance(event, Request):
                excluded = self._submit(run, event, body)
                if excluded is not None:
                    return run, excluded
            elif isinstance(event, bytes):
                reply = event if revision and revision.null_ids else without_null_id(event)
            elif isinstance(event, Cancel):
                self._cancel(run, event)
            else:
                self._requests.receive(event)
        return run, reply

    def _conclude(
        self, run: RequestRun, reply: bytes | None, body: bytes
    ) -> Response | Coroutine[Any, Any, Response | None]:
        """Return the response of a message none of whose calls is open."""
        exchange, revision = run.exchange, run.revision
        if run.has_calls:
            reply = run.reply or reply
            return Response(200, reply) if type(reply) is bytes else response_to(reply, revision)
        if exchange.session is None and run.connection.has_session:
            return self._begin_session(run.connection, exchange, reply or b"")
        repeated = exchange.head.repeated.revision
        if reply is None:
            reply = unacceptable(body, repeated, revision)
        response = response_to(reply, revision, repeated)
        return self._sessions.all_know(response) if self._sessions.told else response

    def _cancel(self, run: RequestRun, cancel: Cancel) -> None:
        if not run.cancel_request(cancel):
            self._execution.cancel(cancel)

    def _submit(self, run: RequestRun, request: Request, body: bytes) -> Response | None:
        """Execute a request, unless its caller may not: alone, it is then answered at once."""
        policy = self._policy
        excluded = None if policy is None else policy.check(run.exchange, request)
        if excluded is None:
            run.submit(request)
            return None
        self._execution.log_exclusion(run, request, excluded.problem)
        if is_batch(body):
            run.refuse(request, excluded.problem)
            return None
        run.connection.finish(request, b"")
        return excluded.response

    def _connection(self, exchange: Exchange, revision: Revision) -> Connection:
        if exchange.session is not None:
            return exchange.session.connection
        has_sessions = not self._settings.stateless
        return self._server.dispatcher.connect(revision=revision, sessions=has_sessions)

    def _begin_session(self, connection: Connection, exchange: Exchange, reply: bytes) -> Response:
        session = self._sessions.begin(connection, exchange.principal)
        if isinstance(session, Refusal):
            return refused(session)
        return Response(200, reply, ((b"mcp-session-id", session.id.encode()),))

    # Other workers

    def _answer_relayed(
        self, method: str, path: str, headers: list[Header], body: bytes, connection: Relayed
    ) -> Response | Coroutine[Any, Any, Response | None]:
        """Answer a request that another worker has relayed."""
        exchange = Exchange(
            method,
            path,
            self.heads.find(headers),
            connection.receive,
            connection.send,
            self._settings,
            connection.scope,
            body,
            is_relayed=True,
        )
        return self.answer(exchange)


def _owner_of(body: bytes) -> str:
    """Return the worker that holds the call to which a request brings answers."""
    found = _OWNER.search(body)
    return "" if found is None else found[1].decode()


def _guard(server: Server, settings: Settings, hosts: Iterable[str]) -> "Guard | None":
    verifier = settings.auth or server.auth
    if verifier is None:
        if server.includes_verifier:
            log.warning(_NO_VERIFIER, "An included server verifies tokens")
        elif server.registry.scoped:
            log.warning(_NO_VERIFIER, "Some tools, prompts or resources need scopes")
        return None
    from accord.serve.http.guard import Guard  # seldom needed

    return Guard(verifier, settings, server, frozenset(hosts))
