"""One line for each call: which tool, how it ended, how long it took. Never what was said."""

import os
from collections.abc import Callable
from typing import Final, Literal

import msgspec

from accord.answer import Answer, Problem
from accord.outcome import Outcome

Format = Literal["text", "json"]
_STDERR: Final = 2


class AccessLog:
    """Writes a line a call to standard error, all of one turn of the loop together."""

    def __init__(self, style: Format, descriptor: int = _STDERR) -> None:
        self._style = style
        self._descriptor = descriptor
        self._lines: list[str] = []

    def note(
        self,
        tool: str,
        outcome: Outcome,
        seconds: float,
        later: Callable[[Callable[[], None]], object],
    ) -> None:
        """Note a call; `later` is how to have the lines written at the end of this turn."""
        if not self._lines:
            later(self._write)
        milliseconds = round(seconds * 1_000, 3)
        if self._style == "json":
            entry = {"tool": tool, "outcome": outcome_name(outcome), "ms": milliseconds}
            self._lines.append(msgspec.json.encode(entry).decode())
        else:
            self._lines.append(f"{tool} {outcome_name(outcome)} {milliseconds} ms")

    def _write(self) -> None:
        text = "\n".join([*self._lines, ""])
        self._lines.clear()
        os.write(self._descriptor, text.encode(errors="backslashreplace"))


def outcome_name(outcome: Outcome) -> str:
    """How a call ended, in a word: `success`, or the kind of its problem."""
    if isinstance(outcome, Answer):
        return "partial" if outcome.partial else "success"
    return outcome.kind if isinstance(outcome, Problem) else "rejected"
