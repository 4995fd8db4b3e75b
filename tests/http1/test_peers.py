"""Real servers: uvicorn with both of its parsers, and nginx, also as a proxy with TLS."""

import asyncio
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from accord.client.peer import connect
from accord.http1 import URL, ConnectFailed, Pool
from client.connections import UNWATCHED, serving_shop, text
from commands import TESTS
from http1.raw_server import Authority, both_loops, get, opened, run
from http_peer import HttpServer
from processes import free_port

_NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
needs_nginx = pytest.mark.skipif(_NGINX is None, reason="nginx is not installed")

_CONF = """
daemon off; worker_processes 1; pid {folder}/pid; error_log stderr; master_process off;
events {{}}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    gzip on; gzip_min_length 1; gzip_proxied any; gzip_types *; client_max_body_size 1m;
    server {{
        listen 127.0.0.1:{port}; keepalive_requests 3; root {folder}/files;
        location = /moved {{ return 308 /a.txt; }}
        location = /empty {{ return 204; }}
        location = /refuse {{ client_max_body_size 1k; proxy_pass {behind}; }}
        location /mcp {{
            proxy_pass {behind}; proxy_http_version 1.1; proxy_set_header Host $proxy_host;
        }}
    }}
    server {{
        listen 127.0.0.1:{secure} ssl; ssl_certificate {certificate}; ssl_certificate_key {certificate};
        root {folder}/files;
        location /mcp {{
            proxy_pass {behind}; proxy_http_version 1.1; proxy_set_header Host $proxy_host;
        }}
    }}
}}
"""


@pytest.fixture(scope="module", params=["h11", "httptools"])
def uvicorn(request: pytest.FixtureRequest) -> Iterator[str]:
    words = (
        f"-m uvicorn --app-dir {TESTS} http1.asgi_app:app --port 0 --timeout-keep-alive 1 --http"
    )
    command = [sys.executable, *words.split(), request.param]
    address = re.compile(r"running on (http://\S+)")
    with HttpServer(command, env=UNWATCHED, url=address) as server:
        yield server.url


async def fetch_text(pool: Pool, url: str, body: bytes | None = None) -> tuple[int, bytes]:
    method = "GET" if body is None else "POST"
    response = await pool.open(method, URL.parse(url), {}, body)
    try:
        return response.status, await response.read(10_000_000)
    finally:
        response.close()


@both_loops
def test_uvicorn_echoes_streams_and_refuses(uvicorn: str, loop: str) -> None:
    large = bytes(range(256)) * 4_000

    async def main() -> None:
        async with opened() as pool:
            for _ in range(2):
                assert await fetch_text(pool, f"{uvicorn}/echo", b"{}") == (200, b"{}")
                assert await fetch_text(pool, f"{uvicorn}/echo", large) == (200, large)
                stream = b"data: 0\n\ndata: 1\n\ndata: 2\n\n"
                assert await fetch_text(pool, f"{uvicorn}/stream") == (200, stream)
                assert await fetch_text(pool, f"{uvicorn}/nothing") == (204, b"")
            assert pool.idle_count == 1
            assert await fetch_text(pool, f"{uvicorn}/refuse", large) == (413, b"refused")
            response = await pool.open("HEAD", URL.parse(f"{uvicorn}/stream"), {})
            assert (response.status, await response.read(0)) == (200, b"")
            response.close()

    run(main(), loop)


@both_loops
def test_a_connection_that_uvicorn_closes_is_replaced(uvicorn: str, loop: str) -> None:
    """uvicorn closes it after a second here; a request at that moment must not be lost."""

    async def main() -> None:
        async with opened() as pool:
            for wait in (0.5, 0.98, 1.0, 1.02, 1.5):
                assert await get(pool, URL.parse(f"{uvicorn}/echo"), b"x", is_safe=True) == b"x"
                await asyncio.sleep(wait)

    run(main(), loop)


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path]]:
    """The URLs of nginx, without and with TLS, in front of a server of ours; the authority."""
    assert _NGINX is not None
    folder = tmp_path_factory.mktemp("nginx")
    (folder / "files").mkdir()
    (folder / "files" / "a.txt").write_text("text " * 100)
    authority = Authority(folder)
    port, secure = free_port(), free_port()
    with ExitStack() as stack:
        behind = stack.enter_context(serving_shop())
        conf = _CONF.format(
            folder=folder,
            port=port,
            secure=secure,
            behind=behind.url.removesuffix("/mcp"),
            certificate=authority.issue("127.0.0.1"),
        )
        (folder / "conf").write_text(conf)
        process = subprocess.Popen([_NGINX, "-p", folder, "-c", "conf", "-e", "stderr"])
        stack.callback(process.wait)
        stack.callback(process.terminate)
        urls = f"http://127.0.0.1:{port}", f"https://127.0.0.1:{secure}"
        asyncio.run(reached(urls[0]))
        yield *urls, authority.file


async def reached(url: str) -> None:
    """Wait until a server listens."""
    async with asyncio.timeout(20), opened() as pool:
        while True:
            with suppress(ConnectFailed):
                await get(pool, URL.parse(url))
                return
            await asyncio.sleep(0.05)


@needs_nginx
@both_loops
def test_nginx_serves_files_uncompressed_and_ends_connections(
    nginx: tuple[str, str, Path], loop: str
) -> None:
    plain, _, _ = nginx

    async def main() -> None:
        async with opened() as pool:
            for _ in range(10):  # it closes the connection after each third request
                assert await fetch_text(pool, f"{plain}/a.txt") == (200, b"text " * 100)
                assert await fetch_text(pool, f"{plain}/empty") == (204, b"")
            status, page = await fetch_text(pool, f"{plain}/none")
            assert (status, b"404" in page) == (404, True)
            status, _ = await fetch_text(pool, f"{plain}/refuse", b"x" * 2_000_000)
            assert status == 413
            response = await pool.open("GET", URL.parse(f"{plain}/moved"), {})
            assert (response.status, response.headers["location"]) == (308, f"{plain}/a.txt")
            response.close()

    run(main(), loop)


@needs_nginx
@pytest.mark.usefixtures("_fresh_trust")
@pytest.mark.parametrize("is_tls", [False, True])
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_a_client_calls_through_nginx(
    nginx: tuple[str, str, Path], revision: str, is_tls: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, secure, authority = nginx
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))

    async def main() -> list[str]:
        async with connect(f"{secure if is_tls else plain}/mcp", revision=revision) as peer:
            return [text(await peer.call("add", {"a": 2, "b": 3})) for _ in range(8)]

    assert set(run(main())) == {"5"}
