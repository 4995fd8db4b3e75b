"""The tokens of one HTTP transport: from its `auth`, again after each refusal."""

from typing import Final

from accord.auth.fetch import bare
from accord.auth.sign_in import Auth, AuthRequest, Challenge, bearer_challenge
from accord.client.dispatcher import Dispatcher
from accord.errors import SignInError
from accord.http1 import Response

_MAX_REFUSALS: Final = 4  # of one request; no other token is asked for after the last
_STEP_UP: Final = "insufficient_scope"


class Authorization:
    """Asks an `Auth` for the tokens of one server."""

    def __init__(self, auth: Auth, url: str, dispatcher: Dispatcher) -> None:
        self._auth = auth
        self._url = url
        self._dispatcher = dispatcher

    async def first_token(self) -> str | None:
        """Return the token to send a request with, or None for none."""
        return await self._auth.token(AuthRequest(self._url))

    def refusal(self, response: Response, token: str | None, attempt: int) -> AuthRequest | None:
        """Return what to ask for if another token may change a response; else None."""
        if response.status not in (401, 403):
            return None
        challenge = bearer_challenge([response.headers.get("www-authenticate", "")])
        if response.status == 403 and (challenge is None or challenge.error != _STEP_UP):
            return None
        return AuthRequest(
            self._url, response.status, challenge or Challenge("bearer"), token, attempt
        )

    async def next_token(self, refused: AuthRequest) -> str:
        """Return another token than the refused one; a person may take their time."""
        if refused.attempt >= _MAX_REFUSALS:
            raise self.error(refused)
        with self._dispatcher.signing_in():
            token = await self._auth.token(refused)
        if token is None or token == refused.token:
            raise self.error(refused)
        return token

    def error(self, refused: AuthRequest) -> SignInError:
        """Return the error of a request that stays refused."""
        what = "the token" if refused.token is not None else "a request without a token"
        return SignInError(f"{bare(self._url)} refused {what} (HTTP {refused.status})")
