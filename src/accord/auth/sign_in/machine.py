"""Tokens for programs of their own, without a person: the grant `client_credentials`."""

import asyncio
import secrets
from collections.abc import Sequence
from time import time
from typing import Any, Final

import msgspec

from accord.auth.fetch import bare
from accord.auth.sign_in.endpoints import Endpoints, resource_param
from accord.auth.sign_in.grant import Registration, Tokens, union
from accord.auth.sign_in.metadata import ServerMetadata, canonical
from accord.auth.sign_in.oauth import auth_method
from accord.auth.sign_in.provider import AuthRequest
from accord.errors import ContractError, SignInError

_ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ASSERTION_SECONDS: Final = 120
_KEY_TYPES: Final = {
    **dict.fromkeys(("ES256", "ES384", "ES512"), "EC"),
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    "Ed25519": "OKP",
}


class ClientCredentials:
    """Gets tokens for a program, with the secret of a client that is registered for it.

    async with Client(url, auth=ClientCredentials("reports", secret, issuer=issuer)) as client:
    """

    def __init__(
        self,
        client_id: str,
        client_secret: str | None = None,
        *,
        private_key: str | None = None,
        algorithm: str = "ES256",
        issuer: str | None = None,
        scopes: Sequence[str] = (),
    ) -> None:
        """Describe a client that is registered at `issuer`, by its secret or its private key.

        The key is in PEM, and signs an assertion for each token request (RFC 7523). Without an
        issuer, the first one that a server names gets the secret, and no other after it.
        """
        if (client_secret is None) == (private_key is None):
            raise ContractError("give either client_secret or private_key")
        self._client_id = client_id
        self._client_secret = client_secret
        self._key = None if private_key is None else SigningKey(private_key, algorithm)
        self._issuer = issuer
        self._scopes = tuple(scopes)
        self._tokens: dict[str, Tokens] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def __repr__(self) -> str:
        return f"ClientCredentials({self._client_id!r})"

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
        form = {"grant_type": "client_credentials", **resource_param(discovery.identifier)}
        if scopes:
            form["scope"] = " ".join(scopes)
        registration = Registration(issuer=issuer, client_id=self._client_id)
        if self._key is not None:
            form |= self._key.assertion(self._client_id, server)
        else:
            method = auth_method(server, has_secret=True)
            registration = msgspec.structs.replace(
                registration, client_secret=self._client_secret, auth_method=method
            )
        return await endpoints.tokens(server.token_endpoint, registration, form, scopes)


class SigningKey:
    """The private key of a client, which authenticates by signed assertions (RFC 7523)."""

    def __init__(self, pem: str, algorithm: str) -> None:
        try:
            from joserfc.errors import JoseError
            from joserfc.jwk import import_key
        except ImportError as error:
            from accord.extras import missing

            raise ContractError(missing("a private key", "auth")) from error
        if algorithm not in _KEY_TYPES:
            raise ContractError(f"algorithm must be one of {', '.join(_KEY_TYPES)}")
        self._algorithm = algorithm
        kind: Any = _KEY_TYPES[algorithm]
        try:
            self._key: Any = import_key(pem, kind)
        except (ValueError, TypeError, JoseError):
            raise ContractError(f"private_key is not a key in PEM for {algorithm}") from None
        if not self._key.is_private:
            raise ContractError("private_key is a public key")

    def __repr__(self) -> str:
        return f"SigningKey({self._algorithm})"

    def assertion(self, client_id: str, server: ServerMetadata) -> dict[str, str]:
        """Return the members of a token request by which a client authenticates at a server."""
        from joserfc import jwt

        supported = server.token_endpoint_auth_methods_supported
        if supported is not None and "private_key_jwt" not in supported:
            raise SignInError(f"{bare(server.issuer)} does not take assertions of a private key")
        now = int(time())
        claims = {
            "iss": client_id,
            "sub": client_id,
            "aud": server.issuer,
            "iat": now,
            "exp": now + _ASSERTION_SECONDS,
            "jti": secrets.token_urlsafe(24),
        }
        header = {"alg": self._algorithm}
        token = jwt.encode(header, claims, self._key, algorithms=[self._algorithm])
        return {"client_assertion_type": _ASSERTION_TYPE, "client_assertion": token}


def _needs_more(request: AuthRequest, tokens: Tokens) -> bool:
    """True if a challenge names scopes that were not requested."""
    needed = () if request.challenge is None else request.challenge.scopes
    return request.status == 403 and not set(needed) <= set(tokens.scopes)
