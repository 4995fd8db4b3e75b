"""Reports on replies for the page; large ones are read in a child process."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from accord.errors import PeerError
from accord.model.answer import KINDS, Answer, Kind, Problem
from accord.pages import following
from accord.reader import Reading, read
from accord.reader.reading import report, to_json
from accord.serve.http.read_endpoint import unread
from accord.serve.isolated import Busy, Stopped, run_isolated
from accord.server.rendering import render

MAX_VALUES: Final = 250_000
"""Maximum number of JSON values for the browser; with more it would hang for seconds."""
_MAX_RENDERED: Final = 64 * 1024 * 1024  # bytes
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.S)
_KIND_OF: Final[Mapping[str, Kind]] = {rule.code: kind for kind, rule in KINDS.items()}


class ReceivedReply(msgspec.Struct, frozen=True):
    """A reply, with the tool and arguments of its call."""

    reply: bytes
    tool: str | None = None
    arguments: bytes = b"{}"
    schema: bytes = b"null"
    """The input schema of the tool, as JSON."""
    is_text: bool = False
    """True if the reply was pasted text, which may contain lone surrogates."""

    @classmethod
    def from_text(cls, text: str, tool: str | None) -> "ReceivedReply":
        """Return a reply that was pasted."""
        return cls(text.encode(errors="surrogatepass"), tool, is_text=True)

    @property
    def _readable(self) -> str | bytes:
        return self.reply.decode(errors="surrogatepass") if self.is_text else self.reply

    def read(self) -> Reading:
        """Read the reply in this process."""
        return read(self._readable, self.tool, json.loads(self.arguments))

    def unread(self, reason: str) -> Reading:
        """Return the reply as text, with the reason why it was not read."""
        return unread(self.reply.decode(errors="replace"), self.tool, reason)


class ReplyReport(msgspec.Struct, frozen=True):
    """A reading as JSON, which is only passed on to the browser."""

    json: bytes
    is_failure: bool = False
    is_oversized: bool = False
    """True if the reply has more than MAX_VALUES values."""
    next: bytes = b"null"
    """The call that returns the next page, as JSON; null if there is none."""


class RenderedReply(msgspec.Struct, frozen=True):
    """A reply rendered in a profile, and the report on it."""

    raw: bytes
    report: ReplyReport


class _Rendering(msgspec.Struct, frozen=True):
    """A reply, and the profile and revision to render it in."""

    received: ReceivedReply
    profile: str
    revision: str


_encode = msgspec.msgpack.Encoder().encode
_received = msgspec.msgpack.Decoder(ReceivedReply).decode
_report = msgspec.msgpack.Decoder(ReplyReport).decode
_rendering = msgspec.msgpack.Decoder(_Rendering).decode
_rendered = msgspec.msgpack.Decoder(RenderedReply).decode


async def read_reply(received: ReceivedReply) -> ReplyReport:
    """Return the report on a reply; one that cannot be read in time is reported as text."""
    try:
        return _report(await run_isolated(encoded_report, _encode(received)))
    except (Stopped, Busy) as error:
        return ReplyReport(_to_json(received.unread(str(error))))


async def render_reply(received: ReceivedReply, profile: str, revision: str) -> RenderedReply:
    """Render a reply in a profile, or raise a PeerError if it cannot be read in time."""
    payload = _encode(_Rendering(received, profile, revision))
    try:
        return _rendered(await run_isolated(encoded_rendering, payload))
    except (Stopped, Busy) as error:
        raise PeerError(f"the reply could not be shown in {profile}: {error}") from error


def encoded_report(payload: bytes) -> bytes:
    """Read a reply and report on it."""
    return _encode(_make_report(_received(payload)))


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
    return _encode(RenderedReply(raw, _make_report(ReceivedReply(raw, received.tool))))


def _make_report(received: ReceivedReply) -> ReplyReport:
    if _is_oversized(received.reply):
        return _oversized_report(received)
    reading = received.read()
    found = _to_json(reading)
    if _is_oversized(found):  # the values were in a string
        return _oversized_report(received)
    return ReplyReport(found, reading.is_failure, next=_next(reading, received))


def _oversized_report(received: ReceivedReply) -> ReplyReport:
    reading = received.unread(f"the reply has more than {MAX_VALUES} values")
    return ReplyReport(_to_json(reading), is_oversized=True)


def _is_oversized(raw: bytes) -> bool:
    """True if JSON has more than MAX_VALUES values; commas in strings are not counted."""
    return _commas(raw) > MAX_VALUES and _commas(_STRING.sub(b"", raw)) > MAX_VALUES


def _commas(raw: bytes) -> int:
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{")


def _to_json(reading: Reading) -> bytes:
    return to_json({**report(reading), "page": reading.page, "warnings": reading.warnings})


def _next(reading: Reading, received: ReceivedReply) -> bytes:
    if received.tool is None:
        return b"null"
    arguments, schema = json.loads(received.arguments), json.loads(received.schema)
    found = following(reading, received.tool, arguments, schema)
    return b"null" if found is None else to_json({"tool": found[0], "arguments": found[1]})


def _outcome(reading: Reading) -> Answer[Any] | Problem:
    """Return a reading as the outcome of a tool."""
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
