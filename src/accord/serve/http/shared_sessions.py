"""The sessions of a server, known to all workers of its port.

A session is served by any worker: from memory, or made of its id. What changes it is told to the
others, if there are any, and kept in Redis, if that is the store of the server.
"""

import asyncio
import logging
import os
import secrets
from collections.abc import Awaitable, Coroutine, Iterator
from contextlib import suppress
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final

from accord.errors import INVALID_REQUEST, ContractError, Reject, StoreError
from accord.model.changes import Change
from accord.protocol import Cancel, ClientResponse, Connection, Request
from accord.serve.http.execution import Execution
from accord.serve.http.links import (
    AllEnded,
    Changed,
    Ended,
    Forwarded,
    Linked,
    Links,
    Listening,
    Switched,
    Used,
)
from accord.serve.http.request import Refusal, refuse
from accord.serve.http.response import Response, store_is_away
from accord.serve.http.session_id import SessionId, SessionIds
from accord.serve.http.sessions import UNVERIFIED, Principal, Session, Sessions
from accord.serve.http.settings import Settings
from accord.serve.pending_requests import PendingRequests
from accord.server import Server
from accord.server.registry import Rules

if TYPE_CHECKING:
    from accord.serve.http.session_store import SessionStore  # an extra

log: logging.Logger = logging.getLogger("accord")

_NAME_BYTES: Final = 4
_NO_SESSION: Final = "There is no such session; begin again with initialize"
_FOREIGN: Final = (
    "A session id has another key or server name, and got status 404. Sessions outlive a restart,"
    " and are served by several processes, if all have the same key: --key-file, or Server(key=...)"
)
_OTHER_PROCESS: Final = (
    "The call that has asked this runs in another process, which cannot be reached from here;"
    " accord serve --workers passes answers on, and so does a balancer with sticky sessions"
)


class SharedSessions:
    """Finds and opens the sessions of an app, and tells the other workers what changes them."""

    def __init__(
        self,
        server: Server,
        settings: Settings,
        execution: Execution,
        requests: PendingRequests,
        links: Links | None,
        store: "SessionStore | None" = None,
    ) -> None:
        """`links` are those to the other workers; the `store` keeps what changes a session."""
        self._dispatcher = server.dispatcher
        self._execution = execution
        self._requests = requests
        self._links = links
        self._store = store
        self._ids = SessionIds(
            server.dispatcher.key, server.identity.name, seconds=settings.session_lifetime
        )
        self._sessions = Sessions(
            self._ids,
            settings.max_sessions,
            settings.session_seconds,
            on_end=self._share_end,
            on_use=lambda session: self._tell(Used(session.id)),
            is_stored=store is not None,
        )
        self._loading: dict[str, _Loading] = {}
        """Sessions that are being read from the store, by their nonces."""
        self.told: list[Awaitable[object]] = []
        """What the reply to the message that is being received waits for: others must know it."""
        self._has_warned = False
        self._registry = server.registry
        self._known_rules = server.registry.rules
        """What was enabled and disabled, as the other workers know it."""
        self._merging_thread = 0
        """The thread that enables and disables what another worker has."""
        self._process = 0
        self._process_name = ""
        if links is not None:
            server.registry.changes.subscribe(self._share_change)

    def is_unread(self, session_id: str, principal: Principal) -> bool:
        """True if a session has to be read from the store before it is served here."""
        if self._store is None or session_id in self._sessions:
            return False
        return self._sessions.read(session_id, principal) is not None

    async def load(self, session_id: str, principal: Principal) -> Session | Refusal:
        """Read a session from the store; raise StoreError if that is away."""
        seal = self._sessions.read(session_id, principal)
        if seal is None or self._store is None or session_id in self._sessions:
            return self.find(session_id, principal)
        loading = self._loading.get(seal.nonce)
        if loading is None:
            loading = self._loading[seal.nonce] = _Loading(self._read(seal, principal))
        await asyncio.shield(loading.done)
        return self.find(session_id, principal)

    async def _read(self, seal: SessionId, principal: Principal) -> None:
        """Read a session from the store, then take what was told of it meanwhile."""
        assert self._store is not None
        try:
            record = await self._store.read(seal)
        finally:
            loading = self._loading.pop(seal.nonce)
        if record.has_ended:
            self._sessions.refuse(seal.text)
            return
        session = self.find(seal.text, principal)
        if isinstance(session, Refusal):
            return
        for message in record.changes:
            self._apply(session, message)
        for worker in record.followers:
            if self._links is not None and self._links.has(worker):
                session.set_listening(worker, is_open=True)
        for worker, told in loading.told:
            self.take(worker, told)

    def find(self, session_id: str, principal: Principal = UNVERIFIED) -> Session | Refusal:
        """Return a session: one in memory, or made of its id."""
        session = self._sessions.find(session_id, principal)
        if session is not None:
            return session
        seal = self._sessions.read(session_id, principal)
        if seal is not None:
            connection = self._dispatcher.connect(revision=seal.client.revision)
            return self._open(seal, principal, connection)
        if not self._has_warned and self._ids.is_foreign(session_id):
            self._has_warned = True
            log.warning("%s", _FOREIGN)
        return refuse(404, _NO_SESSION)

    def begin(self, connection: Connection, principal: bytes | None) -> Session | Refusal:
        """Begin a session with a connection that has received `initialize`."""
        assert connection.client is not None
        return self._open(self._ids.issue(connection.client, principal), principal, connection)

    def _open(
        self, seal: SessionId, principal: Principal, connection: Connection
    ) -> Session | Refusal:
        connection.begin_session(seal.client)
        connection.origin = self._name()
        session = Session(seal, connection, principal, self._cancel, self._announce)
        if self._store is not None:
            session.keep_event = partial(self._store.keep, seal)
        connection.forward = partial(self._forward, session.id)
        self._requests.bind(self._execution.find_loop())
        if not self._sessions.add(session):
            return refuse(503, "There are too many sessions; try again later")
        return session

    def end(self, session: Session) -> None:
        """End a session in all workers."""
        self._sessions.end(session)

    def send_change(self, change: Change) -> None:
        """Send a change to every session that subscribes to it."""
        self._sessions.tell(lambda connection: connection.notification(change))

    def close_listeners(self) -> None:
        """Close the listening streams."""
        self._sessions.close_listeners()

    async def flush(self) -> None:
        """Wait until the events of streams are stored."""
        if self._store is not None:
            await self._store.flush()

    def drop_all(self) -> None:
        """Drop all sessions from memory."""
        self._sessions.end_all()

    def all_know(self, response: Response | None = None) -> Coroutine[Any, Any, Response | None]:
        """Return a response once all workers know what this one has told them."""
        told, self.told = self.told, []

        async def wait() -> Response | None:
            try:
                for each in told:
                    await each
            except StoreError:
                return store_is_away()
            return response

        return wait()

    def _name(self) -> str:
        """Return a name for this process; another one in a fork, which may serve the app too."""
        if self._links is not None:
            return self._links.name
        if self._process != os.getpid():
            self._process, self._process_name = os.getpid(), secrets.token_hex(_NAME_BYTES)
        return self._process_name

    def _cancel(self, request: Request) -> None:
        self._execution.cancel(Cancel(request, None))

    # To the other workers

    def _broadcast(self, message: Linked) -> None:
        """Tell the other workers something; the reply to a message waits until they know it."""
        if self._links is not None:
            self.told.append(self._links.broadcast(message))

    def _tell(self, message: Linked) -> None:
        """Tell the other workers something that no reply waits for."""
        if self._links is not None:
            self._links.tell(message)

    def _announce(self, session: Session, is_open: bool) -> None:
        send = self._broadcast if is_open else self._tell
        send(Listening(session.id, is_open))
        if self._store is not None:
            self._later(self._store.set_follower(session.seal, self._name(), is_open=is_open))

    def _forward(self, session_id: str, worker: str, message: bytes) -> Reject | None:
        """Pass a message of a client on to the other workers of its session, or to one of them."""
        forwarded = Forwarded(session_id, message)
        if not worker:
            self._share(session_id, message, forwarded)
        elif self._links is None or not self._links.has(worker):
            return Reject(INVALID_REQUEST, _OTHER_PROCESS)
        else:
            self.told.append(self._links.send(worker, forwarded))
        return None

    def _share(self, session_id: str, message: bytes, told: Linked) -> None:
        """Store a change of a session, then tell the other workers."""
        store, seal = self._store, self._sessions.read(session_id)
        if store is None or seal is None:
            self._broadcast(told)
            return

        async def share() -> None:
            await store.change(seal, [message])
            if self._links is not None:
                await self._links.broadcast(told)

        self.told.append(self._later(share()))

    def _share_end(self, seal: SessionId) -> None:
        if self._store is not None:
            self.told.append(self._later(self._store.end(seal.nonce, seal.until)))
        self._broadcast(Ended(seal.text))

    def _later(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Do something in the background; an error is raised where the result is awaited."""
        task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    def _share_change(self, change: Change) -> None:
        """Tell the other workers of a change. Safe in any thread."""
        assert self._links is not None
        if get_ident() == self._merging_thread:  # they have told of it
            return
        rules = self._registry.rules
        if rules is self._known_rules:
            self._links.tell_threadsafe(Changed.of(change))
            return
        self._known_rules = rules  # what changes for clients is told by each worker
        self._links.tell_threadsafe(Switched.of(rules))

    def _merge(self, rules: Rules) -> None:
        """Enable and disable what other workers have."""
        self._merging_thread = get_ident()
        try:
            self._registry.merge_rules(rules)
        except ContractError as error:
            log.warning("what another process has enabled cannot be enabled here: %s", error)
        finally:
            self._merging_thread = 0
        self._known_rules = self._registry.rules

    # From the other workers

    def take(self, worker: str, message: Linked) -> None:
        """Take a message of another worker."""
        match message:
            case Ended():
                self._sessions.refuse(message.session)
            case Forwarded() | Listening() if self._is_loading(worker, message):
                pass
            case Forwarded():
                self._take_forwarded(message)
            case AllEnded():
                self._sessions.refuse_all(message.sessions)
            case Listening():
                session = self.find(message.session)
                if isinstance(session, Session):
                    session.set_listening(worker, is_open=message.is_open)
            case Used():
                self._sessions.touch(message.session)
            case Changed():
                self._requests.notify(message.change)
            case Switched():
                self._merge(message.by_selector)

    def _is_loading(self, worker: str, message: Forwarded | Listening) -> bool:
        """True if the session of a message is not in memory: the store has what it needs.

        A message that comes while it is read is taken afterwards.
        """
        if self._store is None or message.session in self._sessions:
            return False
        seal = self._sessions.read(message.session)
        if seal is not None and seal.nonce in self._loading:
            self._loading[seal.nonce].told.append((worker, message))
        return True

    def _take_forwarded(self, forwarded: Forwarded) -> None:
        session = self.find(forwarded.session)
        if isinstance(session, Session):
            self._apply(session, forwarded.message)

    def _apply(self, session: Session, message: bytes) -> None:
        """Take a message that the client has sent to another worker."""
        connection = session.connection
        forward, connection.forward = connection.forward, None
        try:
            events = connection.receive(message)
        finally:
            connection.forward = forward
        for event in events:
            if isinstance(event, Cancel):
                self._execution.cancel(event)
            elif isinstance(event, ClientResponse):
                self._requests.receive(event)

    def greeting(self) -> Iterator[Linked]:
        """Return the messages that tell a new worker the state of all sessions."""
        if self._registry.rules:
            yield Switched.of(self._registry.rules)
        yield AllEnded(self._sessions.ended)
        for session in self._sessions:
            for message in session.connection.changes():
                yield Forwarded(session.id, message)
            if session.listeners:
                yield Listening(session.id, is_open=True)

    def lose(self, worker: str) -> None:
        """Forget a worker that has ended."""
        self._sessions.lose(worker)

    def restore(self) -> None:
        """Store the state of all sessions again: the store has lost it."""
        if self._store is not None:
            self._later(self._restore(self._store))

    def refresh(self) -> None:
        """Read all sessions in memory again: messages of other workers were lost."""
        if self._store is not None:
            self._later(self._refresh(self._store))

    async def _refresh(self, store: "SessionStore") -> None:
        with suppress(StoreError):
            for session in list(self._sessions):
                record = await store.read(session.seal)
                if record.has_ended:
                    self._sessions.refuse(session.id)
                for message in record.changes:
                    self._apply(session, message)

    async def _restore(self, store: "SessionStore") -> None:
        await self._refresh(store)  # what others have stored since
        with suppress(StoreError):
            for session in list(self._sessions):
                await store.change(session.seal, session.connection.changes())
                if session.listeners:
                    await store.set_follower(session.seal, self._name(), is_open=True)
            for nonce, until in self._sessions.ended.items():
                await store.end(nonce, until)

    async def resumed(self, session: Session, last_event: str) -> None:
        """Take over the stream of an event, if the process that has sent it has ended."""
        name = last_event.partition("-")[0]
        if self._store is None or session.has_stream(name):
            return
        stored = await self._store.read_stream(session.seal, name)
        if stored is not None:
            session.adopt(name, stored.first, stored.events, is_closed=stored.is_closed)


class _Loading:
    """The reading of a session from the store."""

    def __init__(self, work: Coroutine[Any, Any, None]) -> None:
        self.told: list[tuple[str, Linked]] = []
        """What other workers have told of it meanwhile."""
        self.done = asyncio.ensure_future(work)
        self.done.add_done_callback(lambda done: done.cancelled() or done.exception())
