"""Who sends a request, in the era in which each request says so itself."""

from functools import lru_cache
from typing import Final

import msgspec
from msgspec import UNSET

from accord.errors import INVALID_PARAMS, UNSUPPORTED_PROTOCOL_VERSION, Reject
from accord.model.context import ClientInfo
from accord.protocol.messages import Meta, decode_meta
from accord.revisions import REVISIONS, STATELESS

UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
LONGEST_KEPT: Final = 1_024
"""The bytes of a `_meta` that is remembered."""


def read_meta(raw: bytes) -> tuple[str | None, ClientInfo | Reject] | None:
    """The revision that `_meta` names, and who says so; None if it names none."""
    try:
        meta = decode_meta(raw)
    except UNREADABLE as error:
        return None, Reject(INVALID_PARAMS, f"Invalid params._meta: {reason(error)}")
    if meta is None or meta.revision is UNSET:
        return None
    return meta.revision, _stateless_client(meta.revision, meta)


read_known_meta: Final = lru_cache(256)(read_meta)
"""The same for what is short: clients send it with every request."""


def _stateless_client(date: str, meta: Meta) -> ClientInfo | Reject:
    revision = REVISIONS.get(date)
    if revision is None or not revision.stateless:
        return Reject(
            UNSUPPORTED_PROTOCOL_VERSION,
            "Unsupported protocol version",
            {"supported": STATELESS, "requested": date},
        )
    if meta.capabilities is UNSET:
        key = "io.modelcontextprotocol/clientCapabilities"
        return Reject(INVALID_PARAMS, f"params._meta lacks {key}")
    return ClientInfo(revision, meta.capabilities, meta.client)


def reason(error: Exception) -> str:
    """In msgspec's words, which name the member and the types but never the value."""
    return str(error).replace("`", "").replace(" - at $", " at ").replace("at .", "at ")
