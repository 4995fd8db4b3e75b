"""The access log: one line a call with tool, outcome and duration, never arguments or data."""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from accord.serve import log_writer
from accord.telemetry import OutcomeLabel

Format = Literal["text", "json"]
Noted = tuple[str, OutcomeLabel, float]
"""Tool, outcome and duration in seconds."""


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
    ) -> None:
        """Log a call; `later` schedules the write at the end of this turn of the loop."""
        if not self._noted:
            later(self._write)
        self._noted.append((tool, ending, seconds))

    def _write(self) -> None:
        line = self._line
        text = "".join([line(*noted) for noted in self._noted])
        if self._count is not None:
            self._count(self._noted)
        self._noted.clear()
        self._writer.write(text)


def _text_line(tool: str, ending: OutcomeLabel, seconds: float) -> str:
    name = tool if tool.isprintable() else ascii(tool)[1:-1]
    return f"{name} {ending} {seconds * 1_000:.3f} ms\n"


def _json_line(tool: str, ending: OutcomeLabel, seconds: float) -> str:
    entry = {"tool": tool, "outcome": ending, "ms": round(seconds * 1_000, 3)}
    return msgspec.json.encode(entry).decode() + "\n"
