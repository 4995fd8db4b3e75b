"""Reads replies for the page; large ones, which may be anything, in a child process."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from accord.errors import PeerError
from accord.model.answer import KINDS, Answer, Kind, Problem
from accord.reader import Reading, read
from accord.reader.follow import following
from accord.reader.report import report, to_json
from accord.serve.http.read_endpoint import unread
from accord.serve.isolated import Busy, Stopped, run_isolated
from accord.wording import render

MAX_VALUES: Final = 250_000
"""JSON values that a browser is given at once: with more it would not respond for seconds."""
_MAX_RENDERED: Final = 64 * 1024 * 1024  # bytes
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.S)
_KIND_OF: Final[Mapping[str, Kind]] = {rule.code: kind for kind, rule in KINDS.items()}


class Received(msgspec.Struct, frozen=True):
    """A reply, and what was called to get it."""

    reply: bytes
    tool: str | None = None
    arguments: bytes = b"{}"
    schema: bytes = b"null"
    """What the tool takes, as JSON."""
    is_text: bool = False
    """Whether the reply was text, of which half a character may be part."""

    @classmethod
    def from_text(cls, text: str, tool: str | None) -> "Received":
        """A reply that was pasted."""
        return cls(text.encode(errors="surrogatepass"), tool, is_text=True)

    @property
    def _readable(self) -> str | bytes:
        return self.reply.decode(errors="surrogatepass") if self.is_text else self.reply

    def read(self) -> Reading:
        """Read it in this process."""
        return read(self._readable, self.tool, json.loads(self.arguments))

    def unread(self, reason: str) -> Reading:
        """Return it as text."""
        return unread(self.reply.decode(errors="replace"), self.tool, reason)


class Report(msgspec.Struct, frozen=True):
    """What was read, as JSON: it may be large, and is only passed on."""

    json: bytes
    is_failure: bool = False
    is_heavy: bool = False
    """Whether the reply has more than MAX_VALUES values."""
    next: bytes = b"null"
    """The call that gets the next page, if there is one and a way to it."""


class Rendered(msgspec.Struct, frozen=True):
    """A reply as a server of ours would have sent it, and what is read in that."""

    raw: bytes
    report: Report


class _Rendering(msgspec.Struct, frozen=True):
    """A reply, and how it is to be rendered."""

    received: Received
    profile: str
    revision: str


_encode = msgspec.msgpack.Encoder().encode
_received = msgspec.msgpack.Decoder(Received).decode
_report = msgspec.msgpack.Decoder(Report).decode
_rendering = msgspec.msgpack.Decoder(_Rendering).decode
_rendered = msgspec.msgpack.Decoder(Rendered).decode


async def read_reply(received: Received) -> Report:
    """Report what a reply says; one that cannot be read in time is reported as text."""
    try:
        return _report(await run_isolated(encoded_report, _encode(received)))
    except (Stopped, Busy) as error:
        return Report(_to_json(received.unread(str(error))))


async def render_reply(received: Received, profile: str, revision: str) -> Rendered:
    """Render a reply in a profile, or raise a PeerError if it cannot be read in time."""
    payload = _encode(_Rendering(received, profile, revision))
    try:
        return _rendered(await run_isolated(encoded_rendering, payload))
    except (Stopped, Busy) as error:
        raise PeerError(f"the reply could not be shown in {profile}: {error}") from error


def encoded_report(payload: bytes) -> bytes:
    """Read a reply and report on it."""
    return _encode(_reported(_received(payload)))


def encoded_rendering(payload: bytes) -> bytes:
    """Read a reply, render it, and report on that."""
    wanted = _rendering(payload)
    received = wanted.received
    reading = received.read()
    result = render(
        _outcome(reading),
        tool=received.tool or "",
        profile=wanted.profile,
        revision=wanted.revision,
        is_text=isinstance(reading.value, str),
        max_bytes=_MAX_RENDERED,
    )
    raw = to_json({"jsonrpc": "2.0", "id": 1, "result": result})
    return _encode(Rendered(raw, _reported(Received(raw, received.tool))))


def _reported(received: Received) -> Report:
    if _is_heavy(received.reply):
        return _too_heavy(received)
    reading = received.read()
    found = _to_json(reading)
    if _is_heavy(found):  # the values were in a text
        return _too_heavy(received)
    return Report(found, reading.is_failure, next=_next(reading, received))


def _too_heavy(received: Received) -> Report:
    reading = received.unread(f"the reply has more than {MAX_VALUES} values")
    return Report(_to_json(reading), is_heavy=True)


def _is_heavy(raw: bytes) -> bool:
    """Whether JSON has more than MAX_VALUES values; commas in strings count only at first."""
    return _commas(raw) > MAX_VALUES and _commas(_STRING.sub(b"", raw)) > MAX_VALUES


def _commas(raw: bytes) -> int:
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{")


def _to_json(reading: Reading) -> bytes:
    return to_json({**report(reading), "page": reading.page, "warnings": reading.warnings})


def _next(reading: Reading, received: Received) -> bytes:
    if received.tool is None:
        return b"null"
    arguments, schema = json.loads(received.arguments), json.loads(received.schema)
    found = following(reading, received.tool, arguments, schema)
    return b"null" if found is None else to_json({"tool": found[0], "arguments": found[1]})


def _outcome(reading: Reading) -> Answer[Any] | Problem:
    """What was read, as a tool of ours would have returned it."""
    response = reading.response
    if response.error is not None:
        code = str(response.error.code)
        return Problem(response.error.message, kind=_KIND_OF.get(code, "internal"), code=code)
    is_list = isinstance(response.data, list)
    return Answer(
        response.data if is_list else reading.value,
        message=response.message,
        page=reading.page,
        warnings=reading.warnings,
        partial=reading.is_partial,
        truncated=reading.is_truncated,
    )
