"""Credentials of a gateway at its upstreams: its own, or exchanged for each caller's (9, 10, 11)."""

import asyncio
import base64
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from accord import Client, MCPError
from accord.errors import ContractError
from accord.gateway import spec_of
from commands import ACCORD
from gateway.gateways import ODD, SAMPLE, client_of, message_of
from http_peer import HttpServer
from token_issuer import Issuer, send

NEW, OLD = "2026-07-28", "2025-11-25"
SECRET = "the-secret-of-the-gateway"


class Exchange(Issuer):
    """An issuer that gives tokens to the client `gateway`: its own, and for those of others."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[dict[str, str]] = []
        self.refused: set[str] = set()
        self.faults["/token"] = self.give
        methods = ["client_secret_basic"]
        self.metadata = {"token_endpoint_auth_methods_supported": methods}

    def give(self, request: BaseHTTPRequestHandler) -> bool:
        body = request.rfile.read(int(request.headers["content-length"])).decode()
        form = {name: each[0] for name, each in parse_qs(body).items()}
        pair = base64.b64encode(f"gateway:{SECRET}".encode()).decode()
        if request.headers["authorization"] != f"Basic {pair}":
            send(request, 401, {"error": "invalid_client"})
            return True
        self.forms.append(form)
        subject = form.get("subject_token")
        if subject in self.refused:
            send(request, 400, {"error": "invalid_grant", "error_description": "ended"})
            return True
        name = "gateway" if subject is None else claims_of(subject)["sub"]
        token = self.token(aud=form.get("audience", "upstream"), sub=name, client_id="gateway")
        reply = {"access_token": token, "token_type": "Bearer", "expires_in": 600}
        send(request, 200, reply)
        return True

    def exchanges(self) -> list[str]:
        """The subject tokens that were sent here, in order."""
        return [form["subject_token"] for form in self.forms if "subject_token" in form]


def claims_of(token: str) -> dict[str, Any]:
    body = token.split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return found


@pytest.fixture
def issuer() -> Iterator[Exchange]:
    with Exchange() as issuer:
        issuer.metadata["token_endpoint"] = f"{issuer.origin}/token"
        yield issuer


@contextmanager
def behind(
    issuer: Issuer, folder: Path, *options: str, **members: Any
) -> Iterator[tuple[HttpServer, HttpServer]]:
    """Serve an upstream that requires tokens, and a gateway that requires others in front."""
    guard = ["--issuer", issuer.url, "--audience"]
    upstream = [*SAMPLE, "--http", "127.0.0.1:0", *guard, "upstream"]
    with HttpServer(upstream) as one:
        auth = {"client_id": "gateway", "client_secret": SECRET, "issuer": issuer.url}
        audience = {"audience": "upstream"} if members.get("exchange") else {}
        entry = {"url": one.url, "auth": {**auth, **audience, **members}}
        file = folder / "mcp.json"
        file.write_text(json.dumps({"mcpServers": {"one": entry}}))
        command = [ACCORD, "serve", str(file), "--http", "127.0.0.1:0", *guard, "gateway"]
        with HttpServer([*command, *options]) as gateway:
            yield gateway, one
    for server in (gateway, one):
        assert "Traceback" not in server.stderr, server.stderr


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.requirement("gateway.10.exchange", "gateway.9.pool")
@pytest.mark.parametrize("revision", [OLD, NEW])
def test_the_token_of_each_caller_is_exchanged_at_the_issuer(
    issuer: Exchange, tmp_path: Path, revision: str
) -> None:
    tokens = {name: issuer.token(aud="gateway", sub=name) for name in ("ada", "bob")}

    async def seen_by(url: str, name: str) -> Any:
        async with client_of(url, revision, headers=bearer(tokens[name])) as client:
            for _ in range(2):
                found = (await client.call_tool("headers")).value
            return found

    async def main(url: str) -> None:
        both = await asyncio.gather(*(seen_by(url, name) for name in tokens))
        for name, found in zip(tokens, both, strict=True):
            scheme, token = found["authorization"].split()
            assert scheme == "Bearer"
            assert token not in tokens.values()
            claims = claims_of(token)
            assert (claims["aud"], claims["sub"]) == ("upstream", name)
        sessions = [found.get("mcp-session-id") for found in both]
        assert None in sessions or len(set(sessions)) == 2

    with behind(issuer, tmp_path, exchange=True) as (gateway, one):
        asyncio.run(main(gateway.url))
        assert not any(token in gateway.stderr + one.stderr for token in tokens.values())
    assert sorted(issuer.exchanges()) == sorted(tokens.values())  # one for all calls of a caller
    (form, *_) = [form for form in issuer.forms if "subject_token" in form]
    assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange"
    assert form["resource"] == one.url
    assert form["audience"] == "upstream"


@pytest.mark.requirement("gateway.11.refused", "gateway.10.exchange")
def test_a_caller_whose_token_is_refused_harms_nobody_else(
    issuer: Exchange, tmp_path: Path
) -> None:
    ada, bob = (issuer.token(aud="gateway", sub=name) for name in ("ada", "bob"))
    issuer.refused.add(bob)

    async def main(url: str) -> None:
        async with client_of(url, NEW, headers=bearer(bob)) as client:
            reading = await client.call_tool("add", {"a": 1, "b": 2})
            assert reading.is_failure
            assert "refused the token request" in message_of(reading)
            assert bob not in json.dumps(reading.response.to_dict())
        async with client_of(url, NEW, headers=bearer(ada)) as client:
            assert (await client.call_tool("add", {"a": 1, "b": 2})).value == 3

    with behind(issuer, tmp_path, exchange=True) as (gateway, _):
        asyncio.run(main(gateway.url))
    assert issuer.exchanges().count(bob) == 1  # no storm


@pytest.mark.requirement("gateway.10.own")
@pytest.mark.parametrize("revision", [OLD, NEW])
def test_a_gateway_uses_the_credentials_of_its_own_client(
    issuer: Exchange, tmp_path: Path, revision: str
) -> None:
    token = issuer.token(aud="gateway", sub="ada")

    async def main(url: str) -> None:
        async with client_of(url, revision, headers=bearer(token)) as client:
            found = (await client.call_tool("headers")).value
            assert claims_of(found["authorization"].split()[1])["sub"] == "gateway"

    with behind(issuer, tmp_path) as (gateway, _):
        asyncio.run(main(gateway.url))
    assert issuer.exchanges() == []
    assert {form["grant_type"] for form in issuer.forms} == {"client_credentials"}


@pytest.mark.requirement("gateway.10.own")
def test_a_header_of_the_environment_is_sent(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"

    async def main(url: str) -> None:
        async with client_of(url, NEW, headers={"X-Api-Key": "of a caller"}) as client:
            assert (await client.call_tool("headers")).value["x-api-key"] == "k3y"

    with HttpServer([*SAMPLE, "--http", "127.0.0.1:0"]) as one:
        entry = {"url": one.url, "headers": {"X-Api-Key": "${UPSTREAM_KEY}"}}
        file.write_text(json.dumps({"mcpServers": {"one": entry}}))
        command = [ACCORD, "serve", str(file), "--http", "127.0.0.1:0"]
        with HttpServer(command, env={**os.environ, "UPSTREAM_KEY": "k3y"}) as gateway:
            asyncio.run(main(gateway.url))


FORWARDING = """\
from accord.gateway import Gateway, spec_of

spec = spec_of({url!r}, name="one", forward=["x-tenant"], revision={revision!r})
server = Gateway([spec]).server
"""


@pytest.mark.requirement("gateway.10.allow-list")
@pytest.mark.parametrize("upstream", [OLD, NEW])
@pytest.mark.parametrize("revision", [OLD, NEW])
def test_headers_of_the_allow_list_are_forwarded_and_no_others(
    tmp_path: Path, upstream: str, revision: str
) -> None:
    given = {"X-Tenant": "blue", "X-Other": "no", "Cookie": "no"}
    file = tmp_path / "forwarding.py"

    async def main(url: str) -> None:
        async with client_of(url, revision, headers=given) as client:
            found = (await client.call_tool("headers")).value
            assert found["x-tenant"] == "blue"
            assert not {"x-other", "cookie"} & found.keys()

    with HttpServer([*SAMPLE, "--http", "127.0.0.1:0"]) as one:
        file.write_text(FORWARDING.format(url=one.url, revision=upstream))
        with HttpServer([ACCORD, "serve", str(file), "--http", "127.0.0.1:0"]) as gateway:
            asyncio.run(main(gateway.url))


@pytest.mark.requirement("gateway.10.allow-list")
@pytest.mark.parametrize("name", ["Authorization", "cookie", "MCP-Session-Id", "Host", "a b", ""])
def test_headers_that_identify_a_caller_are_never_forwarded(name: str) -> None:
    with pytest.raises(ContractError, match="must not be forwarded"):
        spec_of("https://example.com/mcp", forward=[name])


PICTURE = {"type": "image", "mimeType": "image/png", "data": "iVBO" * 2_000}
RECORD = {"content": [{"type": "text", "text": 'Found 2:\n[{"id": 1}, {"id": 2}]'}, PICTURE]}


@pytest.mark.requirement("gateway.9.originals")
@pytest.mark.parametrize("guard", ["verified tokens", "any Authorization header"])
@pytest.mark.parametrize("revision", [OLD, NEW])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_originals_and_media_are_for_the_caller_of_the_call_alone(
    issuer: Exchange, tmp_path: Path, guard: str, revision: str, workers: str
) -> None:
    tokens = {name: issuer.token(aud="gateway", sub=name) for name in ("ada", "bob")}

    async def kept_of(client: Client) -> tuple[str, str]:
        """Return the cursor to the original of a normalised reply, and the URI of its picture."""
        result = (await client.call_tool_raw("say", {"raw": json.dumps(RECORD)})).result
        (link,) = [each for each in result["content"] if each["type"] == "resource_link"]
        return result["_meta"]["dev.accord-mcp/gateway"]["original"], link["uri"]

    async def main(url: str) -> None:
        ada, bob = (bearer(tokens[name]) for name in ("ada", "bob"))
        async with client_of(url, revision, headers=ada) as client:
            cursor, uri = await kept_of(client)
        assert uri.startswith("accord-reply://")
        others: list[dict[str, str]] = [bob] if guard == "verified tokens" else [bob, {}]
        for headers in others:
            async with client_of(url, revision, headers=headers) as client:
                for _ in range(4):  # whichever worker answers
                    stolen = await client.call_tool("read_more", {"cursor": cursor})
                    assert stolen.is_failure
                    assert "Found" not in json.dumps(stolen.raw, default=str)
                    with pytest.raises(MCPError):
                        await client.read_resource(uri)
        async with client_of(url, revision, headers=ada) as client:
            for _ in range(4):
                again = await client.call_tool_raw("read_more", {"cursor": cursor})
                assert again.result["content"][0] == RECORD["content"][0]
                (found,) = await client.read_resource(uri)
                assert found.content == base64.b64decode(PICTURE["data"])

    (tmp_path / "odd.json").write_text("{}")
    entry = {"command": ODD[0], "args": [*ODD[1:], str(tmp_path / "odd.json")]}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"odd": {**entry, "replies": "normalised"}}}))
    command = [ACCORD, "serve", str(file), "--http", "127.0.0.1:0", "--workers", workers]
    if guard == "verified tokens":
        command += ["--issuer", issuer.url, "--audience", "gateway"]
    with HttpServer([*command, "--max-bytes", "4096"]) as gateway:
        asyncio.run(main(gateway.url))
