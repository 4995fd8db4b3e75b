"""Metadata of protected resources (RFC 9728) and authorization servers (RFC 8414, OpenID Connect).

Where the documents are, and what they must state. Nothing here opens a connection.
"""

from functools import lru_cache
from typing import Any, Final, TypeVar
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec

from accord.auth.fetch import bare
from accord.errors import SignInError

_RESOURCE: Final = "/.well-known/oauth-protected-resource"
_SERVER: Final = "/.well-known/oauth-authorization-server"
_OPENID: Final = "/.well-known/openid-configuration"
_PORTS: Final = {"http": 80, "https": 443}

Document = TypeVar("Document")


class ResourceMetadata(msgspec.Struct, frozen=True):
    """What a protected resource states about itself."""

    resource: str
    authorization_servers: tuple[str, ...] = ()
    scopes_supported: tuple[str, ...] | None = None


class ServerMetadata(msgspec.Struct, frozen=True):
    """What an authorization server states about itself."""

    issuer: str
    authorization_endpoint: str | None = None
    token_endpoint: str | None = None
    registration_endpoint: str | None = None
    revocation_endpoint: str | None = None
    scopes_supported: tuple[str, ...] | None = None
    grant_types_supported: tuple[str, ...] | None = None
    code_challenge_methods_supported: tuple[str, ...] | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] | None = None
    client_id_metadata_document_supported: bool | None = None
    authorization_response_iss_parameter_supported: bool | None = None

    @property
    def endpoints(self) -> tuple[str, ...]:
        """All endpoints that it names."""
        named = (
            self.authorization_endpoint,
            self.token_endpoint,
            self.registration_endpoint,
            self.revocation_endpoint,
        )
        return tuple(each for each in named if each is not None)


@lru_cache(maxsize=64)
def canonical(url: str) -> str:
    """Return the URL of a server in one spelling, by which its sign-in is stored."""
    parts = _split(url)
    path = parts.path.rstrip("/")
    return urlunsplit((parts.scheme.lower(), _authority(parts), path, parts.query, ""))


def origin(url: str) -> str:
    """Return scheme, host and port of a URL."""
    parts = _split(url)
    return f"{parts.scheme.lower()}://{_authority(parts)}"


def resource_locations(url: str) -> list[str]:
    """Return where the metadata of a resource may be: at its path, then at the root."""
    path = _split(url).path.rstrip("/")
    return list(dict.fromkeys([f"{origin(url)}{_RESOURCE}{path}", f"{origin(url)}{_RESOURCE}"]))


def server_locations(issuer: str) -> list[str]:
    """Return where the metadata of an issuer may be, in the order to try."""
    path = _split(issuer).path.rstrip("/")
    root = origin(issuer)
    places = [f"{root}{_SERVER}{path}", f"{root}{_OPENID}{path}"]
    return [*places, f"{root}{path}{_OPENID}"] if path else places


def read_resource(body: bytes, location: str, url: str) -> ResourceMetadata:
    """Return the metadata of the resource at `url`; raise SignInError if it is of another.

    The metadata may be for a path above the URL only if it is where that resource has its own
    (RFC 9728, 3.3): otherwise one tenant of a host could ask for tokens of all.
    """
    found = _decode(body, ResourceMetadata, location)
    stated = found.resource
    if _same(stated, url):
        return found
    if _is_above(stated, url) and location in resource_locations(stated)[:1]:
        return found
    raise SignInError(
        f"{bare(url)} has the metadata of another resource, {bare(stated)} (at {bare(location)});"
        " a token for that would not be its own"
    )


def read_server(body: bytes, location: str, issuer: str) -> ServerMetadata:
    """Return the metadata of an issuer; raise SignInError unless it states exactly that issuer."""
    found = _decode(body, ServerMetadata, location)
    if found.issuer != issuer:
        raise SignInError(
            f"the metadata at {bare(location)} is of the issuer {bare(found.issuer)}, and not of"
            f" {bare(issuer)}"
        )
    return found


def read_own_server(body: bytes, location: str, root: str) -> ServerMetadata:
    """Return the metadata of a server that is its own issuer, as in revision 2025-03-26.

    No document has named the issuer, which may end in a slash.
    """
    stated = _decode(body, ServerMetadata, location).issuer
    return read_server(body, location, stated if stated == f"{root}/" else root)


def default_server(url: str) -> ServerMetadata:
    """Return what revision 2025-03-26 assumes of a server that has no metadata."""
    root = origin(url)
    return ServerMetadata(
        issuer=root,
        authorization_endpoint=f"{root}/authorize",
        token_endpoint=f"{root}/token",
        registration_endpoint=f"{root}/register",
        code_challenge_methods_supported=("S256",),
    )


def _decode(body: bytes, kind: type[Document], location: str) -> Document:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SignInError(f"the metadata at {bare(location)} is not valid: {error}") from error


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise SignInError(f"{bare(url)} is not a URL: {error}") from error
    if not parts.hostname:
        raise SignInError(f"{bare(url)} is not a URL with a host")
    return parts


def _authority(parts: SplitResult) -> str:
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    is_default = parts.port in (None, _PORTS.get(parts.scheme.lower()))
    return host if is_default else f"{host}:{parts.port}"


def _same(left: str, right: str) -> bool:
    return not _split(left).fragment and canonical(left) == canonical(right)


def _is_above(stated: str, url: str) -> bool:
    """True if a resource has the same origin and a path that the URL is below."""
    parts: Any = _split(stated)
    if parts.query or parts.fragment or origin(stated) != origin(url):
        return False
    return f"{_split(url).path}/".startswith(f"{parts.path.rstrip('/')}/")
