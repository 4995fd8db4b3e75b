"""One sign-in by a page: choose a server, be known to it, get consent, exchange the code."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from time import time
from typing import Final
from urllib.parse import urlsplit

import msgspec

from accord.auth.fetch import bare
from accord.auth.sign_in import browser
from accord.auth.sign_in.endpoints import Discovery, Endpoints, resource_param
from accord.auth.sign_in.grant import Grant, Registration, union
from accord.auth.sign_in.listener import RedirectListener, listening
from accord.auth.sign_in.metadata import ServerMetadata, canonical, default_server
from accord.auth.sign_in.oauth import (
    AuthorizationRequest,
    OAuthError,
    auth_method,
    authorization_request,
    read_pasted,
    read_redirect,
    select_scopes,
)
from accord.auth.sign_in.store import Store
from accord.errors import PeerError, SignInError

log: logging.Logger = logging.getLogger("accord")

UNREGISTERED: Final = frozenset({"invalid_client", "unauthorized_client"})
"""The errors of a server that does not know this client any more."""


class ClientIdentity(msgspec.Struct, frozen=True):
    """Who this client is, as far as that is given."""

    client_id: str | None = None
    client_secret: str | None = None
    issuer: str | None = None
    """The issuer that the client is registered at."""
    metadata_url: str | None = None
    """The URL of a client ID metadata document."""
    redirect_port: int = 0

    def __repr__(self) -> str:
        return f"ClientIdentity({self.client_id!r} at {self.issuer!r})"


class Interaction(msgspec.Struct, frozen=True):
    """How a person is reached."""

    announce: Callable[[str], object]
    open_page: Callable[[str], object] | None
    read_code: Callable[[], Awaitable[str]] | None
    timeout: float


class Authorization:
    """A sign-in at one MCP server."""

    def __init__(
        self,
        endpoints: Endpoints,
        discovery: Discovery,
        identity: ClientIdentity,
        interaction: Interaction,
        store: Store,
    ) -> None:
        self._endpoints = endpoints
        self._discovery = discovery
        self._identity = identity
        self._interaction = interaction
        self._store = store

    async def run(self, challenged: tuple[str, ...], further: tuple[str, ...]) -> Grant:
        """Get the consent of a person for the scopes, and return the sign-in."""
        resource = self._discovery.identifier
        server = await self._choose()
        scopes = select_scopes(challenged, self._discovery.resource, server, further)
        stored = await self._stored(server, scopes)
        async with listening(*self._port(stored)) as listener:
            registration = await self._registration(server, listener.redirect_uri, scopes, stored)
            request = authorization_request(
                server, registration, listener.redirect_uri, scopes, resource
            )
            code = await self._code(listener, request)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": request.redirect_uri,
            "code_verifier": request.verifier,
            **resource_param(resource),
        }
        token_endpoint = server.token_endpoint or ""
        try:
            tokens = await self._endpoints.tokens(token_endpoint, registration, form, scopes)
        except OAuthError as error:
            if error.code in UNREGISTERED and registration.is_dynamic:
                await self._store.forget_registration(server.issuer)
            raise
        return Grant(
            server=canonical(self._discovery.url),
            issuer=server.issuer,
            token_endpoint=token_endpoint,
            registration=registration,
            tokens=tokens,
            resource=resource,
            revocation_endpoint=server.revocation_endpoint,
            requested_scopes=scopes,
            signed_in_at=time(),
        )

    # The authorization server

    async def _choose(self) -> ServerMetadata:
        """Return the authorization server to use: the first that can be."""
        failure: PeerError | None = None
        for issuer in await self._issuers():
            try:
                return await self._usable(issuer)
            except PeerError as error:
                failure = failure or error
        raise failure or SignInError(f"{bare(self._discovery.url)} names no authorization server")

    async def _usable(self, issuer: str) -> ServerMetadata:
        server = await self._endpoints.server(issuer, is_legacy=self._discovery.is_legacy)
        if "S256" not in (server.code_challenge_methods_supported or ()):
            raise SignInError(f"{bare(issuer)} does not support PKCE with S256")
        if server.authorization_endpoint is None or server.token_endpoint is None:
            raise SignInError(f"{bare(issuer)} names no endpoints to sign in at")
        return server

    async def _issuers(self) -> list[str]:
        """Return the issuers to try: the given one, else those first that know this client."""
        issuers, given = self._discovery.issuers, self._identity.issuer
        if given is not None:
            if given not in issuers:
                raise SignInError(
                    f"{bare(self._discovery.url)} does not trust the issuer {bare(given)}, but"
                    f" {', '.join(map(bare, issuers))}"
                )
            return [given]
        if len(issuers) == 1:
            return list(issuers)
        known = [each for each in issuers if await self._store.registration(each) is not None]
        return [*known, *(each for each in issuers if each not in known)]

    # This client

    async def _stored(self, server: ServerMetadata, scopes: tuple[str, ...]) -> Registration | None:
        """Return the earlier registration at this server, if it covers these scopes."""
        if self._identity.client_id is not None:
            return None
        stored = await self._store.registration(server.issuer)
        if stored is None or not set(scopes) <= set(stored.scopes or scopes):
            return None
        return stored

    def _port(self, stored: Registration | None) -> tuple[int, bool]:
        """Return the port to listen on, and whether another will do.

        A registration is for one port: some servers accept no other.
        """
        if self._identity.redirect_port:
            return self._identity.redirect_port, False
        if stored is None or stored.redirect_uri is None:
            return 0, True
        return urlsplit(stored.redirect_uri).port or 0, stored.is_dynamic

    async def _registration(
        self,
        server: ServerMetadata,
        redirect_uri: str,
        scopes: tuple[str, ...],
        stored: Registration | None,
    ) -> Registration:
        """Return this client: registered before, by its metadata document, or registered now."""
        if self._identity.client_id is not None:
            registration = self._registered_by_hand(server, redirect_uri)
        elif stored is not None and not stored.is_dynamic:
            return stored
        elif self._identity.metadata_url and server.client_id_metadata_document_supported:
            return Registration(issuer=server.issuer, client_id=self._identity.metadata_url)
        elif stored is not None and stored.redirect_uri == redirect_uri:
            return stored
        else:
            registration = await self._registered_now(server, redirect_uri, scopes)
        await self._store.keep_registration(registration)
        return registration

    def _registered_by_hand(self, server: ServerMetadata, redirect_uri: str) -> Registration:
        identity = self._identity
        return Registration(
            issuer=server.issuer,
            client_id=identity.client_id or "",
            client_secret=identity.client_secret,
            auth_method=auth_method(server, has_secret=identity.client_secret is not None),
            redirect_uri=redirect_uri if identity.redirect_port else None,
        )

    async def _registered_now(
        self, server: ServerMetadata, redirect_uri: str, scopes: tuple[str, ...]
    ) -> Registration:
        if server.registration_endpoint is None:
            raise SignInError(
                f"{bare(server.issuer)} does not let clients register themselves; register one"
                " there, and sign in with its client id"
            )
        resource = self._discovery.resource
        named = (resource and resource.scopes_supported) or ()
        wanted = union(scopes, named) if scopes else ()
        try:
            return await self._endpoints.register(server, redirect_uri, wanted)
        except SignInError as error:
            if self._discovery.is_legacy and server == default_server(server.issuer):
                raise SignInError(
                    f"{bare(self._discovery.url)} requires authorization, and does not say how to"
                    " sign in; if you have a token for it, pass that in a header"
                ) from error
            raise

    # The person

    async def _code(self, listener: RedirectListener, request: AuthorizationRequest) -> str:
        """Show the page, and return the code that the browser or a person brings."""
        browser.require_page(request.url)
        self._interaction.announce(request.url)
        if self._interaction.open_page is not None:
            _in_thread(self._interaction.open_page, request.url)
        waiting = [asyncio.ensure_future(listener.code(lambda q: read_redirect(q, request)))]
        if self._interaction.read_code is not None:
            pasted = _pasted(self._interaction.read_code, request)
            waiting.append(asyncio.ensure_future(pasted))
        seconds = self._interaction.timeout
        try:
            done, _ = await asyncio.wait(
                waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                raise SignInError(f"the sign-in was not completed within {seconds:g} s")
            return done.pop().result()
        finally:
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)


async def _pasted(read_code: Callable[[], Awaitable[str]], request: AuthorizationRequest) -> str:
    return read_pasted(await read_code(), request)


def _in_thread(open_page: Callable[[str], object], url: str) -> None:
    """Open a page in a thread, which does not hold the exit: some browsers block."""

    def run() -> None:
        try:
            open_page(url)
        except Exception as error:  # noqa: BLE001 - the URL has been shown; a person can open it
            log.warning("could not open a browser: %s", type(error).__name__)

    threading.Thread(target=run, daemon=True).start()
