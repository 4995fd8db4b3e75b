"""The sessions of a server, known to all workers of its port.

A session is served by any worker: from memory, or made of its id. What changes it is told to the
others, if there are any.
"""

import logging
import os
import secrets
from collections.abc import Awaitable, Coroutine, Iterator
from functools import partial
from typing import Any, Final

from accord.errors import INVALID_REQUEST, Reject
from accord.model.changes import Change
from accord.protocol import Cancel, ClientResponse, Connection, Request
from accord.serve.http.execution import Execution
from accord.serve.http.request import Refusal, refuse
from accord.serve.http.response import Response
from accord.serve.http.session_id import SessionId, SessionIds
from accord.serve.http.sessions import UNVERIFIED, Principal, Session, Sessions
from accord.serve.http.settings import Settings
from accord.serve.http.siblings import (
    AllEnded,
    Changed,
    Ended,
    Forwarded,
    Linked,
    Listening,
    Siblings,
    Used,
)
from accord.serve.pending_requests import PendingRequests
from accord.server import Server

log = logging.getLogger("accord")

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
        siblings: Siblings | None,
    ) -> None:
        """`siblings` are the links to the other workers of the port."""
        self._dispatcher = server.dispatcher
        self._execution = execution
        self._requests = requests
        self._siblings = siblings
        self._ids = SessionIds(
            server.dispatcher.key, server.identity.name, seconds=settings.session_lifetime
        )
        self._sessions = Sessions(
            self._ids,
            settings.max_sessions,
            settings.session_seconds,
            on_end=lambda seal: self._broadcast(Ended(seal.text)),
            on_use=lambda session: self._tell(Used(session.id)),
        )
        self.told: list[Awaitable[list[bytes]]] = []
        """Broadcasts of the message that is being received, which its reply waits for."""
        self._has_warned = False
        self._process = 0
        self._process_name = ""
        if siblings is not None:
            server.registry.changes.subscribe(self._share_change)

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

    def drop_all(self) -> None:
        """Drop all sessions from memory."""
        self._sessions.end_all()

    def all_know(self, response: Response | None = None) -> Coroutine[Any, Any, Response | None]:
        """Return a response once all workers know what this one has told them."""
        told, self.told = self.told, []

        async def wait() -> Response | None:
            for each in told:
                await each
            return response

        return wait()

    def _name(self) -> str:
        """Return a name for this process; another one in a fork, which may serve the app too."""
        if self._siblings is not None:
            return self._siblings.name
        if self._process != os.getpid():
            self._process, self._process_name = os.getpid(), secrets.token_hex(_NAME_BYTES)
        return self._process_name

    def _cancel(self, request: Request) -> None:
        self._execution.cancel(Cancel(request, None))

    # To the other workers

    def _broadcast(self, message: Linked) -> None:
        """Tell the other workers something; the reply to a message waits until they know it."""
        if self._siblings is not None:
            self.told.append(self._siblings.broadcast(message))

    def _tell(self, message: Linked) -> None:
        """Tell the other workers something that no reply waits for."""
        if self._siblings is not None:
            self._siblings.tell(message)

    def _announce(self, session: Session, is_open: bool) -> None:
        send = self._broadcast if is_open else self._tell
        send(Listening(session.id, is_open))

    def _forward(self, session_id: str, worker: str, message: bytes) -> Reject | None:
        """Pass a message of a client on to the other workers of its session, or to one of them."""
        forwarded = Forwarded(session_id, message)
        if not worker:
            self._broadcast(forwarded)
        elif self._siblings is None or not self._siblings.send(worker, forwarded):
            return Reject(INVALID_REQUEST, _OTHER_PROCESS)
        return None

    def _share_change(self, change: Change) -> None:
        """Tell the other workers of a change. Safe in any thread."""
        assert self._siblings is not None
        self._siblings.tell_threadsafe(Changed.of(change))

    # From the other workers

    def take(self, worker: str, message: Linked) -> None:
        """Take a message of another worker."""
        match message:
            case Forwarded():
                self._take_forwarded(message)
            case Ended():
                self._sessions.refuse(message.session)
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

    def _take_forwarded(self, forwarded: Forwarded) -> None:
        session = self.find(forwarded.session)
        if isinstance(session, Refusal):
            return
        connection = session.connection
        forward, connection.forward = connection.forward, None
        try:
            events = connection.receive(forwarded.message)
        finally:
            connection.forward = forward
        for event in events:
            if isinstance(event, Cancel):
                self._execution.cancel(event)
            elif isinstance(event, ClientResponse):
                self._requests.receive(event)

    def greeting(self) -> Iterator[Linked]:
        """Return the messages that tell a new worker the state of all sessions."""
        yield AllEnded(self._sessions.ended)
        for session in self._sessions:
            for message in session.connection.changes():
                yield Forwarded(session.id, message)
            if session.listeners:
                yield Listening(session.id, is_open=True)

    def lose(self, worker: str) -> None:
        """Forget a worker that has ended."""
        self._sessions.lose(worker)
