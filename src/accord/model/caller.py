"""`Caller`: who has sent a call, as a verified token says; and what verifies tokens."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Final, Protocol

import msgspec

from accord.errors import ContractError

_encode = msgspec.json.Encoder().encode
_NO_CLAIMS: Final[Mapping[str, Any]] = MappingProxyType({})


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The sender of a call, by its verified token."""

    issuer: str
    """The authorization server that issued the token."""
    subject: str | None = None
    """The user, or the service, that the token stands for; unique within the issuer."""
    client: str | None = None
    """The application that the token was issued to."""
    scopes: frozenset[str] = frozenset()
    """What the token allows."""
    claims: Mapping[str, Any] = _NO_CLAIMS
    """All claims of the token, or the answer of the introspection."""
    principal: bytes = b""
    """A stable form of issuer, subject and client, to which sessions and cursors are bound."""

    def __post_init__(self) -> None:
        if self.subject is None and self.client is None:
            raise ContractError("a Caller must have a subject or a client")
        names = _encode([self.issuer, self.subject, self.client])
        msgspec.structs.force_setattr(self, "principal", b"caller\0" + names)


class Grant(msgspec.Struct, frozen=True):
    """A verified caller, and until when."""

    caller: Caller
    until: float
    """The time at which the token has to be verified again."""
    expires: float
    """The time at which the token expires, with some leeway; infinite if it does not say."""


CALLER: ContextVar[Caller | None] = ContextVar("accord_caller", default=None)
"""The verified caller of the message that is being received, or of the call that runs."""


class TokenRequest(msgspec.Struct, frozen=True):
    """The HTTP request that a token came with."""

    method: str
    path: str
    headers: Mapping[bytes, bytes]
    """The headers, by lower-case names."""
    address: str | None
    """The IP address of the client; with a public URL, what a proxy on this machine says it is."""


class Verifier(Protocol):
    """Verifies bearer tokens.

    It may have attributes: `issuers` and `audiences`, by which the metadata of the server names the
    authorization servers and its own URL; `scopes`, which each call needs; and `cache_seconds`, for
    which a verdict is kept unless the claim `exp` is earlier: by default, and at most, 300. It is 0
    for a verifier whose verdict depends on the request, such as on a proof of possession.
    """

    async def verify(self, token: str, request: TokenRequest) -> Caller | None:
        """Return the caller; None if the token is not valid for this server, for any reason.

        Raise `accord.auth.Unavailable` if that cannot be found out now.
        """


def scopes_of(scopes: Any, what: str) -> tuple[str, ...]:
    """Return scopes without repetitions; raise ContractError if they are not scopes."""
    is_several = isinstance(scopes, Sequence | frozenset | set) and not isinstance(
        scopes, str | bytes
    )
    if not is_several or not all(map(is_scope, scopes)):
        raise ContractError(f"the scopes of {what} must be a list such as ['shop:write']")
    return tuple(dict.fromkeys(scopes if isinstance(scopes, Sequence) else sorted(scopes)))


def is_scope(text: object) -> bool:
    """True if a text is one scope: printable ASCII without spaces, quotes and backslashes."""
    return (
        isinstance(text, str)
        and bool(text)
        and text.isascii()
        and text.isprintable()
        and not any(letter in ' "\\' for letter in text)
    )
