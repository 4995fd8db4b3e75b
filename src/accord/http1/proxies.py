"""The proxies that the environment names: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY."""

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from accord.http1.errors import ConnectFailed, InvalidURL
from accord.http1.url import URL

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network


class _Bypass(msgspec.Struct, frozen=True):
    """One entry of NO_PROXY: a domain with its subdomains, an address or a network."""

    domain: str = ""
    network: "IPv4Network | IPv6Network | None" = None
    scheme: str = ""
    port: int | None = None

    def matches(self, url: URL) -> bool:
        if (self.scheme and self.scheme != url.scheme) or self.port not in (None, url.port):
            return False
        if self.network is not None:
            return _is_in(url.host, self.network)
        if self.domain.startswith("."):  # the subdomains only
            return url.host.endswith(self.domain)
        return f".{url.host}".endswith(f".{self.domain}")


class Proxies:
    """Which proxy a URL is requested through."""

    def __init__(self, named: Mapping[str, str]) -> None:
        """Take the proxies by scheme, or `all`; `no` is the value of NO_PROXY."""
        bypass = [entry for part in named.get("no", "").split(",") if (entry := part.strip())]
        self._named = {} if "*" in bypass else {key: each for key, each in named.items() if each}
        self._bypass = [_parse_bypass(entry.lower()) for entry in bypass] if self._named else []

    @classmethod
    def of_environment(cls) -> "Proxies":
        """Return the proxies of the environment; of the system's settings on macOS and Windows."""
        is_in_system = sys.platform in ("darwin", "win32")
        if not is_in_system and not any(key.lower().endswith("_proxy") for key in os.environ):
            return cls({})
        from urllib.request import getproxies  # slow to import

        return cls(getproxies())

    def find(self, url: URL) -> URL | None:
        """Return the proxy for a URL; raise ConnectFailed if it is of an unknown kind."""
        if not self._named:
            return None
        text = self._named.get(url.scheme) or self._named.get("all")
        if text is None or any(entry.matches(url) for entry in self._bypass):
            return None
        try:
            proxy = URL.parse(text if "://" in text else f"http://{text}")
        except InvalidURL as error:
            raise ConnectFailed(f"the proxy of the environment is invalid: {error}") from None
        if proxy.scheme not in ("http", "https"):
            raise ConnectFailed(f"the proxy {proxy.bare} is not supported; use an http:// proxy")
        return proxy


def _parse_bypass(entry: str) -> _Bypass:
    from ipaddress import ip_network

    scheme, _, rest = entry.rpartition("://")
    host, colon, port = rest.rpartition(":")
    is_bare_ipv6 = ":" in host and not host.endswith("]")
    if not colon or not port.isdecimal() or is_bare_ipv6:
        host, port = rest, ""
    host = host.removeprefix("[").replace("]", "")
    number = int(port) if port else None
    try:
        return _Bypass(network=ip_network(host, strict=False), scheme=scheme, port=number)
    except ValueError:
        return _Bypass(domain=host.removeprefix("*"), scheme=scheme, port=number)


def _is_in(host: str, network: "IPv4Network | IPv6Network") -> bool:
    from ipaddress import ip_address

    try:
        return ip_address(host.partition("%")[0]) in network
    except ValueError:
        return False
