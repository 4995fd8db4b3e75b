"""The address of an HTTP server, and its listening socket."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from accord.errors import ContractError

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_BACKLOG: Final = 2048


class Address(NamedTuple):
    """A host and a port to listen on."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse `127.0.0.1:8000`, `[::1]:8000`, or a port alone."""
        host, _, port = text.rpartition(":")
        if ":" in host and not (host.startswith("[") and host.endswith("]")):
            raise ContractError(f"{text!r} is not an address; put an IPv6 address in brackets")
        if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
            raise ContractError(f"{text!r} is not an address; use 127.0.0.1:8000")
        return cls(host.strip("[]") or "127.0.0.1", int(port))

    @property
    def url(self) -> str:
        """The URL for a client on this machine."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def require_loopback(address: Address) -> None:
    """Raise if an address can be reached from elsewhere."""
    if address.host not in _LOOPBACK:
        raise ContractError(
            f"{address.host!r} can be reached from elsewhere; name the hosts it may answer to with"
            " --allow-host, or listen on 127.0.0.1"
        )


@contextmanager
def listening(
    address: Address, allow_hosts: tuple[str, ...] = ()
) -> Iterator[tuple[socket.socket, Address]]:
    """Open a listening socket; gives it with its address, since port 0 lets the system choose."""
    if not allow_hosts:
        require_loopback(address)
    with _listen(address) as listener:
        yield listener, Address(address.host, listener.getsockname()[1])


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except (OSError, UnicodeError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise ContractError(
            f"cannot listen on {address.host}:{address.port}: {reason}; try another port"
        ) from error
    listener.listen(_BACKLOG)
    return listener
