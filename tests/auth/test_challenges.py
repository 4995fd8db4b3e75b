"""What a resource server answers, by the sections of the RFCs and of MCP that say so."""

import asyncio
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

import wire
from accord import Caller, Context, Server, TokenVerifier
from accord.auth import TokenRequest
from commands import ACCORD, SAMPLES
from http_peer import HttpPeer, HttpServer, Response
from samples import guarded
from token_issuer import AUDIENCE, Issuer, send

HANDSHAKE = ["2025-03-26", "2025-06-18", "2025-11-25"]
ERAS = [*HANDSHAKE, wire.STATELESS]
METADATA = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
WRITE = "shop:read shop:write shop:stock"
PARAMETER = re.compile(r'([a-z_]+)="([^"]*)"')


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer() as issuer:
        yield issuer


@contextmanager
def serving(issuer: Issuer, *words: str, **environment: str) -> Iterator[HttpServer]:
    command = [ACCORD, "serve", f"{SAMPLES}/guarded.py:server", "--http", "127.0.0.1:0", *words]
    with HttpServer(command, env={**os.environ, "ISSUER": issuer.url, **environment}) as running:
        yield running
    assert "Traceback" not in running.stderr, running.stderr


@pytest.fixture(scope="module")
def server(issuer: Issuer) -> Iterator[HttpServer]:
    with serving(issuer) as running:
        yield running


def peer_of(server: HttpServer, issuer: Issuer, revision: str, **claims: Any) -> HttpPeer:
    headers = {"Authorization": f"Bearer {issuer.token(**claims)}"}
    return HttpPeer(server.port, revision, headers=headers)


def challenge(response: Response) -> dict[str, str]:
    """The parameters of a challenge, which is one Bearer challenge."""
    value = response.headers["WWW-Authenticate"]
    scheme, _, parameters = value.partition(" ")
    assert scheme == "Bearer"
    assert re.fullmatch(r'[a-z_]+="[^"]*"(, [a-z_]+="[^"]*")*', parameters)
    found = PARAMETER.findall(parameters)
    assert len(dict(found)) == len(found)
    return dict(found)


# RFC 6750: bearer tokens


@pytest.mark.requirement("mcp.authorization.challenge")
def test_rfc_6750_3_without_credentials_the_challenge_has_no_error(server: HttpServer) -> None:
    with HttpPeer(server.port) as peer:
        response = peer.post(peer.calling("add", a=1, b=2))
    assert response.status == 401
    assert challenge(response) == {"scope": "shop:read", "resource_metadata": METADATA}
    assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "PUT", "OPTIONS"])
def test_rfc_6750_3_every_method_of_the_endpoint_needs_a_token(
    server: HttpServer, method: str
) -> None:
    with HttpPeer(server.port) as peer:
        assert peer.visit(method).status == 401
        assert peer.visit(method, path="/read").status == 401


@pytest.mark.requirement("mcp.authorization.invalid")
@pytest.mark.parametrize("revision", ERAS)
def test_rfc_6750_3_1_a_token_that_is_not_valid_is_401_invalid_token(
    server: HttpServer, issuer: Issuer, revision: str
) -> None:
    peer = peer_of(server, issuer, revision, aud="https://other.example.com")
    response = peer.post(peer.calling("add", a=1, b=2))
    assert response.status == 401
    assert challenge(response) == {
        "error": "invalid_token",
        "error_description": "The access token is not valid for this server",
        "scope": "shop:read",
        "resource_metadata": METADATA,
    }
    peer.close()


@pytest.mark.parametrize("revision", ERAS)
def test_rfc_6750_3_1_too_little_scope_for_any_call_is_403(
    server: HttpServer, issuer: Issuer, revision: str
) -> None:
    peer = peer_of(server, issuer, revision, scope="other")
    response = peer.post(peer.calling("add", a=1, b=2))
    assert response.status == 403
    assert challenge(response)["error"] == "insufficient_scope"
    assert challenge(response)["scope"] == "shop:read"
    peer.close()


OPERATIONS: dict[str, tuple[str, dict[str, Any], str]] = {
    "a tool": ("tools/call", {"name": "restock", "arguments": {"item": "rope"}}, WRITE),
    "a hidden tool": ("tools/call", {"name": "purge", "arguments": {}}, "shop:read shop:admin"),
    "a tool with bad arguments": ("tools/call", {"name": "restock", "arguments": {}}, WRITE),
    "a prompt": (
        "prompts/get",
        {"name": "plan", "arguments": {"item": "rope"}},
        "shop:read shop:write",
    ),
    "a resource": ("resources/read", {"uri": "shop://stock"}, "shop:read shop:write"),
    "a completion": (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "plan"}, "argument": {"name": "item", "value": ""}},
        "shop:read shop:write",
    ),
    "a template": ("resources/read", {"uri": "shop://ledger/2026"}, "shop:read shop:admin"),
}


@pytest.mark.requirement("mcp.authorization.step-up")
@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize("what", OPERATIONS)
def test_mcp_step_up_an_operation_names_all_scopes_that_it_needs(
    server: HttpServer, issuer: Issuer, revision: str, what: str
) -> None:
    method, params, scopes = OPERATIONS[what]
    with peer_of(server, issuer, revision) as peer:
        response = peer.ask(method, params)
        assert response.status == 403
        assert challenge(response) == {
            "error": "insufficient_scope",
            "error_description": "The access token lacks a scope that this needs",
            "scope": scopes,
            "resource_metadata": METADATA,
        }
        assert "id" in json.loads(response.body)
        partly = peer.post(
            peer.request(method, params),
            {"Authorization": f"Bearer {issuer.token(scope='shop:read shop:stock')}"},
        )
        assert partly.status == 403
        assert challenge(partly)["scope"] == scopes
        if "bad" not in what:
            enough = {"Authorization": f"Bearer {issuer.token(scope=scopes)}"}
            assert peer.post(peer.request(method, params), enough).status == 200
        assert peer.call("add", a=1, b=2) == "3"  # the session goes on


@pytest.mark.parametrize("revision", ERAS)
def test_mcp_step_up_comes_before_any_byte_of_a_stream(
    server: HttpServer, issuer: Issuer, revision: str
) -> None:
    with peer_of(server, issuer, revision) as peer:
        message = peer.watching("restock", item="rope")
        response = peer.post(message, {"Accept": "text/event-stream, application/json"})
        assert (response.status, response.headers["Content-Type"]) == (403, "application/json")


def test_mcp_step_up_the_body_decides_not_a_header(server: HttpServer, issuer: Issuer) -> None:
    peer = peer_of(server, issuer, wire.STATELESS)
    message = peer.calling("restock", item="rope")
    assert peer.post(message, {"Mcp-Name": "add"}).status in (400, 403)
    with peer_of(server, issuer, "2025-06-18") as older:
        lying = {"Mcp-Name": "add", "Mcp-Method": "tools/list"}
        assert older.post(older.calling("restock", item="x"), lying).status == 403
    peer.close()


@pytest.mark.parametrize(
    ("tool", "scopes"), [("restock", WRITE), ("add", "shop:read"), ("unknown", "shop:read")]
)
def test_mcp_step_up_a_token_without_any_scope_is_told_all_that_the_headers_name(
    server: HttpServer, issuer: Issuer, tool: str, scopes: str
) -> None:
    with peer_of(server, issuer, wire.STATELESS, scope="other") as peer:
        assert challenge(peer.post(peer.calling(tool, item="rope")))["scope"] == scopes


def test_mcp_step_up_in_a_batch_is_a_problem_of_that_call(
    server: HttpServer, issuer: Issuer
) -> None:
    with peer_of(server, issuer, "2025-03-26") as peer:
        batch = [
            peer.calling("add", a=1, b=2, id=11),
            peer.calling("restock", item="rope", id=12),
            peer.request("prompts/get", {"name": "plan", "arguments": {"item": "x"}}, id=13),
        ]
        response = peer.post(batch)
    assert response.status == 200
    replies = {each["id"]: each for each in response.message}
    assert replies[11]["result"]["content"][0]["text"] == "3"
    assert replies[12]["result"]["isError"]
    assert WRITE in json.dumps(replies[12])
    assert "shop:write" in replies[13]["error"]["message"]


def test_a_continued_answer_needs_the_scopes_of_its_tool(issuer: Issuer) -> None:
    server = Server("more", read_more=True, max_bytes=2_000, auth=verifier_of(issuer))

    @server.tool(read_only=True, scopes=["shop:write"])
    def stock() -> list[str]:
        return ["x" * 100 for _ in range(100)]

    def call(scope: str, name: str, **arguments: Any) -> httpx2.Response:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        message |= {"params": {"name": name, "arguments": arguments}}
        return asyncio.run(ask(server.asgi(), issuer.token(scope=scope), message))

    first = call("shop:write", "stock")
    assert first.status_code == 200
    found = re.search(r"rest\.accord\.[\w-]+", first.text)
    assert found is not None
    assert call("shop:write", "read_more", cursor=found[0]).status_code == 200
    refused = call("other", "read_more", cursor=found[0])
    assert refused.status_code == 403
    assert 'scope="shop:write"' in refused.headers["WWW-Authenticate"]


async def ask(app: Any, token: str | None, message: Any, url: str = "/mcp") -> httpx2.Response:
    """POST a message to an app in this process."""
    headers = {"MCP-Protocol-Version": "2025-06-18"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
        return await client.post(url, json=message, headers=headers)


def test_a_subscription_needs_the_scopes_of_its_resource(
    server: HttpServer, issuer: Issuer
) -> None:
    uri = "shop://stock"
    writer = {"Authorization": f"Bearer {issuer.token(scope='shop:read shop:write')}"}
    with peer_of(server, issuer, "2025-06-18") as peer:
        refused = peer.ask("resources/subscribe", {"uri": uri})
        assert "shop:write" in refused.message["error"]["message"]
        accepted = peer.post(peer.request("resources/subscribe", {"uri": uri}), writer)
        assert accepted.message["result"] == {}
    for headers, expected in (({}, None), (writer, [uri])):
        later = peer_of(server, issuer, wire.STATELESS)
        wanted = {"notifications": {"resourceSubscriptions": [uri]}}
        stream = later.post(later.request("subscriptions/listen", wanted), headers)
        params = stream.next().message["params"]
        assert params["notifications"].get("resourceSubscriptions") == expected
        later.close()


# Lists


@pytest.mark.parametrize("revision", ERAS)
def test_lists_keep_what_step_up_reaches_and_leave_out_what_is_hidden(
    server: HttpServer, issuer: Issuer, revision: str
) -> None:
    def names(peer: HttpPeer, method: str, member: str) -> set[str]:
        found: set[str] = set()
        cursor: dict[str, Any] = {}
        while True:
            result = peer.ask(method, cursor).message["result"]
            found |= {each.get("uriTemplate", each["name"]) for each in result[member]}
            if "nextCursor" not in result:
                return found
            cursor = {"cursor": result["nextCursor"]}

    with peer_of(server, issuer, revision) as peer:
        tools = names(peer, "tools/list", "tools")
        assert "restock" in tools
        assert "purge" not in tools
        assert names(peer, "prompts/list", "prompts") == {"plan"}
        assert names(peer, "resources/templates/list", "resourceTemplates") == set()
        assert names(peer, "resources/list", "resources") == {"stock"}
    with peer_of(server, issuer, revision, scope="shop:read shop:admin") as admin:
        assert "purge" in names(admin, "tools/list", "tools")
        assert names(admin, "prompts/list", "prompts") == {"plan", "audit"}
        assert names(admin, "resources/templates/list", "resourceTemplates") == {
            "shop://ledger/{year}"
        }


@pytest.mark.parametrize("page_size", [None, 1])
def test_a_list_is_filtered_by_audience_and_by_scopes(
    issuer: Issuer, page_size: int | None
) -> None:
    server = Server("club", auth=verifier_of(issuer), page_size=page_size)

    def audience(sender: Any) -> Callable[[str], bool]:
        return lambda name: sender.fields[b"x-team"].decode() in name

    for name in ("red_reads", "blue_reads", "red_bans", "blue_bans"):
        is_hidden = "bans" in name
        options: dict[str, Any] = {
            "scopes": ["club:admin"] if is_hidden else [],
            "hidden": is_hidden,
        }
        server.tool(name=name, audience=audience, **options)(lambda: "hi")

    async def listed(client: httpx2.AsyncClient, headers: dict[str, str]) -> list[str]:
        found: list[str] = []
        params: dict[str, Any] = {}
        while True:
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}
            response = await client.post("/mcp", json=message, headers=headers)
            result = response.json()["result"]
            found += [tool["name"] for tool in result["tools"]]
            if "nextCursor" not in result:
                return found
            params = {"cursor": result["nextCursor"]}

    async def scenario() -> None:
        transport = httpx2.ASGITransport(server.asgi())
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            for team in ("red", "blue"):
                for scope, tools in (("x", ["reads"]), ("club:admin", ["reads", "bans"])):
                    token = issuer.token(scope=scope)
                    headers = {"Authorization": f"Bearer {token}", "X-Team": team}
                    assert await listed(client, headers) == [f"{team}_{each}" for each in tools]

    asyncio.run(scenario())


def test_lists_that_differ_by_caller_are_private(server: HttpServer, issuer: Issuer) -> None:
    with peer_of(server, issuer, wire.STATELESS, scope="shop:read shop:write") as peer:
        for method in ("tools/list", "prompts/list", "resources/list"):
            assert peer.ask(method).message["result"]["cacheScope"] == "private"
        read = peer.ask("resources/read", {"uri": "shop://stock"})
        assert read.message["result"]["cacheScope"] == "private"


# RFC 9728: protected resource metadata


@pytest.mark.requirement("mcp.authorization.metadata")
@pytest.mark.parametrize("path", ["", "/", "/mcp", "/mcp/"])
def test_rfc_9728_3_metadata_is_at_both_well_known_places(
    server: HttpServer, issuer: Issuer, path: str
) -> None:
    with HttpPeer(server.port) as peer:
        place = f"/.well-known/oauth-protected-resource{path}"
        response = peer.visit("GET", {"Origin": "https://inspector.example"}, path=place)
    assert response.status == 200
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert "max-age" in response.headers["Cache-Control"]
    assert json.loads(response.body) == {
        "resource": AUDIENCE,
        "authorization_servers": [issuer.url],
        "scopes_supported": ["shop:read"],
        "bearer_methods_supported": ["header"],
    }


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/mcp", 405),
        ("OPTIONS", "/mcp", 204),
        ("HEAD", "/mcp", 200),
        ("GET", "/other", 404),
        ("GET", "/mcp/more", 404),
        ("GET", "x", 404),
    ],
)
def test_rfc_9728_3_other_requests_for_metadata_are_refused(
    server: HttpServer, method: str, path: str, status: int
) -> None:
    with HttpPeer(server.port) as peer:
        place = f"/.well-known/oauth-protected-resource{path}"
        assert peer.visit(method, path=place).status == status


@pytest.mark.parametrize(
    "name", ["oauth-authorization-server", "openid-configuration", "oauth-authorization-server/mcp"]
)
def test_rfc_8414_3_this_is_no_authorization_server(server: HttpServer, name: str) -> None:
    with HttpPeer(server.port) as peer:
        assert peer.visit("GET", path=f"/.well-known/{name}").status == 404


PLACES: dict[str, tuple[list[str], dict[str, str], str, str]] = {
    "a public URL": (
        ["--public-url", "https://shop.example"],
        {},
        "https://shop.example/mcp",
        "https://shop.example/.well-known/oauth-protected-resource/mcp",
    ),
    "a public URL with the path": (
        ["--public-url", "https://shop.example/mcp"],
        {},
        "https://shop.example/mcp",
        "https://shop.example/.well-known/oauth-protected-resource/mcp",
    ),
    "a public URL with a prefix": (
        ["--public-url", "https://Shop.Example:8443/tools/"],
        {},
        "https://shop.example:8443/tools/mcp",
        "https://shop.example:8443/tools/.well-known/oauth-protected-resource/mcp",
    ),
    "an audience that is not a URL": (
        [],
        {"AUDIENCE": "api://shop"},
        "http://127.0.0.1:PORT/mcp",
        "http://127.0.0.1:PORT/.well-known/oauth-protected-resource/mcp",
    ),
    "an audience that is another URL": (
        [],
        {"AUDIENCE": "https://shop.example/api"},
        "https://shop.example/mcp",
        "https://shop.example/.well-known/oauth-protected-resource/mcp",
    ),
    "an audience with a prefix": (
        [],
        {"AUDIENCE": "https://shop.example/tools/mcp"},
        "https://shop.example/tools/mcp",
        "https://shop.example/tools/.well-known/oauth-protected-resource/mcp",
    ),
}


@pytest.mark.parametrize("case", PLACES)
def test_rfc_9728_3_3_the_resource_is_what_clients_call(issuer: Issuer, case: str) -> None:
    words, environment, resource, metadata = PLACES[case]
    with serving(issuer, *words, **environment) as server:
        port = str(server.port)
        with HttpPeer(server.port) as peer:
            refused = peer.post(peer.calling("add"))
            assert challenge(refused)["resource_metadata"] == metadata.replace("PORT", port)
            path = "/.well-known/oauth-protected-resource"
            found = json.loads(peer.visit("GET", path=path).body)
            assert found["resource"] == resource.replace("PORT", port)


def test_a_public_url_admits_its_host_alone(issuer: Issuer) -> None:
    with serving(issuer, "--public-url", "https://shop.example") as server:
        peer = peer_of(server, issuer, "2025-06-18")
        call = peer.calling("add", a=1, b=2)
        assert peer.post(call, {"Host": "shop.example"}).status == 200
        assert peer.post(call, {"Host": "evil.example"}).status == 403
        peer.close()


# RFC 8707: resource indicators, and mounts


def verifier_of(issuer: Issuer) -> TokenVerifier:
    """A verifier that names no URL, so that the request decides where the server is."""
    verifier = TokenVerifier(issuer.url, AUDIENCE)
    verifier.audiences = ("api://shop",)
    return verifier


@pytest.mark.requirement("mcp.authorization.audience")
def test_rfc_8707_2_a_token_for_another_resource_is_refused(
    server: HttpServer, issuer: Issuer
) -> None:
    for audience in ("https://mcp.example.com", "https://mcp.example.com/other", "api://shop"):
        peer = peer_of(server, issuer, "2025-06-18", aud=audience)
        assert peer.post(peer.calling("add", a=1, b=2)).status == 401
        peer.close()


@pytest.mark.parametrize("prefix", ["/shop", "/a/b"])
def test_below_a_mount_the_challenge_names_metadata_that_is_there(
    issuer: Issuer, prefix: str
) -> None:
    mcp = guarded.build(auth=verifier_of(issuer)).asgi()
    outer = FastAPI(lifespan=mcp.lifespan)
    outer.mount(prefix, mcp)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    message["params"] = {"name": "add", "arguments": {"a": 1, "b": 2}}

    async def scenario() -> None:
        refused = await ask(outer, None, message, f"{prefix}/mcp")
        assert refused.status_code == 401
        [url] = re.findall(r'resource_metadata="([^"]+)"', refused.headers["WWW-Authenticate"])
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(outer)) as client:
            found = (await client.get(url)).json()
        assert found["resource"] == f"http://127.0.0.1:8000{prefix}/mcp"
        accepted = await ask(outer, issuer.token(), message, f"{prefix}/mcp")
        assert accepted.status_code == 200

    asyncio.run(scenario())


@pytest.mark.parametrize("inner", ["scopes", "verifies"])
def test_a_server_without_a_verifier_warns_of_parts_that_rely_on_one(
    issuer: Issuer, inner: str, caplog: pytest.LogCaptureFixture
) -> None:
    part = Server("part", auth=verifier_of(issuer) if inner == "verifies" else None)
    part.tool(name="wipe", scopes=["admin"] if inner == "scopes" else [])(lambda: "wiped")
    middle, outer = Server("middle"), Server("outer")
    middle.include(part)
    outer.include(middle)
    outer.asgi(auth=verifier_of(issuer))
    assert not caplog.messages
    outer.asgi()
    [warning] = caplog.messages
    assert inner in warning
    assert "but the server verifies no tokens: every client may use its tools" in warning


def test_an_app_has_a_verifier_of_its_own(issuer: Issuer) -> None:
    app = guarded.build().asgi(auth=verifier_of(issuer), scopes=("shop:read",))
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert asyncio.run(ask(app, None, message)).status_code == 401
    assert asyncio.run(ask(app, issuer.token(), message)).status_code == 200
    assert asyncio.run(ask(app, issuer.token(scope="x"), message)).status_code == 403


# The caller, as tools, prompts and resources see it


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("has_verifier", [True, False])
def test_the_caller_is_the_verified_one_or_none(
    issuer: Issuer, is_async: bool, has_verifier: bool
) -> None:
    server = Server("who", auth=verifier_of(issuer) if has_verifier else None)
    seen: list[Caller | None] = []

    def look(context: Context) -> str:
        seen.append(context.caller)
        return "looked"

    async def look_async(context: Context) -> str:
        return look(context)

    function = look_async if is_async else look
    server.tool(name="look")(function)
    server.prompt(name="look")(function)
    server.resource("who://look", name="look")(function)
    app = server.asgi()
    token = issuer.token(sub="zoe", client_id="agent", scope="a b", team="red")
    for method, params in (
        ("tools/call", {"name": "look", "arguments": {}}),
        ("prompts/get", {"name": "look"}),
        ("resources/read", {"uri": "who://look"}),
    ):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        assert "looked" in asyncio.run(ask(app, token, message)).text
    assert len(seen) == 3
    if not has_verifier:
        assert seen == [None] * 3
        return
    for caller in seen:
        assert caller is not None
        assert (caller.issuer, caller.subject, caller.client) == (issuer.url, "zoe", "agent")
        assert caller.scopes == {"a", "b"}
        assert caller.claims["team"] == "red"


# RFC 7235 and 9110: what cannot be known now


def test_rfc_9110_15_6_4_keys_that_cannot_be_had_are_503(issuer: Issuer) -> None:
    def failing(request: Any) -> bool:
        send(request, 500, {})
        return True

    with Issuer() as broken:
        broken.faults["/jwks"] = failing
        with serving(broken) as server:
            peer = peer_of(server, broken, "2025-06-18")
            response = peer.post(peer.calling("add", a=1, b=2))
            assert response.status == 503
            assert 1 <= int(response.headers["Retry-After"]) <= 30
            assert response.headers["WWW-Authenticate"] is None
            peer.close()


def answering(status: int, body: Any, seconds: float = 0.0) -> Callable[[Any], bool]:
    def fault(request: Any) -> bool:
        time.sleep(seconds)
        with suppress(OSError):  # the server has left
            send(request, status, body)
        return True

    return fault


@pytest.mark.parametrize("place", ["/jwks", "/.well-known/oauth-authorization-server"])
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(answering(200, b"\x00\xff{"), id="garbage"),
        pytest.param(answering(200, b"[" * 900_000), id="nested"),
        pytest.param(answering(200, b" " * 1_000_001), id="huge"),
        pytest.param(answering(200, {"keys": [5]}), id="no keys"),
        pytest.param(answering(302, b""), id="redirect"),
        pytest.param(answering(503, b""), id="down"),
        pytest.param(answering(200, {}, seconds=6), id="slow"),
    ],
)
def test_rfc_9110_15_6_4_whatever_is_wrong_with_the_keys_is_503(
    place: str, fault: Callable[[Any], bool]
) -> None:
    with Issuer() as broken:
        broken.faults[place] = fault
        app = guarded.build(auth=verifier_of(broken)).asgi()
        message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        response = asyncio.run(ask(app, broken.token(), message))
    assert response.status_code == 503
    assert 1 <= int(response.headers["Retry-After"]) <= 30
    assert "WWW-Authenticate" not in response.headers
    text = "The access token cannot be verified now; try again later"
    assert response.json()["error"]["message"] == text


# RFC 7662: introspection


def test_rfc_7662_2_opaque_tokens_are_asked_about(issuer: Issuer) -> None:
    with Issuer() as other:
        other.active = {
            "good": {"sub": "zoe", "client_id": "agent", "aud": AUDIENCE, "scope": "shop:read"},
            "elsewhere": {"sub": "zoe", "aud": "https://other.example.com"},
            "nobody": {"aud": AUDIENCE},
            "no-audience": {"sub": "zoe"},
            "old": {"sub": "zoe", "aud": AUDIENCE, "exp": 1},
            "foreign": {"sub": "zoe", "aud": AUDIENCE, "iss": "https://evil.example"},
            "refresh": {"sub": "zoe", "aud": AUDIENCE, "token_type": "refresh_token"},
            "inactive": {"sub": "zoe", "aud": AUDIENCE, "active": "true"},
        }
        env = {"INTROSPECT": f"{other.origin}/introspect"}
        command = [ACCORD, "serve", f"{SAMPLES}/guarded.py:server", "--http", "127.0.0.1:0"]
        with HttpServer(command, env={**os.environ, **env}) as server:
            for token in [*other.active, "unknown"]:
                peer = HttpPeer(server.port, headers={"Authorization": f"Bearer {token}"})
                status = peer.post(peer.calling("add", a=1, b=2)).status
                assert status == (200 if token == "good" else 401), token
                assert peer.post(peer.calling("add", a=1, b=2)).status == status
                peer.close()
        assert other.hits["/introspect"] == len(other.active) + 1  # verdicts are kept
        assert set(other.credentials) == {"Basic bWNwOnMzY3JldCUyNg=="}


def test_rfc_7662_2_3_an_issuer_that_fails_is_503() -> None:
    def failing(request: Any) -> bool:
        send(request, 401, {"error": "invalid_client"})
        return True

    with Issuer() as other:
        other.faults["/introspect"] = failing
        env = {"INTROSPECT": f"{other.origin}/introspect"}
        command = [ACCORD, "serve", f"{SAMPLES}/guarded.py:server", "--http", "127.0.0.1:0"]
        with HttpServer(command, env={**os.environ, **env}) as server:
            peer = HttpPeer(server.port, headers={"Authorization": "Bearer opaque"})
            response = peer.post(peer.calling("add", a=1, b=2))
            assert (response.status, response.headers["Retry-After"]) == (503, "1")
            assert "401" not in response.body.decode()
            peer.close()


def test_a_prefix_from_the_request_cannot_write_into_a_header(issuer: Issuer) -> None:
    app = guarded.build(auth=verifier_of(issuer)).asgi()
    sent: list[Any] = []

    async def send_(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    prefix = '/a"\r\nX-Evil: 1'
    scope = {
        "type": "http",
        "method": "POST",
        "path": f"{prefix}/mcp",
        "root_path": prefix,
        "headers": [(b"host", b"127.0.0.1:8000"), (b"content-type", b"application/json")],
    }
    asyncio.run(app(scope, receive, send_))
    headers = dict(sent[0]["headers"])
    assert sent[0]["status"] == 401
    assert b"\r" not in headers[b"www-authenticate"]
    assert headers[b"www-authenticate"].count(b'"') == 2


def test_a_verdict_that_depends_on_the_request_is_not_kept() -> None:
    class Proving:
        cache_seconds = 0

        async def verify(self, token: str, request: TokenRequest) -> Caller | None:
            is_proven = request.headers.get(b"x-proof") == b"yes"
            return Caller(issuer="https://as.example", subject="zoe") if is_proven else None

    app = guarded.build(auth=Proving()).asgi()
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

    async def scenario() -> list[int]:
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            found = []
            for proof in ("yes", "no", "yes", "no"):
                headers = {"Authorization": "Bearer t", "X-Proof": proof}
                response = await client.post("/mcp", json=message, headers=headers)
                found.append(response.status_code)
            return found

    assert asyncio.run(scenario()) == [200, 401, 200, 401]


def test_a_verifier_that_fails_lets_nobody_in() -> None:
    class Broken:
        async def verify(self, token: str, request: TokenRequest) -> Caller | None:
            raise RuntimeError("secret detail")

    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    app = guarded.build(auth=Broken()).asgi()
    with pytest.raises(RuntimeError):  # the ASGI server answers with 500
        asyncio.run(ask(app, "t", message))


@pytest.mark.parametrize("prefix", ["/shop", "/a/b"])
def test_rfc_9728_3_1_an_app_can_be_mounted_at_the_well_known_place_too(
    issuer: Issuer, prefix: str
) -> None:
    mcp = guarded.build(auth=verifier_of(issuer)).asgi()
    outer = FastAPI(lifespan=mcp.lifespan)
    outer.mount(prefix, mcp)
    outer.mount("/.well-known/oauth-protected-resource", mcp)

    async def scenario() -> None:
        transport = httpx2.ASGITransport(outer)
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:8000"
        ) as client:
            place = "/.well-known/oauth-protected-resource"
            found = (await client.get(f"{place}{prefix}/mcp")).json()
            assert found["resource"] == f"http://127.0.0.1:8000{prefix}/mcp"
            token = {"Authorization": f"Bearer {issuer.token()}"}
            for method in ("POST", "DELETE"):
                response = await client.request(method, f"{place}{prefix}/mcp", headers=token)
                assert response.status_code == 405
            assert (await client.get(f"{place}{prefix}/other")).status_code == 404
            assert (await client.get(f"{place}/health")).status_code == 404

    asyncio.run(scenario())
