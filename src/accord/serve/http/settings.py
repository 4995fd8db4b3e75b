"""How an HTTP server behaves at its limits."""

from typing import NamedTuple, TypedDict

from accord.serve.flow_control import DEFAULT_MAX_UNSENT
from accord.serve.pool import DEFAULT_CAPACITY, DEFAULT_THREADS


class Settings(NamedTuple):
    """The limits of an HTTP server, and the names it answers to."""

    path: str = "/mcp"
    allow_hosts: tuple[str, ...] = ()
    """Names, with a port or without, that Host and Origin may say beside this machine's own."""
    grace: float = 5.0
    """Seconds that calls in flight have to finish once the server is told to end."""
    max_request: int = 4 * 1024 * 1024
    body_seconds: float = 30.0
    """How long a client may take to send a request, or read nothing of what it was sent."""
    reader: bool = False
    """Whether replies of anybody are read at `/read`."""
    read_seconds: float = 10.0
    """Time limit for reading a large reply; then it is answered as text."""
    max_calls: int = DEFAULT_CAPACITY
    threads: int = DEFAULT_THREADS
    max_sessions: int = 10_000
    session_seconds: float = 30 * 60.0
    """How long a session lives that nobody uses."""
    keep_alive_seconds: float = 15.0
    """How often an idle stream says that it is still there."""
    answer_seconds: float = 300.0
    """How long a client may take to answer a question."""
    max_unsent: int = DEFAULT_MAX_UNSENT
    """Bytes that clients have not read, of all connections, above which no call starts."""


class Wishes(TypedDict, total=False):
    """The same, for whoever says only what is to be otherwise."""

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
    session_seconds: float
    keep_alive_seconds: float
    answer_seconds: float
    max_unsent: int
