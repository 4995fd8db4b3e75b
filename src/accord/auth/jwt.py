"""Verifies JSON Web Tokens: signature, algorithm, issuer, audience, time and type, always."""

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from time import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from accord.auth.keys import IssuerKey, IssuerKeys, require_issuer
from accord.auth.verifier import LEEWAY, MAX_TOKEN, ClaimRules
from accord.errors import ContractError
from accord.model.caller import Caller, TokenRequest, scopes_of

if TYPE_CHECKING:
    from joserfc.jws import JWSRegistry

ALGORITHMS: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"}
    | {"EdDSA", "Ed25519"}
)
"""The algorithms that can be allowed: signatures with public keys only."""
_TYPES: Final = frozenset({"at+jwt", "application/at+jwt", "jwt"})
_PARTS: Final = 3
_NONE: Final[Mapping[str, Collection[str]]] = MappingProxyType({})


class _Header(msgspec.Struct, frozen=True):
    """The members of a token's header that count; addresses and keys in it are never used."""

    alg: str
    typ: str | None = None
    kid: str | None = None
    crit: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    b64: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_decode_header = msgspec.json.Decoder(_Header).decode
_decode_claims = msgspec.json.Decoder(dict[str, Any]).decode


class TokenVerifier:
    """Verifies the access tokens of one issuer for one audience.

    Keys come from the issuer's metadata when the first token arrives. Tokens need `exp`.
    """

    def __init__(
        self,
        issuer: str,
        audience: str | Collection[str],
        *,
        scopes: Collection[str] = (),
        algorithms: Collection[str] = ALGORITHMS,
        implied: Mapping[str, Collection[str]] = _NONE,
        leeway: float = LEEWAY,
        jwks_uri: str | None = None,
        clock: Callable[[], float] = time,
    ) -> None:
        """`audience` is this server in the claim `aud`, often its URL; one of several is enough.

        Every call needs the `scopes`. `implied` are scopes that include others. `jwks_uri` is for
        an issuer without metadata.
        """
        _require_library()
        self._rules = ClaimRules(require_issuer(issuer), audience, implied, leeway)
        self.issuers: tuple[str] = (issuer,)
        self.leeway = leeway
        self.audiences: tuple[str, ...] = self._rules.audiences
        self.scopes: tuple[str, ...] = scopes_of(scopes, "a verifier")
        unknown = sorted(set(algorithms) - ALGORITHMS)
        if unknown or not algorithms:
            known = ", ".join(sorted(ALGORITHMS))
            raise ContractError(f"no algorithm {unknown[:1]}; there are {known}")
        self._algorithms = frozenset(algorithms)
        if jwks_uri is not None:
            require_issuer(jwks_uri.partition("?")[0])
        self._keys = IssuerKeys(issuer, jwks_uri=jwks_uri)
        self._clock = clock

    async def verify(self, token: str, request: TokenRequest) -> Caller | None:
        """Return the caller of a token; None if it is not valid for this server."""
        header = self._header(token)
        if header is None:
            return None
        keys = self._keys.known(header.kid, header.alg)
        if keys is None:
            keys = await self._keys.find(header.kid, header.alg)
        for key in keys:
            claims = _signed(token, key)
            if claims is not None:
                return self._rules.caller(claims, self._clock(), is_jwt=True)
        self._rules.note("no key of the issuer has signed it")
        return None

    def _header(self, token: str) -> _Header | None:
        """Return the header of a token, if a signature like that can be verified."""
        try:
            head, *others = token.encode("ascii").split(b".")
            header = _decode_header(_unpadded(head))
        except (ValueError, msgspec.MsgspecError, RecursionError):
            return None
        is_whole = len(others) == _PARTS - 1 and all(others)
        is_typed = header.typ is None or header.typ.lower() in _TYPES
        has_extensions = header.crit is not msgspec.UNSET or header.b64 is not msgspec.UNSET
        if not is_whole or not is_typed or has_extensions or header.alg not in self._algorithms:
            return None
        return header


def _signed(token: str, key: IssuerKey) -> dict[str, Any] | None:
    """Return the claims of a token if a key has signed it."""
    from joserfc import jws
    from joserfc.errors import JoseError

    try:
        signed = jws.deserialize_compact(token, key.key, registry=_registry())
        return _decode_claims(signed.payload)
    except (JoseError, ValueError, TypeError, msgspec.MsgspecError, RecursionError):
        return None


@lru_cache(maxsize=1)
def _registry() -> "JWSRegistry":
    """Return the algorithms of the library; `_header` and the key admit one of ours."""
    from joserfc.jwa import JWSAlgModel
    from joserfc.jws import JWSRegistry

    class Registry(JWSRegistry):
        max_header_length = MAX_TOKEN

        def get_alg(self, name: str) -> JWSAlgModel:
            if name not in ALGORITHMS:  # the library has read another header than `_header`
                raise ValueError(name)
            return self.algorithms[name]

    return Registry(strict_check_header=False)


def _unpadded(part: bytes) -> bytes:
    from base64 import urlsafe_b64decode

    return urlsafe_b64decode(part + b"=" * (-len(part) % 4))


def _require_library() -> None:
    try:
        import joserfc  # noqa: F401 - at the start, not with the first token
    except ImportError as error:
        from accord.extras import missing

        raise ContractError(missing("verifying tokens", "auth")) from error
