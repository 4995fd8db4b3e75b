"""A client that signs in: discovery, registration, consent, tokens, and every refusal."""

import asyncio
import json
import logging
import shlex
from base64 import b64encode
from collections.abc import Awaitable, Callable
from time import time
from typing import Any, TypeVar

import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from joserfc import jwt
from joserfc.jwk import import_key

from accord.auth.sign_in import Challenge, MemoryStore
from accord.auth.sign_in.provider import sign_in_required
from accord.client import AuthRequest, Client, ClientCredentials, SignIn
from accord.errors import ContractError, PeerError, SignInError, SignInRequired
from auth.sign_in.authorization_server import WELL_KNOWN, Site, Variant, agree, serving
from client.connections import run, serving_shop
from peers.scripted_server import Request, scripted_server, stateless

T = TypeVar("T")
ROOT = f"{WELL_KNOWN}oauth-protected-resource"
OAUTH = f"{WELL_KNOWN}oauth-authorization-server"
OPENID = f"{WELL_KNOWN}openid-configuration"


def sign_in(store: MemoryStore | None = None, **options: Any) -> SignIn:
    given = {"open_page": agree, "announce": lambda page: None, "timeout": 10, **options}
    return SignIn(store=MemoryStore() if store is None else store, **given)


def with_site(
    say: Callable[[Client, Site], Awaitable[T]],
    variant: Variant | None = None,
    auth: Any = None,
    **options: Any,
) -> tuple[T, Site]:
    """Connect with a sign-in, and return what `say` returns, and the site."""
    site = Site(variant or Variant())

    async def main() -> T:
        async with serving(site) as url, Client(url, auth=auth or sign_in(), **options) as client:
            return await say(client, site)

    return run(main()), site


async def call(client: Client, site: Site) -> str:
    return str((await client.call_tool("hello")).value)


def names(site: Site) -> list[str]:
    return [name for name, _ in site.events]


# The order of steps


def test_a_sign_in_takes_the_steps_in_order_and_each_once() -> None:
    reading, site = with_site(call)
    assert reading == "well"
    assert names(site) == ["resource", "server", "register", "authorize", "token"]
    assert site.problems == []
    (authorized,), (form,) = site.named("authorize"), site.named("token")
    assert authorized["scope"] == "read"
    assert authorized["resource"] == form["resource"] == f"{site.origin}/mcp"
    assert authorized["client_id"] == form["client_id"] == "client-1"
    (registered,) = site.named("register")
    assert registered["redirect_uris"] == [authorized["redirect_uri"]]
    sent = [each.get("authorization") for each in site.headers]
    assert sent == [None, "Bearer access-1", "Bearer access-1"]


@pytest.mark.parametrize(
    "variant",
    [
        Variant(is_named=False),
        Variant(resource_at=ROOT, is_named=False, resource={"resource": "{origin}"}),
        Variant(resource_at=ROOT, is_named=False, resource={"resource": "{origin}/"}),
        Variant(resource_at="/somewhere.json"),
        Variant(server_at=OPENID),
        Variant(tenant="/t1", server_at=f"{OAUTH}/t1"),
        Variant(tenant="/t1", server_at=f"{OPENID}/t1"),
        Variant(tenant="/t1", server_at=f"/t1{OPENID}"),
        Variant(tenant="/", server_at=OAUTH),
        Variant(resource_at=None),
        Variant(resource_at=None, server_at=OPENID, server={"issuer": "{origin}/"}, iss="{issuer}/"),
        Variant(resource_at=None, server_at=None, iss=None),
        Variant(resource={"authorization_servers": []}),
        Variant(resource={"authorization_servers": ["{origin}/nowhere", "{issuer}"]}),
        Variant(challenge=""),
        Variant(expires_in=None, refreshes=False),
        Variant(server={"authorization_response_iss_parameter_supported": None}, iss=None),
        Variant(server={"token_endpoint_auth_methods_supported": ["client_secret_post"]}, registered={"client_secret": "x"}),
    ],
)  # fmt: skip
def test_metadata_is_found_wherever_a_revision_lets_it_be(variant: Variant) -> None:
    reading, site = with_site(call, variant)
    assert reading == "well"
    assert site.problems == []
    assert len(site.named("authorize")) == 1


@pytest.mark.parametrize(
    ("variant", "message", "last"),
    [
        (Variant(resource={"resource": "https://evil.example/mcp"}), "metadata of another resource", "resource"),
        (Variant(resource={"resource": "{origin}"}), "metadata of another resource", "resource"),
        (Variant(resource={"resource": 5}), "is not valid", "resource"),
        (Variant(server={"issuer": "https://evil.example"}), "is of the issuer https://evil", "server"),
        (Variant(server={"issuer": "{issuer}/"}), "is of the issuer", "server"),
        (Variant(server={"code_challenge_methods_supported": None}), "does not support PKCE", "server"),
        (Variant(server={"code_challenge_methods_supported": ["plain"]}), "does not support PKCE", "server"),
        (Variant(server={"token_endpoint": None}), "names no endpoints", "server"),
        (Variant(server={"registration_endpoint": None}), "does not let clients register", "server"),
        (Variant(server={"token_endpoint": "http://as.example/token"}), "must be https", "server"),
        (Variant(server={"authorization_endpoint": "file:///etc/passwd"}), "not an http", "server"),
        (Variant(server={"authorization_endpoint": "javascript:alert(1)//"}), "not an http", "server"),
        (Variant(server={"token_endpoint_auth_methods_supported": ["tls_client_auth"]}), "tls_client_auth", "server"),
        (Variant(server_at=None), "has no metadata of an authorization server", "missing"),
        (Variant(resource={"authorization_servers": ["http://as.example"]}), "must be https", "resource"),
        (Variant(registered={"client_id": None}), "registered no client", "register"),
        (Variant(iss="https://evil.example"), "is from the issuer https://evil", "authorize"),
        (Variant(iss="{issuer}/"), "is from the issuer", "authorize"),
        (Variant(iss=None), "does not name its issuer", "authorize"),
        (Variant(iss="{issuer}/", server={"authorization_response_iss_parameter_supported": None}), "is from the issuer", "authorize"),
        (Variant(error={"error": "access_denied", "error_description": "not\nyou"}), "access_denied, 'not you'", "authorize"),
        (Variant(token_error="invalid_grant"), "refused the token request: invalid_grant, 'no'", "token"),
        (Variant(accepts=False), "refuses the token that .* has just issued", "token"),
    ],
)  # fmt: skip
def test_a_sign_in_stops_at_the_first_wrong_step(variant: Variant, message: str, last: str) -> None:
    site = Site(variant)

    async def main() -> None:
        async with serving(site) as url, Client(url, auth=sign_in()) as client:
            await call(client, site)

    with pytest.raises(PeerError, match=message):
        run(main())
    assert names(site)[-1] == last
    assert len(site.named("authorize")) <= 1


# The client's identity


def test_a_registered_client_is_preferred_to_a_document_and_that_to_registration() -> None:
    supports = Variant(server={"client_id_metadata_document_supported": True})
    document = "https://client.example/client.json"
    both = sign_in(client_id="mine", client_secret="s", client_metadata_url=document)
    _, site = with_site(call, supports, both)
    assert site.named("authorize")[0]["client_id"] == "mine"
    assert site.named("token")[0]["authorization"] == f"Basic {b64encode(b'mine:s').decode()}"
    _, site = with_site(call, supports, sign_in(client_metadata_url=document))
    assert site.named("authorize")[0]["client_id"] == site.named("token")[0]["client_id"]
    assert site.named("authorize")[0]["client_id"] == document
    assert site.named("register") == []
    _, site = with_site(call, Variant(), sign_in(client_metadata_url=document))
    assert site.named("authorize")[0]["client_id"] == "client-1"


def test_a_client_registers_once_and_keeps_its_port() -> None:
    store = MemoryStore()

    async def main(site: Site) -> None:
        async with serving(site) as url:
            for _ in range(2):
                await sign_in(store).sign_in(url)
            await store.forget(url)
            await sign_in(store, scopes=["write"]).sign_in(url)

    site = Site(Variant(resource={"scopes_supported": ["read"]}))
    run(main(site))
    first, second, third = site.named("authorize")
    assert first["redirect_uri"] == second["redirect_uri"]
    assert (first["client_id"], second["client_id"]) == ("client-1", "client-1")
    assert third["client_id"] == "client-2", "the first was not registered for this scope"
    assert [each["scope"] for each in site.named("register")] == ["read", "write read"]


def test_a_client_that_the_server_has_forgotten_registers_again() -> None:
    store = MemoryStore()

    async def main(site: Site) -> None:
        async with serving(site) as url:
            await sign_in(store).sign_in(url)
            site.variant.token_error = "invalid_client"
            with pytest.raises(SignInError, match="invalid_client"):
                await sign_in(store).sign_in(url)
            site.variant.token_error = None
            await sign_in(store).sign_in(url)

    site = Site(Variant())
    run(main(site))
    assert [each["client_id"] for each in site.named("authorize")] == ["client-1", "client-1", "client-2"]  # fmt: skip


def test_a_registered_client_is_for_one_issuer_only() -> None:
    async def main() -> None:
        first, second = Site(Variant()), Site(Variant())
        auth = sign_in(client_id="mine", client_secret="s3cret")
        async with serving(first) as one, serving(second) as two:
            await auth.sign_in(one)
            with pytest.raises(SignInError, match="does not trust the issuer"):
                await auth.sign_in(two)
        assert names(second) == ["resource"]

    run(main())


# Tokens that end


def test_an_expired_token_is_renewed_before_it_is_used() -> None:
    async def say(client: Client, site: Site) -> None:
        await call(client, site)
        site.tokens.pop("access-1")
        await call(client, site)

    _, site = with_site(say, Variant(expires_in=1))
    forms = [each["grant_type"] for each in site.named("token")]
    assert forms == ["authorization_code", *["refresh_token"] * (len(forms) - 1)]
    assert len(forms) > 1
    assert len(site.named("authorize")) == 1
    assert site.named("token")[1]["refresh_token"] == "refresh-1"
    assert site.named("token")[1]["resource"] == f"{site.origin}/mcp"


def test_a_refused_token_is_renewed_for_all_requests_once() -> None:
    async def say(client: Client, site: Site) -> None:
        await call(client, site)
        site.tokens.clear()
        await asyncio.gather(*(call(client, site) for _ in range(8)))

    _, site = with_site(say)
    forms = [each["grant_type"] for each in site.named("token")]
    assert forms == ["authorization_code", "refresh_token"]


@pytest.mark.parametrize("rotates", [True, False])
def test_a_refresh_token_is_replaced_only_if_a_new_one_came(rotates: bool) -> None:
    async def say(client: Client, site: Site) -> None:
        for _ in range(3):
            site.tokens.clear()
            site.variant.refreshes = rotates
            await call(client, site)

    _, site = with_site(say, Variant(rotates=rotates))
    used = [each["refresh_token"] for each in site.named("token")[1:]]
    assert used == (["refresh-1", "refresh-1", "refresh-1"] if not rotates else used)
    assert len(set(used)) == (3 if rotates else 1)


@pytest.mark.parametrize("expires_in", [3600, 1])
def test_a_refresh_token_that_is_refused_leads_to_a_new_sign_in(expires_in: int) -> None:
    async def say(client: Client, site: Site) -> None:
        site.tokens.clear()
        site.refresh_tokens.clear()
        site.variant.expires_in = 3600
        await call(client, site)

    _, site = with_site(say, Variant(expires_in=expires_in))
    assert len(site.named("authorize")) == 2
    assert len(site.named("register")) == 1
    assert names(site).count("token") == 3, "the refresh token is tried once"


def test_a_token_endpoint_that_is_away_does_not_end_the_sign_in() -> None:
    store = MemoryStore()

    async def say(client: Client, site: Site) -> None:
        site.tokens.clear()
        answer = site.answer

        async def away(request: Request) -> None:
            await (request.reply(503) if request.path == "/token" else answer(request))

        site.answer = away  # type: ignore[method-assign]
        with pytest.raises(SignInError, match="HTTP 503"):
            await call(client, site)
        site.answer = answer  # type: ignore[method-assign]
        await call(client, site)

    site = Site(Variant())

    async def main() -> None:
        async def current(request: Request) -> None:
            await site.answer(request)

        async with scripted_server(current) as server:
            site.origin = server.url.removesuffix("/mcp")
            async with Client(server.url, auth=sign_in(store)) as client:
                await say(client, site)

    run(main())
    assert len(site.named("authorize")) == 1


def test_a_server_that_is_waited_for_holds_up_no_other() -> None:
    async def main() -> None:
        first, second = Site(Variant()), Site(Variant())
        pages: asyncio.Queue[str] = asyncio.Queue()
        auth = sign_in(open_page=None, announce=pages.put_nowait)
        second.tokens["access-0"] = set()
        async with serving(first) as one, serving(second) as two:
            waiting = asyncio.create_task(called_at(one, auth))
            page = await pages.get()
            other = asyncio.create_task(called_at(two, auth))
            await asyncio.to_thread(agree, await pages.get())
            assert await other == "well"
            assert not waiting.done()
            await asyncio.to_thread(agree, page)
            assert await waiting == "well"

    run(main())


async def called_at(url: str, auth: Any) -> str:
    async with Client(url, auth=auth) as client:
        return str((await client.call_tool("hello")).value)


def test_an_error_that_will_pass_does_not_end_the_sign_in() -> None:
    async def say(client: Client, site: Site) -> None:
        await call(client, site)
        site.tokens.clear()
        site.variant.rotates = False
        site.variant.token_error = "temporarily_unavailable"
        with pytest.raises(SignInError, match="temporarily_unavailable"):
            await call(client, site)
        site.variant.token_error = None
        await call(client, site)

    _, site = with_site(say)
    assert len(site.named("authorize")) == 1


def test_another_authorization_server_gets_nothing_of_the_first() -> None:
    async def main() -> tuple[Site, Site]:
        first, second = Site(Variant()), Site(Variant())
        second.issued = 90
        async with serving(first) as url, serving(second), Client(url, auth=sign_in()) as client:
            await call(client, first)
            first.variant.resource = {"authorization_servers": [second.issuer]}
            first.tokens = second.tokens
            await call(client, first)
        return first, second

    first, second = run(main())
    assert len(first.named("token")) == 1, "its refresh token is for the first server only"
    assert names(second) == ["server", "register", "authorize", "token"]
    assert second.named("authorize")[0]["client_id"] == "client-1"
    sent = json.dumps(second.events)
    assert "access-1" not in sent
    assert "refresh-1" not in sent


# Scopes


def test_a_step_up_requests_the_union_once() -> None:
    async def say(client: Client, site: Site) -> None:
        await call(client, site)
        for _ in range(2):
            await client.call_tool("restock")

    _, site = with_site(say, Variant(needs={"restock": "write"}))
    assert [each["scope"] for each in site.named("authorize")] == ["read", "read write"]


def test_scopes_that_are_not_granted_end_in_an_error_and_not_in_a_loop() -> None:
    async def say(client: Client, site: Site) -> None:
        for _ in range(3):
            with pytest.raises(SignInError, match=r"requires scopes that .* does not grant: write"):
                await client.call_tool("restock")
        await call(client, site)

    _, site = with_site(say, Variant(needs={"restock": "write"}, grants="read"))
    assert [each["scope"] for each in site.named("authorize")] == ["read", "read write"]


def test_step_ups_at_the_same_time_add_up() -> None:
    async def say(client: Client, site: Site) -> None:
        await asyncio.gather(*(client.call_tool(name) for name in ("a", "b", "a", "b")))

    _, site = with_site(say, Variant(needs={"a": "one", "b": "two"}))
    scopes = [set(each["scope"].split()) for each in site.named("authorize")]
    assert len(scopes) == 3
    assert scopes[0] < scopes[1] < scopes[2] == {"read", "one", "two"}


def test_a_refusal_that_is_not_about_scopes_is_no_step_up() -> None:
    async def forbidding(request: Request) -> None:
        if request.rpc == "tools/call":
            header = {"WWW-Authenticate": 'Bearer error="access_denied"'}
            await request.reply(403, b"no", "text/plain", header)
        else:
            await stateless(request)

    async def main() -> None:
        async with scripted_server(forbidding) as server, Client(server.url, auth=sign_in()) as client:  # fmt: skip
            with pytest.raises(PeerError, match="HTTP 403: no"):
                await client.call_tool("hello")
        assert not [each for each in server.requests if each.method == "GET"]

    run(main())


# Without a person


def test_a_sign_in_that_must_not_ask_names_the_command() -> None:
    async def main() -> None:
        site = Site(Variant(needs={"restock": "write"}))
        store = MemoryStore()
        async with serving(site) as url:
            with pytest.raises(
                SignInRequired, match=f"requires a sign-in; run: accord login {url}$"
            ):
                async with Client(url, auth=sign_in(store, interactive=False)):
                    pass
            await sign_in(store).sign_in(url, scopes=["read"])
            async with Client(url, auth=sign_in(store, interactive=False)) as client:
                await call(client, site)
                with pytest.raises(SignInRequired, match=f"accord login {url} --scope write$"):
                    await client.call_tool("restock")
                site.tokens.clear()
                site.refresh_tokens.clear()
                with pytest.raises(SignInRequired, match="has ended; run: accord login"):
                    await call(client, site)
        assert len(site.named("authorize")) == 1

    run(main())


def test_a_server_cannot_write_into_the_command_that_is_named() -> None:
    scopes = ("write", "$(reboot)", ";reboot", "`reboot`", "|sh", "a'b", "*")
    challenge = Challenge("bearer", {"scope": " ".join(scopes)})
    request = AuthRequest("https://mcp.example/mcp", 403, challenge, "t")
    command = str(sign_in_required(request)).partition("run: ")[2]
    given = [word for scope in scopes for word in ("--scope", scope)]
    assert shlex.split(command) == ["accord", "login", "https://mcp.example/mcp", *given]
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    assert len(list(lexer)) == 3 + len(given), "no word is an operator of the shell"


def test_a_stored_sign_in_is_used_at_once_and_an_open_server_is_asked_nothing() -> None:
    async def main() -> None:
        site, store = Site(Variant()), MemoryStore()
        async with serving(site) as url:
            await sign_in(store).sign_in(url)
            async with Client(url, auth=sign_in(store)) as client:
                await call(client, site)
        assert {each.get("authorization") for each in site.headers} == {"Bearer access-1"}
        async with scripted_server(stateless) as server, Client(server.url, auth=sign_in()) as client:  # fmt: skip
            await client.call_tool("hello")
        assert {each.path for each in server.requests} == {"/mcp"}

    run(main())


def test_a_person_may_take_longer_than_a_request() -> None:
    def slowly(page: str) -> None:
        import time as clock

        clock.sleep(1.5)
        agree(page)

    reading, _ = with_site(call, auth=sign_in(open_page=slowly), timeout=1)
    assert reading == "well"


def test_nobody_signs_in() -> None:
    with pytest.raises(SignInError, match=r"the sign-in was not completed within 0\.2 s"):
        with_site(call, auth=sign_in(open_page=None, timeout=0.2))


def test_a_pasted_url_signs_in() -> None:
    async def main() -> None:
        site = Site(Variant())
        pages: asyncio.Queue[str] = asyncio.Queue()

        async def paste() -> str:
            page = await pages.get()
            return await asyncio.to_thread(where_it_leads, page)

        auth = sign_in(open_page=None, announce=pages.put_nowait, read_code=paste)
        async with serving(site) as url, Client(url, auth=auth) as client:
            assert await call(client, site) == "well"

    run(main())


def where_it_leads(page: str) -> str:
    """Return the Location that a page answers with."""
    import urllib.error
    import urllib.request

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    try:
        urllib.request.build_opener(Stay).open(page, timeout=10)
    except urllib.error.HTTPError as error:
        return str(error.headers["Location"])
    raise AssertionError("no redirect")


def test_a_browser_that_cannot_be_opened_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    def broken(page: str) -> None:
        raise OSError(f"no browser for {page}")

    with pytest.raises(SignInError, match="was not completed"), caplog.at_level(logging.WARNING):
        with_site(call, auth=sign_in(open_page=broken, timeout=0.3))
    assert caplog.messages == ["could not open a browser: OSError"]


# Other kinds of auth


def test_a_text_is_a_bearer_token_for_every_request() -> None:
    site = Site(Variant())
    site.tokens["s3cret"] = {"read"}
    run(called(site, "s3cret"))
    assert {each.get("authorization") for each in site.headers} == {"Bearer s3cret"}


async def called(site: Site, auth: Any, **options: Any) -> str:
    async with serving(site) as url, Client(url, auth=auth, **options) as client:
        return await call(client, site)


def test_a_token_that_is_refused_is_an_error_that_does_not_show_it() -> None:
    with pytest.raises(PeerError, match=r"refused the token \(HTTP 401\)") as caught:
        run(called(Site(Variant()), "s3cret"))
    assert "s3cret" not in repr(caught.value)


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({}, "requires authorization (HTTP 401); pass auth=, or a header"),
        ({"Authorization": "Bearer s3cret"}, "refused the Authorization header (HTTP 401)"),
    ],
)
def test_without_auth_a_401_says_what_was_missing(headers: dict[str, str], message: str) -> None:
    async def main() -> None:
        async with serving(Site(Variant())) as url, Client(url, headers=headers):
            pass

    with pytest.raises(PeerError) as caught:
        run(main())
    assert message in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_an_object_with_one_method_is_enough() -> None:
    asked: list[AuthRequest] = []

    class Own:
        async def token(self, request: AuthRequest) -> str | None:
            asked.append(request)
            return None if request.status is None else "mine"

    site = Site(Variant())
    site.tokens["mine"] = set()
    assert run(called(site, Own())) == "well"
    refused = asked[1]
    assert (refused.status, refused.attempt, refused.token) == (401, 1, None)
    assert refused.challenge is not None
    assert refused.challenge.scopes == ("read",)


def test_a_method_that_always_has_another_token_is_asked_a_few_times_only() -> None:
    class Endless:
        count = 0

        async def token(self, request: AuthRequest) -> str:
            self.count += 1
            return f"token-{self.count}"

    auth = Endless()
    with pytest.raises(PeerError, match="refused the token"):
        run(called(Site(Variant()), auth))
    assert auth.count == 4


@pytest.mark.parametrize(
    ("auth", "options", "message"),
    [
        ("", {}, "must be printable ASCII"),
        ("a b", {}, "must be printable ASCII"),
        ("a\r\nX: y", {}, "must be printable ASCII"),
        (5, {}, "auth must be a token"),
        ("t", {"headers": {"AUTHORIZATION": "Bearer x"}}, "either auth or the header"),
    ],
)
def test_auth_that_cannot_be_is_refused(auth: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ContractError, match=message):
        run(called(Site(Variant()), auth, **options))


def test_auth_is_for_a_url() -> None:
    async def main() -> None:
        async with Client("accord serve shop:server", auth="t"):
            pass

    with pytest.raises(ContractError, match="auth is for a URL"):
        run(main())


@pytest.mark.parametrize(
    "options",
    [
        {"client_secret": "x"},
        {"client_metadata_url": "http://client.example/c.json"},
        {"client_metadata_url": "https://client.example"},
        {"client_metadata_url": "https://client.example/"},
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ContractError, match="client_"):
        SignIn(**options)


# Machines


def test_a_machine_gets_a_token_for_its_secret_and_another_when_that_ends() -> None:
    async def say(client: Client, site: Site) -> None:
        await call(client, site)
        site.tokens.clear()
        await call(client, site)
        await client.call_tool("restock")

    auth = ClientCredentials("robot", "s3cret", scopes=["jobs"])
    _, site = with_site(say, Variant(needs={"restock": "write"}), auth)
    assert site.named("authorize") == site.named("register") == []
    forms = site.named("token")
    assert {each["grant_type"] for each in forms} == {"client_credentials"}
    assert [each["scope"] for each in forms] == ["jobs read", "jobs read", "jobs read write"]
    assert forms[0]["authorization"] == f"Basic {b64encode(b'robot:s3cret').decode()}"
    assert forms[0]["resource"] == f"{site.origin}/mcp"
    assert "s3cret" not in repr(auth)


def private_pem(key: Any) -> str:
    private = serialization.PrivateFormat.PKCS8
    return str(
        key.private_bytes(
            serialization.Encoding.PEM, private, serialization.NoEncryption()
        ).decode()
    )


@pytest.mark.parametrize(
    ("key", "algorithm", "kind"),
    [
        (ec.generate_private_key(ec.SECP256R1()), "ES256", "EC"),
        (rsa.generate_private_key(65537, 2048), "PS256", "RSA"),
        (ed25519.Ed25519PrivateKey.generate(), "Ed25519", "OKP"),
    ],
)
def test_rfc_7523_a_machine_signs_with_its_private_key(key: Any, algorithm: str, kind: Any) -> None:
    pem = private_pem(key)
    auth = ClientCredentials("robot", private_key=pem, algorithm=algorithm)
    server = {"token_endpoint_auth_methods_supported": ["private_key_jwt"]}
    _, site = with_site(call, Variant(server=server), auth)
    (form,) = site.named("token")
    assert form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    token = jwt.decode(form["client_assertion"], import_key(pem, kind), algorithms=[algorithm])
    assert (token.claims["iss"], token.claims["sub"]) == ("robot", "robot")
    assert token.claims["aud"] == site.issuer
    assert 0 < token.claims["exp"] - time() <= 121
    assert "authorization" not in form
    assert "PRIVATE" not in repr(auth)


def test_an_assertion_is_for_servers_that_take_one() -> None:
    auth = ClientCredentials("robot", private_key=private_pem(ec.generate_private_key(ec.SECP256R1())))  # fmt: skip
    server = {"token_endpoint_auth_methods_supported": ["client_secret_basic"]}
    site = Site(Variant(server=server))
    with pytest.raises(SignInError, match="does not take assertions"):
        run(called(site, auth))
    assert site.named("token") == []


PUBLIC = (
    ec.generate_private_key(ec.SECP256R1())
    .public_key()
    .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    .decode()
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either client_secret or private_key"),
        ({"client_secret": "s", "private_key": PUBLIC}, "either client_secret or private_key"),
        ({"private_key": "s3cret"}, "is not a key in PEM for ES256"),
        ({"private_key": PUBLIC}, "is a public key"),
        ({"private_key": PUBLIC, "algorithm": "RS256"}, "is not a key in PEM for RS256"),
        ({"private_key": PUBLIC, "algorithm": "HS256"}, "algorithm must be one of ES256"),
        ({"private_key": PUBLIC, "algorithm": "none"}, "algorithm must be one of ES256"),
    ],
)
def test_a_machine_without_a_usable_key_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ContractError, match=message) as caught:
        ClientCredentials("robot", **options)
    assert "s3cret" not in str(caught.value)


def test_a_machine_that_is_refused_does_not_try_for_ever() -> None:
    site = Site(Variant(accepts=False))
    with pytest.raises(PeerError, match="refused the token"):
        run(called(site, ClientCredentials("robot", "s3cret")))
    assert len(site.named("token")) == 1


def test_a_machine_gives_its_secret_to_one_issuer_only() -> None:
    async def main() -> None:
        first, second = Site(Variant()), Site(Variant())
        auth = ClientCredentials("robot", "s3cret")
        async with serving(first) as one, serving(second) as two:
            async with Client(one, auth=auth):
                pass
            with pytest.raises(SignInError, match="does not trust the issuer"):
                async with Client(two, auth=auth):
                    pass
        assert names(second) == ["resource"]

    run(main())


# Redirects, and what is logged


def test_a_redirect_to_another_origin_never_gets_the_token() -> None:
    async def main() -> None:
        async with scripted_server(stateless) as other:

            async def leading_away(request: Request) -> None:
                await request.reply(307, headers={"Location": other.url})

            async with scripted_server(leading_away) as server:
                with pytest.raises(PeerError, match="redirects to another origin"):
                    async with Client(server.url, auth="s3cret"):
                        pass
            assert other.requests == []

    run(main())


def test_a_redirect_within_the_origin_gets_the_token() -> None:
    async def main() -> None:
        async def moving(request: Request) -> None:
            if request.path == "/mcp":
                await request.reply(307, headers={"Location": "/mcp/"})
            else:
                await stateless(request)

        async with scripted_server(moving) as server, Client(server.url, auth="s3cret") as client:
            await client.call_tool("hello")
        sent = {each.headers.get("authorization") for each in server.requests}
        assert sent == {"Bearer s3cret"}

    run(main())


def test_metadata_that_redirects_is_not_followed() -> None:
    async def main() -> None:
        site = Site(Variant(tenant="/t1"))
        answer = site.answer

        async with scripted_server(stateless) as other:

            async def redirecting(request: Request) -> None:
                if "oauth-authorization-server" in request.path:
                    await request.reply(302, headers={"Location": other.url})
                else:
                    await answer(request)

            async with scripted_server(redirecting) as server:
                site.origin = server.url.removesuffix("/mcp")
                with pytest.raises(SignInError, match="has no metadata"):
                    async with Client(server.url, auth=sign_in(timeout=1)):
                        pass
            assert other.requests == []

    run(main())


def test_no_token_is_logged_or_shown(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()

    async def say(client: Client, site: Site) -> list[bytes]:
        await call(client, site)
        site.tokens.clear()
        site.variant.token_error = "invalid_grant"
        with pytest.raises(SignInError) as caught:
            await call(client, site)
        assert "access-" not in str(caught.value)
        return [message.raw for message in client.messages]

    with caplog.at_level(logging.DEBUG):
        messages, _ = with_site(say, auth=sign_in(store))
    ours = [each.getMessage() for each in caplog.records if each.name.startswith("accord")]
    for text in (*ours, *(raw.decode() for raw in messages)):
        assert "access-" not in text
        assert "refresh-" not in text


# Sign out


@pytest.mark.parametrize("offers", [True, False])
def test_signing_out_revokes_where_it_can_and_forgets_anyway(offers: bool) -> None:
    async def main() -> tuple[Site, Any, Any]:
        server = {} if offers else {"revocation_endpoint": None}
        site, store = Site(Variant(server=server)), MemoryStore()
        async with serving(site) as url:
            await sign_in(store).sign_in(url)
            found = await sign_in(store).sign_out(url)
            assert await store.grant(url) is None
            return site, found, await sign_in(store).sign_out(url)

    site, found, again = run(main())
    assert found[1] is offers
    assert again is None
    revoked = [(each["token_type_hint"], each["token"]) for each in site.named("revoke")]
    both = [("refresh_token", "refresh-1"), ("access_token", "access-1")]
    assert revoked == (both if offers else [])


def test_a_sign_in_that_has_ended_elsewhere_is_not_renewed() -> None:
    site, store = Site(Variant(server={"revocation_endpoint": None})), MemoryStore()

    async def main() -> None:
        async with serving(site) as url:
            await sign_in(store).sign_in(url)
            async with Client(url, auth=sign_in(store, interactive=False)) as client:
                await call(client, site)
                await sign_in(store).sign_out(url)
                site.tokens.clear()
                with pytest.raises(SignInRequired):
                    await call(client, site)
            assert await store.grant(url) is None

    run(main())
    assert [each["grant_type"] for each in site.named("token")] == ["authorization_code"]


def test_a_sign_out_waits_for_a_renewal_and_ends_what_it_brought() -> None:
    site, store = Site(Variant()), MemoryStore()
    renewing, may_renew = asyncio.Event(), asyncio.Event()

    async def answer(request: Request) -> None:
        if b"grant_type=refresh_token" in request.body:
            renewing.set()
            await may_renew.wait()
        await site.answer(request)

    async def main() -> None:
        async with scripted_server(answer) as server:
            site.origin = server.url.removesuffix("/mcp")
            await sign_in(store).sign_in(server.url)
            site.tokens.clear()
            calling = asyncio.create_task(called_at(server.url, sign_in(store, interactive=False)))
            await renewing.wait()
            leaving = asyncio.create_task(sign_in(store).sign_out(server.url))
            await asyncio.sleep(0)
            may_renew.set()
            await asyncio.gather(calling, leaving, return_exceptions=True)
            assert await store.grant(server.url) is None

    run(main())
    assert [each["token"] for each in site.named("revoke")] == ["refresh-2", "access-2"]


def test_an_open_server_of_ours_needs_no_sign_in() -> None:
    async def main(url: str) -> Any:
        async with Client(url, auth=sign_in(open_page=None, timeout=1)) as client:
            return (await client.call_tool("add", {"a": 2, "b": 3})).value

    with serving_shop() as server:
        assert run(main(server.url)) == 5


def test_a_grant_survives_being_stored() -> None:
    async def main() -> None:
        site, store = Site(Variant()), MemoryStore()
        async with serving(site) as url:
            grant = await sign_in(store).sign_in(url)
        again = msgspec.json.decode(msgspec.json.encode(grant), type=type(grant))
        assert again == grant
        assert (grant.tokens.expires_at or 0) - time() == pytest.approx(3600, abs=30)

    run(main())
