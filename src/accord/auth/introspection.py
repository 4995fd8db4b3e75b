"""Verifies tokens that only their issuer can read, by asking it (RFC 7662)."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from hashlib import sha256
from time import monotonic, time
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote_plus

import msgspec

from accord.auth.fetch import FetchError, bare, fetch, require_safe
from accord.auth.keys import require_issuer
from accord.auth.verifier import LEEWAY, ClaimRules, Unavailable
from accord.errors import ContractError, PeerError
from accord.model.caller import Caller, TokenRequest, scopes_of

log: logging.Logger = logging.getLogger("accord.auth")

_MAX_OPEN: Final = 32  # requests to the issuer at once
_MAX_WAITING: Final = 256  # tokens that wait for one of them
_REFUSED_PER_SECOND: Final = 10.0  # tokens of one address that turn out not to be valid
_REFUSED_AT_ONCE: Final = 50
_MAX_ADDRESSES: Final = 10_000
_MAX_KNOWN: Final = 10_000
_LIMIT: Final = 65_536  # bytes of an answer
_OK: Final = 200
_NONE: Final[Mapping[str, Collection[str]]] = MappingProxyType({})
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class RefusalBudget:
    """Limits the introspection requests that an address with invalid tokens can cause."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._ready: OrderedDict[str | None, float] = OrderedDict()
        """When the whole budget of an address is available again."""

    def is_spent(self, address: str | None) -> bool:
        """True if too many tokens of an address have just been refused."""
        due = self._ready.get(address, 0.0)
        return due - self._clock() > _REFUSED_AT_ONCE / _REFUSED_PER_SECOND

    def spend(self, address: str | None) -> None:
        """Count a token that was refused."""
        now = self._clock()
        self._ready[address] = max(now, self._ready.get(address, 0.0)) + 1 / _REFUSED_PER_SECOND
        self._ready.move_to_end(address)
        if len(self._ready) > _MAX_ADDRESSES:
            self._ready.popitem(last=False)


class Introspection:
    """Verifies tokens by an issuer's introspection endpoint; verdicts are kept for 30 seconds."""

    cache_seconds: float = 30.0

    def __init__(
        self,
        url: str,
        *,
        client_id: str,
        client_secret: str,
        issuer: str,
        audience: str | Collection[str],
        scopes: Collection[str] = (),
        implied: Mapping[str, Collection[str]] = _NONE,
        leeway: float = LEEWAY,
        clock: Callable[[], float] = time,
    ) -> None:
        """`url` is the introspection endpoint, which knows this server as `client_id`."""
        try:
            require_safe(url)
        except FetchError as error:
            raise ContractError(f"the introspection endpoint {error}") from error
        if not client_id or not client_secret:
            raise ContractError("introspection needs the id and the secret of this server")
        self._rules = ClaimRules(require_issuer(issuer), audience, implied, leeway)
        self.issuers: tuple[str] = (issuer,)
        self.leeway = leeway
        self.audiences: tuple[str, ...] = self._rules.audiences
        self.scopes: tuple[str, ...] = scopes_of(scopes, "a verifier")
        self._url = url
        self._authorization = _basic(client_id, client_secret)
        self._clock = clock
        self._budget = RefusalBudget()
        self._known: OrderedDict[bytes, None] = OrderedDict()
        """Digests of tokens that were valid recently; these are exempt from the limits."""
        self._waiting = 0
        self._room: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None

    async def verify(self, token: str, request: TokenRequest) -> Caller | None:
        """Return the caller of a token; None if it is not valid for this server."""
        digest = sha256(token.encode()).digest()
        if digest not in self._known:
            if self._budget.is_spent(request.address):
                raise Unavailable("too many invalid tokens from this address")
            if self._waiting >= _MAX_WAITING:
                raise Unavailable("too many tokens are waiting for introspection")
        self._waiting += 1
        try:
            async with self._semaphore():
                answer = await self._ask(token)
        finally:
            self._waiting -= 1
        is_active = answer.get("active") is True
        caller = self._rules.caller(answer, self._clock(), is_jwt=False) if is_active else None
        self._note(digest, request.address, caller)
        return caller

    def _note(self, digest: bytes, address: str | None, caller: Caller | None) -> None:
        """Remember a valid token, and count one that is not."""
        self._known.pop(digest, None)
        if caller is None:
            self._budget.spend(address)
            return
        self._known[digest] = None
        if len(self._known) > _MAX_KNOWN:
            self._known.popitem(last=False)

    def _semaphore(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if self._room is None or self._room[0] is not loop:
            self._room = (loop, asyncio.Semaphore(_MAX_OPEN))
        return self._room[1]

    async def _ask(self, token: str) -> dict[str, Any]:
        try:
            answer = await fetch(
                self._url,
                form={"token": token, "token_type_hint": "access_token"},
                headers=[("authorization", self._authorization)],
                limit=_LIMIT,
            )
            if answer.status != _OK:
                raise PeerError(f"{bare(self._url)} answered with HTTP {answer.status}")
            return _decode(answer.body)
        except (PeerError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            self._rules.note("the introspection failed", str(error))
            raise Unavailable("the introspection failed") from error


def _basic(client_id: str, client_secret: str) -> str:
    """Return the header that authenticates this server (RFC 6749, section 2.3.1)."""
    from base64 import b64encode

    pair = f"{quote_plus(client_id)}:{quote_plus(client_secret)}"
    return "Basic " + b64encode(pair.encode()).decode()
