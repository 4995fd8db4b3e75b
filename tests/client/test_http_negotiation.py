"""Connecting to a URL: era, headers, sessions, redirects."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from accord.client.peer import Peer, connect
from accord.errors import ContractError, PeerError
from client.connections import run, text
from peers.scripted_server import (
    Request,
    ScriptedServer,
    call,
    calling,
    event,
    handshake,
    refused,
    replying,
    scripted_server,
    stateless,
    with_peer,
)

# How it begins


def test_the_stateless_era_is_tried_first_and_needs_one_request() -> None:
    async def say(peer: Peer, server: ScriptedServer) -> tuple[str, dict[str, Any], list[str]]:
        return peer.revision, peer.server, [each.rpc for each in server.requests]

    revision, identity, asked = with_peer(stateless, say)
    assert (revision, identity["version"], asked) == ("2026-07-28", "2", ["server/discover"])


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, b"", "application/json"),
        (400, b"Bad Request", "text/plain"),
        (
            400,
            b'{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"x"}}',
            "application/json",
        ),
        (
            400,
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}',
            "application/json",
        ),
        (
            404,
            b'{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}',
            "application/json",
        ),
        (404, b"<html>", "text/html"),
        (405, b"", "application/json"),
        (406, b"", "application/json"),
        (422, b'{"detail": "nonsense"}', "application/json"),
        (500, b"oh no", "text/plain"),
        (
            200,
            b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}',
            "application/json",
        ),
        (200, b'{"jsonrpc":"2.0","id":1,"result":{}}', "application/json"),
        (200, b"not json", "application/json"),
        (202, b"", "application/json"),
    ],
)
def test_whatever_is_no_sign_of_the_stateless_era_leads_to_a_handshake(
    status: int, body: bytes, kind: str
) -> None:
    async def answer(request: Request) -> None:
        if request.rpc == "server/discover":
            await request.reply(status, body, kind)
        else:
            await handshake(request)

    async def say(peer: Peer, server: ScriptedServer) -> str:
        assert await call(peer, server) == "well"
        return peer.revision

    assert with_peer(answer, say) == "2025-11-25"


def test_silence_leads_to_a_handshake() -> None:
    async def answer(request: Request) -> None:
        await (request.until_left() if request.rpc == "server/discover" else handshake(request))

    assert with_peer(answer, call, timeout=2) == "well"


@pytest.mark.parametrize(
    ("code", "data", "sentence"),
    [
        (-32020, None, r"rejected the handshake: no \(-32020\)"),
        (-32021, None, r"rejected the handshake: no \(-32021\)"),
        (-32022, {"supported": ["2099-01-01"]}, "no common revision: the server supports 2099-01-01"),
        (-32022, {"supported": ["2026-07-28"]}, "rejected a revision that it supports: 2026-07-28"),
    ],
)  # fmt: skip
def test_an_error_of_the_stateless_era_leads_to_no_handshake(
    code: int, data: Any, sentence: str
) -> None:
    async def answer(request: Request) -> None:
        assert request.rpc == "server/discover"
        await request.error(400, code, data=data)

    refused(answer, sentence)


def test_a_server_that_wants_authorization_is_not_asked_again() -> None:
    asked: list[str] = []

    async def answer(request: Request) -> None:
        asked.append(request.rpc)
        await request.reply(401, b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}')

    refused(answer, r"requires authorization \(HTTP 401\); pass auth=, or a header")
    assert asked == ["server/discover"]


@pytest.mark.parametrize("status", [403, 500])
def test_a_server_that_refuses_everything_is_reported_by_its_status(status: int) -> None:
    async def answer(request: Request) -> None:
        await request.reply(status, b"go\n away" + b"!" * 1_000, "text/plain")

    refused(answer, f"/mcp answered with HTTP {status}: go away!")


@pytest.mark.parametrize(
    ("session", "sentence"),
    [("aüb", "a session id that is not a valid header value"), ("a\x7fb", "an invalid response")],
)
def test_a_session_id_that_no_header_can_carry_is_refused(session: str, sentence: str) -> None:
    async def answer(request: Request) -> None:
        await handshake(request, session=session)

    refused(answer, sentence)


# What is sent


def test_requests_of_the_stateless_era_repeat_themselves_in_headers() -> None:
    async def say(peer: Peer, server: ScriptedServer) -> Request:
        await peer.call("naïve")
        return server.requests[-1]

    request = with_peer(stateless, say)
    assert request.headers["mcp-protocol-version"] == "2026-07-28"
    assert request.headers["mcp-method"] == "tools/call"
    assert request.headers["mcp-name"] == "=?base64?bmHDr3Zl?="
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept"] == "application/json, text/event-stream"
    assert "mcp-session-id" not in request.headers
    meta = request.message["params"]["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert meta["io.modelcontextprotocol/clientCapabilities"] == {}
    assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "accord"


def test_what_the_caller_puts_into_meta_stays() -> None:
    async def say(peer: Peer, server: ScriptedServer) -> Any:
        await peer.request("tools/call", {"name": "x", "_meta": {"progressToken": 7}})
        return server.requests[-1].message["params"]["_meta"]

    meta = with_peer(stateless, say)
    assert meta["progressToken"] == 7
    assert "io.modelcontextprotocol/protocolVersion" in meta


def test_a_session_goes_with_every_request_and_is_ended() -> None:
    async def main() -> ScriptedServer:
        async with scripted_server(handshake) as server:
            async with connect(server.url, era="handshake", revision="2025-06-18") as peer:
                await peer.call("hello")
            return server

    server = run(main())
    first, *others = server.requests
    assert first.rpc == "initialize"
    assert not first.headers.keys() & {"mcp-session-id", "mcp-protocol-version", "mcp-method"}
    for request in others:
        assert request.headers["mcp-session-id"] == "s1"
        assert request.headers["mcp-protocol-version"] == "2025-06-18"
    assert {each.method for each in others} == {"POST", "GET", "DELETE"}
    assert others[-1].method == "DELETE"


@pytest.mark.parametrize("era", ["stateless", "handshake"])
def test_without_a_session_none_is_ended(era: str) -> None:
    async def answer(request: Request) -> None:
        await (stateless(request) if era == "stateless" else handshake(request, session=None))

    async def main() -> ScriptedServer:
        async with scripted_server(answer) as server:
            async with connect(server.url, era=era) as peer:  # type: ignore[arg-type]
                await peer.call("hello")
            return server

    assert run(main()).asked("DELETE") == []


def test_a_session_that_cannot_be_ended_holds_nobody_up() -> None:
    async def answer(request: Request) -> None:
        await (request.reply(405) if request.method == "DELETE" else handshake(request))

    assert with_peer(answer, call) == "well"


def test_headers_of_the_caller_go_along_and_ours_stay_ours() -> None:
    given = {"Authorization": "Bearer secret", "MCP-Protocol-Version": "1999-01-01"}

    async def say(peer: Peer, server: ScriptedServer) -> tuple[Request, list[bytes]]:
        await peer.call("hello")
        return server.requests[-1], [each.raw for each in peer.messages]

    request, kept = with_peer(stateless, say, headers=given)
    assert request.headers["authorization"] == "Bearer secret"
    assert request.headers["mcp-protocol-version"] == "2026-07-28"
    assert b"secret" not in b"".join(kept)


def test_a_header_with_a_line_break_is_our_own_fault() -> None:
    refused(stateless, "the headers are invalid", ContractError, headers={"X": "a\r\nY: b"})


def test_a_session_that_is_lost_is_begun_again_once_for_all() -> None:
    state: dict[str, Any] = {"session": "s1", "begun": 0}

    async def answer(request: Request) -> None:
        if request.rpc == "initialize":
            state["begun"] += 1
            state["session"] = f"s{state['begun']}"
        elif request.headers.get("mcp-session-id") != state["session"]:
            await request.reply(404, b'{"error": "no such session"}')
            return
        await handshake(request, session=state["session"])

    async def say(peer: Peer, server: ScriptedServer) -> list[str]:
        state["session"] = "lost"
        return [text(each) for each in await asyncio.gather(*(peer.call(name) for name in "abc"))]

    assert with_peer(answer, say, era="handshake") == ["well"] * 3
    assert state["begun"] == 2


def test_a_session_that_is_lost_each_time_is_reported() -> None:
    async def lost(request: Request) -> None:
        await request.reply(404)

    refused(calling(lost), "has ended the session", era="handshake")


# Redirects


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_on_the_same_host_is_followed(status: int) -> None:
    async def answer(request: Request) -> None:
        if request.path == "/mcp":
            await request.reply(status, headers={"Location": "/mcp/"})
        else:
            await stateless(request)

    async def say(peer: Peer, server: ScriptedServer) -> list[str]:
        await peer.call("hello")
        return [each.path for each in server.requests]

    assert with_peer(answer, say) == ["/mcp", "/mcp/", "/mcp/"]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_nothing_is_sent_to_another_host(status: int) -> None:
    async def main() -> list[Request]:
        async with scripted_server(stateless) as other:

            async def answer(request: Request) -> None:
                await request.reply(status, headers={"Location": other.url + "?token=1"})

            async with scripted_server(answer) as server:
                sentence = f"redirects to another origin, {other.url}"
                with pytest.raises(PeerError, match=sentence) as caught:
                    async with connect(server.url, headers={"Authorization": "Bearer x"}):
                        pass
                assert "token" not in str(caught.value)
            return other.requests

    assert run(main()) == []


@pytest.mark.parametrize(
    ("location", "sentence"),
    [
        ("/mcp", "redirects too often"),
        ("ftp://127.0.0.1/", "redirects to another origin, ftp://127.0.0.1/"),
        ("http://127.0.0.1:port/", "could not reach"),
    ],
)
def test_a_redirect_that_leads_nowhere_is_reported(location: str, sentence: str) -> None:
    async def answer(request: Request) -> None:
        await request.reply(307, headers={"Location": location})

    refused(answer, sentence)


def test_a_url_is_shown_without_its_secrets() -> None:
    async def main() -> str:
        async with scripted_server(replying(403, b"no", "text/plain")) as server:
            url = server.url.replace("http://", "http://me:password@") + "?key=secret#x"
            with pytest.raises(PeerError) as caught:
                async with connect(url):
                    pass
            return str(caught.value).replace(server.url, "URL")

    assert run(main()) == "URL answered with HTTP 403: no"


# TLS


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with scripted_server(stateless, tls=self_signed(tmp_path)) as server:
            with pytest.raises(PeerError, match=r"could not reach https://.*certificate"):
                async with connect(server.url):
                    pass
            assert server.requests == []

    run(main())


def self_signed(folder: Path) -> ssl.SSLContext:
    """Return a TLS context with a self-signed certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / "server.pem"
    path.write_bytes(secret + certificate.public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


SSE = (
    "speaks HTTP\\+SSE, the transport of MCP 2024-11-05, which is not supported; connect to the URL"
)


@pytest.mark.parametrize("status", [400, 404, 405])
def test_a_server_of_http_with_sse_is_refused_in_one_sentence(status: int) -> None:
    async def answer(request: Request) -> None:
        if request.method == "GET":
            await request.stream(event(b"/messages?session=1", event="endpoint"))
            await request.until_left()
        else:
            await request.reply(status, b"Method Not Allowed", "text/plain")

    refused(answer, SSE)


@pytest.mark.parametrize("stream", [b"", event(b"{}"), event(b"x", event="ping")])
def test_another_stream_is_not_taken_for_http_with_sse(stream: bytes) -> None:
    async def answer(request: Request) -> None:
        if request.method == "GET":
            await request.stream(stream)
            await request.end()
        else:
            await request.reply(405, b"Method Not Allowed", "text/plain")

    refused(answer, "answered with HTTP 405: Method Not Allowed$")
