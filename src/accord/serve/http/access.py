"""The access log: one line a call with tool, outcome, duration and verified caller.

It never has arguments, data or tokens.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, Literal

import msgspec

from accord.model.caller import Caller
from accord.serve import log_writer
from accord.telemetry import OutcomeLabel

Format = Literal["text", "json"]
Noted = tuple[str, OutcomeLabel, float, Caller | None]
"""Tool, outcome, duration in seconds, and the verified caller."""
_MAX_NAME: Final = 128  # characters of a subject or client


class AccessLog:
    """Writes a line a call to standard error, all of one turn of the loop together.

    `count`, if given, is called with the same calls at the same time.
    """

    def __init__(
        self, style: Format, count: Callable[[Sequence[Noted]], None] | None = None
    ) -> None:
        self._line = _json_line if style == "json" else _text_line
        self._writer = log_writer.stderr()
        self._count = count
        self._noted: list[Noted] = []

    def note(
        self,
        tool: str,
        ending: OutcomeLabel,
        seconds: float,
        later: Callable[[Callable[[], None]], object],
        caller: Caller | None = None,
    ) -> None:
        """Log a call; `later` schedules the write at the end of this turn of the loop."""
        if not self._noted:
            later(self._write)
        self._noted.append((tool, ending, seconds, caller))

    def _write(self) -> None:
        line = self._line
        text = "".join([line(*noted) for noted in self._noted])
        if self._count is not None:
            self._count(self._noted)
        self._noted.clear()
        self._writer.write(text)


def _text_line(tool: str, ending: OutcomeLabel, seconds: float, caller: Caller | None) -> str:
    name = tool if tool.isprintable() else ascii(tool)[1:-1]
    who = "" if caller is None else _names(caller.subject, caller.client)
    return f"{name} {ending} {seconds * 1_000:.3f} ms{who}\n"


@lru_cache(maxsize=1_024)
def _names(subject: str | None, client: str | None) -> str:
    """Return the names from a token for the end of a line."""
    names = (("subject", subject), ("client", client))
    return "".join([f" {what}={_quoted(name)}" for what, name in names if name is not None])


def _quoted(name: str) -> str:
    """Return a name from a token in quotes and in ASCII, cut if it is long."""
    return ascii(name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}...")


def _json_line(tool: str, ending: OutcomeLabel, seconds: float, caller: Caller | None) -> str:
    entry = {"tool": tool, "outcome": ending, "ms": round(seconds * 1_000, 3)}
    if caller is not None:
        names = (("subject", caller.subject), ("client", caller.client))
        entry |= {what: name[:_MAX_NAME] for what, name in names if name is not None}
    return msgspec.json.encode(entry).decode() + "\n"
