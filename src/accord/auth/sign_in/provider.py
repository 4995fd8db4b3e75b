"""`Auth`, which a client asks for tokens, and the simplest that has one: a text.

A client asks before each request, and again with the challenge if a server answers 401, or 403 for
a scope that is missing.
"""

from shlex import quote
from typing import Protocol

import msgspec

from accord.auth.fetch import bare
from accord.auth.sign_in.challenge import Challenge
from accord.errors import ContractError, SignInRequired


class AuthRequest(msgspec.Struct, frozen=True):
    """A request that needs a token, or one that was refused."""

    url: str
    """The URL of the MCP server."""
    status: int | None = None
    """The HTTP status of the refusal, 401 or 403; None before the first attempt."""
    challenge: Challenge | None = None
    """The Bearer challenge of the refusal."""
    token: str | None = None
    """The token that was refused."""
    attempt: int = 0
    """How often this request has been refused."""

    def __repr__(self) -> str:
        return f"AuthRequest({self.url!r}, status={self.status})"


class Auth(Protocol):
    """What gives a client its tokens."""

    async def token(self, request: AuthRequest) -> str | None:
        """Return a token for a request, or None to send it without, or not again."""


class BearerToken:
    """One token that does not change."""

    def __init__(self, token: str) -> None:
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise ContractError("a bearer token must be printable ASCII without blanks")
        self._token = token

    def __repr__(self) -> str:
        return "BearerToken(…)"

    async def token(self, request: AuthRequest) -> str | None:
        """Return the token; there is no other if it is refused."""
        return self._token if request.status is None else None


def as_auth(given: Auth | str) -> Auth:
    """Return what `auth=` stands for: a text is a bearer token."""
    if isinstance(given, str):
        return BearerToken(given)
    if not callable(getattr(given, "token", None)):
        raise ContractError(f"auth must be a token, SignIn() or the like, not {type(given)}")
    return given


def sign_in_required(request: AuthRequest) -> SignInRequired:
    """Return the error that names the command to sign in with.

    A shell must take what the server says for scopes and nothing else: people paste the command.
    """
    url = bare(request.url)
    command = f"accord login {quote(url)}"
    if "?" in request.url:
        command = "accord login, with this URL"
    if request.status == 403 and request.challenge is not None and request.challenge.scopes:
        scopes = "".join(f" --scope {quote(scope)}" for scope in request.challenge.scopes)
        return SignInRequired(f"{url} requires further scopes; run: {command}{scopes}")
    if request.token is not None:
        return SignInRequired(f"the sign-in at {url} has ended; run: {command}")
    return SignInRequired(f"{url} requires a sign-in; run: {command}")
