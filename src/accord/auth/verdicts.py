"""Verdicts on tokens, kept by the digest of the token: each is verified once, not for each call."""

import asyncio
import re
from collections.abc import Callable
from hashlib import sha256
from math import inf
from time import time
from typing import Final, TypeVar

from accord.auth.verifier import LEEWAY, MAX_TOKEN, Unavailable, is_time
from accord.model.caller import Caller, Grant, TokenRequest, Verifier

_MAX_KEPT: Final = 10_000
_MAX_SECONDS: Final = 300.0  # then a key or token that was withdrawn counts
_REFUSED_SECONDS: Final = 5.0
_MAX_PENDING: Final = 1_000  # tokens that are being verified
_TOKEN: Final = re.compile(r"[A-Za-z0-9\-._~+/]+=*")


class _Interrupted:
    """The verification that others wait for was cancelled."""


V = TypeVar("V")
_Verdict = Grant | None
_INTERRUPTED: Final = _Interrupted()


class Verdicts:
    """Verifies tokens with a verifier, and keeps a bounded number of verdicts.

    Refusals are kept apart and briefly, so that made-up tokens push no verified one out.
    """

    def __init__(
        self, verifier: Verifier, *, limit: int = _MAX_KEPT, clock: Callable[[], float] = time
    ) -> None:
        self._verifier = verifier
        self._limit = limit
        self._clock = clock
        self._seconds = min(getattr(verifier, "cache_seconds", _MAX_SECONDS), _MAX_SECONDS)
        self._leeway: float = getattr(verifier, "leeway", LEEWAY)
        self._grants: dict[bytes, Grant] = {}
        self._refused: dict[bytes, float] = {}
        self._pending: dict[bytes, asyncio.Future[_Verdict | _Interrupted]] = {}

    async def find(self, token: str, request: TokenRequest) -> Grant | None:
        """Return the grant of a token, or None; raise Unavailable if that cannot be known."""
        if len(token) > MAX_TOKEN or _TOKEN.fullmatch(token) is None:
            return None
        if self._seconds <= 0:  # it depends on the request, so that none is like another
            caller = await self._verifier.verify(token, request)
            return None if caller is None else self._grant(caller)
        digest = sha256(token.encode()).digest()
        while True:
            now = self._clock()
            grant = self._grants.get(digest)
            if grant is not None and now < grant.until:
                return grant
            if now < self._refused.get(digest, 0.0):
                return None
            pending = self._pending.get(digest)
            if pending is None or pending.get_loop() is not asyncio.get_running_loop():
                return await self._verify(digest, token, request)
            found = await asyncio.shield(pending)
            if not isinstance(found, _Interrupted):
                return found

    async def _verify(self, digest: bytes, token: str, request: TokenRequest) -> Grant | None:
        if len(self._pending) >= _MAX_PENDING:
            raise Unavailable("too many tokens are being verified")
        waiting: asyncio.Future[_Verdict | _Interrupted]
        waiting = self._pending[digest] = asyncio.get_running_loop().create_future()
        outcome: _Verdict | _Interrupted = _INTERRUPTED
        try:
            caller = await self._verifier.verify(token, request)
            outcome = self._keep(digest, caller)
            return outcome
        except Unavailable as error:
            waiting.set_exception(error)
            waiting.exception()  # marks it as retrieved: there may be no waiter
            raise
        finally:
            if self._pending.get(digest) is waiting:
                del self._pending[digest]
            if not waiting.done():
                waiting.set_result(outcome)

    def _keep(self, digest: bytes, caller: Caller | None) -> Grant | None:
        if caller is None:
            until = self._clock() + _REFUSED_SECONDS
            _put(self._refused, digest, until, self._limit)
            return None
        grant = self._grant(caller)
        _put(self._grants, digest, grant, self._limit)
        return grant

    def _grant(self, caller: Caller) -> Grant:
        end = caller.claims.get("exp")
        expires = end + self._leeway if is_time(end) else inf
        return Grant(caller, min(expires, self._clock() + self._seconds), expires)


def _put(kept: dict[bytes, V], digest: bytes, value: V, limit: int) -> None:
    """Keep a value; the oldest one makes room."""
    kept.pop(digest, None)
    if len(kept) >= limit:
        del kept[next(iter(kept))]
    kept[digest] = value
