"""Our client signs in to a server of the official SDK, which is its own authorization server."""

import sys

import pytest

from accord.auth.sign_in import MemoryStore
from accord.client import Client, SignIn
from accord.errors import SignInRequired
from auth.sign_in.authorization_server import agree
from client.connections import UNWATCHED, run
from commands import PEERS
from http_peer import HttpServer

SCRIPT = str(PEERS / "sdk_auth_server.py")


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-11-25", "2026-07-28"])
def test_the_client_signs_in_renews_its_tokens_and_signs_out(revision: str) -> None:
    pages: list[str] = []
    store = MemoryStore()

    async def main(url: str) -> None:
        auth = SignIn(store=store, open_page=agree, announce=pages.append)
        async with Client(url, auth=auth, revision=revision) as client:
            for number in range(10):
                reading = await client.call_tool("add", {"a": number, "b": 1})
                assert reading.value == number + 1
        assert len(pages) == 1, "tokens for three calls each have been renewed"
        assert "scope=owls" in pages[0]
        grant = await store.grant(url)
        assert grant is not None
        assert (grant.resource, grant.tokens.scopes) == (url, ("owls",))
        found = await auth.sign_out(url)
        assert found is not None
        assert found[1], "the server revokes tokens"
        with pytest.raises(SignInRequired):
            async with Client(url, auth=SignIn(store=store, interactive=False)):
                pass

    with HttpServer([sys.executable, SCRIPT], env=UNWATCHED) as server:
        run(main(server.url))
