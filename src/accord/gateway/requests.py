"""`Requests`: the requests of callers to one upstream, and those that wait for their answers."""

import re
from collections.abc import Awaitable, Coroutine, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from accord.client import Reply, TimedOut
from accord.client.tasks import CAPABILITIES, declaring
from accord.errors import UNSUPPORTED_PROTOCOL_VERSION, PeerError
from accord.gateway.calls import (
    ForwardedCall,
    first_answers,
    is_asking,
    parked_key,
    with_input,
)
from accord.gateway.faults import is_sign_in, require_opened, surely_not_started
from accord.gateway.link import Link, NotConnected
from accord.gateway.questions import offered, questions_in
from accord.gateway.slots import CallSlots
from accord.gateway.tasks import call_as_task, declares, open_task, result_of, resumed, wants_task
from accord.model.answer import Problem
from accord.model.context import Context
from accord.protocol.messages import decode_meta
from accord.server.operation import RequestChannel
from accord.telemetry import trace_members

if TYPE_CHECKING:
    from accord.gateway.upstreams import Upstream

_MAX_PARKED: Final = 1_000
"""Calls that wait for answers of callers of the stateless era."""
_MAX_REASON: Final = 2_000
_OWN_META: Final = ("io.modelcontextprotocol/", "dev.accord-mcp/")
_FOR_PROGRESS: Final = "progressToken"
_HEADER_VALUE: Final = re.compile(r"[!-~]([ -~]{0,4094}[!-~])?")


class Requests:
    """Forwards requests to an upstream; belongs to one run of it."""

    def __init__(self, upstream: "Upstream") -> None:
        self._upstream = upstream
        self._spec = upstream.spec
        self._parked: dict[str, ForwardedCall] = {}
        self._slots = CallSlots(upstream.spec.name, upstream.spec.max_calls)

    @property
    def are_parked(self) -> bool:
        """True if a call waits for the answers of its caller."""
        return bool(self._parked)

    def cancel_parked(self) -> None:
        """End the calls that wait for answers."""
        for call in list(self._parked.values()):
            call.cancel()

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        context: Context[Any],
        *,
        is_repeatable: bool = True,
        entry: Mapping[str, Any] = MappingProxyType({}),
    ) -> Reply:
        """Forward a request of a caller; raise a Problem if there is no reply.

        A request that `is_repeatable` is sent again if the upstream has ended meanwhile. `entry` is
        that of the tool in the list of the upstream.
        """
        self._upstream.calls += 1
        channel = cast(RequestChannel, context.channel)
        require_opened(channel.responses)
        parked = parked_key(channel)
        if self._slots.is_free:
            self._slots.take()
        else:
            await self._slots.wait(self._spec.timeout)
        try:
            if parked is not None and parked in self._parked:
                return await self._follow(self._parked[parked], context)
            return await self._forward(method, params, context, parked, is_repeatable, entry)
        finally:
            self._slots.release()

    async def _forward(
        self,
        method: str,
        params: Mapping[str, Any],
        context: Context[Any],
        parked: str | None,
        is_repeatable: bool,
        entry: Mapping[str, Any],
    ) -> Reply:
        """Send a request; once more if that is certain to do no harm."""
        try:
            return await self._attempt(method, params, context, parked, entry)
        except PeerError as error:
            if isinstance(error, TimedOut) or is_sign_in(error):
                raise self._problem(error) from error
            if not is_repeatable and not surely_not_started(error):
                raise self._problem(error, may_have_run=True) from error
        try:
            return await self._attempt(method, params, context, parked, entry)
        except PeerError as error:
            raise self._problem(error, may_have_run=not is_repeatable) from error

    async def complete(self, params: Mapping[str, Any]) -> Reply:
        """Return the reply to `completion/complete`, which is the same for all callers."""
        link = await self._upstream.available()
        return await link.peer.request("completion/complete", params)

    async def _attempt(
        self,
        method: str,
        params: Mapping[str, Any],
        context: Context[Any],
        parked: str | None,
        entry: Mapping[str, Any],
    ) -> Reply:
        if self._spec.auth is not None and self._upstream.exchanges:
            self._pass_token(context)
        link = await self._upstream.link_for(context)
        self._upstream.require_answering(link)
        if parked is not None and not link.revision.stateless:
            raise Problem.unavailable(
                "The question was answered already, or too late", code="QUESTION_EXPIRED"
            )
        meta = _meta_of(cast(RequestChannel, context.channel))
        options = self._options(context, wants_progress=_FOR_PROGRESS in meta)
        trace = trace_members()
        if meta or trace:
            params = {**params, "_meta": {**_forwarded_meta(meta), **trace}}
        try:
            if link.revision.stateless:
                reply = await self._send_stateless(link, method, params, context, options)
            else:
                call = ForwardedCall(context)
                request = _in_session(link, call, method, params, entry, options)
                reply = await self._send_in_session(call, request, context, options)
        except PeerError as error:
            self._upstream.report(link, error)
            raise
        link.unanswered = 0
        failure = reply.error
        if isinstance(failure, dict) and failure.get("code") == UNSUPPORTED_PROTOCOL_VERSION:
            changed = NotConnected(f"it does not speak revision {link.revision.date} any more")
            self._upstream.report(link, changed)
            raise changed
        return reply

    def _options(self, context: Context[Any], *, wants_progress: bool) -> dict[str, Any]:
        """Return the options of `Link.request` for a caller."""
        options: dict[str, Any] = {
            "seconds": self._spec.timeout,
            "wants_progress": wants_progress,
            "level": cast(RequestChannel, context.channel).log_level(),
            "capabilities": offered(context.client.capabilities, context.client.revision),
        }
        if self._spec.forward:
            options["headers"] = self._forwarded_headers(context)
        return options

    async def _send_in_session(
        self,
        call: ForwardedCall,
        request: Coroutine[Any, Any, Reply],
        context: Context[Any],
        options: Mapping[str, Any],
    ) -> Reply:
        """Send a request of the handshake era, which may be parked if its caller can be asked."""
        if not context.client.revision.stateless or not options["capabilities"]:
            return await call.direct(request)
        if len(self._parked) >= _MAX_PARKED:
            request.close()
            raise Problem.rate_limit(
                f"Server {self._spec.name!r} has {_MAX_PARKED:,} calls that wait for answers, its"
                " limit",
                retry_after=10.0,
            )
        call.start(request)
        return await self._follow(call, context)

    async def _send_stateless(
        self,
        link: Link,
        method: str,
        params: Mapping[str, Any],
        context: Context[Any],
        options: dict[str, Any],
    ) -> Reply:
        """Send a request of the stateless era until its result is complete."""
        has_tasks = method == "tools/call" and declares(link)
        if has_tasks:
            capabilities = declaring(options["capabilities"])[CAPABILITIES]
            options = {**options, "capabilities": capabilities}

        def send(answers: Mapping[str, Any]) -> Awaitable[Reply]:
            call = ForwardedCall(context)
            return call.direct(link.request(call, method, {**params, **answers}, **options))

        given = first_answers(context)
        task_id = open_task(given.get("requestState")) if has_tasks else None
        if task_id is not None:
            answers = given.get("inputResponses", {})
            return await resumed(link, task_id, answers, context, options)
        reply = await send(given)
        if is_asking(reply):
            reply = await with_input(context, reply, send, questions_in)
        return await result_of(link, reply, context, options) if has_tasks else reply

    async def _follow(self, call: ForwardedCall, context: Context[Any]) -> Reply:
        self._parked[call.id] = call
        call.on_abandon = lambda: self._forget(call)
        try:
            return await call.follow(context)
        finally:
            if not call.is_parked:
                self._forget(call)

    def _forget(self, call: ForwardedCall) -> None:
        self._parked.pop(call.id, None)

    def _pass_token(self, context: Context[Any]) -> None:
        """Let the verified token of a caller be exchanged for its requests."""
        from accord.auth.sign_in import SUBJECT_TOKEN

        token = b""
        if context.caller is not None and context.sender is not None:
            scheme, _, token = context.sender.fields.get(b"authorization", b"").partition(b" ")
            token = token.strip() if scheme.lower() == b"bearer" else b""
        SUBJECT_TOKEN.set(token.decode("ascii", "replace"))

    def _forwarded_headers(self, context: Context[Any]) -> dict[str, str]:
        """Return the headers of a caller that the configuration lets through."""
        fields = {} if context.sender is None else context.sender.fields
        texts = {
            name: fields.get(name.lower().encode(), b"").decode("latin-1")
            for name in self._spec.forward
        }
        return {name: text for name, text in texts.items() if _HEADER_VALUE.fullmatch(text)}

    def _problem(self, error: PeerError, *, may_have_run: bool = False) -> Problem:
        reason = str(error).partition("; its stderr ends:")[0][:_MAX_REASON]
        text = f"Server {self._spec.name!r}: {reason}"
        if isinstance(error, TimedOut):
            return Problem.timeout(text)
        if is_sign_in(error):
            return Problem.authentication(text)
        if may_have_run:
            return Problem.unavailable(
                f"{text}; the call may have run",
                code="MAY_HAVE_RUN",
                remediation="check whether it had an effect before you repeat it",
                retryable=False,
            )
        return Problem.unavailable(text)


async def _in_session(
    link: Link,
    call: ForwardedCall,
    method: str,
    params: Mapping[str, Any],
    entry: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Reply:
    """Send a request of the handshake era, as a task if the tool can only be one."""
    if not wants_task(link, entry):
        return await link.request(call, method, params, **options)
    return await call_as_task(link, call, params, options)


def _meta_of(channel: RequestChannel) -> dict[str, Any]:
    raw = channel.request.meta
    if not raw or decode_meta(raw) is None:
        return {}
    found = msgspec.json.decode(raw)
    return found if isinstance(found, dict) else {}


def _forwarded_meta(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a caller's `_meta` has for the upstream: a trace, for example."""
    return {
        name: each
        for name, each in meta.items()
        if name != _FOR_PROGRESS and not name.startswith(_OWN_META)
    }
