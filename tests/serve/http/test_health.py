"""Whether a process lives and is ready, for balancers; what it does between a SIGTERM and its end."""

import asyncio
import http.client
import re
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from accord import Server
from accord.serve.http.exchange import Message
from commands import ACCORD, SAMPLES
from http1.raw_server import Authority
from http_peer import HttpPeer, HttpServer
from redis_server import RedisServer, needs_redis
from serve.http.talk import SERVERS, serving
from serve.talk import UNWATCHED
from tasks.replica import Replica

FOREVER = 45


def get(connection: http.client.HTTPConnection, path: str) -> tuple[int, str | None, bytes]:
    """Return the status, the Connection header and the body of a response."""
    connection.request("GET", path)
    response = connection.getresponse()
    return response.status, response.headers["Connection"], response.read()


@pytest.mark.parametrize("path", ["/health/live", "/health/ready"])
@pytest.mark.parametrize("host", ["127.0.0.1", "10.1.2.3:8000", "mcp.example.com"])
@pytest.mark.parametrize("has_tokens", [False, True])
def test_a_process_that_serves_lives_and_is_ready(
    path: str, host: str, has_tokens: bool, tmp_path: Path
) -> None:
    words: list[str] = []
    if has_tokens:
        pytest.importorskip("joserfc")
        (tmp_path / "tokens.toml").write_text("")
        words = ["--token-file", str(tmp_path / "tokens.toml")]
    with serving(*words, env=UNWATCHED) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        for method, status in [("GET", 200), ("HEAD", 200), ("POST", 405)]:
            connection.request(method, path, headers={"Host": host})
            response = connection.getresponse()
            body = response.read()
            assert response.status == status
            assert body == (b'{"status":"ok"}' if method == "GET" else body)
        connection.close()


def test_other_paths_check_the_host_as_before() -> None:
    with serving(env=UNWATCHED) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        for path in ("/health", "/metrics", "/health/readyx", "/mcp"):
            connection.request("GET", path, headers={"Host": "evil.example.com"})
            response = connection.getresponse()
            response.read()
            assert response.status == 403
        connection.close()


def test_open_connections_are_served_a_while_after_a_sigterm() -> None:
    with serving("--grace", str(FOREVER), env=UNWATCHED) as server, ExitStack() as stack:
        connections = [
            http.client.HTTPConnection("127.0.0.1", server.port, timeout=10) for _ in range(2)
        ]
        for each in connections:
            stack.callback(each.close)
            assert get(each, "/health/ready") == (200, None, b'{"status":"ok"}')
        caller = stack.enter_context(HttpPeer(server.port))
        caller.call("echo", word="before")
        server.process.terminate()
        while (found := get(connections[0], "/health/ready"))[0] == 200:
            pass
        assert found == (503, "close", b'{"status":"ending"}')
        assert get(connections[1], "/health/live") == (200, "close", b'{"status":"ok"}')
        response = caller.post(caller.calling("echo", word="after"))
        assert response.text == "after"
        assert response.headers["Connection"] == "close"
        assert server.wait(10) == 0


def test_streams_end_with_a_word_on_when_to_come_back() -> None:
    with serving("--grace", str(FOREVER), env=UNWATCHED) as server, ExitStack() as stack:
        session = stack.enter_context(HttpPeer(server.port, "2025-11-25"))
        stream = stack.enter_context(session.again()).listen()
        server.process.terminate()
        text = stream._raw.read().decode()
        retries = [line for line in text.splitlines() if line.startswith("retry: ")]
        assert len(retries) == 1
        assert 100 <= int(retries[0].removeprefix("retry: ")) <= 1000
        assert server.wait(10) == 0


def test_subscriptions_end_with_a_result_and_the_app_serves_on() -> None:
    server = Server("shop", changing=["tools"])

    async def main() -> None:
        async with Replica(server) as replica:
            events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
            params = {"notifications": {"toolsListChanged": True}}
            listening = replica.send("subscriptions/listen", params, events=events)
            stream = asyncio.create_task(listening)
            await events.get()
            replica.app.drain()
            assert (await stream)["result"]["resultType"] == "complete"
            assert (await replica.send("tools/list", {}))["result"]["tools"] == []

    asyncio.run(main())


@needs_redis
def test_a_replica_without_its_store_stays_ready() -> None:
    with RedisServer() as redis:
        words = ["--store", redis.url, "--rate", "1000/s"]
        with serving(*words, env=UNWATCHED) as server, HttpPeer(server.port) as client:
            redis.stop()
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
            for _ in range(3):
                assert get(connection, "/health/ready") == (200, None, b'{"status":"ok"}')
                assert client.call("echo", word="still") == "still"
            connection.close()


def test_a_client_that_ends_no_tls_handshake_does_not_hold_the_end(tmp_path: Path) -> None:
    pem = str(Authority(tmp_path).issue("127.0.0.1"))
    command = [ACCORD, "serve", *SERVERS, "--http", "127.0.0.1:0", "--grace", "4"]
    command += ["--tls-cert", pem, "--tls-key", pem]
    url = re.compile(r"MCP at https://(\S+)")
    with HttpServer(command, cwd=SAMPLES, env=UNWATCHED, url=url) as server, ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        server.process.terminate()
        assert server.wait(10) == 0


def test_a_mounted_app_is_not_ready_once_its_host_ends() -> None:
    async def main() -> None:
        async with Replica(Server("shop")) as replica:
            assert await status(replica) == (200, b'{"status":"ok"}')
        assert await status(replica) == (503, b'{"status":"ending"}')
        async with replica:
            assert await status(replica) == (200, b'{"status":"ok"}')

    async def status(replica: Replica) -> tuple[int, bytes]:
        sent: list[Message] = []
        scope = {"type": "http", "method": "GET", "path": "/health/ready", "headers": []}

        async def send(message: Message) -> None:
            sent.append(message)

        await replica.app(scope, asyncio.Event().wait, send)  # type: ignore[arg-type]  # no body
        return sent[0]["status"], sent[1]["body"]

    asyncio.run(main())
