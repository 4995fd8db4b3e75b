"""Gets one document from another server: bounded in time and bytes, redirects not followed.

Used for metadata, keys, introspection and token requests. The addresses come from configuration or
from the metadata of a configured issuer, never from a token.
"""

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

import msgspec

from accord.errors import ContractError, PeerError

if TYPE_CHECKING:
    import httpx2

SECONDS: Final = 5.0
"""Time limit of a whole exchange, from the lookup of the name to the last byte."""
LIMIT: Final = 1_000_000
"""Maximum bytes of a body."""
_MAX_QUOTED: Final = 200  # characters of a URL in a message


class FetchError(PeerError):
    """A document could not be had: the server is away, too slow, or sends too much."""


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
) -> Fetched:
    """GET a URL, or POST a form or a body to it; raise FetchError if no response can be had.

    Plain http is for loopback only, unless `allow_http`. A redirect is returned, not followed.
    """
    require_safe(url, allow_http=allow_http)
    httpx2 = _library()
    try:
        async with asyncio.timeout(seconds), _client(url) as client:
            request = client.build_request(
                "GET" if form is None and body is None else "POST",
                url,
                data=None if form is None else dict(form),
                content=body,
                headers=[("accept", "application/json"), *headers],
            )
            response = await client.send(request, stream=True)
            try:
                content = await _read(response, url, limit)
            finally:
                await response.aclose()
            return Fetched(response.status_code, dict(response.headers), content)
    except TimeoutError as error:
        raise FetchError(f"{bare(url)} did not answer within {seconds:g} s") from error
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, ValueError) as error:
        raise FetchError(f"could not reach {bare(url)}: {type(error).__name__}") from error


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
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    except ValueError:
        shown = "the URL"
    shown = shown if shown.isprintable() else ascii(shown)[1:-1]
    return shown if len(shown) <= _MAX_QUOTED else f"{shown[:_MAX_QUOTED]}…"


def _scheme_and_host(url: str) -> tuple[str, str]:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        _ = parts.port  # raises if it is not a number
    except ValueError:
        return "", ""
    return parts.scheme.lower(), parts.hostname or ""


async def _read(response: "httpx2.Response", url: str, limit: int) -> bytes:
    """Return the body as it was sent: a compressed one could grow without bound."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise FetchError(f"{bare(url)} sent a compressed body, which was not asked for")
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > limit:
            raise FetchError(f"{bare(url)} sent more than {limit:,} bytes")
    return bytes(body)


def _client(url: str) -> "httpx2.AsyncClient":
    is_tls = _scheme_and_host(url)[0] == "https"
    client: httpx2.AsyncClient = _library().AsyncClient(
        verify=_trusted() if is_tls else _unused(),
        headers={"accept-encoding": "identity"},
        timeout=None,  # the whole exchange has one
        follow_redirects=False,
    )
    return client


@lru_cache(maxsize=1)
def _trusted() -> ssl.SSLContext:
    """Return the certificates that are trusted; loading them is slow."""
    context: ssl.SSLContext = _library().create_ssl_context()
    return context


@lru_cache(maxsize=1)
def _unused() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _library() -> Any:
    try:
        import httpx2
    except ImportError as error:
        raise ContractError(
            "Authorization needs an extra: pip install 'accord-mcp[auth]'"
        ) from error
    return httpx2
