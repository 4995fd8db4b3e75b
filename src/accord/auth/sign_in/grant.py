"""The values of a sign-in: the registration of this client, tokens, and what is stored of both."""

import re
from time import time
from typing import Any, Final, Literal

import msgspec

from accord.errors import SignInError

AuthMethod = Literal["none", "client_secret_basic", "client_secret_post"]

_EXPIRY_MARGIN: Final = 30.0  # seconds before its end at which a token is renewed
_TOKEN: Final = re.compile(r"[!-~]{1,65536}")


class Registration(msgspec.Struct, frozen=True, omit_defaults=True):
    """This client as one authorization server knows it."""

    issuer: str
    client_id: str
    client_secret: str | None = None
    auth_method: AuthMethod = "none"
    redirect_uri: str | None = None
    """The redirect URI that was registered; None if the server accepts any port of loopback."""
    scopes: tuple[str, ...] = ()
    """The scopes that were registered; empty if none were named."""
    is_dynamic: bool = False
    """True if this client registered itself."""

    def __repr__(self) -> str:
        return f"Registration({self.client_id!r} at {self.issuer!r})"


class Tokens(msgspec.Struct, frozen=True, omit_defaults=True):
    """An access token, and what came with it."""

    access_token: str
    refresh_token: str | None = None
    expires_at: float | None = None
    """Seconds since 1970; None if the server does not say."""
    scopes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "Tokens(…)"

    @property
    def is_expired(self) -> bool:
        """True if the access token has expired, or will at once."""
        return self.expires_at is not None and time() > self.expires_at - _EXPIRY_MARGIN


class Grant(msgspec.Struct, frozen=True, omit_defaults=True):
    """A sign-in at one server: the tokens, and all that renewing and revoking them takes."""

    server: str
    """The canonical URL of the MCP server."""
    issuer: str
    token_endpoint: str
    registration: Registration
    tokens: Tokens
    resource: str | None = None
    """The resource identifier; None for a server without metadata."""
    revocation_endpoint: str | None = None
    requested_scopes: tuple[str, ...] = ()
    signed_in_at: float = 0.0

    def __repr__(self) -> str:
        return f"Grant({self.server!r}, issuer={self.issuer!r})"

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that were requested or granted."""
        return union(self.requested_scopes, self.tokens.scopes)


class _TokenReply(msgspec.Struct, frozen=True):
    """A successful reply of a token endpoint (RFC 6749, 5.1)."""

    access_token: str
    token_type: str = "bearer"  # noqa: S105
    expires_in: float | str | None = None
    refresh_token: str | None = None
    scope: str | None = None


def read_tokens(body: bytes, requested: tuple[str, ...]) -> Tokens:
    """Return the tokens of a reply; raise SignInError if they cannot be used."""
    try:
        reply = msgspec.json.decode(body, type=_TokenReply)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise SignInError("the token endpoint sent no valid token") from None  # it may hold one
    if reply.token_type.lower() != "bearer":
        raise SignInError("the token endpoint sent a token that is not a bearer token")
    if not _TOKEN.fullmatch(reply.access_token):
        raise SignInError("the token endpoint sent a token that does not fit a header")
    seconds = _seconds(reply.expires_in)
    return Tokens(
        access_token=reply.access_token,
        refresh_token=reply.refresh_token or None,
        expires_at=None if seconds is None else time() + seconds,
        scopes=requested if reply.scope is None else tuple(reply.scope.split()),
    )


def _seconds(value: float | str | None) -> float | None:
    """Return the lifetime of a token; some servers send it as text."""
    try:
        seconds = float(value or 0)
    except ValueError:
        return None
    return seconds if 0 < seconds < 1e10 else None


def union(*groups: Any) -> tuple[str, ...]:
    """Return the scopes of all groups in order, each once."""
    return tuple(dict.fromkeys(scope for group in groups for scope in group))
