"""Version negotiation: finds out the era of a server and agrees on a revision."""

import contextlib
from typing import Any, Final, Literal

import msgspec

from accord.connect.messages import SERVER_INFO, Reply, describe_error
from accord.connect.session import Session
from accord.connect.transport import Disconnected, HTTPRefused, TimedOut
from accord.errors import (
    HEADER_MISMATCH,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION,
    ContractError,
    PeerError,
)
from accord.revisions import REVISIONS, STATELESS, Revision

Era = Literal["auto", "handshake", "stateless"]

_ERAS: Final = ("auto", "handshake", "stateless")
_HANDSHAKE: Final = tuple(date for date in reversed(REVISIONS) if date not in STATELESS)
_PROBE_TIMEOUT: Final = 10.0  # seconds without a reply after which the handshake era is assumed


class Negotiated(msgspec.Struct, frozen=True, kw_only=True):
    """The agreed revision, and what the server reported about itself."""

    revision: Revision
    server: dict[str, Any]
    capabilities: dict[str, Any]
    instructions: str | None


class VersionPreference(msgspec.Struct, frozen=True):
    """The era to try first, and its revision."""

    era: Era
    revision: Revision

    @classmethod
    def from_options(cls, era: Era, date: str | None) -> "VersionPreference":
        """Check the options of `connect`; a revision implies the era."""
        if era not in _ERAS:
            raise ContractError(f"era must be one of {', '.join(_ERAS)}, not {era!r}")
        if date is None:
            date = _HANDSHAKE[0] if era == "handshake" else STATELESS[0]
            return cls(era, REVISIONS[date])
        if date not in REVISIONS:
            raise ContractError(f"revision must be one of {', '.join(REVISIONS)}, not {date!r}")
        actual: Era = "stateless" if REVISIONS[date].stateless else "handshake"
        if era not in ("auto", actual):
            raise ContractError(f"revision {date} belongs to the {actual} era")
        return cls(actual, REVISIONS[date])


async def negotiate(session: Session, preference: VersionPreference) -> Negotiated:
    """Agree on a revision with the server, or raise a PeerError."""
    await session.open()
    if preference.era == "handshake":
        return await initialize(session, preference.revision)
    if preference.era == "stateless":
        found = await _discover(session, preference.revision, session.timeout)
        if isinstance(found, Negotiated):
            return found
        raise PeerError(f"the server does not support revision {preference.revision.date}: {found}")
    return await _probe(session, preference.revision)


async def _probe(session: Session, revision: Revision) -> Negotiated:
    """Try the stateless era, then the handshake era."""
    older = REVISIONS[_HANDSHAKE[0]]
    probe_timeout = min(_PROBE_TIMEOUT, session.timeout / 2)
    try:
        with contextlib.suppress(HTTPRefused):
            found = await _discover(session, revision, probe_timeout)
            if isinstance(found, Negotiated):
                return found
        return await initialize(session, older)
    except Disconnected:
        pass  # some servers exit on an unknown method
    except TimedOut as error:
        if error.method == "initialize":
            raise
    await session.open()
    return await initialize(session, older)


async def _discover(session: Session, revision: Revision, within: float) -> Negotiated | str:
    """Return the agreed revision, or the reason why the server is not stateless."""
    reply = await session.request("server/discover", {}, revision=revision, within=within)
    supported = _supported_versions(reply)
    if supported is None:
        return (
            f"it answered {describe_error(reply.error)}" if reply.error else "it names no revisions"
        )
    common = next((date for date in STATELESS if date in supported), None)
    if common is None:
        if set(supported).isdisjoint(_HANDSHAKE):
            raise PeerError(f"no common revision: the server supports {', '.join(supported)}")
        return f"it supports {', '.join(supported)}"
    if reply.error is not None:
        raise PeerError(f"the server rejected a revision that it supports: {common}")
    result = _object(reply.result)
    return Negotiated(
        revision=REVISIONS[common],
        server=_object(_object(result.get("_meta")).get(SERVER_INFO)),
        capabilities=_object(result.get("capabilities")),
        instructions=_text(result.get("instructions")),
    )


def _supported_versions(reply: Reply) -> list[str] | None:
    """Return the revisions that a stateless server supports; None if it is not stateless."""
    error = _object(reply.error)
    if error.get("code") in (HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY):
        raise PeerError(f"the server rejected the handshake: {describe_error(error)}")
    if error.get("code") == UNSUPPORTED_PROTOCOL_VERSION:
        named = _object(error.get("data")).get("supported")
    else:
        named = _object(reply.result).get("supportedVersions")
    return [str(date) for date in named] if isinstance(named, list) else None


async def initialize(session: Session, revision: Revision) -> Negotiated:
    """Perform the handshake, with that revision or the one that the server prefers."""
    session.dispatcher.accepts_requests = True
    reply = await session.request("initialize", _initialize_params(session, revision.date))
    other = _counter_offer(reply, revision)
    if other is not None:
        reply = await session.request("initialize", _initialize_params(session, other))
    if reply.error is not None:
        raise PeerError(f"the server rejected the handshake: {describe_error(reply.error)}")
    result = _object(reply.result)
    date = result.get("protocolVersion")
    if date not in _HANDSHAKE:
        raise PeerError(f"no common revision: the server supports {date!r}")
    await session.notify("notifications/initialized", revision=REVISIONS[date])
    return Negotiated(
        revision=REVISIONS[date],
        server=_object(result.get("serverInfo")),
        capabilities=_object(result.get("capabilities")),
        instructions=_text(result.get("instructions")),
    )


def _initialize_params(session: Session, date: str) -> dict[str, Any]:
    client = session.client
    return {
        "protocolVersion": date,
        "capabilities": client.capabilities,
        "clientInfo": client.info,
    }


def _counter_offer(reply: Reply, tried: Revision) -> str | None:
    """Return a revision from the error of a server that rejected the one it was sent."""
    named = _object(_object(reply.error).get("data")).get("supported")
    if not isinstance(named, list):
        return None
    return next((date for date in _HANDSHAKE if date in named and date != tried.date), None)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
