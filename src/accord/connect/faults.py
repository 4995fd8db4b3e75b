"""How a peer can fail us. All are PeerErrors; the kinds decide what is tried next.

PeerError
├── Gone         the server has ended, or hears us no longer
├── Late         no answer in time
├── Refused      HTTP said no, without a word of JSON-RPC
└── SessionLost  the server no longer knows our session
"""

from accord.errors import PeerError


class Gone(PeerError):
    """The server has ended, or hears us no longer."""


class Late(PeerError):
    """There was no answer in time."""

    def __init__(self, method: str, sentence: str) -> None:
        super().__init__(sentence)
        self.method = method


class Refused(PeerError):
    """HTTP said no, without a word of JSON-RPC."""


class SessionLost(PeerError):
    """The server no longer knows our session."""
