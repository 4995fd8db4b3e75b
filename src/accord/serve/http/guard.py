"""Admits requests by their bearer tokens, and challenges those without a valid one.

A token is verified with the headers, before the body is read. A header that was verified before
costs one lookup.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from time import monotonic, time
from typing import Any, Final
from urllib.parse import quote

import msgspec

from accord.auth.challenges import (
    DESCRIPTIONS,
    INSUFFICIENT_SCOPE,
    INVALID_REQUEST,
    INVALID_TOKEN,
    challenge,
)
from accord.auth.fetch import is_loopback
from accord.auth.metadata import WELL_KNOWN, Place, document, place_of_audience, public_place
from accord.auth.verdicts import Verdicts
from accord.auth.verifier import Unavailable
from accord.errors import INVALID_REQUEST as BAD_REQUEST
from accord.errors import Reject
from accord.model.caller import Grant, TokenRequest, Verifier, scopes_of
from accord.protocol import Request, messages
from accord.serve.http.endpoints import PAGE_API
from accord.serve.http.exchange import Exchange
from accord.serve.http.request import HEALTH, NOT_PUBLIC, Header, admit, refuse
from accord.serve.http.response import Response, refused, retry_after
from accord.serve.http.settings import Settings
from accord.server import Server

Admission = Response | Coroutine[Any, Any, Response | None] | None
"""A response, a coroutine that returns one or None, or None if the request is admitted."""

_MAX_RECALLED: Final = 2_048  # headers
_MAX_ADDRESS: Final = 64  # characters
_REFUSAL_STEP: Final = 0.01  # seconds
_FORWARDED: Final = frozenset(
    {b"forwarded", b"via", b"x-real-ip"}
    | {b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto"}
)
_SHARED: Final = (b"access-control-allow-origin", b"*")
_METADATA_SECONDS: Final = 3_600
_UNAVAILABLE: Final = "The access token cannot be verified now; try again later"


class Guard:
    """Verifies the tokens of requests, and answers those without a valid one."""

    def __init__(
        self, verifier: Verifier, settings: Settings, server: Server, hosts: frozenset[str]
    ) -> None:
        """`hosts` are those that the server answers to."""
        self._hosts = hosts
        self._verdicts = Verdicts(verifier)
        self._settings = settings
        self._name = server.identity.title
        self._registry = server.registry
        self._issuers: Sequence[str] = getattr(verifier, "issuers", ())
        given = [*getattr(verifier, "scopes", ()), *settings.scopes]
        self.scopes: tuple[str, ...] = scopes_of(given, "every call")
        """The scopes that every call needs."""
        self._paths = frozenset({settings.path.rstrip("/"), settings.path.rstrip("/") + "/"})
        self._place = self._fixed_place(verifier)
        self._recalled: dict[bytes | None, Grant] = {}
        """The grants of callers with all of `scopes`, by their Authorization headers."""

    def _fixed_place(self, verifier: Verifier) -> Place | None:
        path = self._settings.path.rstrip("/")
        if self._settings.public_url is not None:
            return public_place(self._settings.public_url, path)
        return place_of_audience(getattr(verifier, "audiences", ()), path)

    def admit(self, exchange: Exchange) -> Admission:
        """Set the grant of a request, or return its refusal, or what finds out which."""
        head, path = exchange.head, exchange.path
        is_for_callers = path in self._paths or path == "/read"
        if "root_path" in exchange.scope:
            is_for_callers = is_for_callers and not _is_well_known(exchange)
        if is_for_callers and head.refusal is None:
            grant = self._recalled.get(head.principal)
            if grant is not None and time() < grant.until:
                exchange.grant = grant
                return None
        found = self._metadata(exchange)
        if found is not None:
            return found
        if head.refusal is not None and path not in HEALTH:
            return refused(head.refusal)
        if is_for_callers:
            return self._verify(exchange, self.scopes)
        return self._admit_admin(exchange)

    def _admit_admin(self, exchange: Exchange) -> Admission:
        """Admit a request to the health check, or an operator's to the counters or the page."""
        if exchange.path == "/health" or exchange.path in HEALTH or self.is_local(exchange):
            return None
        if exchange.path.startswith("/.well-known/"):
            return refused(refuse(404, "Nothing is here"))
        if self._settings.admin_scope is None:
            return refused(refuse(403, NOT_PUBLIC))
        calls = exchange.path.startswith(PAGE_API)  # the page can call tools
        scopes = (*(self.scopes if calls else ()), self._settings.admin_scope)
        return self._verify(exchange, scopes)

    def is_local(self, exchange: Exchange) -> bool:
        """True if a request is from this machine: it sees counters and the page without a token.

        Behind a proxy on this machine every address is loopback, so that does not count.
        """
        fields = exchange.head.fields
        if self._settings.public_url is not None or not _FORWARDED.isdisjoint(fields):
            return False
        if admit(fields.get(b"host"), None, frozenset()) is not None:
            return False
        return exchange.address is not None and is_loopback(exchange.address)

    async def _verify(self, exchange: Exchange, scopes: Sequence[str]) -> Response | None:
        """Set the grant of a request with a valid token and all of some scopes."""
        header = exchange.head.principal
        scheme, _, token = (header or b"").strip(b" \t").partition(b" ")
        if scheme.lower() != b"bearer":
            if b", bearer " in (header or b"").lower():
                return self._challenged(exchange, 400, scopes, INVALID_REQUEST)
            return self._challenged(exchange, 401, scopes)
        if b"," in token:  # several headers, which one joins
            return self._challenged(exchange, 400, scopes, INVALID_REQUEST)
        fields, address = exchange.head.fields, self._address_of(exchange)
        request = TokenRequest(exchange.method, exchange.path, fields, address)
        began = monotonic()
        try:
            grant = await self._verdicts.find(token.strip(b" ").decode("latin-1"), request)
        except Unavailable as error:
            response = refused(refuse(503, _UNAVAILABLE))
            headers = (*response.more_headers, retry_after(error.retry_after))
            return msgspec.structs.replace(response, more_headers=headers)
        if grant is None:
            # The time of an answer must not tell which check has failed
            await asyncio.sleep((began - monotonic()) % _REFUSAL_STEP)
            return self._challenged(exchange, 401, scopes, INVALID_TOKEN)
        if not grant.caller.scopes.issuperset(scopes):
            needed = (*scopes, *self._scopes_named(exchange))
            return self._challenged(exchange, 403, needed, INSUFFICIENT_SCOPE)
        exchange.grant = grant
        if scopes is self.scopes:
            self._recall(header, grant)
        return None

    def _address_of(self, exchange: Exchange) -> str | None:
        """Return the address of a client; that of a proxy on this machine is of all its clients."""
        address = exchange.address
        if self._settings.public_url is None or address is None or not is_loopback(address):
            return address
        nearest = exchange.head.fields.get(b"x-forwarded-for", b"").rpartition(b",")[2]
        return nearest.strip().decode("latin-1")[:_MAX_ADDRESS] or address

    def _scopes_named(self, exchange: Exchange) -> Sequence[str]:
        """Return the scopes of the operation that the headers name, so that one step-up will do."""
        if exchange.path not in self._paths:
            return ()
        feature = self._registry.feature_named(*exchange.head.repeated.operation)
        return () if feature is None else feature.scopes

    def _recall(self, header: bytes | None, grant: Grant) -> None:
        if len(self._recalled) >= _MAX_RECALLED:
            del self._recalled[next(iter(self._recalled))]
        self._recalled[header] = grant

    def lacking(self, exchange: Exchange, scopes: Sequence[str]) -> Sequence[str] | None:
        """Return all scopes that an operation needs if its caller lacks one; else None."""
        grant = exchange.grant
        if grant is None or grant.caller.scopes.issuperset(scopes):
            return None
        return tuple(dict.fromkeys((*self.scopes, *scopes)))

    def insufficient(self, exchange: Exchange, request: Request, scopes: Sequence[str]) -> Response:
        """Return the challenge for an operation whose scopes the caller lacks."""
        return self._challenged(exchange, 403, scopes, INSUFFICIENT_SCOPE, request)

    def _challenged(
        self,
        exchange: Exchange,
        status: int,
        scopes: Sequence[str],
        error: str | None = None,
        request: Request | None = None,
    ) -> Response:
        scopes = tuple(dict.fromkeys(scopes))
        value = challenge(self._place_of(exchange).metadata_url, scopes, error)
        reason = "This server needs an access token" if error is None else DESCRIPTIONS[error]
        headers: list[Header] = [(b"www-authenticate", value), (b"cache-control", b"no-store")]
        reject = Reject(BAD_REQUEST, reason)
        if request is None:
            return Response(
                status, messages.failure(None, reject).without_null_id(), tuple(headers)
            )
        return Response(status, messages.failure(request.id, reject), tuple(headers))

    # Metadata

    def _metadata(self, exchange: Exchange) -> Response | None:
        """Return the answer to a request for the metadata; None if this is another one."""
        place = self._place_at(exchange)
        if place is None:
            return refused(refuse(404, "Nothing is here")) if _is_well_known(exchange) else None
        if exchange.method == "OPTIONS":
            return Response(204, b"", (_SHARED, (b"access-control-allow-headers", b"*")))
        if exchange.method not in ("GET", "HEAD"):
            fault = refuse(405, f"Method {exchange.method} not allowed; use GET")
            return refused(fault, allow="GET, HEAD, OPTIONS")
        host = admit(exchange.head.fields.get(b"host"), None, self._hosts)
        if host is not None:
            return refused(host)
        body = document(place, self._issuers, self.scopes, self._name)
        kept = b"public, max-age=%d" % _METADATA_SECONDS
        return Response(200, body, (_SHARED, (b"cache-control", kept), (b"vary", b"host")))

    def _place_at(self, exchange: Exchange) -> Place | None:
        """Return the place whose metadata a path is for; None if it is for none."""
        is_outside, path = _is_well_known(exchange), self._settings.path.rstrip("/")
        if not is_outside and not exchange.path.startswith(WELL_KNOWN):
            return None
        below = exchange.path.removeprefix(WELL_KNOWN).rstrip("/")
        if is_outside and self._place is None:  # the path has the prefix of the other mount
            is_whole = below.endswith(path)
            return (
                Place(_origin(exchange) + quote(below.removesuffix(path)), path)
                if is_whole
                else None
            )
        place = self._place_of(exchange)
        return place if below in ("", path, place.prefix + path) else None

    def _place_of(self, exchange: Exchange) -> Place:
        """Return where clients find the server: as configured, else as this one has called it."""
        if self._place is not None:
            return self._place
        prefix = quote(exchange.scope.get("root_path", ""))  # a mount may have it of the request
        return Place(_origin(exchange) + prefix, self._settings.path.rstrip("/"))


def _origin(exchange: Exchange) -> str:
    """Return the origin that a client has called, whose host is admitted."""
    host = exchange.head.fields.get(b"host", b"").decode("latin-1").lower()
    return f"{exchange.scope.get('scheme', 'http')}://{host}"


def _is_well_known(exchange: Exchange) -> bool:
    """True if the app is mounted at the well-known place too, outside of its own prefix."""
    root: str = exchange.scope.get("root_path", "")
    return root.endswith(WELL_KNOWN)
