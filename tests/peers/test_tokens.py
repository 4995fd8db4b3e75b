"""Clients of others with a bearer token: the official SDK's and FastMCP's."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from commands import ACCORD, SAMPLES
from http_peer import HttpServer
from token_issuer import Issuer

pytestmark = pytest.mark.slow
SDK_MODES = ["auto", "legacy", "2026-07-28"]


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer() as issuer:
        yield issuer


@pytest.fixture(scope="module")
def server(issuer: Issuer) -> Iterator[HttpServer]:
    command = [ACCORD, "serve", f"{SAMPLES}/guarded.py:server", "--http", "127.0.0.1:0"]
    with HttpServer(command, env={**os.environ, "ISSUER": issuer.url}) as running:
        yield running
    assert "Traceback" not in running.stderr


def fastmcp_client(url: str, token: str) -> AbstractAsyncContextManager[Any]:
    import fastmcp

    return fastmcp.Client(url, auth=token)


@asynccontextmanager
async def sdk_client(url: str, token: str, mode: str) -> AsyncIterator[Any]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", SDK_MODES)
def test_the_sdk_calls_with_a_token(server: HttpServer, issuer: Issuer, mode: str) -> None:
    async def scenario() -> None:
        async with sdk_client(server.url, issuer.token(), mode) as client:
            called = await client.call_tool("add", {"a": 2, "b": 3})
            assert called.content[0].text == "5"
            who = await client.call_tool("whoami", {})
            assert '"subject":"zoe"' in who.content[0].text
            with pytest.raises(Exception, match=r"lacks a scope|403"):
                await client.call_tool("restock", {"item": "rope"})
            again = await client.call_tool("add", {"a": 2, "b": 3})
            assert again.content[0].text == "5"

    asyncio.run(scenario())


def test_fastmcp_calls_with_a_token(server: HttpServer, issuer: Issuer) -> None:
    async def scenario() -> None:
        async with fastmcp_client(server.url, issuer.token(scope="shop:read shop:admin")) as client:
            assert (await client.call_tool("add", {"a": 2, "b": 3})).data == 5
            names = {tool.name for tool in await client.list_tools()}
            assert {"add", "restock", "purge"} <= names

    asyncio.run(scenario())


def test_fastmcp_without_a_good_token_gets_nothing(server: HttpServer, issuer: Issuer) -> None:
    async def scenario() -> None:
        async with fastmcp_client(server.url, issuer.token(aud="x")) as client:
            await client.ping()

    with pytest.raises(Exception, match=r"401|error response"):
        asyncio.run(scenario())
