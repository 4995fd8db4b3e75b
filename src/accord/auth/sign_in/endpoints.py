"""Requests to a server's metadata and to its authorization server, each checked and bounded."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from accord.auth.fetch import Fetched, FetchError, bare, fetch
from accord.auth.sign_in import metadata
from accord.auth.sign_in.addresses import Reach, allows_http, require_url
from accord.auth.sign_in.challenge import Challenge
from accord.auth.sign_in.grant import Grant, Registration, Tokens, read_tokens
from accord.auth.sign_in.metadata import ResourceMetadata, ServerMetadata
from accord.auth.sign_in.oauth import (
    authenticated,
    read_error,
    read_registration,
    registration_body,
)
from accord.errors import SignInError

_MAX_SERVERS: Final = 5  # authorization servers of one resource that are tried


class Discovery(msgspec.Struct, frozen=True):
    """What a server requires for a sign-in: its resource, and the issuers to choose from."""

    url: str
    resource: ResourceMetadata | None
    """None for a server without metadata, which is its own authorization server."""

    @property
    def issuers(self) -> tuple[str, ...]:
        """The issuers that the resource trusts."""
        stated = () if self.resource is None else self.resource.authorization_servers
        return stated[:_MAX_SERVERS] or (metadata.origin(self.url),)

    @property
    def is_legacy(self) -> bool:
        """True if the server names no issuer, as in revision 2025-03-26."""
        return self.resource is None or not self.resource.authorization_servers

    @property
    def identifier(self) -> str | None:
        """The resource identifier, exactly as published."""
        return None if self.resource is None else self.resource.resource


class Endpoints:
    """The endpoints that one MCP server leads to."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._reach = Reach(url)

    async def discover(self, challenge: Challenge | None) -> Discovery:
        """Return the metadata of the resource: where the challenge says, else where it may be."""
        named = challenge.resource_metadata if challenge is not None else None
        locations = metadata.resource_locations(self._url)
        found = await self._first([named, *locations] if named else locations)
        if found is None:
            return Discovery(self._url, None)
        return Discovery(self._url, metadata.read_resource(*found, self._url))

    async def server(self, issuer: str, *, is_legacy: bool = False) -> ServerMetadata:
        """Return the metadata of an issuer, with endpoints that may be used."""
        require_url(issuer, self._url)
        found = await self._first(metadata.server_locations(issuer))
        if found is None and is_legacy:
            return metadata.default_server(issuer)
        if found is None:
            raise SignInError(f"{bare(issuer)} has no metadata of an authorization server")
        read = metadata.read_own_server if is_legacy else metadata.read_server
        server = read(*found, issuer)
        for endpoint in server.endpoints:
            require_url(endpoint, self._url)
        return server

    async def register(
        self, server: ServerMetadata, redirect_uri: str, scopes: tuple[str, ...]
    ) -> Registration:
        """Register this client (RFC 7591)."""
        body = msgspec.json.encode(registration_body(server, redirect_uri, scopes))
        json = [("content-type", "application/json")]
        reply = await self._post(server.registration_endpoint or "", body=body, headers=json)
        if reply.status not in (200, 201):
            activity = f"{bare(server.issuer)} refused to register this client"
            raise read_error(activity, reply.status, reply.body)
        return read_registration(reply.body, server, redirect_uri, scopes)

    async def tokens(
        self,
        endpoint: str,
        registration: Registration,
        form: Mapping[str, str],
        scopes: tuple[str, ...],
    ) -> Tokens:
        """Request tokens; `scopes` are those that the reply grants if it does not say."""
        form, headers = authenticated(registration, form)
        reply = await self._post(endpoint, form=form, headers=headers)
        if reply.status != 200:
            activity = f"{bare(registration.issuer)} refused the token request"
            raise read_error(activity, reply.status, reply.body)
        return read_tokens(reply.body, scopes)

    async def refreshed(self, grant: Grant) -> Grant:
        """Return a grant with new tokens for its refresh token."""
        form = {
            "grant_type": "refresh_token",
            "refresh_token": grant.tokens.refresh_token or "",
            **resource_param(grant.resource),
        }
        scopes = grant.tokens.scopes
        tokens = await self.tokens(grant.token_endpoint, grant.registration, form, scopes)
        if tokens.refresh_token is None:  # it is not rotated
            tokens = msgspec.structs.replace(tokens, refresh_token=grant.tokens.refresh_token)
        return msgspec.structs.replace(grant, tokens=tokens)

    async def revoke(self, grant: Grant) -> bool:
        """Revoke the tokens of a grant (RFC 7009); return False unless all of them are.

        A server may have no revocation, or none of access tokens that it does not keep.
        """
        if grant.revocation_endpoint is None:
            return False
        tokens = {
            "refresh_token": grant.tokens.refresh_token,
            "access_token": grant.tokens.access_token,
        }
        statuses = []
        for kind, token in tokens.items():
            if token is not None:
                given = {"token": token, "token_type_hint": kind}
                form, headers = authenticated(grant.registration, given)
                reply = await self._post(grant.revocation_endpoint, form=form, headers=headers)
                statuses.append(reply.status)
        return all(status == 200 for status in statuses)

    async def _first(self, locations: Iterable[str]) -> tuple[bytes, str] | None:
        """Return the first document that exists, and where; None if all are known not to."""
        failure: FetchError | None = None
        for location in dict.fromkeys(locations):
            await self._reach.require(location)
            try:
                reply = await self._fetch(location)
            except FetchError as error:
                failure = failure or error
                continue
            if reply.status == 200:
                return reply.body, location
            if reply.status >= 500:
                failure = FetchError(f"{bare(location)} answered with HTTP {reply.status}")
        if failure is not None:
            raise failure
        return None

    async def _post(self, url: str, **content: Any) -> Fetched:
        await self._reach.require(url)
        return await self._fetch(url, **content)

    async def _fetch(self, url: str, **content: Any) -> Fetched:
        is_http = allows_http(self._url)
        return await fetch(url, allow_http=is_http, accepts=self._reach.accepts, **content)


def resource_param(resource: str | None) -> dict[str, str]:
    """Return the parameter of RFC 8707; a server without metadata gets none."""
    return {} if resource is None else {"resource": resource}
