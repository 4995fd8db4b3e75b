"""WWW-Authenticate: how a client is told which authorization it needs (RFC 6750, RFC 9728)."""

from collections.abc import Sequence
from typing import Final

from accord.errors import ContractError

INVALID_TOKEN: Final = "invalid_token"  # noqa: S105 - an error code
INVALID_REQUEST: Final = "invalid_request"
INSUFFICIENT_SCOPE: Final = "insufficient_scope"
DESCRIPTIONS: Final = {
    INVALID_TOKEN: "The access token is not valid for this server",
    INVALID_REQUEST: "The request must have one Authorization header with one bearer token",
    INSUFFICIENT_SCOPE: "The access token lacks a scope that this needs",
}
"""One constant description for each error: which part of a token was wrong is not told."""


def challenge(metadata_url: str, scopes: Sequence[str], error: str | None = None) -> bytes:
    """Return the value of WWW-Authenticate; without an `error` if no credentials were sent."""
    parts: list[tuple[str, str]] = []
    if error is not None:
        parts += [("error", error), ("error_description", DESCRIPTIONS[error])]
    if scopes:
        parts.append(("scope", " ".join(scopes)))
    parts.append(("resource_metadata", metadata_url))
    return ("Bearer " + ", ".join(f'{name}="{value}"' for name, value in parts)).encode("ascii")


def require_quotable(url: str) -> str:
    """Return a URL that can stand in a challenge; raise ContractError if it cannot."""
    if not url.isascii() or not url.isprintable() or any(letter in ' "\\' for letter in url):
        raise ContractError(f"{url!r} must be a URL without spaces, quotes or backslashes")
    return url
