"""`UpstreamSpec`: what is configured for one upstream, and the environment of its process."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

import msgspec

from accord.errors import ContractError
from accord.gateway.slots import DEFAULT_MAX_CALLS
from accord.model.tool import Replies

if TYPE_CHECKING:
    from accord.auth.sign_in import Auth

REPLIES: Final[tuple[Replies, ...]] = ("as-is", "repaired", "normalised")
DEFAULT_TIMEOUT: Final = 30.0
"""Seconds for each request."""
DEFAULT_DEADLINE: Final = 10.0
"""Seconds for an upstream to start, after which the others are served without it."""
_INHERITED: Final = (
    *("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
    *("APPDATA", "LOCALAPPDATA", "PATHEXT", "SYSTEMROOT", "TEMP", "USERPROFILE"),
)
"""The only variables of our environment that the process of an upstream inherits."""
_INHERITED_STARTS: Final = ("LC_", "XDG_")
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NEVER_FORWARDED: Final = frozenset(
    {
        *("authorization", "cookie", "host", "origin", "accept", "accept-encoding", "connection"),
        *("transfer-encoding", "te", "trailer", "upgrade", "keep-alive", "expect", "last-event-id"),
    }
)
_NEVER_FORWARDED_STARTS: Final = ("mcp-", "proxy-", "content-")
_SEPARATOR: Final = re.compile(r"[-_.]")
_UNNAMED: Final = re.compile(r"[^A-Za-z0-9-]+")
_PACKAGE_END: Final = re.compile(r"(?<=.)@[^/]*$")
_COMMON: Final = frozenset({"mcp", "server", "www", "api", "com", "org", "net", "io", "dev"})


class OAuthClient(msgspec.Struct, frozen=True, kw_only=True):
    """The client that gets tokens for an upstream: for itself, or for each caller."""

    client_id: str
    client_secret: str
    issuer: str | None = None
    scopes: Sequence[str] = ()
    exchange: bool = False
    """True to exchange the token of each caller at the issuer (RFC 8693)."""
    audience: str | None = None

    def __repr__(self) -> str:
        return f"OAuthClient({self.client_id!r})"

    def auth(self) -> "Auth":
        """Return what gets the tokens."""
        from accord.auth.sign_in import ClientCredentials, TokenExchange  # only URLs need it

        if not self.exchange:
            return ClientCredentials(
                self.client_id, self.client_secret, issuer=self.issuer, scopes=self.scopes
            )
        if self.issuer is None:
            raise ContractError("an exchange of tokens needs the issuer to send them to")
        return TokenExchange(
            self.client_id,
            self.client_secret,
            issuer=self.issuer,
            audience=self.audience,
            scopes=self.scopes,
        )


class UpstreamOptions(TypedDict, total=False):
    """Options of `upstream`; see UpstreamSpec."""

    env: Mapping[str, str]
    cwd: str | None
    headers: Mapping[str, str]
    prefix: str | None
    only: Sequence[str]
    read_only: bool
    replies: Replies
    timeout: float
    deadline: float
    revision: str | None
    auth: "Auth | OAuthClient | str | None"
    forward: Sequence[str]
    max_calls: int
    lifetime: float | None


class UpstreamSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One upstream: its name, how to reach it, and what is served of it."""

    name: str
    command: Sequence[str] = ()
    url: str = ""
    env: Mapping[str, str] = {}
    cwd: str | None = None
    headers: Mapping[str, str] = {}
    prefix: str | None = None
    """Put before each name as it stands; None to prefix names only if they are taken."""
    only: Sequence[str] = ()
    """Patterns of the listed names that are served; all if there are none."""
    read_only: bool = False
    """True to serve only tools that are marked read-only."""
    replies: Replies = "repaired"
    timeout: float = DEFAULT_TIMEOUT
    deadline: float = DEFAULT_DEADLINE
    revision: str | None = None
    """The only revision to use; the newest common one if None."""
    auth: Any = None
    """What signs in at a URL: see `Client`. By default the sign-ins of `accord login`."""
    forward: Sequence[str] = ()
    """Names of headers of a caller that are sent to a URL; no others are."""
    max_calls: int = DEFAULT_MAX_CALLS
    """Requests that may be open at once; further ones wait."""
    lifetime: float | None = None
    """Seconds after which a process is replaced by a new one; None for no limit."""

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise ContractError(f"server {self.name!r} needs a command or a URL, not both")
        if self.replies not in REPLIES:
            raise ContractError(
                f"replies must be one of {', '.join(REPLIES)}, not {self.replies!r}"
            )
        if self.lifetime is not None and not (self.command and 0 < self.lifetime < inf):
            raise ContractError("lifetime must be a number of seconds, and is for a command")
        for header in self.forward:
            if not may_forward(header):
                raise ContractError(f"the header {header!r} must not be forwarded")
            if header.lower() in map(str.lower, self.headers):
                raise ContractError(f"the header {header!r} has a value: it must not be forwarded")

    @property
    def target(self) -> str | Sequence[str]:
        """What the client connects to."""
        return self.url or self.command

    @property
    def connection(self) -> dict[str, Any]:
        """The options of the client for this target."""
        if self.url:
            return {"headers": self.headers, "auth": self.auth}
        return {"env": {**inherited(), **self.env}, "cwd": self.cwd, "is_guarded": True}

    @property
    def has_credentials(self) -> bool:
        """True if a header or `auth` has the credentials for a URL."""
        has_header = any(name.lower() == "authorization" for name in self.headers)
        return has_header or self.auth is not None

    @property
    def described(self) -> str:
        """The command or URL, without arguments or query that may hold a secret."""
        return self.url.partition("?")[0] or Path(self.command[0]).name


def may_forward(header: object) -> bool:
    """True if a header of a caller may be sent to an upstream: not what identifies it to us."""
    if not isinstance(header, str) or _HEADER.fullmatch(header) is None:
        return False
    name = header.lower()
    return name not in _NEVER_FORWARDED and not name.startswith(_NEVER_FORWARDED_STARTS)


def inherited() -> dict[str, str]:
    """Return the part of our environment that an upstream's process inherits."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in _INHERITED or name.startswith(_INHERITED_STARTS)
    }


def spec_of(
    target: str | Sequence[str], *, name: str | None = None, **options: Unpack[UpstreamOptions]
) -> UpstreamSpec:
    """Return the spec of a URL or a command line, named after its host or package by default."""
    if isinstance(target, str) and "://" in target.partition(" ")[0]:
        return UpstreamSpec(name=name or _host_name(target), url=target, **options)
    try:
        command = shlex.split(target) if isinstance(target, str) else list(target)
    except ValueError as error:
        raise ContractError(f"{target!r} is not a command line: {error}") from error
    if not command or not all(isinstance(each, str) for each in command):
        raise ContractError(f"an upstream is a URL or a command line, not {target!r}")
    return UpstreamSpec(name=name or _command_name(command), command=command, **options)


def _command_name(command: Sequence[str]) -> str:
    """Return the last word of the package or program: `filesystem` of `server-filesystem`."""
    words = [each for each in command if not each.startswith("-")]
    programs = ("npx", "uvx", "uv", "run", "python", "python3", "node", "docker", "bunx", "tool")
    named = [each for each in words if Path(each).name not in programs] or words or list(command)
    stem = _PACKAGE_END.sub("", named[0]).rstrip("/").rpartition("/")[2]
    return _last_word(stem.removesuffix(".py").removesuffix(".js"))


def _host_name(url: str) -> str:
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0]
    return _last_word(host.replace(".", "-"), host)


def _last_word(text: str, otherwise: str = "") -> str:
    words = [each for each in _SEPARATOR.split(text) if each and each.lower() not in _COMMON]
    name = _UNNAMED.sub("-", words[-1] if words else otherwise or text).strip("-")
    return name or "server"
