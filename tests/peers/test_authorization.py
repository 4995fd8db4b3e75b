"""Clients sign in to our server through oidc-provider: the official SDKs of Python and TypeScript."""

import asyncio
import contextlib
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from http_peer import HttpPeer, HttpServer, text_of
from peers.authorization import MACHINE, NODE, PEERS, AuthorizationServer, agree
from processes import free_port

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
CALLBACK = "http://127.0.0.1:9/callback"
"""No server is there: the code is taken from the redirect."""


@contextlib.contextmanager
def shop(
    authority: AuthorizationServer, url: str, *, is_opaque: bool = False
) -> Iterator[HttpServer]:
    """Serve the protected shop at `url`."""
    env = {"ISSUER": authority.issuer, "AUDIENCE": url, "CLIENT": ":".join(MACHINE)}
    if is_opaque:
        env["INTROSPECTION"] = f"{authority.issuer}/token/introspection"
    address = url.removeprefix("http://").removesuffix("/mcp")
    command = [
        str(NODE.with_name("accord")),
        "serve",
        f"{HERE}/protected_shop.py:server",
        "--http",
        address,
    ]
    with HttpServer(command, env=os.environ | env) as server:
        yield server


@pytest.fixture(scope="module")
def url() -> str:
    return f"http://127.0.0.1:{free_port()}/mcp"


@pytest.fixture(scope="module")
def authority(url: str) -> Iterator[AuthorizationServer]:
    with AuthorizationServer(url) as server:
        yield server


@pytest.fixture(scope="module")
def server(authority: AuthorizationServer, url: str) -> Iterator[HttpServer]:
    with shop(authority, url) as running:
        yield running


class Memory:
    """The storage of the SDK's client, and the browser of its user."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    def __init__(self) -> None:
        self.pages: list[str] = []

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info

    async def open(self, page: str) -> None:
        self.pages.append(page)

    async def callback(self) -> AuthorizationCodeResult:
        answer = await asyncio.to_thread(agree, self.pages[-1])
        return AuthorizationCodeResult(
            code=answer["code"], state=answer.get("state"), iss=answer.get("iss")
        )


def sdk_calls(url: str, memory: Memory, mode: str, tools: Mapping[str, Any]) -> list[Any]:
    """Let the SDK's client sign in and call tools; return the results."""
    metadata = OAuthClientMetadata(
        client_name="a test",
        redirect_uris=[AnyUrl(CALLBACK)],
        token_endpoint_auth_method="none",
        grant_types=["authorization_code", "refresh_token"],
    )
    auth = OAuthClientProvider(url, metadata, memory, memory.open, memory.callback)

    async def session() -> list[Any]:
        async with (
            httpx2.AsyncClient(auth=auth, timeout=30) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            return [await client.call_tool(name, given) for name, given in tools.items()]

    return asyncio.run(session())


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_python_sdk_signs_in_and_steps_up(server: HttpServer, url: str, mode: str) -> None:
    memory = Memory()
    who, ordered = sdk_calls(url, memory, mode, {"whoami": {}, "restock": {"item": "rope"}})
    assert json.loads(who.content[0].text)["subject"] == "alice"
    assert ordered.content[0].text == "ordered rope"
    first, second = memory.pages
    assert "shop%3Aread" in first
    assert "shop%3Awrite" not in first
    assert "shop%3Awrite" in second


def test_the_python_sdk_renews_an_expired_token(url: str) -> None:
    other = f"http://127.0.0.1:{free_port()}/mcp"
    memory = Memory()
    with AuthorizationServer(other) as authority, shop(authority, other):
        sdk_calls(other, memory, "legacy", {"whoami": {}})
        assert memory.tokens is not None
        memory.tokens.access_token = "an expired one"
        memory.tokens.expires_in = -1
        renewed = sdk_calls(other, memory, "legacy", {"whoami": {}})
    assert json.loads(renewed[0].content[0].text)["subject"] == "alice"


@pytest.mark.parametrize("tool", ["whoami", "restock"])
def test_the_typescript_client_signs_in(server: HttpServer, url: str, tool: str) -> None:
    task = {"modules": str(PEERS), "url": url, "tool": tool, "args": {"item": "rope"}}
    done = subprocess.run(
        [NODE, HERE / "sign_in.mjs", json.dumps(task)], capture_output=True, text=True, timeout=50
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    text = seen["result"]["content"][0]["text"]
    if tool == "restock":
        assert text == "ordered rope"
        assert "shop:write" in seen["authorizations"][-1]["scope"]
    else:
        assert json.loads(text)["subject"] == "alice"
    assert {each["resource"] for each in seen["authorizations"]} == {url}


def called(url: str, token: str, tool: str = "whoami") -> tuple[int, str]:
    """Call a tool with a token; return the HTTP status, and the text of a result."""
    port = int(url.rpartition(":")[2].removesuffix("/mcp"))
    with HttpPeer(port, headers={"authorization": f"Bearer {token}"}) as peer:
        response = peer.post(peer.calling(tool, item="rope"))
        return response.status, text_of(response.message) if response.status == 200 else ""


def test_a_new_key_is_fetched_and_the_old_one_no_longer_counts(
    server: HttpServer, authority: AuthorizationServer, url: str
) -> None:
    old = authority.machine_token("shop:read")
    assert called(url, old)[0] == 200
    authority.rotate_keys()
    assert called(url, authority.machine_token("shop:read"))[0] == 200


def test_opaque_tokens_are_introspected_and_end_when_revoked() -> None:
    url = f"http://127.0.0.1:{free_port()}/mcp"
    with (
        AuthorizationServer(url, tokens="opaque") as authority,
        shop(authority, url, is_opaque=True),
    ):
        token = authority.machine_token("shop:read")
        status, text = called(url, token)
        assert (status, json.loads(text)["client"]) == (200, MACHINE[0])
        assert called(url, token, "restock")[0] == 403
        assert called(url, token + "x")[0] == 401
