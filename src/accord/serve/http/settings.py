"""Limits of an HTTP server."""

from pathlib import Path
from typing import NamedTuple, TypedDict
from urllib.parse import urlsplit

from accord.model.caller import Verifier
from accord.serve.flow_control import DEFAULT_MAX_UNSENT
from accord.serve.limits import Rate
from accord.serve.thread_runner import DEFAULT_CAPACITY, DEFAULT_THREADS


class Settings(NamedTuple):
    """Limits of an HTTP server, and the hosts that it answers to."""

    path: str = "/mcp"
    allow_hosts: tuple[str, ...] = ()
    """Hosts, with or without a port, that Host and Origin may name beside loopback."""
    grace: float = 5.0
    """Seconds for calls in flight to finish once the server shuts down."""
    max_request: int = 4 * 1024 * 1024
    body_seconds: float = 30.0
    """Seconds for a client to send a request, or to read nothing of its output."""
    reader: bool = False
    """True if `POST /read` is served."""
    read_seconds: float = 10.0
    """Time limit for reading a large reply; then it is answered as text."""
    max_calls: int = DEFAULT_CAPACITY
    """Maximum number of open calls, async and blocking ones each."""
    threads: int = DEFAULT_THREADS
    max_sessions: int = 10_000
    stateless: bool = False
    """True if no client gets a session: every request is served on its own."""
    session_seconds: float = 30 * 60.0
    """Seconds until an unused session is dropped from memory."""
    session_lifetime: float = 24 * 60 * 60.0
    """Seconds after which the id of a session expires."""
    keep_alive_seconds: float = 15.0
    """Seconds between the comments that keep an idle stream open."""
    answer_seconds: float = 300.0
    """Seconds for a client to answer a request of the server."""
    auth: Verifier | None = None
    """Verifies the tokens of callers; the server's own verifier if None."""
    public_url: str | None = None
    """The URL at which clients reach the server, with the prefix of a proxy; it admits its host."""
    scopes: tuple[str, ...] = ()
    """Scopes that every call needs, beside those of the verifier."""
    admin_scope: str | None = None
    """The scope for counters and the page; without it they are for loopback alone."""
    rate: Rate | None = None
    """Maximum rate of calls of each caller and tool, in all processes with one store."""
    max_concurrent: int | None = None
    """Maximum number of open requests of each caller, in this process."""
    tls: tuple[Path, Path] | None = None
    """The files of a certificate and its key, for `accord serve` without a proxy."""
    max_unsent: int = DEFAULT_MAX_UNSENT
    """Bytes of unsent output over all connections above which no call starts."""


class SettingsDict(TypedDict, total=False):
    """The keyword arguments of `Server.asgi`: fields of Settings."""

    path: str
    allow_hosts: tuple[str, ...]
    grace: float
    max_request: int
    body_seconds: float
    reader: bool
    read_seconds: float
    max_calls: int
    threads: int
    max_sessions: int
    stateless: bool
    session_seconds: float
    session_lifetime: float
    keep_alive_seconds: float
    answer_seconds: float
    auth: Verifier | None
    public_url: str | None
    scopes: tuple[str, ...]
    admin_scope: str | None
    rate: Rate | None
    max_concurrent: int | None
    max_unsent: int


def hosts_of(settings: Settings) -> tuple[str, ...]:
    """Return the hosts that a server answers to beside loopback: that of its public URL too."""
    if settings.public_url is None:
        return settings.allow_hosts
    try:
        host = urlsplit(settings.public_url).hostname or ""
    except ValueError:  # what uses the URL reports it
        return settings.allow_hosts
    return (*settings.allow_hosts, f"[{host}]" if ":" in host else host)
