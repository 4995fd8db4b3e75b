"""MCP over HTTP on the thread of each request: for WSGI and Django.

There are no sessions and no streams, which a server of either era may do without.
"""

from collections.abc import Iterable

from accord.errors import AccordError
from accord.protocol import Connection, Request
from accord.serve.call import Edge, RunningCall
from accord.serve.executor import run_blocking, start_blocking
from accord.serve.http.replies import response_to, unacceptable, without_null_id
from accord.serve.http.request import Header, Heads, refuse
from accord.serve.http.response import Response, refused
from accord.serve.lifespan import NOT_STARTED, log_lifespan
from accord.server import Server


class SyncApp:
    """Answers requests of a server synchronously; safe in several threads."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._heads = Heads(None)
        self._dispatcher = server.dispatcher
        self._stateless = Connection(self._dispatcher, handshake=False, is_shared=True)

    def answer(self, method: str, headers: Iterable[Header], body: bytes, edge: Edge) -> Response:
        """Return the response to a request whose Host and Origin are checked already."""
        head = self._heads.find(headers)
        if method != "POST":
            return refused(refuse(405, f"Method {method} not allowed; use POST"), allow="POST")
        if head.unfit is not None:
            return refused(head.unfit)
        try:
            start_blocking(self.server.registry)
        except AccordError as error:
            log_lifespan(error)
            return refused(refuse(503, NOT_STARTED))
        revision = head.revision
        connection = (
            self._stateless
            if revision is None
            else self._dispatcher.connect(revision=revision, sessions=False)
        )
        reply: bytes | None = None
        for event in connection.receive(body, head.repeated):
            if isinstance(event, Request):
                fault = self._dispatcher.header_fault(event, head.fields)
                call = RunningCall(event, connection, edge)
                reply = call.finish(fault or run_blocking(self._dispatcher, call)) or reply
            elif isinstance(event, bytes):
                reply = event if revision and revision.null_ids else without_null_id(event)
        if reply is None:
            reply = unacceptable(body, head.repeated.revision, revision)
        return response_to(reply, revision, head.repeated.revision)
