"""Our client signs in to our server through oidc-provider, a certified authorization server."""

import asyncio
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from accord import Client, ClientCredentials, SignIn
from accord.auth.sign_in import UserStore
from accord.auth.sign_in.endpoints import Endpoints
from accord.auth.sign_in.oauth import OAuthError
from peers.authorization import MACHINE, AuthorizationServer, agree
from peers.test_authorization import shop
from processes import free_port

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["jwt", "opaque"])
def place(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """The URL of the protected shop and its issuer, whose tokens are renewed after a second."""
    url = f"http://127.0.0.1:{free_port()}/mcp"
    with (
        AuthorizationServer(url, tokens=request.param, seconds=31) as authority,
        shop(authority, url, is_opaque=request.param == "opaque"),
    ):
        yield url, authority.issuer


class Browser:
    """Agrees to every page, and goes back to the listener."""

    def __init__(self) -> None:
        self.pages: list[str] = []

    def open(self, page: str) -> None:
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(page).query))
        answer = urllib.parse.urlencode(agree(page))
        urllib.request.urlopen(f"{query['redirect_uri']}?{answer}", timeout=10).close()
        self.pages.append(query["scope"])


def test_the_client_signs_in_steps_up_renews_and_signs_out(
    place: tuple[str, str], tmp_path: Path
) -> None:
    url, issuer = place
    browser, store = Browser(), UserStore(tmp_path, uses_keyring=False)

    async def main() -> None:
        auth = SignIn(store=store, open_page=browser.open, announce=lambda page: None)
        async with Client(url, auth=auth) as client:
            assert (await client.call_tool("whoami")).value["subject"] == "alice"
            assert (await client.call_tool("restock", {"item": "rope"})).value == "ordered rope"
        first = await store.grant(url)
        assert first is not None
        assert (first.issuer, first.resource) == (issuer, url)
        await asyncio.sleep(1.5)  # less than the margin in which a token counts as expired is left
        for _ in range(2):
            again = SignIn(store=UserStore(tmp_path), interactive=False)
            async with Client(url, auth=again) as client:
                assert (await client.call_tool("restock", {"item": "owl"})).value == "ordered owl"
        second = await store.grant(url)
        assert second is not None
        assert second.tokens.access_token != first.tokens.access_token
        assert second.tokens.refresh_token != first.tokens.refresh_token
        found = await again.sign_out(url)
        assert found is not None
        assert found[1] == ("." not in second.tokens.access_token), "a JWT cannot be revoked"
        with pytest.raises(OAuthError, match="invalid_grant"):
            await Endpoints(url).refreshed(second)

    asyncio.run(main())
    assert [set(page.split()) for page in browser.pages] == [
        {"shop:read", "offline_access"},
        {"shop:read", "shop:write", "offline_access"},
    ]


def test_a_machine_calls_with_the_secret_of_its_client(place: tuple[str, str]) -> None:
    url, issuer = place

    async def main() -> None:
        auth = ClientCredentials(*MACHINE, issuer=issuer)
        async with Client(url, auth=auth) as client:
            assert (await client.call_tool("whoami")).value["client"] == MACHINE[0]
            assert (await client.call_tool("restock", {"item": "rope"})).value == "ordered rope"

    asyncio.run(main())
