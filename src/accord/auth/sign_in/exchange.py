"""Tokens of a gateway for its callers, at the servers behind it: token exchange (RFC 8693)."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from contextvars import ContextVar
from hashlib import sha256
from typing import Final

import msgspec

from accord.auth.fetch import bare
from accord.auth.sign_in.endpoints import Endpoints
from accord.auth.sign_in.grant import Registration, Tokens, union
from accord.auth.sign_in.machine import ClientCredentials
from accord.auth.sign_in.metadata import canonical
from accord.auth.sign_in.oauth import auth_method
from accord.auth.sign_in.provider import AuthRequest
from accord.errors import SignInError

SUBJECT_TOKEN: ContextVar[str | None] = ContextVar("accord_subject_token", default=None)
"""The verified token of the caller whose request is sent; empty if it has none.

None outside of a call, where the gateway acts for itself.
"""
_GRANT: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS_TOKEN: Final = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - a type
_MAX_KEPT: Final = 10_000  # tokens of callers
_Key = tuple[str, bytes]


class TokenExchange:
    """Exchanges the token of each caller for one that is valid at the server behind a gateway.

    The token of a caller is sent to the token endpoint of the configured issuer only. Requests
    that are of no caller, such as those for lists, get the token of the client itself.
    """

    def __init__(
        self,
        client_id: str,
        client_secret: str,
        *,
        issuer: str,
        audience: str | None = None,
        scopes: Sequence[str] = (),
    ) -> None:
        """Describe a client that is registered at `issuer`.

        Tokens are requested for the URL of the server (`resource`), and `audience` if it is given.
        """
        self._registration = Registration(
            issuer=issuer, client_id=client_id, client_secret=client_secret
        )
        self._audience = audience
        self._scopes = tuple(scopes)
        self._own = ClientCredentials(client_id, client_secret, issuer=issuer, scopes=scopes)
        self._tokens: OrderedDict[_Key, Tokens] = OrderedDict()
        self._locks: dict[_Key, asyncio.Lock] = {}

    def __repr__(self) -> str:
        return f"TokenExchange({self._registration.client_id!r})"

    async def token(self, request: AuthRequest) -> str | None:
        """Return a token for the caller of a request; exchange again if it is refused, once."""
        subject = SUBJECT_TOKEN.get()
        if subject is None:
            return await self._own.token(request)
        if not subject:
            raise SignInError(f"{bare(request.url)} requires a token of the caller, who has none")
        key = canonical(request.url), sha256(subject.encode()).digest()
        lock = self._locks.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                return await self._token_for(key, subject, request)
        finally:
            if not lock.locked():
                self._locks.pop(key, None)

    async def _token_for(self, key: _Key, subject: str, request: AuthRequest) -> str | None:
        found = self._tokens.get(key)
        is_refused = found is not None and found.access_token == request.token
        if found is not None and not is_refused and not found.is_expired:
            return found.access_token
        if request.attempt > 1:
            return None
        challenged = () if request.challenge is None else request.challenge.scopes
        scopes = union(self._scopes, () if found is None else found.scopes, challenged)
        self._tokens[key] = tokens = await self._exchange(request.url, subject, scopes)
        self._tokens.move_to_end(key)
        if len(self._tokens) > _MAX_KEPT:
            self._tokens.popitem(last=False)
        return tokens.access_token

    async def _exchange(self, url: str, subject: str, scopes: tuple[str, ...]) -> Tokens:
        issuer = self._registration.issuer
        endpoints = Endpoints(issuer)  # the address is from the configuration, not from the server
        server = await endpoints.server(issuer)
        if server.token_endpoint is None:
            raise SignInError(f"{bare(issuer)} names no token endpoint")
        form = {
            "grant_type": _GRANT,
            "subject_token": subject,
            "subject_token_type": _ACCESS_TOKEN,
            "requested_token_type": _ACCESS_TOKEN,
            "resource": canonical(url),
        }
        if self._audience is not None:
            form["audience"] = self._audience
        if scopes:
            form["scope"] = " ".join(scopes)
        registration = msgspec.structs.replace(
            self._registration, auth_method=auth_method(server, has_secret=True)
        )
        return await endpoints.tokens(server.token_endpoint, registration, form, scopes)
