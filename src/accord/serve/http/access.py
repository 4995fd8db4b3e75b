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
        self._noted: list[tuple[str, Outcome, float]] = []

    def note(
        self,
        tool: str,
        outcome: Outcome,
        seconds: float,
        later: Callable[[Callable[[], None]], object],
    ) -> None:
        """Note a call; `later` is how to have the lines written at the end of this turn."""
        if not self._noted:
            later(self._write)
        self._noted.append((tool, outcome, seconds))

    def _write(self) -> None:
        line = _json_line if self._style == "json" else _text_line
        text = "".join([line(*noted) for noted in self._noted])
        self._noted.clear()
        os.write(self._descriptor, text.encode(errors="backslashreplace"))


def _text_line(tool: str, outcome: Outcome, seconds: float) -> str:
    return f"{tool} {outcome_name(outcome)} {round(seconds * 1_000, 3)} ms\n"


def _json_line(tool: str, outcome: Outcome, seconds: float) -> str:
    entry = {"tool": tool, "outcome": outcome_name(outcome), "ms": round(seconds * 1_000, 3)}
    return msgspec.json.encode(entry).decode() + "\n"


def outcome_name(outcome: Outcome) -> str:
    """How a call ended, in a word: `success`, or the kind of its problem."""
    if isinstance(outcome, Answer):
        return "partial" if outcome.partial else "success"
    return outcome.kind if isinstance(outcome, Problem) else "rejected"
