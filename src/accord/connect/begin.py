"""How a conversation begins: which era a server is of, and which revision is spoken."""

import contextlib
from typing import Any, Final, Literal

import msgspec

from accord.connect.dialogue import Dialogue
from accord.connect.faults import Gone, Late, Refused
from accord.connect.messages import SERVER_INFO, Reply, in_words
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
_MOMENT: Final = 10.0  # seconds of silence after which a server is taken to be of the handshake era


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """What a server has said of itself, and the revision that is spoken with it."""

    revision: Revision
    server: dict[str, Any]
    capabilities: dict[str, Any]
    instructions: str | None


class Plan(msgspec.Struct, frozen=True):
    """Which era to begin in, and with which revision of it."""

    era: Era
    revision: Revision

    @classmethod
    def make(cls, era: Era, date: str | None) -> "Plan":
        """What was asked for, if it can be; a revision decides the era."""
        if era not in _ERAS:
            raise ContractError(f"{era!r} is no era: say {', '.join(_ERAS)}")
        if date is None:
            date = _HANDSHAKE[0] if era == "handshake" else STATELESS[0]
            return cls(era, REVISIONS[date])
        if date not in REVISIONS:
            raise ContractError(f"{date!r} is no revision: say one of {', '.join(REVISIONS)}")
        belongs: Era = "stateless" if REVISIONS[date].stateless else "handshake"
        if era not in ("auto", belongs):
            raise ContractError(f"revision {date} is of the {belongs} era")
        return cls(belongs, REVISIONS[date])


async def begin(dialogue: Dialogue, plan: Plan) -> Agreement:
    """Agree with the server, or raise a PeerError."""
    await dialogue.open()
    if plan.era == "handshake":
        return await initialize(dialogue, plan.revision)
    if plan.era == "stateless":
        found = await _discover(dialogue, plan.revision, dialogue.timeout)
        if isinstance(found, Agreement):
            return found
        raise PeerError(f"the server does not speak revision {plan.revision.date}: {found}")
    return await _find_out(dialogue, plan.revision)


async def _find_out(dialogue: Dialogue, revision: Revision) -> Agreement:
    """Try the stateless era; whatever is no sign of it is one of the handshake era."""
    older = REVISIONS[_HANDSHAKE[0]]
    moment = min(_MOMENT, dialogue.timeout / 2)
    try:
        with contextlib.suppress(Refused):
            found = await _discover(dialogue, revision, moment)
            if isinstance(found, Agreement):
                return found
        return await initialize(dialogue, older)
    except Gone:
        pass  # it has choked on our question
    except Late as late:
        if late.method == "initialize":
            raise
    await dialogue.open()
    return await initialize(dialogue, older)


async def _discover(dialogue: Dialogue, revision: Revision, within: float) -> Agreement | str:
    """The agreement; or, in words, why this server is none of the stateless era."""
    reply = await dialogue.ask("server/discover", {}, revision=revision, within=within)
    supported = _supported(reply)
    if supported is None:
        return f"it answered {in_words(reply.error)}" if reply.error else "it has none to offer"
    common = next((date for date in STATELESS if date in supported), None)
    if common is None:
        if set(supported).isdisjoint(_HANDSHAKE):
            raise PeerError(f"no revision is common: the server speaks {', '.join(supported)}")
        return f"it speaks {', '.join(supported)}"
    if reply.error is not None:
        raise PeerError(f"the server refuses a revision that it offers: {common}")
    result = _object(reply.result)
    return Agreement(
        revision=REVISIONS[common],
        server=_object(_object(result.get("_meta")).get(SERVER_INFO)),
        capabilities=_object(result.get("capabilities")),
        instructions=_text(result.get("instructions")),
    )


def _supported(reply: Reply) -> list[str] | None:
    """The revisions that a server of the stateless era names; None if it seems to be of another."""
    error = _object(reply.error)
    if error.get("code") in (HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY):
        raise PeerError(f"the server refused to begin: {in_words(error)}")
    if error.get("code") == UNSUPPORTED_PROTOCOL_VERSION:
        named = _object(error.get("data")).get("supported")
    else:
        named = _object(reply.result).get("supportedVersions")
    return [str(date) for date in named] if isinstance(named, list) else None


async def initialize(dialogue: Dialogue, revision: Revision) -> Agreement:
    """The handshake, with that revision or whichever the server prefers."""
    dialogue.inbox.answers_requests = True
    reply = await dialogue.ask("initialize", _hello(dialogue, revision.date))
    other = _counter_offer(reply, revision)
    if other is not None:
        reply = await dialogue.ask("initialize", _hello(dialogue, other))
    if reply.error is not None:
        raise PeerError(f"the server refused to begin: {in_words(reply.error)}")
    result = _object(reply.result)
    date = result.get("protocolVersion")
    if date not in _HANDSHAKE:
        raise PeerError(f"no revision is common: the server speaks {date!r}")
    await dialogue.tell("notifications/initialized", revision=REVISIONS[date])
    return Agreement(
        revision=REVISIONS[date],
        server=_object(result.get("serverInfo")),
        capabilities=_object(result.get("capabilities")),
        instructions=_text(result.get("instructions")),
    )


def _hello(dialogue: Dialogue, date: str) -> dict[str, Any]:
    client = dialogue.client
    return {
        "protocolVersion": date,
        "capabilities": client.capabilities,
        "clientInfo": client.info,
    }


def _counter_offer(reply: Reply, asked: Revision) -> str | None:
    """Some servers refuse a revision that they don't know, and name those that they do."""
    named = _object(_object(reply.error).get("data")).get("supported")
    if not isinstance(named, list):
        return None
    return next((date for date in _HANDSHAKE if date in named and date != asked.date), None)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
