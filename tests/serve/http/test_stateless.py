"""`stateless=True`: no client gets a session, and every request is served on its own."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from accord import Context, Server
from commands import ACCORD, ENVIRONMENT, SAMPLES
from http_peer import HttpPeer, HttpServer
from serve.http.talk import HANDSHAKE, STATELESS

ELICITING: dict[str, Any] = {"elicitation": {"form": {}}}


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    command = [ACCORD, "serve", "shared:server", "--http", "127.0.0.1:0", "--stateless"]
    with HttpServer(command, cwd=SAMPLES, env=ENVIRONMENT) as running:
        yield running
    assert "Traceback" not in running.stderr


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_initialize_is_answered_without_a_session(server: HttpServer, revision: str) -> None:
    with HttpPeer(server.port, revision, begin=False) as client:
        response = client.initialize()
        assert response.status == 200
        assert response.headers["Mcp-Session-Id"] is None
        result = response.message["result"]
        assert result["protocolVersion"] == revision
        assert result["capabilities"]["tools"] == {}, "nothing is told of changes"
        assert result["capabilities"]["resources"] == {}
        assert client.notify("notifications/initialized").status == 202
        assert client.ask("tools/list").message["result"]["tools"]
        assert client.call("pid") == str(server.process.pid)
        assert client.ask("ping").message["result"] == {}


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_requests_need_no_initialize(server: HttpServer, revision: str) -> None:
    with HttpPeer(server.port, revision, begin=False) as client:
        assert json.loads(client.call("caller")) == {"revision": revision, "can": {}, "info": {}}


def test_without_a_header_the_revision_is_2025_03_26(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-03-26", begin=False) as client:
        response = client.post(client.calling("caller"), {"MCP-Protocol-Version": None})
        assert json.loads(response.text)["revision"] == "2025-03-26"


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("session", [None, "x", "A" * 900])
def test_there_is_no_stream_and_nothing_to_end(
    server: HttpServer, method: str, session: str | None
) -> None:
    with HttpPeer(server.port, "2025-11-25", begin=False) as client:
        client.session = session
        response = client.visit(method, {"Accept": "text/event-stream"})
        assert response.status == 405
        assert response.headers["Allow"] == "POST"


def test_a_foreign_session_id_is_ignored(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25", begin=False) as client:
        client.session = "made by a platform"
        assert client.call("pid") == str(server.process.pid)


def test_progress_and_logs_come_on_the_stream_of_the_call(
    server: HttpServer, tmp_path: object
) -> None:
    with HttpPeer(server.port, "2025-11-25", begin=False) as client:
        events = client.post(client.calling("say", level="error")).rest()
        assert [event.message.get("method") for event in events] == ["notifications/message", None]
        file = json.dumps(str(tmp_path))[1:-1]  # it exists
        events = client.post(client.watching("until", file=file)).rest()
        methods = [event.message.get("method") for event in events]
        assert methods == ["notifications/progress", "notifications/progress", None]


def test_a_question_is_a_missing_capability(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25", begin=False, capabilities=ELICITING) as client:
        client.initialize()
        response = client.post(client.calling("ask", question="Who?"))
        assert response.status == 200
        assert "capability" in json.dumps(response.message)


def test_subscribing_is_refused_in_words(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25", begin=False) as client:
        reply = client.ask("resources/subscribe", {"uri": "shared://watched"}).message
        assert "session" in reply["error"]["message"]


def test_the_stateless_era_is_not_affected(server: HttpServer) -> None:
    with HttpPeer(server.port, STATELESS, capabilities=ELICITING) as client:
        required = client.post(client.calling("ask", question="Who?")).message["result"]
        assert required["resultType"] == "input_required"
        wanted = {"resourceSubscriptions": ["shared://watched"]}
        with client.again() as listener:
            stream = listener.post(
                listener.request("subscriptions/listen", {"notifications": wanted})
            )
            stream.next()
            client.call("touch")
            assert stream.next().message["method"] == "notifications/resources/updated"


def test_an_asgi_app_can_be_stateless() -> None:
    shop = Server("shop")

    @shop.tool
    def who(context: Context) -> str:
        """Return the revision."""
        return str(context.revision)

    app = shop.asgi(stateless=True)
    sent: list[dict[str, object]] = []
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}},
    }

    bodies = [json.dumps(message).encode()]

    async def receive() -> dict[str, object]:
        if not bodies:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": bodies.pop(), "more_body": False}

    async def send(event: object) -> None:
        assert isinstance(event, dict)
        sent.append(event)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 200
    names = [name for name, _ in sent[0]["headers"]]  # type: ignore[attr-defined]
    assert b"mcp-session-id" not in names
