"""What excludes a request that is otherwise valid: scopes that its caller lacks, and limits."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from accord.errors import INVALID_REQUEST, Reject
from accord.model.answer import Problem
from accord.protocol import Request, messages
from accord.protocol.events import PROMPTS_GET, RESOURCES_READ, TOOLS_CALL
from accord.serve.http.exchange import Exchange
from accord.serve.http.response import Response, retry_after
from accord.serve.limits import CallLimits, Excess
from accord.server.dispatcher import Dispatcher

if TYPE_CHECKING:
    from accord.serve.http.guard import Guard

_LIMITED: Final = frozenset({TOOLS_CALL, PROMPTS_GET, RESOURCES_READ})


class Exclusion(msgspec.Struct, frozen=True):
    """Why a request is not executed: as a response, and as the result of a call in a batch."""

    response: Response
    problem: Problem


class CallPolicy:
    """Checks each request that its body names, before it is executed."""

    def __init__(
        self, dispatcher: Dispatcher, guard: "Guard | None", limits: CallLimits | None
    ) -> None:
        self._dispatcher = dispatcher
        self._registry = dispatcher.registry
        self._guard = guard
        self._limits = limits

    def check(self, exchange: Exchange, request: Request) -> Exclusion | None:
        """Return what excludes a request; without that, it counts as open until `leave`."""
        if self._guard is not None and self._registry.scoped:
            scopes = self._guard.lacking(exchange, self._dispatcher.scopes_for(request))
            if scopes is not None:
                response = self._guard.insufficient(exchange, request, scopes)
                return Exclusion(response, lacking_scopes(scopes))
        if self._limits is not None and request.method in _LIMITED:
            is_tool = request.method == TOOLS_CALL
            tool = self._dispatcher.known_name(request) if is_tool else None
            excess = self._limits.excess(_key(exchange), tool)
            if excess is not None:
                return _excluded(request, excess)
        return None

    def leave(self, exchange: Exchange, request: Request) -> None:
        """Count a request as done."""
        if self._limits is not None and request.method in _LIMITED:
            self._limits.leave(_key(exchange))


def lacking_scopes(scopes: Sequence[str]) -> Problem:
    """Return the problem of a call for which its caller lacks a scope."""
    return Problem.authorization(f"This needs a token with the scopes {' '.join(scopes)}")


def _key(exchange: Exchange) -> bytes | str | None:
    """Return the verified caller, else the address: a header could be another one each time."""
    return exchange.address if exchange.grant is None else exchange.principal


def _excluded(request: Request, excess: Excess) -> Exclusion:
    reject = Reject(INVALID_REQUEST, excess.message)
    headers = (retry_after(excess.retry_after),)
    response = Response(429, messages.failure(request.id, reject), headers)
    problem = Problem.rate_limit(
        excess.message,
        remediation=f"try again in {excess.retry_after:.3g} s",
        retry_after=excess.retry_after,
    )
    return Exclusion(response, problem)
