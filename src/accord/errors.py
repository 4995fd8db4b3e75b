"""What can go wrong, and whose fault it is.

    AccordError
    ├── ContractError    ours: a server, tool or answer breaks its own promise
    │   └── TooDeep      a value is nested deeper than a message may be
    └── PeerError        theirs: what a peer sent cannot be taken

Neither is what a tool raises: that is a `Problem` (see model/answer.py). And neither reaches a peer:
a message that must be refused is answered with a `Reject`, which is data.
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


class AccordError(Exception):
    """The base of every error that Accord raises."""


class ContractError(AccordError):
    """A server, a tool or an answer that breaks the contract it makes itself."""


class TooDeep(ContractError):
    """A value is nested deeper than `values.MAX_DEPTH`, or contains itself."""


class PeerError(AccordError):
    """Something a peer sent that cannot be taken."""


class Reject(msgspec.Struct, frozen=True, omit_defaults=True):
    """A JSON-RPC error to send instead of a result: `code`, `message` and optional `data`."""

    code: int
    message: str
    data: Any = None


def require_known(given: Collection[str], known: Collection[str], what: str) -> None:
    """Raise where a word is given that is not known, and say which may have been meant."""
    unknown = [word for word in given if word not in known]
    if unknown:
        from difflib import get_close_matches  # slow to load, and seldom needed

        meant = get_close_matches(unknown[0], known, 1)
        guess = f"; did you mean {meant[0]!r}?" if meant else ";"
        there_are = ", ".join(sorted(known))
        raise ContractError(f"{what} takes no {unknown[0]!r}{guess} there are {there_are}")
