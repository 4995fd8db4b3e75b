"""Keeps the shares of rates: tells a store the demand here, and hears of that elsewhere.

This is done in the background, several times a second. Without an answer the last shares hold.
"""

import asyncio
import logging
import secrets
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from time import monotonic
from typing import Final

import msgspec

from accord.errors import StoreError
from accord.server.dispatcher import Dispatcher
from accord.server.rates import RateLimit
from accord.tasks.opening import store_named

log: logging.Logger = logging.getLogger("accord")

_INTERVAL: Final = 0.25  # seconds between two exchanges
_IDLE: Final = 1.0  # seconds, while no caller is busy
_KNOWN: Final = 3.0  # seconds for which a process counts that is not heard of
_NAME_BYTES: Final = 6
_DIGEST_BYTES: Final = 12

Demand = dict[bytes, float]
"""Demand by the digests of a limit and a key."""


class RateSync:
    """The shares of one process in some limits."""

    def __init__(self, dispatcher: Dispatcher, limits: Sequence[RateLimit]) -> None:
        self._limits = limits
        self._name = secrets.token_hex(_NAME_BYTES)
        self._store = store_named(dispatcher.task_settings.store, dispatcher.identity.name)
        self._known: dict[str, tuple[float, Demand]] = {}
        """The demand of the other processes, and until when it counts."""
        self._is_closing = False

    async def start(self) -> None:
        """Share the rates from now on; raise StoreError if the store is not there."""
        await self._store.open()
        await self._exchange()
        self._task = asyncio.create_task(self._repeat(), name="accord-rates")

    async def close(self) -> None:
        """Leave the shares of this process to the others."""
        self._is_closing = True
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        with suppress(StoreError):
            await self._store.exchange(self._name, b"", _KNOWN)
        await self._store.close()
        for each in self._limits:
            each.end_sharing()

    async def _repeat(self) -> None:
        is_away = False  # which is logged once
        last = exchanged = monotonic()
        while not self._is_closing:  # redis-py may take a cancellation for a time limit
            await asyncio.sleep(_INTERVAL)
            now = monotonic()
            for each in self._limits:
                each.measure(now - last)
            last = now
            if now < exchanged + _IDLE - _INTERVAL / 2 and not self._is_busy:
                continue
            exchanged = now
            try:
                await self._exchange()
            except StoreError as error:
                if not is_away:
                    log.warning("Rates go on with the last shares: %s", error)
                is_away = True
                self._known = {
                    name: (now + _KNOWN, each) for name, (_, each) in self._known.items()
                }
            else:
                is_away = False

    @property
    def _is_busy(self) -> bool:
        return any(each.demand for each in self._limits)

    async def _exchange(self) -> None:
        digests = [
            {key: self._digest(number, each, key) for key in each.demand | each.told}
            for number, each in enumerate(self._limits)
        ]
        own: Demand = {
            digest: limit.demand[key]
            for limit, found in zip(self._limits, digests, strict=True)
            for key, digest in found.items()
            if key in limit.demand
        }
        values = await self._store.exchange(self._name, _encode(own), _KNOWN)
        others = self._others(values)
        for limit, found in zip(self._limits, digests, strict=True):
            elsewhere = {
                key: sum(each.get(digest, 0.0) for each in others) for key, digest in found.items()
            }
            limit.set_shares(1 + len(others), elsewhere)

    def _others(self, values: dict[str, bytes]) -> Sequence[Demand]:
        """Return the demand of each other process; one that the store has lost counts a while."""
        now = monotonic()
        for name, value in values.items():
            if not value:  # it has left
                self._known.pop(name, None)
            elif name != self._name:
                with suppress(msgspec.DecodeError):  # of another version
                    self._known[name] = (now + _KNOWN, _decode(value))
        self._known = {name: each for name, each in self._known.items() if now < each[0]}
        return [demand for _, demand in self._known.values()]

    def _digest(self, number: int, limit: RateLimit, key: object) -> bytes:
        """Return a digest of a limit and a key: the store does not learn who calls."""
        text = f"{number} {limit.calls} {limit.seconds} {key!r}".encode(errors="surrogatepass")
        return blake2b(text, digest_size=_DIGEST_BYTES).digest()


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Demand).decode
