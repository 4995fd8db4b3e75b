"""What can go wrong, and whose fault it is.

    AccordError
    ├── ContractError    ours: a server, tool or answer breaks its own promise
    └── PeerError        theirs: what a peer sent cannot be taken

Neither is what a tool raises: that is a `Problem` (see answer.py). And neither reaches a peer:
a message that must be refused is answered with a `Reject`, which is data.
"""

from typing import Any, Final

import msgspec

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
MISSING_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022


class AccordError(Exception):
    """The base of every error that Accord raises."""


class ContractError(AccordError):
    """A server, a tool or an answer that breaks the contract it makes itself."""


class PeerError(AccordError):
    """Something a peer sent that cannot be taken."""


class Reject(msgspec.Struct, frozen=True, omit_defaults=True):
    """A JSON-RPC error to send instead of a result: `code`, `message` and optional `data`."""

    code: int
    message: str
    data: Any = None
