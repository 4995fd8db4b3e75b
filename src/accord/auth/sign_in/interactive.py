"""`SignIn`: tokens of a person, who signs in by a page in the browser; stored and renewed."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from accord.auth.fetch import bare
from accord.auth.sign_in import browser
from accord.auth.sign_in.authorization import (
    UNREGISTERED,
    Authorization,
    ClientIdentity,
    Interaction,
)
from accord.auth.sign_in.challenge import Challenge
from accord.auth.sign_in.endpoints import Endpoints
from accord.auth.sign_in.grant import Grant, union
from accord.auth.sign_in.metadata import canonical
from accord.auth.sign_in.oauth import OAuthError, shown
from accord.auth.sign_in.provider import AuthRequest, sign_in_required
from accord.auth.sign_in.store import Store, UserStore
from accord.errors import ContractError, PeerError, SignInError

_TIMEOUT: Final = 300.0  # seconds for a person to sign in
_TEMPORARY: Final = frozenset({"server_error", "temporarily_unavailable", "slow_down"})


class SignIn:
    """Signs in to servers with OAuth 2.1, in the user's browser, and renews the tokens.

        async with Client("https://mcp.example.com/mcp", auth=SignIn()) as client: ...

    Sign-ins are kept for the user, in the keyring or a file, where `accord login` keeps them too.
    One object is for any number of clients in one event loop.
    """

    def __init__(
        self,
        *,
        scopes: Sequence[str] = (),
        client_id: str | None = None,
        client_secret: str | None = None,
        issuer: str | None = None,
        client_metadata_url: str | None = None,
        redirect_port: int = 0,
        interactive: bool = True,
        store: Store | None = None,
        open_page: Callable[[str], object] | None = browser.open_page,
        announce: Callable[[str], object] = browser.announce,
        read_code: Callable[[], Awaitable[str]] | None = None,
        timeout: float = _TIMEOUT,
    ) -> None:
        """Describe how to sign in.

        `scopes` are requested besides those that the server names. `client_id` and `client_secret`
        are of a client that is registered at `issuer`; `client_metadata_url` is the https URL of a
        client ID metadata document. Without either, the client registers itself. `redirect_port`
        is the port of 127.0.0.1 that the browser is sent to, a free one by default.

        If not `interactive`, no sign-in is started: stored ones are used and renewed, and
        SignInRequired is raised where there is none. `announce` shows the page's URL, `open_page`
        opens it (None for not at all), `read_code` returns a code or URL that a person has pasted.
        A sign-in must be done within `timeout` seconds.
        """
        if client_secret is not None and client_id is None:
            raise ContractError("client_secret requires client_id")
        if client_metadata_url is not None and not _is_document(client_metadata_url):
            raise ContractError("client_metadata_url must be an https URL with a path")
        self._scopes = tuple(scopes)
        self._identity = ClientIdentity(
            client_id, client_secret, issuer, client_metadata_url, redirect_port
        )
        self._interaction = Interaction(announce, open_page, read_code, timeout)
        self._is_interactive = interactive
        self._store: Store = UserStore() if store is None else store
        self._grants: dict[str, Grant | None] = {}
        self._signed_in: set[str] = set()
        self._stepped_up: set[tuple[str, frozenset[str]]] = set()
        self._locks: dict[str, asyncio.Lock] = {}

    def __repr__(self) -> str:
        return "SignIn()"

    async def token(self, request: AuthRequest) -> str | None:
        """Return a token for a request; sign in, or renew the token, where it is needed."""
        server = canonical(request.url)
        async with self._locks.setdefault(server, asyncio.Lock()):
            grant = await self._known(server, request)
            if request.status is None:
                if grant is not None and grant.tokens.is_expired and grant.tokens.refresh_token:
                    grant = await self._renewed(grant)
                return None if grant is None else grant.tokens.access_token
            if request.status == 403 and grant is not None:
                grant = await self._stepped_up_from(grant, request)
            elif grant is None or grant.tokens.access_token == request.token:
                grant = await self._replaced(grant, request)
            return grant.tokens.access_token

    async def sign_in(
        self, url: str, challenge: Challenge | None = None, *, scopes: Sequence[str] = ()
    ) -> Grant:
        """Start a new sign-in to a server, even if one is stored; also request these `scopes`."""
        endpoints = Endpoints(url)
        discovery = await endpoints.discover(challenge)
        step = Authorization(endpoints, discovery, self._identity, self._interaction, self._store)
        challenged = () if challenge is None else challenge.scopes
        grant = await step.run(challenged, union(self._scopes, scopes))
        if self._identity.client_id is not None:  # it is for one issuer only
            self._identity = msgspec.structs.replace(self._identity, issuer=grant.issuer)
        self._grants[grant.server] = grant
        self._signed_in.add(grant.tokens.access_token)
        async with self._store.lock(grant.server):  # not while the earlier one is renewed
            await self._store.keep(grant)
        return grant

    async def sign_out(self, url: str) -> tuple[Grant, bool] | None:
        """Forget the sign-in at a server, and revoke its tokens; None if there is none.

        Returns the sign-in, and whether all its tokens were revoked; they are forgotten anyway.
        """
        server = canonical(url)
        self._grants.pop(server, None)
        grant, was_revoked = None, False
        async with self._store.lock(server):  # a process that renews it would keep it again
            try:
                with suppress(SignInError):  # the entry is damaged
                    grant = await self._store.grant(server)
                if grant is not None:
                    with suppress(PeerError):
                        was_revoked = await Endpoints(url).revoke(grant)
            finally:
                await self._store.forget(server)
        if grant is None:
            return None
        await self._store.forget_registration(grant.issuer)
        return grant, was_revoked

    async def _known(self, server: str, request: AuthRequest) -> Grant | None:
        """Return the sign-in at a server; after a refusal another process may have a new one."""
        if server not in self._grants or request.status is not None:
            self._grants[server] = await self._store.grant(server) or self._grants.get(server)
        return self._grants[server]

    async def _replaced(self, grant: Grant | None, request: AuthRequest) -> Grant:
        """Return a sign-in in the place of one that was refused, or of none."""
        if grant is None:
            return await self._interact(request, ())
        if request.attempt > 1 and request.token in self._signed_in:
            raise SignInError(
                f"{bare(request.url)} refuses the token that {bare(grant.issuer)} has just issued"
            )
        if grant.tokens.refresh_token and request.attempt <= 1:
            discovery = await Endpoints(request.url).discover(request.challenge)
            if discovery.is_legacy or grant.issuer in discovery.issuers:
                renewed = await self._renewed(grant)
                if renewed.tokens.access_token != request.token:
                    return renewed
        return await self._interact(request, grant.requested_scopes)

    async def _stepped_up_from(self, grant: Grant, request: AuthRequest) -> Grant:
        """Return a sign-in with the scopes of a challenge besides the earlier ones."""
        needed = () if request.challenge is None else request.challenge.scopes
        if grant.tokens.access_token != request.token and set(needed) <= set(grant.scopes):
            return grant  # another request has stepped up meanwhile
        wanted = union(grant.scopes, needed)
        asked = (grant.server, frozenset(wanted))
        if asked in self._stepped_up:
            raise SignInError(
                f"{bare(request.url)} requires scopes that {bare(grant.issuer)} does not grant:"
                f" {shown(' '.join(needed)) or 'it names none'}"
            )
        self._stepped_up.add(asked)
        return await self._interact(request, wanted)

    async def _interact(self, request: AuthRequest, scopes: Sequence[str]) -> Grant:
        if not self._is_interactive:
            raise sign_in_required(request)
        return await self.sign_in(request.url, request.challenge, scopes=scopes)

    async def _renewed(self, grant: Grant) -> Grant:
        """Return a grant with new tokens, or without a refresh token if the issuer refuses that.

        One process at a time: a refresh token may be valid for one use only. A sign-in that was
        ended elsewhere is not renewed.
        """
        async with self._store.lock(grant.server):
            stored = await self._store.grant(grant.server)
            if stored is None:
                stored = _without_refresh_token(grant)
            elif stored.tokens.refresh_token and (
                stored.tokens.access_token == grant.tokens.access_token
            ):
                stored = await self._refreshed(stored)
                await self._store.keep(stored)
            self._grants[grant.server] = stored
            return stored

    async def _refreshed(self, grant: Grant) -> Grant:
        try:
            return await Endpoints(grant.server).refreshed(grant)
        except OAuthError as error:
            if error.code in _TEMPORARY:
                raise
            if error.code in UNREGISTERED:
                await self._store.forget_registration(grant.issuer)
        return _without_refresh_token(grant)


def _without_refresh_token(grant: Grant) -> Grant:
    tokens = msgspec.structs.replace(grant.tokens, refresh_token=None)
    return msgspec.structs.replace(grant, tokens=tokens)


def _is_document(url: str) -> bool:
    """True if a URL can be of a client ID metadata document: https, with a path."""
    scheme, _, rest = url.partition("://")
    return scheme == "https" and bool(rest.partition("/")[2]) and url.isascii()
