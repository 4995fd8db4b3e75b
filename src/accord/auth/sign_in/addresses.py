"""Which addresses metadata may lead to: never closer to this machine than the named server is.

The URLs in metadata come from strangers, who could otherwise make this machine send requests to its
own network. A server on the internet leads to the internet only; one in a private network may also
lead there, and one on loopback also to loopback. Plain http is for loopback, and for the metadata
of a server that was itself named by an http URL.
"""

import asyncio
import socket
from enum import IntEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import urlsplit

from accord.auth.fetch import bare, is_loopback, require_safe
from accord.errors import PeerError, SignInError

_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = IPv6Network("::/96")


class Zone(IntEnum):
    """How close an address is to this machine."""

    PUBLIC = 0
    PRIVATE = 1
    LOOPBACK = 2
    RESERVED = 3
    """Link-local (where clouds have their metadata), multicast and the like: never allowed."""


class Reach:
    """The addresses that the metadata of one server may name."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._zone: Zone | None = None

    async def require(self, url: str) -> None:
        """Raise SignInError if a URL must not be requested."""
        require_url(url, self._server)
        if self._zone is None:  # once, before its metadata is known: the address may change
            is_here = is_loopback(urlsplit(self._server).hostname or "")
            found = await _zone_of(self._server)
            self._zone = Zone.LOOPBACK if is_here else min(found, Zone.PRIVATE)
        if await _zone_of(url) > self._zone:
            raise SignInError(
                f"{bare(self._server)} leads to {bare(url)}, an address of a private network"
            )

    def accepts(self, address: str) -> bool:
        """True if a connection to this address may be used; its name may have changed meanwhile."""
        return _zone_of_address(address) <= (self._zone or Zone.PUBLIC)


def require_url(url: str, server: str) -> None:
    """Raise SignInError unless a URL may be requested, as far as it tells by itself."""
    try:
        require_safe(url, allow_http=allows_http(server))
        parts = urlsplit(url)
    except (PeerError, ValueError) as error:
        raise SignInError(str(error)) from error
    if parts.username is not None or parts.fragment or not url.isascii() or not url.isprintable():
        raise SignInError(f"{bare(url)} must not have a user, a fragment or control characters")
    if is_loopback(parts.hostname or "") and not is_loopback(urlsplit(server).hostname or ""):
        raise SignInError(f"{bare(server)} leads to {bare(url)}, which is on this machine")


def allows_http(server: str) -> bool:
    """True if plain http was good enough for the URL of the server itself, beyond loopback."""
    parts = urlsplit(server)
    return parts.scheme.lower() == "http" and not is_loopback(parts.hostname or "")


async def _zone_of(url: str) -> Zone:
    """Return the zone of a URL's host: the most private of its addresses."""
    host = urlsplit(url).hostname or ""
    if is_loopback(host):
        return Zone.LOOPBACK
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return Zone.PUBLIC  # it has no address; the request fails, or a proxy knows the name
    return max(_zone_of_address(str(address[0])) for *_, address in found)


@lru_cache(maxsize=256)
def _zone_of_address(text: str) -> Zone:
    address: IPv4Address | IPv6Address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address):
        address = _embedded(address) or address
    if address.is_loopback:
        return Zone.LOOPBACK
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        return Zone.RESERVED
    is_site_local = isinstance(address, IPv6Address) and address.is_site_local
    return Zone.PUBLIC if address.is_global and not is_site_local else Zone.PRIVATE


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address stands for: mapped, translated or tunnelled."""
    if address in _TRANSLATED or (address in _COMPATIBLE and int(address) > 1):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour
