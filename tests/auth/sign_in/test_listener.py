"""The page that a browser comes back to."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from accord.auth.sign_in.listener import RedirectListener, listening
from accord.errors import SignInError
from client.connections import run


def read(query: str) -> str | None:
    """Accept a query that begins with `ours`; one with `bad` is an error."""
    if "bad" in query:
        raise SignInError("it was refused: <b>no</b>")
    return query if query.startswith("ours") else None


async def get(
    listener: RedirectListener, target: str, host: str | None = None, method: str = "GET"
) -> str:
    """Send one request, and return the whole reply."""
    authority = listener.redirect_uri.split("/")[2]
    reader, writer = await asyncio.open_connection(*authority.split(":"))
    writer.write(f"{method} {target} HTTP/1.1\r\nHost: {host or authority}\r\n\r\n".encode())
    reply = (await reader.read()).decode()
    writer.close()
    return reply


def with_listener(say: Callable[[RedirectListener], Awaitable[None]]) -> str:
    """Let `say` send requests, and return the code of the sign-in."""

    async def main() -> str:
        async with listening(0) as listener:
            code = asyncio.create_task(listener.code(read))
            await asyncio.sleep(0)
            await say(listener)
            async with asyncio.timeout(5):
                return await code

    return run(main())


def test_the_browser_brings_the_code_and_may_be_closed() -> None:
    async def say(listener: RedirectListener) -> None:
        reply = await get(listener, "/callback?ours=1")
        assert reply.startswith("HTTP/1.1 200 OK\r\n")
        assert "You can close this window." in reply
        assert "Content-Security-Policy: default-src 'none'" in reply

    assert with_listener(say) == "ours=1"


def test_other_requests_get_an_error_page_and_change_nothing() -> None:
    async def say(listener: RedirectListener) -> None:
        for target in ("/favicon.ico", "/", "/callback/x?ours=1", "/other?ours=1"):
            assert (await get(listener, target)).startswith("HTTP/1.1 404 ")
        assert (await get(listener, "/callback?ours=1", "evil.example")).startswith("HTTP/1.1 404 ")
        assert (await get(listener, "/callback?ours=1", method="POST")).startswith("HTTP/1.1 405 ")
        other = await get(listener, "/callback?theirs=1")
        assert other.startswith("HTTP/1.1 400 ")
        assert "start it again" in other
        await get(listener, "/callback?ours=right")
        again = await get(listener, "/callback?ours=late")
        assert again.startswith("HTTP/1.1 200 ")
        assert "Already done" in again

    assert with_listener(say) == "ours=right"


def test_an_error_is_shown_escaped_and_ends_the_sign_in() -> None:
    async def say(listener: RedirectListener) -> None:
        reply = await get(listener, "/callback?bad=1")
        assert reply.startswith("HTTP/1.1 400 ")
        assert "it was refused: &lt;b&gt;no&lt;/b&gt;. You can close this window." in reply

    with pytest.raises(SignInError, match="it was refused"):
        with_listener(say)


def test_what_is_not_http_and_what_never_ends_is_left(caplog: pytest.LogCaptureFixture) -> None:
    async def say(listener: RedirectListener) -> None:
        host, port = listener.redirect_uri.split("/")[2].split(":")
        for sent in (b"\x16\x03\x01" * 20_000, b"\r\n\r\n", b"GET", b"GET " + b"a" * 100_000):
            _, writer = await asyncio.open_connection(host, port)
            writer.write(sent)
            writer.write_eof()
            await asyncio.sleep(0.05)
            writer.close()
        await get(listener, "/callback?ours=1")

    assert with_listener(say) == "ours=1"
    assert caplog.messages == []


def test_a_port_that_is_taken_is_replaced_or_an_error() -> None:
    async def main() -> None:
        async with listening(0) as first:
            port = int(first.redirect_uri.split("/")[2].split(":")[1])
            async with listening(port) as second:
                assert second.redirect_uri != first.redirect_uri
            with pytest.raises(SignInError, match=f"could not listen on 127.0.0.1:{port}"):
                async with listening(port, or_another=False):
                    pass

    run(main())
