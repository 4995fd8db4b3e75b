"""Protected resource metadata (RFC 9728): where it is, and what it says.

A server that owns the root of its host has it at both well-known places. Below a prefix those are
outside of the server; then it is below the prefix too, and challenges name it there.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from accord.auth.challenges import require_quotable
from accord.auth.fetch import bare
from accord.errors import ContractError

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"


class Place(msgspec.Struct, frozen=True):
    """Where clients find a server: `base`, an origin with the prefix of a mount or proxy."""

    base: str
    path: str
    """The path of the MCP endpoint below it."""

    @property
    def resource(self) -> str:
        """The URL that clients call, which identifies the server."""
        return self.base + self.path

    @property
    def metadata_url(self) -> str:
        """The URL of the metadata, below the prefix: requests for it reach this server."""
        return self.base + WELL_KNOWN + self.path

    @property
    def prefix(self) -> str:
        """The path of `base`."""
        return urlsplit(self.base).path


def public_place(public_url: str, path: str) -> Place:
    """Return the place of a public URL, with or without the path of the endpoint."""
    return Place(_base(_require_url(public_url), path), path)


def place_of_audience(audiences: Collection[str], path: str) -> Place | None:
    """Return the place that an audience names, if one is a URL.

    Audiences are often the URL of the endpoint; of others the origin counts.
    """
    url = next((each for each in audiences if each.startswith(("https://", "http://"))), None)
    if url is None or not urlsplit(url).hostname:
        return None
    parts = urlsplit(_require_url(url))
    if parts.path.rstrip("/").endswith(path):
        return Place(_base(url, path), path)
    return Place(f"{parts.scheme}://{parts.netloc}", path)


def document(
    place: Place, issuers: Sequence[str], scopes: Sequence[str], name: str | None = None
) -> bytes:
    """Return the metadata as JSON; `scopes` are those that every call needs."""
    found: dict[str, Any] = {"resource": place.resource}
    if issuers:
        found["authorization_servers"] = list(issuers)
    if scopes:
        found["scopes_supported"] = list(scopes)
    found["bearer_methods_supported"] = ["header"]
    if name:
        found["resource_name"] = name
    return msgspec.json.encode(found)


def _base(url: str, path: str) -> str:
    parts = urlsplit(url)
    prefix = parts.path.rstrip("/").removesuffix(path)
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{prefix}"


def _require_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ContractError(f"{url!r} is not a URL") from error
    is_whole = parts.scheme.lower() in ("http", "https") and parts.hostname
    if not is_whole or parts.query or parts.fragment or "@" in parts.netloc:
        raise ContractError(
            f"{bare(url)} must be an http(s) URL without user, query and fragment:"
            " https://mcp.example.com"
        )
    return require_quotable(url)
