"""How far a long job is, for somebody who looks on: a bar in words and ASCII, without colour."""

import shutil
import sys
from time import monotonic
from typing import Final

_MOMENT: Final = 0.1  # seconds between two looks
_WIDEST: Final = 40


class Bar:
    """A line on standard error that shows how many of all are done; nothing where nobody looks."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = self._failed = 0
        self._next = 0.0
        self._is_shown = sys.stderr.isatty()

    def step(self, *, failed: bool) -> None:
        """One more is done."""
        self._done += 1
        self._failed += failed
        if self._is_shown and (monotonic() >= self._next or self._done == self._total):
            self._next = monotonic() + _MOMENT
            self._show()

    def clear(self) -> None:
        """Make room for a line of words."""
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _show(self) -> None:
        width = max(min(shutil.get_terminal_size().columns - 34, _WIDEST), 8)
        filled = width * self._done // max(self._total, 1)
        words = f"{self._done}/{self._total}"
        words += f", {self._failed} failed" if self._failed else ""
        bar = "#" * filled + "." * (width - filled)
        print(f"\r\x1b[K[{bar}] {words}", end="", file=sys.stderr, flush=True)
