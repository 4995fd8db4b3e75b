"""Gets one document from another server: bounded in time and bytes, redirects not followed.

Used for metadata, keys, introspection and token requests. The addresses come from configuration or
from the metadata of a configured issuer, never from a token.
"""

from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import msgspec

from accord.errors import ContractError, PeerError

SECONDS: Final = 5.0
"""Time limit of a whole exchange, from the lookup of the name to the last byte."""
LIMIT: Final = 1_000_000
"""Maximum bytes of a body."""
_MAX_QUOTED: Final = 200  # characters of a URL in a message


class FetchError(PeerError):
    """No usable response: the server is unreachable, too slow, or sends too much."""


class Fetched(msgspec.Struct, frozen=True):
    """A complete HTTP response, of whatever status."""

    status: int
    headers: Mapping[str, str]
    """The headers, by lower-case names."""
    body: bytes


async def fetch(
    url: str,
    *,
    form: Mapping[str, str] | None = None,
    body: bytes | None = None,
    headers: Iterable[tuple[str, str]] = (),
    seconds: float = SECONDS,
    limit: int = LIMIT,
    allow_http: bool = False,
    accepts: Callable[[str], bool] | None = None,
) -> Fetched:
    """GET a URL, or POST a form or a body to it; raise FetchError if there is no response.

    Plain http is for loopback only, unless `allow_http`. `accepts` is asked about the address that
    is connected to, if there is no proxy. A redirect is returned, not followed.
    """
    require_safe(url, allow_http=allow_http)
    http1 = _library()
    sent = dict([("accept", "application/json"), *headers])
    if form is not None:
        body = urlencode(form).encode()
        sent["content-type"] = "application/x-www-form-urlencoded"
    method = "GET" if body is None else "POST"
    try:
        found = await http1.fetch(
            method, url, sent, body, seconds=seconds, limit=limit, accepts=accepts
        )
    except TimeoutError as error:
        raise FetchError(f"{bare(url)} did not answer within {seconds:g} s") from error
    except http1.TooLarge as error:
        raise FetchError(f"{bare(url)} sent more than {limit:,} bytes") from error
    except http1.HTTPError as error:
        raise FetchError(f"could not reach {bare(url)}: {error}") from error
    if found.headers.get("content-encoding", "identity").lower() != "identity":
        raise FetchError(f"{bare(url)} sent a compressed body, which was not asked for")
    return Fetched(found.status, found.headers, found.body)


def require_safe(url: str, *, allow_http: bool = False) -> None:
    """Raise FetchError unless a URL is https, or http to this machine."""
    scheme, host = _scheme_and_host(url)
    if not host or scheme not in ("https", "http"):
        raise FetchError(f"{bare(url)} is not an http(s) URL")
    if scheme == "http" and not (allow_http or is_loopback(host)):
        raise FetchError(f"{bare(url)} must be https: only loopback may do without TLS")


def is_loopback(host: str) -> bool:
    """True if a host name or address always means this machine."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def bare(url: str) -> str:
    """Return a URL for a message: without the parts that may be secret, printable and short."""
    try:
        parts = urlsplit(url)
        shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    except ValueError:
        shown = "the URL"
    shown = shown if shown.isprintable() else ascii(shown)[1:-1]
    return shown if len(shown) <= _MAX_QUOTED else f"{shown[:_MAX_QUOTED]}…"


def _scheme_and_host(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises if it is not a number
    except ValueError:
        return "", ""
    return parts.scheme.lower(), parts.hostname or ""


def _library() -> Any:
    try:
        from accord import http1
    except ImportError as error:
        from accord.extras import missing

        raise ContractError(missing("authorization", "auth")) from error
    return http1
