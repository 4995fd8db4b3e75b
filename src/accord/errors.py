"""The error tree, and the JSON-RPC error codes.

    AccordError
    ├── ContractError    a server, tool or answer violates the contract
    │   └── TooDeep      a value is nested too deeply for a message
    └── PeerError        a peer cannot be reached, or its messages are not valid
        └── MCPError     a server answered a request with a JSON-RPC error

A tool raises `Problem` instead (see model/answer.py). These errors are not sent to a peer: the
reply to an invalid message is a `Reject`, which is data.
"""

from collections.abc import Collection
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
URL_ELICITATION_REQUIRED: Final = -32042  # of 2025-11-25


class AccordError(Exception):
    """Base class of all errors that Accord raises."""


class ContractError(AccordError):
    """A server, tool or answer violates the contract."""


class TooDeep(ContractError):
    """A value is nested deeper than `values.MAX_DEPTH`, or contains itself."""


class PeerError(AccordError):
    """A peer cannot be reached, or a message of it is not valid."""


class MCPError(PeerError):
    """A server answered a request with a JSON-RPC error: its `code`, `message` and `data`."""

    def __init__(self, description: str, code: int, message: str, data: Any = None) -> None:
        super().__init__(description)
        self.code = code
        self.message = message
        self.data = data


class Reject(msgspec.Struct, frozen=True, omit_defaults=True):
    """A JSON-RPC error to send instead of a result: `code`, `message` and optional `data`."""

    code: int
    message: str
    data: Any = None


def require_known(given: Collection[str], known: Collection[str], what: str) -> None:
    """Raise ContractError with a suggestion if one of the given names is unknown."""
    unknown = [name for name in given if name not in known]
    if unknown:
        from difflib import get_close_matches  # slow to import, rarely needed

        meant = get_close_matches(unknown[0], known, 1)
        guess = f"; did you mean {meant[0]!r}?" if meant else ";"
        options = ", ".join(sorted(known))
        raise ContractError(f"{what} has no option {unknown[0]!r}{guess} options: {options}")
