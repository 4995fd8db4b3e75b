"""The terminal: escaped text, standard output for answers alone, a status line, a progress bar."""

import contextlib
import os
import re
import sys
import threading
from collections.abc import Iterator
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self

# Control characters, bidirectional and zero-width ones, and lone surrogates.
_HIDDEN: Final = (
    r"\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
)
_ANY: Final = re.compile(f"[{_HIDDEN}]")
_ANY_BUT_LINES: Final = re.compile(f"(?![\n\t])[{_HIDDEN}]")
_SHORT_ESCAPES: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}

_STATUS_DELAY: Final = 1.0  # seconds before the line is shown
_STATUS_INTERVAL: Final = 0.2  # seconds between updates
_STATUS_BAR_WIDTH: Final = 24  # columns
_BAR_INTERVAL: Final = 0.1  # seconds between updates
_MAX_BAR_WIDTH: Final = 40


def visible(text: str, *, keeps_lines: bool = False) -> str:
    """Escape control, bidirectional and invisible characters, as JSON does."""
    return (_ANY_BUT_LINES if keeps_lines else _ANY).sub(_escape, text)


def for_stdout(text: str) -> str:
    """Return text for standard output: escaped on a terminal, unchanged in a pipe."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return visible(text, keeps_lines=True) if is_terminal else text


def _escape(found: re.Match[str]) -> str:
    """Escape one character as in JSON, so that JSON output stays valid."""
    character = found[0]
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    code = ord(character)
    return "".join(f"\\u{unit:04x}" for unit in ((code,) if code < 0x10000 else _halves(code)))


def _halves(code: int) -> tuple[int, int]:
    """Return the surrogate pair of a character."""
    return 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF)


@contextlib.contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Redirect standard output to standard error, also for child processes."""
    if sys.stdout is None:
        yield
        return
    sys.stdout.flush()
    output, target = os.dup(1), sys.stdout.fileno()
    os.dup2(2, target)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(output, target)
        os.close(output)


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
        self._lock = threading.Lock()
        self._width = 0

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
        import shutil  # slow to import, and seldom needed

        if self._done.wait(_STATUS_DELAY):
            return
        while not self._done.wait(_STATUS_INTERVAL):
            with self._lock:
                line = self._line()[: shutil.get_terminal_size().columns - 1]
                print(f"\r{line:{self._width}}", end="", file=sys.stderr, flush=True)
                self._width = len(line)
        self._clear()

    def _clear(self) -> None:
        if self._width:
            print(f"\r{'':{self._width}}\r", end="", file=sys.stderr, flush=True)
        self._width = 0

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Remove the line while something else is shown."""
        with self._lock:
            self._clear()
            yield

    def _line(self) -> str:
        seconds = f"{monotonic() - self._began:.0f} s"
        if self._share is None:
            return " ".join(filter(None, (self._activity, seconds, self._message)))
        full = round(_STATUS_BAR_WIDTH * self._share)
        bar = "#" * full + "." * (_STATUS_BAR_WIDTH - full)
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
        import shutil

        width = max(min(shutil.get_terminal_size().columns - 34, _MAX_BAR_WIDTH), 8)
        filled = width * self._done // max(self._total, 1)
        text = f"{self._done}/{self._total}"
        text += f", {self._failed} failed" if self._failed else ""
        bar = "#" * filled + "." * (width - filled)
        print(f"\r\x1b[K[{bar}] {text}", end="", file=sys.stderr, flush=True)
