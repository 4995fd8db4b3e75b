"""Tokens for programs of their own, without a person: the grant `client_credentials`."""

import asyncio
from collections.abc import Sequence

from accord.auth.fetch import bare
from accord.auth.sign_in.endpoints import Endpoints, resource_param
from accord.auth.sign_in.grant import Registration, Tokens, union
from accord.auth.sign_in.metadata import canonical
from accord.auth.sign_in.oauth import auth_method
from accord.auth.sign_in.provider import AuthRequest
from accord.errors import SignInError


class ClientCredentials:
    """Gets tokens for a program, with the secret of a client that is registered for it.

    async with Client(url, auth=ClientCredentials("reports", secret, issuer=issuer)) as client:
    """

    def __init__(
        self,
        client_id: str,
        client_secret: str,
        *,
        issuer: str | None = None,
        scopes: Sequence[str] = (),
    ) -> None:
        """Describe a client that is registered at `issuer`.

        Without one, the first issuer that a server names gets the secret, and no other after it.
        """
        self._client = (client_id, client_secret)
        self._issuer = issuer
        self._scopes = tuple(scopes)
        self._tokens: dict[str, Tokens] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def __repr__(self) -> str:
        return f"ClientCredentials({self._client[0]!r})"

    async def token(self, request: AuthRequest) -> str | None:
        """Return a token for a request; get a new one if it is refused, once."""
        server = canonical(request.url)
        async with self._locks.setdefault(server, asyncio.Lock()):
            tokens = self._tokens.get(server)
            if request.status is None:
                return None if tokens is None or tokens.is_expired else tokens.access_token
            if tokens is not None and tokens.access_token != request.token:
                return tokens.access_token
            if request.attempt > 1 and tokens is not None and not _needs_more(request, tokens):
                return None
            self._tokens[server] = tokens = await self._request(request, tokens)
            return tokens.access_token

    async def _request(self, request: AuthRequest, earlier: Tokens | None) -> Tokens:
        endpoints = Endpoints(request.url)
        discovery = await endpoints.discover(request.challenge)
        issuer = self._issuer or discovery.issuers[0]
        if issuer not in discovery.issuers:
            raise SignInError(f"{bare(request.url)} does not trust the issuer {bare(issuer)}")
        self._issuer = issuer  # the secret is for one issuer only
        server = await endpoints.server(issuer, is_legacy=discovery.is_legacy)
        if server.token_endpoint is None:
            raise SignInError(f"{bare(issuer)} names no token endpoint")
        challenged = () if request.challenge is None else request.challenge.scopes
        scopes = union(self._scopes, () if earlier is None else earlier.scopes, challenged)
        client_id, secret = self._client
        registration = Registration(
            issuer=issuer,
            client_id=client_id,
            client_secret=secret,
            auth_method=auth_method(server, has_secret=True),
        )
        form = {"grant_type": "client_credentials", **resource_param(discovery.identifier)}
        if scopes:
            form["scope"] = " ".join(scopes)
        return await endpoints.tokens(server.token_endpoint, registration, form, scopes)


def _needs_more(request: AuthRequest, tokens: Tokens) -> bool:
    """True if a challenge names scopes that were not requested."""
    needed = () if request.challenge is None else request.challenge.scopes
    return request.status == 403 and not set(needed) <= set(tokens.scopes)
