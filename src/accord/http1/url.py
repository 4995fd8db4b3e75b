"""URLs, as far as a client needs them."""

import re
from base64 import b64encode
from typing import Final
from urllib.parse import SplitResult, quote, unquote_to_bytes, urljoin, urlsplit

import msgspec

from accord.http1.errors import InvalidURL

_PORTS: Final = {"http": 80, "https": 443}
_SAFE: Final = "/:@!$&'()*+,;=-._~%"  # sent as they are; everything else is percent-encoded
_HOST: Final = re.compile(r"[a-z0-9_.~-]+|[0-9a-f:.]+(%25[a-z0-9_.~-]+)?")  # a zone may follow IPv6


class URL(msgspec.Struct, frozen=True):
    """An absolute URL, split and encoded."""

    scheme: str
    host: str
    """In lower case; an IPv6 address without brackets."""
    port: int
    target: str
    """Path and query, percent-encoded."""
    host_header: str
    credentials: str | None = None
    """The value of an Authorization header for the URL's user and password."""

    @classmethod
    def parse(cls, text: str) -> "URL":
        """Parse a URL; raise InvalidURL if it is not an absolute one with a host."""
        if not text.isprintable() or " " in text:  # urlsplit would drop some of these
            raise InvalidURL("the URL contains a space or a control character")
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError as error:
            raise InvalidURL(f"the URL is invalid: {error}") from None
        if not parts.scheme:
            raise InvalidURL("the URL has no scheme")
        host = _encode_host(parts)
        shown = f"[{host.partition('%')[0]}]" if ":" in host else host
        default = _PORTS.get(parts.scheme, 0)
        if port is not None and port != default:
            shown = f"{shown}:{port}"
        target = quote(parts.path, safe=_SAFE) or "/"
        if parts.query:
            target = f"{target}?{quote(parts.query, safe=f'{_SAFE}?[]')}"
        port = default if port is None else port
        return cls(parts.scheme, host, port, target, shown, _credentials(parts))

    def join(self, location: str) -> "URL":
        """Return the URL of a redirect; within the origin the credentials stay."""
        base = f"{self.scheme}://{self.host_header}{self.target}"
        target = URL.parse(urljoin(base, location) if location.isascii() else _join(base, location))
        if target.origin == self.origin and target.credentials is None:
            return msgspec.structs.replace(target, credentials=self.credentials)
        return target

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port: what credentials and connections belong to."""
        return self.scheme, self.host, self.port

    @property
    def is_tls(self) -> bool:
        """True if the URL is https."""
        return self.scheme == "https"

    @property
    def bare(self) -> str:
        """The URL without the parts that may be secret: credentials and query."""
        return f"{self.scheme}://{self.host_header}{self.target.partition('?')[0]}"


def _join(base: str, location: str) -> str:
    return urljoin(base, quote(location, safe=f"{_SAFE}?#[]"))


def _encode_host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    if not host.isascii():
        try:
            host = host.encode("idna").decode()
        except UnicodeError:
            raise InvalidURL("the URL has an invalid host") from None
    if not host:
        raise InvalidURL("the URL has no host")
    if not _HOST.fullmatch(host):
        raise InvalidURL("the URL has an invalid host")
    return host.replace("%25", "%")


def _credentials(parts: SplitResult) -> str | None:
    if not parts.username and not parts.password:
        return None
    user, password = (unquote_to_bytes(part or "") for part in (parts.username, parts.password))
    return f"Basic {b64encode(user + b':' + password).decode()}"
