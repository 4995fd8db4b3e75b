"""Opens the sign-in page in a browser, never through a shell, and asks for what cannot be sent."""

import asyncio
import os
import sys
import threading
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from accord.errors import SignInError

_MAX_LINE: Final = 65_536  # bytes that are pasted


def open_page(url: str) -> None:
    """Open a page in $BROWSER or the system's browser; do nothing if there is none.

    This waits for the end of some browsers.
    """
    require_page(url)
    if not has_browser():
        return
    import webbrowser

    webbrowser.open(url)


def has_browser() -> bool:
    """True if a browser can show a window: the module would start a text browser instead."""
    if os.environ.get("BROWSER") or sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def require_page(url: str) -> None:
    """Raise SignInError unless a URL is a plain http(s) URL, which no browser takes for more."""
    if urlsplit(url).scheme not in ("http", "https") or not url.isascii() or not url.isprintable():
        raise SignInError("the sign-in page is not an http(s) URL")
    if " " in url:
        raise SignInError("the URL of the sign-in page has a blank")


def announce(url: str) -> None:
    """Write the URL of the sign-in page to standard error."""
    if sys.stderr is not None:
        sys.stderr.write(f"To sign in, open this page:\n\n  {url}\n\n")
        sys.stderr.flush()


async def read_line() -> str:
    """Return a line of standard input, read in a thread that does not hold the exit."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def settle(text: str) -> None:
        if not line.done():
            line.set_result(text)

    def read() -> None:
        text = _read_line()
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, text)

    threading.Thread(target=read, daemon=True).start()
    return await line


def _read_line() -> str:
    """Return a line of standard input, read past its buffer, which would block Python's end."""
    line = b""
    with suppress(OSError):  # it is closed
        while not line.endswith(b"\n") and len(line) < _MAX_LINE:
            found = os.read(0, 1)
            if not found:
                break
            line += found
    return line.decode(errors="replace")
