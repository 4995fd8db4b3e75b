"""What verifiers share: the rules for claims, scopes that include others, the error for now."""

import logging
from collections.abc import Collection, Iterable, Mapping
from time import monotonic
from types import MappingProxyType
from typing import Any, Final, TypeGuard

from accord.errors import ContractError, PeerError
from accord.model.caller import Caller, scopes_of

log: logging.Logger = logging.getLogger("accord.auth")

LEEWAY: Final = 60.0
"""Seconds by which clocks may differ."""
MAX_TOKEN: Final = 16_384
"""Maximum characters of a token."""
_CLIENT_CLAIMS: Final = ("client_id", "azp", "appid", "cid")
"""The names for the client: of RFC 9068, OpenID Connect, and two widespread servers."""
_ID_TOKEN_CLAIMS: Final = frozenset({"at_hash", "c_hash", "s_hash"})
_SCOPE_CLAIMS: Final = frozenset({"scope", "scp", "roles"})
_KINDS: Final = {  # claims by which issuers tell their tokens apart, where the type is JWT for all
    "typ": frozenset({"bearer", "access", "jwt", "at+jwt", "application/at+jwt"}),
    "token_use": frozenset({"access", "access_token"}),
    "token_type": frozenset({"bearer", "access_token"}),
}
_NOTE_SECONDS: Final = 60.0
_MAX_NOTED: Final = 200  # characters of a claim in the log
_NEVER: Final = 1e12  # seconds; whole numbers may have hundreds of digits
_MAX_NAME: Final = 1_024  # characters of a subject or client


class Unavailable(PeerError):
    """A token cannot be verified now: the issuer, or its keys, cannot be reached."""

    def __init__(self, reason: str, retry_after: float = 1.0) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        """Seconds after which another try makes sense."""


def audiences_of(audience: str | Collection[str]) -> tuple[str, ...]:
    """Return the accepted audiences; raise ContractError if there is none."""
    found: tuple[Any, ...] = (audience,) if isinstance(audience, str) else tuple(audience)
    if not found or not all(isinstance(each, str) and each for each in found):
        raise ContractError(
            "a verifier needs an audience: the name of this server in tokens, often its URL"
        )
    return found


class Hierarchy:
    """Scopes that include others: `{"shop:admin": ["shop:read", "shop:write"]}`."""

    def __init__(self, implied: Mapping[str, Collection[str]]) -> None:
        self._implied = {
            scope: frozenset(scopes_of(list(others), f"what {scope} includes"))
            for scope, others in implied.items()
        }

    def expand(self, scopes: Iterable[str]) -> frozenset[str]:
        """Return scopes with all that they include."""
        found = set(scopes)
        open_scopes = list(found & self._implied.keys())
        while open_scopes:
            new = self._implied.get(open_scopes.pop(), frozenset()) - found
            found |= new
            open_scopes += new
        return frozenset(found)


class RefusalNotes:
    """Logs why tokens are refused, each reason at most once a minute; clients are not told."""

    def __init__(self) -> None:
        self._noted: dict[str, float] = {}

    def note(self, reason: str, claim: object = None) -> None:
        """Log a reason; `claim` is what a token that is signed by the issuer says."""
        now = monotonic()
        if now < self._noted.get(reason, 0.0):
            return
        self._noted[reason] = now + _NOTE_SECONDS
        if claim is None:
            log.info("A token was refused: %s", reason)
        else:
            log.info("A token was refused: %s: %.*s", reason, _MAX_NOTED, ascii(claim))


class ClaimRules:
    """What the claims of a token must say: whose they are, for whom, and until when."""

    def __init__(
        self,
        issuer: str,
        audience: str | Collection[str],
        implied: Mapping[str, Collection[str]],
        leeway: float,
    ) -> None:
        self.issuer = issuer
        self.audiences: tuple[str, ...] = audiences_of(audience)
        self._hierarchy = Hierarchy(implied)
        self._leeway = leeway
        self._notes = RefusalNotes()

    def note(self, reason: str, claim: object = None) -> None:
        """Log why a token is refused."""
        self._notes.note(reason, claim)

    def caller(self, claims: Mapping[str, Any], now: float, *, is_jwt: bool) -> Caller | None:
        """Return the caller that claims name; None, with a line in the log, if they do not fit.

        A JWT must have an issuer and an expiry; the answer of an issuer need not.
        """
        fault = self._fault(claims, now, is_jwt=is_jwt)
        if fault is not None:
            self.note(*fault)
            return None
        subject, client = _subject_of(claims), _client_of(claims)
        scopes = self._hierarchy.expand(granted(claims))
        known = MappingProxyType(dict(claims))
        return Caller(
            issuer=self.issuer, subject=subject, client=client, scopes=scopes, claims=known
        )

    def _fault(
        self, claims: Mapping[str, Any], now: float, *, is_jwt: bool
    ) -> tuple[str, object] | None:
        issuer = claims.get("iss", None if is_jwt else self.issuer)
        if issuer != self.issuer:
            return "the issuer is another one", issuer
        if not is_for(claims, self.audiences):
            return "it is for another audience", claims.get("aud")
        if not is_timely(claims, now, self._leeway, expires=is_jwt):
            return "it has expired, or is not valid yet", claims.get("exp")
        if not is_access_token(claims):
            return "it is not an access token", None
        if "cnf" in claims:
            return "it is bound to a key, whose proof is not supported", None
        if _subject_of(claims) is None and _client_of(claims) is None:
            return "it has neither a subject nor a client", None
        return None


def _subject_of(claims: Mapping[str, Any]) -> str | None:
    return _name(claims.get("sub"))


def _client_of(claims: Mapping[str, Any]) -> str | None:
    return next((_name(claims[each]) for each in _CLIENT_CLAIMS if each in claims), None)


def granted(claims: Mapping[str, Any]) -> frozenset[str]:
    """Return the scopes in claims: a text or a list, as `scope` or as `scp`."""
    given = claims.get("scope", claims.get("scp", ()))
    found = given.split() if isinstance(given, str) else given
    if not isinstance(found, list | tuple):
        return frozenset()
    return frozenset(each for each in found if isinstance(each, str))


def is_for(claims: Mapping[str, Any], audiences: Collection[str]) -> bool:
    """True if one of the audiences of a token is accepted."""
    given = claims.get("aud")
    named = [given] if isinstance(given, str) else given
    return isinstance(named, list) and any(each in audiences for each in named if _is_text(each))


def is_access_token(claims: Mapping[str, Any]) -> bool:
    """False if claims are those of an ID token or a refresh token, which have the same issuer.

    An ID token is for a client, which may share its name with this server.
    """
    for name, allowed in _KINDS.items():
        kind = claims.get(name)
        if kind is not None and str(kind).lower() not in allowed:
            return False
    if not _ID_TOKEN_CLAIMS.isdisjoint(claims):
        return False
    return "nonce" not in claims or not _SCOPE_CLAIMS.isdisjoint(claims)


def is_timely(claims: Mapping[str, Any], now: float, leeway: float, *, expires: bool) -> bool:
    """True if a token is valid at a time; `expires` demands that it has an expiry."""
    end, start, made = (claims.get(name) for name in ("exp", "nbf", "iat"))
    if end is None:
        if expires:
            return False
    elif not is_time(end) or now >= end + leeway:
        return False
    return all(each is None or (is_time(each) and now >= each - leeway) for each in (start, made))


def is_time(value: object) -> TypeGuard[float]:
    """True if a value is a time in seconds since 1970."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _NEVER


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= _MAX_NAME else None
