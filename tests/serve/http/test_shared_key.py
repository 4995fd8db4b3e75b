"""Processes that share a key but no sockets, as `uvicorn --workers` starts them."""

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from accord.serve.http.session_id import MAX_LENGTH
from commands import ACCORD, ENVIRONMENT, SAMPLES, run
from http_peer import HttpPeer, HttpServer
from serve.http.handshakes import post, visit
from serve.http.talk import HANDSHAKE, serving

ELICITING: dict[str, Any] = {"elicitation": {"form": {}}}
Pair = tuple[HttpServer, HttpServer]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    key = tmp_path_factory.mktemp("keys") / "key"
    command = [ACCORD, "serve", "shared:server", "--http", "127.0.0.1:0", "--key-file", str(key)]
    with ExitStack() as stack:
        servers = [
            stack.enter_context(HttpServer(command, cwd=SAMPLES, env=ENVIRONMENT)) for _ in "ab"
        ]
        yield servers[0], servers[1]
    assert all("Traceback" not in server.stderr for server in servers)


def moved(client: HttpPeer, server: HttpServer, **options: Any) -> HttpPeer:
    """Return a client with its session at another server."""
    other = HttpPeer(server.port, client.revision, begin=False, **options)
    other.session = client.session
    return other


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_session_is_served_by_both(pair: Pair, revision: str) -> None:
    one, two = pair
    with (
        HttpPeer(one.port, revision, capabilities=ELICITING) as client,
        moved(client, two) as other,
    ):
        assert other.notify("notifications/initialized").status == 202
        assert other.call("pid") == str(two.process.pid)
        assert client.call("pid") == str(one.process.pid)
        assert other.call("caller") == client.call("caller")
        assert json.loads(other.call("caller"))["can"] == ELICITING


def test_a_session_with_a_huge_declaration_is_served_by_both(pair: Pair) -> None:
    one, two = pair
    capabilities = {**ELICITING, "experimental": {"x": {"y": "z" * 1_000_000}}}
    with (
        HttpPeer(one.port, "2025-11-25", capabilities=capabilities) as client,
        moved(client, two) as other,
    ):
        assert client.session is not None
        assert len(client.session) <= MAX_LENGTH
        assert json.loads(other.call("caller"))["can"] == ELICITING
        assert client.call("caller") == other.call("caller"), "both know the same"


@pytest.mark.parametrize("other", ["Bearer b", None, ""])
def test_a_session_is_its_owners_alone_at_both(pair: Pair, other: str | None) -> None:
    one, two = pair
    with (
        HttpPeer(one.port, "2025-11-25", headers={"Authorization": "Bearer a"}) as client,
        moved(client, two, headers={"Authorization": other}) as stranger,
        moved(client, two, headers={"Authorization": "Bearer a"}) as owner,
    ):
        assert stranger.ask("ping").status == 404
        assert owner.ask("ping").status == 200
        assert stranger.ask("ping").status == 404, "also once the session is in memory there"
        assert stranger.visit("DELETE").status == 404
        assert owner.ask("ping").status == 200


def test_an_answer_at_the_wrong_process_is_refused_in_words(pair: Pair) -> None:
    one, two = pair
    with (
        HttpPeer(one.port, "2025-11-25", capabilities=ELICITING) as client,
        moved(client, two) as other,
        client.again() as asked,
    ):
        stream = asked.post(asked.calling("ask", question="Who?"))
        question = stream.next().message
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
        refused = other.post(answer)
        assert refused.status == 400
        assert "another process" in refused.message["error"]["message"]
        assert client.post(answer).status == 202
        assert stream.rest()[-1].message["result"]["content"][0]["text"] == "decline"


def test_a_stream_at_the_wrong_process_is_refused_in_words(pair: Pair) -> None:
    one, two = pair
    with HttpPeer(one.port, "2025-11-25") as client, moved(client, two) as other:
        for peer in (client, other):  # both have a first stream
            events = peer.post(peer.calling("say", level="error")).rest()
        refused = client.visit(
            "GET", {"Accept": "text/event-stream", "Last-Event-ID": events[0].id}
        )
        assert refused.status == 400
        assert "process" in refused.message["error"]["message"]
        assert other.listen(events[0].id).rest()


@pytest.mark.parametrize("target", ["features:progress", "shared:server"])
def test_another_server_or_key_refuses_the_session(pair: Pair, target: str, tmp_path: Path) -> None:
    one, _ = pair
    words = ["--key-file", str(tmp_path / "key")] if target == "shared:server" else []
    command = [ACCORD, "serve", target, "--http", "127.0.0.1:0", *words]
    with (
        HttpServer(command, cwd=SAMPLES, env=ENVIRONMENT) as foreign,
        HttpPeer(one.port, "2025-11-25") as client,
        moved(client, foreign) as other,
    ):
        assert other.ask("ping").status == 404
        assert other.visit("DELETE").status == 404
        foreign.said(re.compile("all have the same key: --key-file"))
    assert foreign.stderr.count("WARNING") == 1, foreign.stderr


def test_a_session_outlives_a_restart_with_the_same_key(tmp_path: Path) -> None:
    with ExitStack() as stack:
        words = ["--key-file", str(tmp_path / "key"), "--grace", "0.2"]
        with serving(*words) as before:
            client = stack.enter_context(HttpPeer(before.port, "2025-11-25"))
            client.call("echo", word="hi")
        with serving(*words) as after, moved(client, after) as again:
            assert again.call("echo", word="still here") == "still here"


UVICORN = """
import os
from accord import Server

server = Server("shop", key=b"k" * 32)


@server.tool
async def pid() -> int:
    \"\"\"Return the id of the process.\"\"\"
    return os.getpid()


app = server.asgi()
"""


def test_uvicorns_own_workers_serve_handshake_clients(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(UVICORN)
    command = [sys.executable, "-m", "uvicorn", "shop:app", "--workers", "2", "--port", "0"]
    url = re.compile(r"running on (http://\S+)")
    with HttpServer(command, cwd=tmp_path, env=ENVIRONMENT, url=url) as server:
        server.said(re.compile("Application startup complete"), 2)
        assert len(asyncio.run(visit(server.port, 50))) in (1, 2)


FORKED = """
import asyncio, json, os
from pathlib import Path
from accord import Context, Server

server = Server("forked")


@server.tool
async def say(context: Context) -> str:
    \"\"\"Log something, so that the response is a stream.\"\"\"
    await context.log("error", "said")
    return "done"


app = server.asgi()


async def post(session, method, params):
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    body, sent = [json.dumps(message).encode()], []

    async def receive():
        if body:
            return {"type": "http.request", "body": body.pop()}
        await asyncio.Event().wait()

    async def send(event):
        sent.append(event)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    headers += [(b"mcp-session-id", session), (b"mcp-protocol-version", b"2025-11-25")][: bool(session) * 2]
    await app({"type": "http", "method": "POST", "path": "/mcp", "headers": headers}, receive, send)
    return dict(sent[0]["headers"]), b"".join(event.get("body", b"") for event in sent)


async def main():
    file = Path("session")
    if not file.exists():
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
        headers, _ = await post(b"", "initialize", hello)
        file.write_bytes(headers[b"mcp-session-id"])
    _, events = await post(file.read_bytes(), "tools/call", {"name": "say", "arguments": {}})
    print(events.split(b"\\n")[0].decode(), flush=True)


for _ in range(2):
    if not os.fork():
        asyncio.run(main())
        os._exit(0)
    os.wait()
"""


def test_forked_processes_serve_a_session_with_events_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "forked.py").write_text(FORKED)
    done = run([sys.executable, "forked.py"], cwd=tmp_path)
    assert done.code == 0, done.err
    found = re.findall(r"id: 1\.(\w+)-0", done.out)
    assert len(found) == len(set(found)) == 2, done.out + done.err


def test_clients_that_alternate_meet_no_failure(pair: Pair) -> None:
    async def alternate(number: int) -> None:
        ports = [server.port for server in pair]
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
        headers, _ = await post(ports[number % 2], {}, "initialize", hello)
        session = {"Mcp-Session-Id": headers["mcp-session-id"]}
        for turn in range(4):
            await post(ports[(number + turn) % 2], session, "tools/list", {})

    async def all_of_them() -> None:
        await asyncio.gather(*map(alternate, range(50)))

    asyncio.run(all_of_them())
