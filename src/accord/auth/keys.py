"""The keys of an issuer, from the address in its metadata: fetched when first needed, then cached.

Keys come from the configured issuer alone. Nothing in a token is ever an address.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from accord.auth.fetch import Fetched, bare, fetch, require_safe
from accord.auth.verifier import Unavailable
from accord.errors import ContractError, PeerError

if TYPE_CHECKING:
    from joserfc.jwk import Key

log: logging.Logger = logging.getLogger("accord.auth")

_FRESH: Final = 300.0  # seconds; then keys are fetched again, and the old ones used meanwhile
_MAX_STALE: Final = 24 * 3_600.0  # seconds for which known keys are used while no fetch succeeds
_UNKNOWN: Final = 10.0  # seconds between fetches for keys that are not known
_FIRST_RETRY: Final = 1.0
_MAX_RETRY: Final = 30.0
_ALL_SECONDS: Final = 10.0  # for metadata and keys together
_MAX_KEYS: Final = 100
_MAX_TRIED: Final = 4  # keys that are tried for a token that names none
_MIN_RSA: Final = 2_048  # bits
_MIN_MODULUS: Final = 342  # characters of so many bits
_MAX_RSA: Final = 8_192
_CURVES: Final = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
_EDWARDS: Final = frozenset({"EdDSA", "Ed25519"})
_OK: Final = 200


class _Metadata(msgspec.Struct, frozen=True):
    issuer: str
    jwks_uri: str = ""


class _KeySet(msgspec.Struct, frozen=True):
    keys: list[msgspec.Raw]


class _Key(msgspec.Struct, frozen=True):
    """The members of a key that count; those of a private key are never read."""

    kty: str
    n: str | msgspec.UnsetType = msgspec.UNSET
    e: str | msgspec.UnsetType = msgspec.UNSET
    crv: str | msgspec.UnsetType = msgspec.UNSET
    x: str | msgspec.UnsetType = msgspec.UNSET
    y: str | msgspec.UnsetType = msgspec.UNSET
    kid: str | None = None
    use: str | None = None
    key_ops: tuple[str, ...] | None = None
    alg: str | None = None


class IssuerKey(msgspec.Struct, frozen=True):
    """A public key for signatures, and the algorithms that it may verify."""

    kid: str | None
    algorithms: frozenset[str]
    key: Any


class IssuerKeys:
    """Finds the keys of one issuer."""

    def __init__(
        self,
        issuer: str,
        *,
        jwks_uri: str | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`jwks_uri` is for an issuer without metadata."""
        self._issuer = issuer
        self._jwks_uri = jwks_uri
        self._clock = clock
        self._keys: Sequence[IssuerKey] = ()
        self._fetched: float | None = None
        """When the keys were last fetched."""
        self._looked_up = -_UNKNOWN
        """When keys were last fetched because of an unknown `kid`."""
        self._retry = 0.0
        """When the next fetch may begin after one that failed."""
        self._failures = 0
        self._task: asyncio.Task[None] | None = None

    def known(self, kid: str | None, algorithm: str) -> Sequence[IssuerKey] | None:
        """Return the fitting keys if they are at hand and fresh; None if `find` has to look."""
        if self._fetched is None or self._clock() - self._fetched >= _FRESH:
            return None
        return self._fitting(kid, algorithm) or None

    async def find(self, kid: str | None, algorithm: str) -> Sequence[IssuerKey]:
        """Return the keys that may have signed a token; raise Unavailable if there are none."""
        now = self._clock()
        if self._fetched is None or now - self._fetched >= _MAX_STALE:
            await self._fetch()
        elif now - self._fetched >= _FRESH and now >= self._retry:
            self._begin()  # in the background
        found = self._fitting(kid, algorithm)
        if not found and kid is not None:
            await self._look_up(now)
            found = self._fitting(kid, algorithm)
        return found

    async def _look_up(self, now: float) -> None:
        """Fetch the keys again for an unknown `kid`, unless they came after its token."""
        if self._fetched is not None and self._fetched >= now and not self._failures:
            return
        if self._failures or self._is_fetching or now - self._looked_up >= _UNKNOWN:
            self._looked_up = now
            await self._fetch()

    def _fitting(self, kid: str | None, algorithm: str) -> Sequence[IssuerKey]:
        found = [
            each
            for each in self._keys
            if algorithm in each.algorithms and (kid is None or each.kid == kid)
        ]
        return found[:_MAX_TRIED]

    @property
    def _is_fetching(self) -> bool:
        return self._task is not None and not self._task.done()

    async def _fetch(self) -> None:
        """Fetch the keys; all who wait share one fetch, and none begins soon after a failure."""
        if not self._is_fetching and self._clock() < self._retry:
            raise self._unavailable()
        task = self._begin()
        with contextlib.suppress(PeerError, TimeoutError):
            await asyncio.shield(task)
        if self._failures:
            raise self._unavailable()

    def _unavailable(self) -> Unavailable:
        seconds = max(1.0, self._retry - self._clock())
        return Unavailable("the keys of the issuer could not be fetched", seconds)

    def _begin(self) -> "asyncio.Task[None]":
        task, loop = self._task, asyncio.get_running_loop()
        if task is None or task.done() or task.get_loop() is not loop:
            task = self._task = loop.create_task(self._load())
            task.add_done_callback(self._end)
        return task

    def _end(self, task: "asyncio.Task[None]") -> None:
        """Note how a fetch ended."""
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        now = self._clock()
        if error is None:
            self._failures, self._retry, self._fetched = 0, 0.0, now
            return
        self._retry = now + min(_FIRST_RETRY * 2**self._failures, _MAX_RETRY)
        self._failures = min(self._failures + 1, 10)
        if self._failures == 1 or self._failures == 10:
            log.warning("The keys of %s could not be fetched: %s", bare(self._issuer), error)

    async def _load(self) -> None:
        async with asyncio.timeout(_ALL_SECONDS):
            uri = self._jwks_uri or await self._find_uri()
            answer = await fetch(uri)
        if answer.status != _OK:
            raise PeerError(f"{bare(uri)} answered with HTTP {answer.status}")
        keys = list(_read_keys(answer, uri))
        if not keys:
            raise PeerError(f"{bare(uri)} has no key that can verify a signature")
        self._keys = keys

    async def _find_uri(self) -> str:
        """Return the address of the keys by the first metadata whose issuer is identical."""
        fault = "it has no metadata"
        for url in metadata_urls(self._issuer):
            answer = await fetch(url)
            if answer.status != _OK:
                continue
            try:
                found = msgspec.json.decode(answer.body, type=_Metadata)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                fault = f"{bare(url)} is not metadata"
                continue
            if found.issuer != self._issuer:
                fault = f"{bare(url)} names another issuer, {bare(found.issuer)!r}"
                continue
            return _require_keys_at(found.jwks_uri, self._issuer)
        raise PeerError(fault)


def metadata_urls(issuer: str) -> list[str]:
    """Return where the metadata of an issuer may be (RFC 8414, OpenID Connect Discovery)."""
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    places = [
        f"{origin}/.well-known/oauth-authorization-server{path}",
        f"{origin}/.well-known/openid-configuration{path}",
        f"{origin}{path}/.well-known/openid-configuration",
    ]
    return list(dict.fromkeys(places))


def require_issuer(issuer: object) -> str:
    """Return an issuer; raise ContractError unless it is a URL that can be trusted."""
    if not isinstance(issuer, str):
        raise ContractError(f"the issuer must be a URL, not {issuer!r}")
    try:
        require_safe(issuer)
    except PeerError as error:
        raise ContractError(f"the issuer {error}") from error
    parts = urlsplit(issuer)
    if parts.query or parts.fragment or "@" in parts.netloc or not issuer.isascii():
        raise ContractError(f"the issuer {bare(issuer)} must have no query, fragment or user")
    return issuer


def _require_keys_at(uri: str, issuer: str) -> str:
    require_safe(uri)
    if urlsplit(issuer).scheme == "https" and urlsplit(uri).scheme != "https":
        raise PeerError("the issuer is https, but its keys are not")
    return uri


def _read_keys(answer: Fetched, uri: str) -> Iterator[IssuerKey]:
    """Yield the keys for signatures; others are left out."""
    try:
        found = msgspec.json.decode(answer.body, type=_KeySet).keys[:_MAX_KEYS]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise PeerError(f"{bare(uri)} is not a set of keys") from error
    for each in found:
        key = _read_key(each)
        if key is not None:
            yield key


def _read_key(raw: msgspec.Raw) -> IssuerKey | None:
    from joserfc.errors import JoseError
    from joserfc.jwk import import_key

    try:
        found = msgspec.json.decode(raw, type=_Key)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if found.use not in (None, "sig") or "verify" not in (found.key_ops or ("verify",)):
        return None
    if found.kty not in ("RSA", "EC", "OKP"):
        return None
    if found.kty == "RSA" and len(str(found.n)) < _MIN_MODULUS:
        return None  # the library would warn of it
    public = {name: value for name, value in msgspec.to_builtins(found).items() if name in _PUBLIC}
    try:
        key = import_key(public)
        algorithms = _algorithms_of(key, found)
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    if found.alg is not None:
        algorithms &= _EDWARDS if found.alg in _EDWARDS else {found.alg}
    return IssuerKey(found.kid, algorithms, key) if algorithms else None


_PUBLIC: Final = frozenset({"kty", "n", "e", "crv", "x", "y"})


def _algorithms_of(key: "Key", members: _Key) -> frozenset[str]:
    """Return the algorithms whose signatures a key may verify."""
    if members.kty == "RSA":
        size = key.public_key.key_size  # type: ignore[union-attr]
        names = [f"{kind}{bits}" for kind in ("RS", "PS") for bits in (256, 384, 512)]
        return frozenset(names) if _MIN_RSA <= size <= _MAX_RSA else frozenset()
    if members.kty == "EC":
        return frozenset(name for name, each in _CURVES.items() if each == members.crv)
    return _EDWARDS if members.crv == "Ed25519" else frozenset()
