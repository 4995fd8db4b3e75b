"""The client of a request, as `params._meta` names it in the stateless era."""

from functools import lru_cache
from typing import Final

import msgspec
from msgspec import UNSET

from accord.errors import INVALID_PARAMS, UNSUPPORTED_PROTOCOL_VERSION, Reject
from accord.model.context import ClientInfo
from accord.protocol.messages import Meta, decode_meta
from accord.revisions import REVISIONS, STATELESS

UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
MAX_CACHED: Final = 1_024
"""Maximum bytes of a `_meta` that is cached."""


def read_meta(raw: bytes) -> tuple[str | None, ClientInfo | Reject] | None:
    """Return the revision that `_meta` names, with the client; None if it names none."""
    try:
        meta = decode_meta(raw)
    except UNREADABLE as error:
        return None, Reject(INVALID_PARAMS, f"Invalid params._meta: {reason(error)}")
    if meta is None or meta.revision is UNSET:
        return None
    return meta.revision, _stateless_client(meta.revision, meta)


read_cached_meta: Final = lru_cache(256)(read_meta)
"""`read_meta` for short ones, with a cache: clients repeat it in every request."""


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
    """Format an error of msgspec, which names the member and the types but never the value."""
    return str(error).replace("`", "").replace(" - at $", " at ").replace("at .", "at ")
