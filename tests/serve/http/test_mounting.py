"""The ASGI app as others serve it: on uvicorn by itself, inside Starlette, and in this process."""

import asyncio
import gc
import json
import re
import sys
import threading
import weakref
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Any

import pytest

import wire
from accord import Context, Server
from accord.serve.http import App
from accord.serve.http.exchange import Exchange
from accord.serve.http.response import Response
from accord.serve.http.settings import Settings
from commands import ENVIRONMENT, TESTS
from http_peer import HttpPeer, HttpServer
from serve.http.talk import ERAS, eventually

UVICORN = str(Path(sys.executable).with_name("uvicorn"))


def uvicorn(target: str) -> HttpServer:
    command = [UVICORN, f"samples.mounted:{target}", "--port", "0", "--no-access-log"]
    return HttpServer(command, cwd=TESTS, env=ENVIRONMENT, url=re.compile(r"on (http://\S+)"))


@pytest.fixture(scope="module")
def plain() -> Iterator[HttpServer]:
    with uvicorn("plain") as server:
        yield server


@pytest.fixture(scope="module")
def mounted() -> Iterator[HttpServer]:
    with uvicorn("app") as server:
        yield server


@pytest.mark.parametrize("revision", ERAS)
def test_it_answers_on_any_asgi_server(plain: HttpServer, revision: str) -> None:
    with HttpPeer(plain.port, revision) as peer:
        assert peer.call("keep", secret="s") == "s"
        _, result = peer.post(peer.watching("say", message="m")).rest()
        assert "result" in result.message
        assert peer.visit("GET", path="/health").status == 200


@pytest.mark.parametrize("revision", ERAS)
def test_a_call_knows_who_sent_it_on_any_server(
    plain: HttpServer, server: HttpServer, revision: str
) -> None:
    shown = {"Authorization": "Bearer ada"}
    for each in (plain, server):
        with HttpPeer(each.port, revision, headers=shown) as peer:
            assert peer.call("whence") == "127.0.0.1 shows Bearer ada"
        with HttpPeer(each.port, revision) as peer:
            assert peer.call("whence") == "127.0.0.1 shows nothing"


@pytest.mark.parametrize("path", ["/x/mcp", "/x/mcp/", "/deep/y"])
@pytest.mark.parametrize("revision", ERAS)
def test_it_answers_under_the_path_it_is_mounted_at(
    mounted: HttpServer, revision: str, path: str
) -> None:
    with HttpPeer(mounted.port, revision, path=path) as peer:
        assert peer.call("keep", secret="s") == "s"
        _, result = peer.post(peer.watching("say", message="m")).rest()
        assert "result" in result.message
        if revision != wire.STATELESS:
            assert peer.visit("DELETE").status in (200, 202, 204)


@pytest.mark.parametrize(
    ("path", "status"), [("/x/health", 200), ("/health", 404), ("/mcp", 404), ("/x", 404)]
)
def test_health_is_beside_it(mounted: HttpServer, path: str, status: int) -> None:
    with HttpPeer(mounted.port) as peer:
        response = peer.visit("GET", path=path)
        if response.status == 307:  # Starlette's, to a path with a slash at its end
            response = peer.visit("GET", path=f"{path}/")
        assert response.status == status


@pytest.mark.parametrize("target", ["plain", "app"])
def test_calls_in_flight_are_answered_when_another_server_ends(target: str) -> None:
    path = "/x/mcp" if target == "app" else "/mcp"
    with (
        uvicorn(target) as server,
        HttpPeer(server.port, path=path) as peer,
        peer.again() as other,
    ):
        peer.send(peer.calling("doze", name="began", seconds=0.3))
        other.call("when", name="began")
        other.close()
        server.process.terminate()
        assert peer.receive().text == "rested"


# In this process


class Line:
    """One request to an app, fed by hand."""

    def __init__(self, app: App, method: str = "POST", **headers: str) -> None:
        raw = {"host": "localhost", "content-type": "application/json", **headers}
        self.scope: dict[str, Any] = {
            "type": "http",
            "method": method,
            "path": "/mcp",
            "headers": [
                (name.replace("_", "-").encode(), value.encode()) for name, value in raw.items()
            ],
        }
        self._app = app
        self._inbox: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()
        self.sent: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()
        self.fails = False

    def feed(self, message: Any) -> None:
        body = json.dumps(message).encode()
        self._inbox.put_nowait({"type": "http.request", "body": body, "more_body": False})

    def leave(self) -> None:
        self._inbox.put_nowait({"type": "http.disconnect"})

    async def run(self) -> None:
        await self._app(self.scope, self._inbox.get, self._send)

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        if self.fails:
            raise OSError("the client has left")
        self.sent.put_nowait(message)

    async def status(self) -> int:
        return int((await self.sent.get())["status"])


def _stage() -> tuple[Server, dict[str, str]]:
    server, marks = Server("s"), {}

    @server.tool
    async def talk(context: Context) -> str:
        """Say a lot."""
        for number in range(10):
            await context.progress(number)
            await asyncio.sleep(0)
        marks["talk"] = "done"
        return "said"

    return server, marks


HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}},
}
TALK = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "talk", "_meta": {"progressToken": 1}},
}


async def _begun(app: App) -> str:
    line = Line(app)
    line.feed(HELLO)
    await line.run()
    return dict((await line.sent.get())["headers"])[b"mcp-session-id"].decode()


def test_headers_may_come_as_lists() -> None:
    async def talk() -> int:
        line = Line(Server("s").asgi())
        line.scope["headers"] = [list(header) for header in line.scope["headers"]]
        line.feed(HELLO)
        await line.run()
        return await line.status()

    assert asyncio.run(talk()) == 200


@pytest.mark.parametrize(
    ("scope", "address"),
    [({}, "None"), ({"client": None}, "None"), ({"client": ("192.0.2.7", 9)}, "192.0.2.7")],
)
def test_where_a_request_comes_from_need_not_be_known(scope: Any, address: str) -> None:
    async def ask() -> Any:
        line = Line(_whence().asgi(), mcp_protocol_version="2025-11-25")
        line.scope |= scope
        line.feed(TALK | {"params": {"name": "whence"}})
        await line.run()
        assert await line.status() == 200
        return json.loads((await line.sent.get())["body"])["result"]["content"][0]["text"]

    assert asyncio.run(ask()) == address


def _whence() -> Server:
    server = Server("s")

    @server.tool
    async def whence(context: Context) -> str:
        return str(context.sender.address)

    return server


def _busy_tasks() -> int:
    """Tasks besides the executor's, which waits for the next call."""
    return sum(task.get_name() != "accord-worker" for task in asyncio.all_tasks())


def test_a_call_outlives_a_server_that_says_its_client_has_left() -> None:
    async def talk() -> int:
        server, marks = _stage()
        app = server.asgi()
        line = Line(app, mcp_session_id=await _begun(app), mcp_protocol_version="2025-11-25")
        line.fails = True
        line.feed(TALK)
        with suppress(OSError):
            await line.run()
        assert marks == {"talk": "done"}
        return _busy_tasks()

    assert asyncio.run(talk()) == 1, "no task but our own is left"


def test_once_it_is_told_to_end_it_takes_nothing_and_listens_to_nobody() -> None:
    async def ask() -> list[int]:
        server, _ = _stage()
        app = server.asgi()
        session = await _begun(app)
        listener, late = (
            Line(app, "GET", mcp_session_id=session, accept="text/event-stream") for _ in range(2)
        )
        listening = asyncio.create_task(listener.run())
        assert await listener.status() == 200
        app.stop()
        async with asyncio.timeout(30):
            await listening
            post = Line(app)
            post.feed(TALK)
            await post.run()
            await late.run()
        return [await post.status(), await late.status()]

    post, late = asyncio.run(ask())
    assert post == 503
    assert late in (200, 503), "refused, or closed at once"


def test_a_listener_that_leaves_leaves_no_task() -> None:
    async def listen() -> int:
        server, _ = _stage()
        app = server.asgi()
        session = await _begun(app)
        for _ in range(50):
            line = Line(app, "GET", mcp_session_id=session, accept="text/event-stream")
            line.leave()
            await line.run()
        return _busy_tasks()

    assert asyncio.run(listen()) == 1


def test_an_app_that_moves_to_another_loop_runs_its_threads_there() -> None:
    server = Server("mover")

    @server.tool
    def here() -> str:
        return "here"

    app = server.asgi()
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "here"}}

    async def ask() -> int:
        line = Line(app)
        line.feed(body)
        async with asyncio.timeout(30):
            await line.run()
        return await line.status()

    assert [asyncio.run(ask()) for _ in range(2)] == [200, 200]


def test_an_app_that_moves_from_loop_to_loop_keeps_no_threads_and_no_loops() -> None:
    server = Server("s")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    app = server.asgi()
    loops = weakref.WeakSet[asyncio.AbstractEventLoop]()

    async def ask(app: App) -> int:
        loops.add(asyncio.get_running_loop())
        line = Line(app)
        params = {"name": "add", "arguments": {"a": 1, "b": 2}}
        line.feed({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        await line.run()
        return await line.status()

    before = threading.active_count()
    assert [asyncio.run(ask(app)) for _ in range(20)] == [200] * 20
    del app
    gc.collect()
    assert eventually(lambda: threading.active_count() <= before)
    gc.collect()
    assert len(loops) <= 1  # asyncio remembers the last one


def test_output_that_is_unsent_before_the_first_call_holds_that_back() -> None:
    async def ask() -> int:
        app = _whence().asgi()
        app.gate.update(app.gate.limit + 1)
        line = Line(app, mcp_protocol_version="2025-11-25")
        line.feed(TALK | {"params": {"name": "whence"}})
        request = asyncio.create_task(line.run())
        for _ in range(50):
            await asyncio.sleep(0)
        assert not request.done()
        app.gate.update(0)
        await request
        return await line.status()

    assert asyncio.run(ask()) == 200


CANCELLED = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}}


@pytest.mark.parametrize("ends_session", [True, False])
def test_a_call_is_cancelled_in_the_turn_of_the_loop_in_which_it_arrives(
    ends_session: bool,
) -> None:
    def exchange(app: App, session: str, method: str, message: Any) -> Exchange:
        line = Line(app, mcp_session_id=session, mcp_protocol_version="2025-11-25")
        head = app.heads.find(line.scope["headers"])
        body = json.dumps(message).encode()
        return Exchange(
            method, "/mcp", head, line._inbox.get, line._send, Settings(), line.scope, body
        )

    async def ask() -> int:
        app = _waiting_room().asgi()
        session = await _begun(app)
        waiting = app.answer(exchange(app, session, "POST", _calling("linger")))
        if ends_session:
            ended = app.answer(exchange(app, session, "DELETE", None))
            assert not isinstance(ended, Response)
            assert (await ended) == Response(204)
        else:
            accepted = app.answer(exchange(app, session, "POST", CANCELLED))
            assert isinstance(accepted, Response)
            assert accepted.status == 202
        assert not isinstance(waiting, Response)
        async with asyncio.timeout(10):
            await waiting
        return await _tasks_left()

    assert asyncio.run(ask()) == 1, "no task but our own is left"


# An app whose server cancels its requests


def _waiting_room() -> Server:
    server = Server("waiting room")

    @server.tool
    async def linger() -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return "never"

    @server.tool
    async def chat(context: Context) -> str:
        """Say something, and wait for ever."""
        await context.progress(1)
        return await linger()

    @server.tool
    def hang(context: Context) -> str:
        """Wait in a thread for ever."""
        while not context.cancelled:
            sleep(0.01)
        return "never"

    return server


async def _tasks_left() -> int:
    """Return the number of busy tasks, once there is only this one or time is up."""
    with suppress(TimeoutError):
        async with asyncio.timeout(30):
            while _busy_tasks() > 1:  # noqa: ASYNC110 - tasks have no event
                await asyncio.sleep(0.01)
    return _busy_tasks()


def _calling(*tools: str) -> Any:
    calls = [
        {
            "jsonrpc": "2.0",
            "id": id,
            "method": "tools/call",
            "params": {"name": tool, "_meta": {"progressToken": id}},
        }
        for id, tool in enumerate(tools)
    ]
    return calls if len(calls) > 1 else calls[0]


OPEN = [["linger"], ["chat"], ["hang"], ["linger", "hang"], ["hang", "linger"], ["linger", "chat"]]


@pytest.mark.parametrize("tools", OPEN, ids=" and ".join)
def test_a_request_that_runs_out_of_its_servers_time_ends(tools: list[str]) -> None:
    async def ask() -> int:
        line = Line(_waiting_room().asgi())
        line.feed(_calling(*tools))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await line.run()
        return await _tasks_left()

    assert asyncio.run(ask()) == 1, "no task but our own is left"


@pytest.mark.parametrize("tools", OPEN, ids=" and ".join)
def test_a_request_that_its_server_cancels_is_cancelled(tools: list[str]) -> None:
    async def ask() -> None:
        line = Line(_waiting_room().asgi())
        line.feed(_calling(*tools))
        request = asyncio.create_task(line.run())
        await asyncio.sleep(0.05)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(30):
                await request

    asyncio.run(ask())


@pytest.mark.parametrize("tool", ["linger", "chat", "hang"])
def test_a_session_whose_request_is_cancelled_is_idle_again(tool: str) -> None:
    async def ask() -> list[int]:
        app = _waiting_room().asgi(max_sessions=1)
        line = Line(app, mcp_session_id=await _begun(app), mcp_protocol_version="2025-11-25")
        line.feed(_calling(tool))
        with suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await line.run()
        other = Line(app)
        other.feed(HELLO)
        await other.run()
        return [await other.status()]

    assert asyncio.run(ask()) == [200], "there is room for another, since it can be let go"


def test_a_listener_that_its_server_cancels_leaves_no_task() -> None:
    async def listen() -> int:
        server, _ = _stage()
        app = server.asgi()
        session = await _begun(app)
        line = Line(app, "GET", mcp_session_id=session, accept="text/event-stream")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await line.run()
        return await _tasks_left()

    assert asyncio.run(listen()) == 1
