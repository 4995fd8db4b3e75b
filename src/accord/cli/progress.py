"""Progress on standard error, if that is a terminal: a status line and a progress bar."""

import os
import shutil
import sys
import threading
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self

from accord.cli.terminal import visible

_DELAY: Final = 1.0  # seconds before the line is shown
_INTERVAL: Final = 0.2  # seconds between updates
_BAR_WIDTH: Final = 24  # columns
_BAR_INTERVAL: Final = 0.1  # seconds between updates
_MAX_BAR_WIDTH: Final = 40


class StatusLine:
    """A status line on standard error, shown after one second and removed at the end.

    Nothing is shown if standard error is not a terminal.
    """

    def __init__(self, activity: str) -> None:
        self._activity = activity
        self._began = monotonic()
        self._share: float | None = None
        self._message = ""
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Show the progress that a server reports."""
        self._share = min(max(done / total, 0.0), 1.0) if total else None
        self._message = visible(message or "")

    def _watch(self) -> None:
        if self._done.wait(_DELAY):
            return
        width = 0
        while not self._done.wait(_INTERVAL):
            line = self._line()[: shutil.get_terminal_size().columns - 1]
            print(f"\r{line:{width}}", end="", file=sys.stderr, flush=True)
            width = len(line)
        print(f"\r{'':{width}}\r", end="", file=sys.stderr, flush=True)

    def _line(self) -> str:
        seconds = f"{monotonic() - self._began:.0f} s"
        if self._share is None:
            return " ".join(filter(None, (self._activity, seconds, self._message)))
        full = round(_BAR_WIDTH * self._share)
        bar = "#" * full + "." * (_BAR_WIDTH - full)
        return f"{self._activity} [{bar}] {self._share:4.0%} {seconds} {self._message}".rstrip()


def show_progress(line: StatusLine, notification: dict[str, Any]) -> None:
    """Show a progress notification; other notifications are ignored."""
    params = notification.get("params")
    if notification.get("method") != "notifications/progress" or not isinstance(params, dict):
        return
    done, total, message = (params.get(name) for name in ("progress", "total", "message"))
    if isinstance(done, int | float) and isinstance(total, int | float | None):
        line.progress(done, total, message if isinstance(message, str) else None)


class ProgressBar:
    """A progress bar on standard error; nothing is shown if that is not a terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = self._failed = 0
        self._next = 0.0
        self._is_shown = sys.stderr.isatty()

    def step(self, *, failed: bool) -> None:
        """Count one more as done."""
        self._done += 1
        self._failed += failed
        if self._is_shown and (monotonic() >= self._next or self._done == self._total):
            self._next = monotonic() + _BAR_INTERVAL
            self._show()

    def clear(self) -> None:
        """Remove the bar, so that a line can be printed."""
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _show(self) -> None:
        width = max(min(shutil.get_terminal_size().columns - 34, _MAX_BAR_WIDTH), 8)
        filled = width * self._done // max(self._total, 1)
        text = f"{self._done}/{self._total}"
        text += f", {self._failed} failed" if self._failed else ""
        bar = "#" * filled + "." * (width - filled)
        print(f"\r\x1b[K[{bar}] {text}", end="", file=sys.stderr, flush=True)
