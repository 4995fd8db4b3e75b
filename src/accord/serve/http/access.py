"""The access log: one line a call with tool, outcome, duration and verified caller.

It never has arguments, data or tokens.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from accord.model.caller import Caller
from accord.serve import log_writer
from accord.telemetry import OutcomeLabel

Format = Literal["text", "json"]
Noted = tuple[str, OutcomeLabel, float, Caller | None]
"""Tool, outcome, duration in seconds, and the verified caller."""
Way = tuple[str, str | None, str]
"""The foreign server that a call went to, its revision, and that of the caller."""
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
        self._noted: list[tuple[Noted, Way | None]] = []

    def note(
        self,
        tool: str,
        ending: OutcomeLabel,
        seconds: float,
        later: Callable[[Callable[[], None]], object],
        caller: Caller | None = None,
        way: Way | None = None,
    ) -> None:
        """Log a call; `later` schedules the write at the end of this turn of the loop."""
        if not self._noted:
            later(self._write)
        self._noted.append(((tool, ending, seconds, caller), way))

    def _write(self) -> None:
        line = self._line
        text = "".join([line(*noted, way) for noted, way in self._noted])
        if self._count is not None:
            self._count([noted for noted, _ in self._noted])
        self._noted.clear()
        self._writer.write(text)


def _text_line(
    tool: str, ending: OutcomeLabel, seconds: float, caller: Caller | None, way: Way | None
) -> str:
    name = tool if tool.isprintable() else ascii(tool)[1:-1]
    who = "" if caller is None else _names(caller.subject, caller.client)
    where = ""
    if way is not None:
        server, theirs, ours = way
        where = f" upstream={server} revision={ours} upstream_revision={theirs or '-'}"
    return f"{name} {ending} {seconds * 1_000:.3f} ms{where}{who}\n"


@lru_cache(maxsize=1_024)
def _names(subject: str | None, client: str | None) -> str:
    """Return the names from a token for the end of a line."""
    names = (("subject", subject), ("client", client))
    return "".join([f" {what}={_quoted(name)}" for what, name in names if name is not None])


def _quoted(name: str) -> str:
    """Return a name from a token in quotes and in ASCII, cut if it is long."""
    return ascii(name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}...")


def _json_line(
    tool: str, ending: OutcomeLabel, seconds: float, caller: Caller | None, way: Way | None
) -> str:
    entry: dict[str, Any] = {"tool": tool, "outcome": ending, "ms": round(seconds * 1_000, 3)}
    if way is not None:
        entry |= zip(("upstream", "upstream_revision", "revision"), way, strict=True)
    if caller is not None:
        names = (("subject", caller.subject), ("client", caller.client))
        entry |= {what: name[:_MAX_NAME] for what, name in names if name is not None}
    return msgspec.json.encode(entry).decode() + "\n"
