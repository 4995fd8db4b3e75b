"""Receives the browser after a sign-in: one page on a port of 127.0.0.1 (RFC 8252, 7.3)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from html import escape
from typing import Final

from accord.errors import SignInError

PATH: Final = "/callback"
_HOST: Final = "127.0.0.1"
_READ_TIMEOUT: Final = 5.0  # seconds for a browser to send its request
_MAX_HEAD: Final = 32 * 1024  # bytes
_PAGE: Final = """\
<!doctype html><html lang="en"><meta charset="utf-8"><title>Accord</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:32em;margin:20vh auto;padding:0 1em;\
color:#222;background:#fff}}@media(prefers-color-scheme:dark){{body{{color:#ddd;background:#181818\
}}}}</style>
<h1>{title}</h1><p>{text}</p></html>
"""
_HEADERS: Final = (
    "Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\n"
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n"
    "Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n"
)

ReadRedirect = Callable[[str], str | None]
"""Returns the code of a query; None if it belongs to another sign-in; raises SignInError."""


class RedirectListener:
    """Waits for the redirect of one sign-in; every other request gets an error page."""

    def __init__(self, port: int) -> None:
        self.redirect_uri: str = f"http://{_HOST}:{port}{PATH}"
        self._authority = f"{_HOST}:{port}"
        self._read: ReadRedirect | None = None
        self._code: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def code(self, read: ReadRedirect) -> str:
        """Return the code of the redirect that belongs to this sign-in, or raise its error."""
        self._read = read
        return await asyncio.shield(self._code)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request and close its connection."""
        try:
            async with asyncio.timeout(_READ_TIMEOUT):
                head = await reader.readuntil(b"\r\n\r\n")
                status, title, text, outcome = self._answer(head.decode("latin-1"))
                writer.write(_response(status, title, text))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, TimeoutError):
            return
        finally:
            await _close(writer)
        self._settle(outcome)

    def _settle(self, outcome: str | SignInError | None) -> None:
        if outcome is None or self._code.done():
            return
        if isinstance(outcome, str):
            self._code.set_result(outcome)
        else:
            self._code.set_exception(outcome)
            self._code.exception()  # marks it as retrieved: the waiter may be gone

    def _answer(self, head: str) -> tuple[str, str, str, str | SignInError | None]:
        """Return status, title and text of the page, and how the sign-in ended, if it did."""
        first, *lines = head.split("\r\n")
        method, _, rest = first.partition(" ")
        path, _, query = rest.partition(" ")[0].partition("?")
        hosts = [line[5:].strip() for line in lines if line.lower().startswith("host:")]
        if hosts != [self._authority] or path != PATH:
            return "404 Not Found", "Nothing here", "This page is for signing in only.", None
        if method != "GET":
            return "405 Method Not Allowed", "Nothing here", "Only GET is allowed.", None
        if self._code.done():
            return "200 OK", "Already done", "You can close this window.", None
        try:
            code = None if self._read is None else self._read(query)
        except SignInError as error:
            text = f"{error}. You can close this window."
            return "400 Bad Request", "The sign-in failed", text, error
        if code is None:
            text = "This is not the sign-in that Accord is waiting for; start it again."
            return "400 Bad Request", "Another sign-in", text, None
        return "200 OK", "Signed in", "You can close this window.", code


async def _close(writer: asyncio.StreamWriter) -> None:
    """Close a connection once its reply is sent, or a browser has taken too long to read it."""
    try:
        async with asyncio.timeout(_READ_TIMEOUT):
            writer.close()
            await writer.wait_closed()
    except (OSError, TimeoutError):
        pass
    finally:
        writer.transport.abort()


def _response(status: str, title: str, text: str) -> bytes:
    page = _PAGE.format(title=escape(title), text=escape(text)).encode()
    head = f"HTTP/1.1 {status}\r\n{_HEADERS}Content-Length: {len(page)}\r\n\r\n"
    return head.encode() + page


@asynccontextmanager
async def listening(port: int, or_another: bool = True) -> AsyncIterator[RedirectListener]:
    """Listen on a port of 127.0.0.1: a free one if it is 0, or taken and `or_another` will do."""
    listener: RedirectListener | None = None
    tasks: set[asyncio.Task[None]] = set()

    def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert listener is not None, "it is set before the loop accepts anything"
        task = asyncio.create_task(listener.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    try:
        server = await asyncio.start_server(serve, _HOST, port, limit=_MAX_HEAD)
    except OSError as error:
        if not (port and or_another):
            raise SignInError(f"could not listen on {_HOST}:{port}: {error.strerror}") from error
        server = await asyncio.start_server(serve, _HOST, 0, limit=_MAX_HEAD)
    listener = RedirectListener(server.sockets[0].getsockname()[1])
    try:
        yield listener
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
