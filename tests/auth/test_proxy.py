"""Behind nginx and Caddy, as the guide configures them: TLS, the public URL, challenges and metadata."""

import json
import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest

from commands import ACCORD, SAMPLES
from doc_pages import ROOT, blocks
from http1.raw_server import Authority
from http_peer import HttpServer
from processes import free_port
from token_issuer import Issuer

HOST = "mcp.example.com"
CONF = """
daemon off; worker_processes 1; pid {folder}/pid; error_log stderr; master_process off;
events {{}}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    {server}
}}
"""


class Client:
    """Sends requests to a port of loopback as to HOST, over TLS."""

    def __init__(self, port: int, authority: Path) -> None:
        self._port = port
        self._tls = ssl.create_default_context(cafile=authority)

    def send(
        self, method: str, path: str, body: bytes | None = None, token: str | None = None
    ) -> tuple[int, Any, str | None]:
        """Return the status, the JSON and the challenge of a response."""
        headers = {"Content-Type": "application/json", "MCP-Protocol-Version": "2025-06-18"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        connection = HTTPSConnection(HOST)
        connection.sock = self._tls.wrap_socket(
            socket.create_connection(("127.0.0.1", self._port), timeout=20), server_hostname=HOST
        )
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            found = json.loads(response.read())
            return response.status, found, response.headers["WWW-Authenticate"]
        finally:
            connection.close()


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer() as issuer:
        yield issuer


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def client(
    request: pytest.FixtureRequest, issuer: Issuer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    proxy = shutil.which(request.param) or shutil.which(f"/usr/sbin/{request.param}")
    if proxy is None:
        pytest.skip(f"{request.param} is not installed")
    folder = tmp_path_factory.mktemp(request.param)
    authority, port = Authority(folder), free_port()
    pem = authority.issue(HOST)
    command = [ACCORD, "serve", f"{SAMPLES}/guarded.py:server", "--http", "127.0.0.1:0"]
    env = {**os.environ, "ISSUER": issuer.url}
    with (
        HttpServer([*command, "--public-url", f"https://{HOST}"], env=env) as behind,
        ExitStack() as stack,
    ):
        configure = nginx if request.param == "nginx" else caddy
        words = configure(folder, port, pem, behind.port)
        environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
        process = subprocess.Popen([proxy, *words], env=environment)
        stack.callback(process.wait)
        stack.callback(process.terminate)
        _wait_for(port)
        yield Client(port, authority.file)


def nginx(folder: Path, port: int, pem: Path, behind: int) -> list[str]:
    """Write the configuration of the guide with other places, and return the arguments for it."""
    changes = {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "/etc/ssl/mcp.example.com.pem": str(pem),
        "/etc/ssl/mcp.example.com.key": str(pem),
        "127.0.0.1:8000": f"127.0.0.1:{behind}",
    }
    server = guide("nginx", "server {", changes)
    (folder / "conf").write_text(CONF.format(folder=folder, server=server))
    return ["-p", str(folder), "-c", "conf", "-e", "stderr"]


def caddy(folder: Path, port: int, pem: Path, behind: int) -> list[str]:
    """Write the configuration of the guide with other places, and return the arguments for it."""
    site = f"https://{HOST}:{port} {{\n    bind 127.0.0.1\n    tls {pem} {pem}"
    changes = {f"{HOST} {{": site, "127.0.0.1:8000": f"127.0.0.1:{behind}"}
    server = guide("text", f"{HOST} {{", changes)
    (folder / "Caddyfile").write_text("{\n    admin off\n    auto_https off\n}\n" + server)
    return ["run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


def guide(language: str, beginning: str, changes: dict[str, str]) -> str:
    """Return a block of the guide with changes."""
    page = blocks((ROOT / "docs/auth.md").read_text())
    [text] = [
        block.text
        for block in page
        if block.language == language and block.text.startswith(beginning)
    ]
    for written, here in changes.items():
        assert written in text
        text = text.replace(written, here)
    return text


def _wait_for(port: int) -> None:
    until = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            assert time.monotonic() < until
            time.sleep(0.05)
        else:
            return


def call(tool: str, **arguments: Any) -> bytes:
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(message).encode()


def test_a_challenge_leads_to_metadata_that_the_proxy_passes_on(
    client: Client, issuer: Issuer
) -> None:
    status, _, challenge = client.send("POST", "/mcp", call("add", a=1, b=2))
    place = f"https://{HOST}/.well-known/oauth-protected-resource/mcp"
    assert status == 401
    assert f'resource_metadata="{place}"' in str(challenge)
    status, found, _ = client.send("GET", place.removeprefix(f"https://{HOST}"))
    assert (status, found["resource"]) == (200, f"https://{HOST}/mcp")
    assert found["authorization_servers"] == [issuer.url]


def test_a_call_with_a_token_is_answered_also_a_large_one(client: Client, issuer: Issuer) -> None:
    for padding in (b"", b" " * 3_000_000):
        body = call("add", a=1, b=2) + padding
        status, reply, _ = client.send("POST", "/mcp", body, issuer.token())
        assert (status, reply["result"]["structuredContent"]) == (200, {"result": 3})
    status, _, challenge = client.send("POST", "/mcp", call("restock", item="rope"), issuer.token())
    assert (status, 'error="insufficient_scope"' in str(challenge)) == (403, True)


@pytest.mark.parametrize("path", ["/metrics", "/"])
def test_an_address_of_loopback_is_no_operator_behind_a_proxy(client: Client, path: str) -> None:
    status, _, _ = client.send("GET", path)
    assert status == 403
    assert client.send("GET", "/health")[:2] == (200, {"status": "ok"})
