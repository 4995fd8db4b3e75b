"""Something to look at for whoever waits at a terminal: how long it takes, and how far it is."""

import os
import shutil
import sys
import threading
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self

from accord.cli.visible import visible

_SOON: Final = 1.0  # seconds that nobody minds
_MOMENT: Final = 0.2  # seconds between two looks
_BAR: Final = 24  # columns


class Patience:
    """A line on standard error that says what goes on, from the second second on.

    There is none where standard error is no terminal, and none is left at the end.
    """

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._began = monotonic()
        self._share: float | None = None
        self._message = ""
        self._over = threading.Event()
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
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """How far it is, by its own account."""
        self._share = min(max(done / total, 0.0), 1.0) if total else None
        self._message = visible(message or "")

    def _watch(self) -> None:
        if self._over.wait(_SOON):
            return
        shown = 0
        while not self._over.wait(_MOMENT):
            line = self._line()[: shutil.get_terminal_size().columns - 1]
            print(f"\r{line:{shown}}", end="", file=sys.stderr, flush=True)
            shown = len(line)
        print(f"\r{'':{shown}}\r", end="", file=sys.stderr, flush=True)

    def _line(self) -> str:
        seconds = f"{monotonic() - self._began:.0f} s"
        if self._share is None:
            return " ".join(filter(None, (self._doing, seconds, self._message)))
        full = round(_BAR * self._share)
        bar = "#" * full + "." * (_BAR - full)
        return f"{self._doing} [{bar}] {self._share:4.0%} {seconds} {self._message}".rstrip()


def tell_progress(patience: Patience, notification: dict[str, Any]) -> None:
    """Pass on what a server says of its progress, if that is what it says."""
    params = notification.get("params")
    if notification.get("method") != "notifications/progress" or not isinstance(params, dict):
        return
    done, total, message = (params.get(name) for name in ("progress", "total", "message"))
    if isinstance(done, int | float) and isinstance(total, int | float | None):
        patience.progress(done, total, message if isinstance(message, str) else None)
