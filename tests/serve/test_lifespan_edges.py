"""The lifespan of a server in every way of serving it: once, on the serving loop, around all calls."""

import asyncio
import http.client
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

import commands
from accord import Client, Context, Server
from accord.serve.call import OneWay
from accord.serve.http.sync import SyncApp
from accord.serve.loop_thread import loop_thread
from commands import ACCORD, ENVIRONMENT, SAMPLES, TESTS, Done, Process
from http_peer import HttpPeer, HttpServer
from samples import lifespan
from serve.http.talk import eventually
from stdio_peer import StdioPeer, modern_params

UVICORN = [sys.executable, "-m", "uvicorn"]
KINDS = ["in_task", "in_thread", "in_class", "in_group"]
FUNCTIONS = {"in_class": "InClass"}
ON_UVICORN = re.compile(r"on (http://\S+)")
OPEN = {"look": "open", "peek": "open", "greet": "The shop is open", "door": "open"}
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}

Env = dict[str, str]
Seen = dict[str, str]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHOP_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def environment(log: Path, kind: str, **more: str) -> Env:
    kind = FUNCTIONS.get(kind, kind)
    return {**ENVIRONMENT, "SHOP_LOG": str(log), "SHOP_KIND": kind, **more}


def make(kind: str) -> Server:
    return lifespan.make(FUNCTIONS.get(kind, kind))


async def seen_by(client: Client) -> Seen:
    """Return the state as tools, a prompt and a resource see it."""
    prompt = await client.get_prompt("greet")
    resource = await client.read_resource("shop://door")
    return {
        "look": str((await client.call_tool("look")).value),
        "peek": str((await client.call_tool("peek")).value),
        "greet": str(prompt.raw["messages"][0]["content"]["text"]),
        "door": str(resource[0].content),
    }


async def look_around(target: Any, **options: Any) -> Seen:
    async with Client(target, **options) as client:
        return await seen_by(client)


@contextmanager
def served(
    command: list[str], env: Env, url: re.Pattern[str] | None = None
) -> Iterator[HttpServer]:
    options: dict[str, Any] = {} if url is None else {"url": url}
    with HttpServer(command, env=env, cwd=TESTS, **options) as server:
        yield server


def over_stdio(log: Path, kind: str) -> Seen:
    command = [ACCORD, "serve", str(SAMPLES / "lifespan.py")]
    return asyncio.run(look_around(command, env=environment(log, kind)))


def by_run(log: Path, kind: str) -> Seen:
    command = [sys.executable, "-m", "samples.lifespan", "run"]
    return asyncio.run(look_around(command, env=environment(log, kind), cwd=TESTS))


def over_http(log: Path, kind: str) -> Seen:
    command = [ACCORD, "serve", str(SAMPLES / "lifespan.py"), "--http", "127.0.0.1:0"]
    with served(command, environment(log, kind)) as server:
        return asyncio.run(look_around(server.url))


def on_uvicorn(app: str) -> Callable[[Path, str], Seen]:
    def look(log: Path, kind: str) -> Seen:
        command = [*UVICORN, f"samples.lifespan:{app}", "--port", "0", "--no-access-log"]
        with served(command, environment(log, kind), ON_UVICORN) as server:
            found = asyncio.run(look_around(f"{server.url}/mcp"))
        assert "Traceback" not in server.stderr
        return found

    return look


def by_calls(log: Path, kind: str) -> Seen:
    async def look() -> Seen:
        server = make(kind)
        first, second = await asyncio.gather(server.call("look"), server.call("peek"))
        return {**OPEN, "look": str(first.value), "peek": str(second.value)}

    return asyncio.run(look())


def by_calls_within(log: Path, kind: str) -> Seen:
    async def look() -> Seen:
        server = make(kind)
        async with server.lifespan() as shop:
            assert isinstance(shop, lifespan.Shop)
            found = {name: str((await server.call(name)).value) for name in ("look", "peek")}
            assert lifespan.events()[-1] != "exit same"
        assert lifespan.events()[-1] == "exit same"
        return {**OPEN, **found}

    return asyncio.run(look())


def by_client(log: Path, kind: str) -> Seen:
    return asyncio.run(look_around(make(kind)))


def post(client: TestClient, method: str, params: dict[str, Any], path: str = "/mcp") -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {**HEADERS, "mcp-protocol-version": "2025-06-18"}
    return client.post(path, json=message, headers=headers).json()["result"]


def look_by_test_client(client: TestClient) -> Seen:
    calls = {name: post(client, "tools/call", {"name": name}) for name in ("look", "peek")}
    prompt = post(client, "prompts/get", {"name": "greet"})
    return {
        **{name: result["content"][0]["text"] for name, result in calls.items()},
        "greet": prompt["messages"][0]["content"]["text"],
        "door": post(client, "resources/read", {"uri": "shop://door"})["contents"][0]["text"],
    }


def by_test_client(log: Path, kind: str) -> Seen:
    with TestClient(make(kind).asgi(), base_url="http://127.0.0.1") as client:
        return look_by_test_client(client)


def by_test_client_mounted(log: Path, kind: str) -> Seen:
    app = make(kind).asgi()
    host = Starlette(routes=[Mount("/", app=app)])
    with TestClient(host, base_url="http://127.0.0.1") as client:
        return look_by_test_client(client)


def by_threads(log: Path, kind: str) -> Seen:
    """As WSGI does, where the interpreter ends the lifespan: here it is done by hand."""
    app = SyncApp(make(kind))
    try:
        return look_by_test_client(_SyncClient(app))  # type: ignore[arg-type]
    finally:
        loop_thread().stop()


class _SyncClient:
    def __init__(self, app: SyncApp) -> None:
        self._app = app

    def post(self, path: str, json: Any, headers: dict[str, str]) -> Any:
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        response = self._app.answer("POST", raw, msgspec.json.encode(json), OneWay())

        class Body:
            def json(self) -> Any:
                return msgspec.json.decode(response.body)

        return Body()


WAYS = {
    "stdio": over_stdio,
    "Server.run": by_run,
    "accord serve --http": over_http,
    "uvicorn": on_uvicorn("app"),
    "mounted in Starlette": on_uvicorn("starlette"),
    "mounted in Starlette with its lifespan": on_uvicorn("starlette_with_lifespan"),
    "mounted in FastAPI": on_uvicorn("fastapi"),
    "mounted in FastAPI with its lifespan": on_uvicorn("fastapi_with_lifespan"),
    "mounted in FastAPI with a lifespan of its own": on_uvicorn("fastapi_with_both"),
    "Server.call": by_calls,
    "Server.lifespan": by_calls_within,
    "Client": by_client,
    "TestClient": by_test_client,
    "TestClient, mounted": by_test_client_mounted,
    "threads": by_threads,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["in_task", "in_thread"])
def test_it_runs_once_around_all_calls(log: Path, way: str, kind: str) -> None:
    assert WAYS[way](log, kind) == OPEN
    entered, *calls, left = [event for event in lifespan.events() if event != "host"]
    assert (entered, left) == ("enter shop", "exit same")
    assert sorted(calls) == ["look", "peek"]


@pytest.mark.parametrize("way", ["stdio", "Server.call", "Client", "TestClient", "threads"])
@pytest.mark.parametrize("kind", ["in_class", "in_group"])
def test_any_context_manager_will_do(log: Path, way: str, kind: str) -> None:
    assert WAYS[way](log, kind) == OPEN
    entered, *_, left = lifespan.events()
    assert (entered, left) == ("enter shop", "exit same")


# Failures

FAILED = re.compile(
    r"the lifespan of 'shop' failed: RuntimeError: no database \(\S*lifespan\.py:\d+\)"
)
SHOP = str(SAMPLES / "lifespan.py")
FOREVER = "45"
"""A grace period that no test waits for."""
AT_ONCE = 30
"""Seconds within which a process can have gone on a busy machine."""

COMMANDS = {
    "serve": [ACCORD, "serve", SHOP],
    "serve --http": [ACCORD, "serve", SHOP, "--http", "127.0.0.1:0"],
    "call": [ACCORD, "call", SHOP, "look"],
    "tools": [ACCORD, "tools", SHOP],
    "run": [sys.executable, "-m", "samples.lifespan", "run"],
}


def start(command: list[str], log: Path, kind: str) -> Process:
    pipe = subprocess.PIPE
    env = environment(log, kind)
    return commands.start(command, env=env, cwd=TESTS, stdin=pipe, stdout=pipe, stderr=pipe)


def finish(child: Process) -> str:
    """Return the errors of a process that has ended."""
    assert child.stdin
    assert child.stdout
    assert child.stderr
    with child.stderr:
        text = bytes(child.stderr.read()).decode()
    with suppress(BrokenPipeError):
        child.stdin.close()
    child.stdout.close()
    return text


def ended(command: list[str], env: Env, stdin: bytes = b"") -> Done:
    return commands.run(command, env=env, cwd=TESTS, stdin=stdin, timeout=60)


@pytest.mark.parametrize("kind", ["fails", "fails_in_thread"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_failed_start_is_one_line_and_exit_code_1(log: Path, command: str, kind: str) -> None:
    done = ended(COMMANDS[command], environment(log, kind))
    assert (done.code, done.out) == (1, "")
    assert FAILED.search(done.err)
    assert done.err.count("\n") == 1, done.err
    assert lifespan.events() == ["enter"]


@pytest.mark.parametrize("command", COMMANDS)
def test_misuse_is_one_line(log: Path, command: str) -> None:
    done = ended(COMMANDS[command], environment(log, "never_yields"))
    assert (done.code, done.out) == (1 if command == "run" else 2, "")
    assert "does not yield; yield the state once (" in done.err
    assert done.err.count("\n") == 1, done.err


def test_another_asgi_server_is_told_why_the_start_failed(log: Path) -> None:
    command = [*UVICORN, "samples.lifespan:app", "--port", "0"]
    done = ended(command, environment(log, "fails"))
    assert done.code == 3
    assert len(FAILED.findall(done.err)) == 1


@pytest.mark.parametrize("app", ["starlette", "fastapi"])
def test_a_mounted_app_that_cannot_start_is_a_503_that_tells_nothing(log: Path, app: str) -> None:
    command = [*UVICORN, f"samples.lifespan:{app}", "--port", "0"]
    with served(command, environment(log, "fails"), ON_UVICORN) as server:
        for count in (1, 2):
            with HttpPeer(server.port) as peer:
                response = peer.post(peer.request("tools/call", {"name": "look"}))
                assert response.status == 503
                assert response.message["error"]["message"] == (
                    "The server could not start; try again later"
                )
            assert lifespan.events() == ["enter"] * count
    assert len(FAILED.findall(server.stderr)) == 2
    assert "Traceback" in server.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("kind", ["hangs", "hangs_in_thread"])
@pytest.mark.parametrize("command", ["serve", "serve --http", "run"])
def test_a_signal_ends_a_start_that_hangs(
    log: Path, command: str, kind: str, number: signal.Signals
) -> None:
    grace = [] if command == "run" else ["--grace", FOREVER]
    child = start([*COMMANDS[command], *grace], log, kind)
    assert eventually(lambda: "enter" in lifespan.events())
    child.send_signal(number)
    assert child.wait(AT_ONCE) == 0
    if kind == "hangs":
        assert lifespan.events() == ["enter", "cancelled"]
    assert finish(child) == ""


@pytest.mark.parametrize("kind", ["hangs", "hangs_in_thread"])
@pytest.mark.parametrize("command", ["call", "tools"])
def test_ctrl_c_ends_a_command_whose_start_hangs(log: Path, command: str, kind: str) -> None:
    child = start([*COMMANDS[command], "--grace", "1"], log, kind)
    assert eventually(lambda: "enter" in lifespan.events())
    child.send_signal(signal.SIGINT)
    assert child.wait(AT_ONCE) in (-signal.SIGINT, 130)
    finish(child)


def test_a_start_that_hangs_ends_some_time_after_the_input(log: Path) -> None:
    command = [*COMMANDS["serve"], "--grace", "0.3"]
    done = ended(command, environment(log, "hangs"))
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "accord serve: the input ended, and the lifespan did not start in time after it\n"
    )
    assert lifespan.events() == ["enter", "cancelled"]


HANGS = [
    "exit_hangs",
    "exit_hangs_in_thread",
    "exit_ignores_cancellation",
    "exit_blocks_the_loop",
]
LOOK = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","_meta":{'
    b'"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},'
    b'"io.modelcontextprotocol/clientCapabilities":{}}}}\n'
)


@pytest.mark.parametrize("kind", HANGS)
@pytest.mark.parametrize("command", ["serve", "call", "tools"])
def test_an_end_that_hangs_is_given_up_after_the_grace_period(
    log: Path, command: str, kind: str
) -> None:
    stdin = LOOK if command == "serve" else b""
    done = ended([*COMMANDS[command], "--grace", "0.5"], environment(log, kind), stdin)
    assert ("open" if command != "tools" else "look(") in done.out
    assert done.code in (0, 1)
    if kind in ("exit_hangs", "exit_hangs_in_thread"):
        assert done.code == 1
        assert done.err.startswith(f"accord {command}: the lifespan of 'shop' did not end in time")
    if kind != "exit_blocks_the_loop":
        assert "the lifespan of 'shop' did not end in time (" in done.err
        assert done.err.count("\n") == 1
    assert "exit same" in lifespan.events()


@pytest.mark.parametrize("kind", HANGS)
def test_over_http_too(log: Path, kind: str) -> None:
    command = [*COMMANDS["serve --http"], "--grace", "0.5"]
    with served(command, environment(log, kind)) as server:
        assert asyncio.run(look_around(server.url)) == OPEN
        server.process.terminate()
        assert server.wait(AT_ONCE) in (0, 1)
    assert "exit same" in lifespan.events()
    lines = [line for line in server.stderr.splitlines() if " success " not in line]
    assert len(lines) <= 1, server.stderr
    assert all("the lifespan of 'shop' did not end in time (" in line for line in lines)


@pytest.mark.parametrize("command", ["serve", "call", "tools"])
def test_a_failed_end_is_one_line_and_exit_code_1(log: Path, command: str) -> None:
    stdin = LOOK if command == "serve" else b""
    done = ended(COMMANDS[command], environment(log, "exit_fails"), stdin)
    assert done.code == 1
    assert ("open" if command != "tools" else "look(") in done.out
    text = "the lifespan of 'shop' failed at its end: RuntimeError: not flushed ("
    assert done.err.startswith(f"accord {command}: {text}")
    assert done.err.count("\n") == 1


def test_a_failed_end_over_http_is_one_line_and_exit_code_1(log: Path) -> None:
    with served(COMMANDS["serve --http"], environment(log, "exit_fails")) as server:
        server.process.terminate()
        assert server.wait(AT_ONCE) == 1
    text = "accord serve: the lifespan of 'shop' failed at its end: RuntimeError: not flushed ("
    assert server.stderr.startswith(text)
    assert server.stderr.count("\n") == 1


def test_another_asgi_server_is_told_why_the_end_failed(log: Path) -> None:
    command = [*UVICORN, "samples.lifespan:app", "--port", "0"]
    with served(command, environment(log, "exit_fails"), ON_UVICORN) as server:
        pass
    assert server.stderr.count("failed at its end: RuntimeError: not flushed (") == 1


# The order of the end


@pytest.mark.parametrize("tool", ["nap", "nap_in_thread"])
@pytest.mark.parametrize("by", ["the end of input", "SIGTERM"])
def test_calls_in_flight_end_before_the_lifespan(log: Path, tool: str, by: str) -> None:
    command = [*COMMANDS["serve"], "--grace", FOREVER]
    with StdioPeer(command, env=environment(log, "in_task"), cwd=TESTS) as peer:
        params = modern_params({"name": tool, "arguments": {"seconds": 0.3}})
        peer.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        assert eventually(lambda: "nap" in lifespan.events())
        if by == "SIGTERM":
            peer.process.terminate()
        peer.close_input()
        (reply,) = peer.replies(1)
        assert reply["result"]["content"][0]["text"] == "open"
        assert peer.wait() == 0
    assert lifespan.events() == ["enter shop", "nap", "napped open", "exit same"]


@pytest.mark.parametrize("tool", ["nap", "nap_in_thread"])
def test_calls_that_hang_leave_time_for_the_lifespan(log: Path, tool: str) -> None:
    command = [*COMMANDS["serve"], "--grace", "4"]
    with StdioPeer(command, env=environment(log, "in_task"), cwd=TESTS) as peer:
        params = modern_params({"name": tool, "arguments": {"seconds": 600}})
        peer.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        assert eventually(lambda: "nap" in lifespan.events())
        peer.close_input()
        assert peer.wait(AT_ONCE) == 0
    cancelled = ["napped open"] if tool == "nap" else []
    assert lifespan.events() == ["enter shop", "nap", *cancelled, "exit same"]


@pytest.mark.parametrize("tool", ["nap", "nap_in_thread"])
def test_calls_over_http_end_before_the_lifespan_or_leave_time_for_it(log: Path, tool: str) -> None:
    for seconds, grace in ((0.5, FOREVER), (600, "4")):
        log.unlink(missing_ok=True)
        command = [*COMMANDS["serve --http"], "--grace", grace]
        with (
            served(command, environment(log, "in_task")) as server,
            HttpPeer(server.port) as peer,
            ThreadPoolExecutor(1) as pool,
        ):
            pool.submit(_post, peer, {"name": tool, "arguments": {"seconds": seconds}})
            assert eventually(lambda: "nap" in lifespan.events())
            server.process.terminate()
            assert server.wait(AT_ONCE + 30) == 0
        napped = ["napped open"] if tool == "nap" or seconds < 600 else []
        assert lifespan.events() == ["enter shop", "nap", *napped, "exit same"], server.stderr


def _post(peer: HttpPeer, params: dict[str, Any]) -> None:
    with suppress(OSError, http.client.HTTPException):
        peer.post(peer.request("tools/call", params))


def test_a_peer_that_is_gone_leaves_time_for_the_lifespan(log: Path) -> None:
    child = start(COMMANDS["serve"], log, "in_task")
    assert child.stdin
    assert child.stdout
    child.stdin.write(LOOK)
    child.stdin.flush()
    assert b"open" in child.stdout.readline()
    child.stdout.close()
    with suppress(BrokenPipeError):  # it may have noticed at once
        child.stdin.write(LOOK)
        child.stdin.flush()
    child.wait(AT_ONCE)
    assert finish(child) == ""
    assert lifespan.events()[:2] == ["enter shop", "look"]
    assert lifespan.events()[2:] in (["exit same"], ["look", "exit same"])


def test_a_lifespan_that_ends_by_itself_ends_a_stdio_server(log: Path) -> None:
    with StdioPeer(COMMANDS["serve"], env=environment(log, "loses_a_task"), cwd=TESTS) as peer:
        peer.modern("tools/call", {"name": "lose"})
        assert peer.wait(AT_ONCE) == 1
    assert "failed at its end: RuntimeError: the feed is gone (" in peer.stderr


def test_over_http_it_starts_again_with_the_next_request(log: Path) -> None:
    with (
        served(COMMANDS["serve --http"], environment(log, "loses_a_task")) as server,
        HttpPeer(server.port) as peer,
    ):
        assert peer.call("look") == "open"
        peer.call("lose")
        assert eventually(lambda: "exit same" in lifespan.events())
        log.unlink()
        assert eventually(lambda: peer.call("look") == "open")
        assert lifespan.events()[0] == "enter shop"


def test_an_app_can_be_started_and_ended_several_times(log: Path) -> None:
    app = make("in_task").asgi()
    for _ in range(3):
        with TestClient(app, base_url="http://127.0.0.1") as client:
            assert look_by_test_client(client) == OPEN
    assert lifespan.events() == ["enter shop", "look", "peek", "exit same"] * 3


def test_two_apps_of_one_server_share_its_lifespan(log: Path) -> None:
    server = make("in_task")
    first, second = server.asgi(), server.asgi()
    host = Starlette(routes=[Mount("/a", app=first), Mount("/b", app=second)])
    with TestClient(host, base_url="http://127.0.0.1") as client:
        for path in ("/a/mcp", "/b/mcp"):
            assert (
                post(client, "tools/call", {"name": "look"}, path)["content"][0]["text"] == "open"
            )
    assert lifespan.events() == ["enter shop", "look", "look", "exit same"]


def test_many_first_requests_start_it_once(log: Path) -> None:
    app = make("in_task").asgi()
    host = Starlette(routes=[Mount("/", app=app)])
    with TestClient(host, base_url="http://127.0.0.1") as client, ThreadPoolExecutor(16) as pool:
        calls = [pool.submit(post, client, "tools/call", {"name": "look"}) for _ in range(64)]
        assert {call.result()["content"][0]["text"] for call in calls} == {"open"}
    assert lifespan.events().count("enter shop") == 1
    assert lifespan.events()[-1] == "exit same"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("kind", ["in_task", "exit_fails", "exit_hangs"])
def test_a_lifespan_that_a_request_has_started_ends_with_uvicorn(
    log: Path, kind: str, number: signal.Signals
) -> None:
    command = [*UVICORN, "samples.lifespan:fastapi", "--port", "0", "--no-access-log"]
    with served(command, environment(log, kind), ON_UVICORN) as server:
        with HttpPeer(server.port) as peer:
            assert peer.call("look") == "open"
        server.process.send_signal(number)
        code = server.wait(AT_ONCE)
    assert code in (-number, 0, 128 + number)
    assert lifespan.events() == ["enter shop", "look", "exit same"]
    reports = {
        "in_task": 0,
        "exit_fails": server.stderr.count("failed at its end: RuntimeError: not flushed ("),
        "exit_hangs": server.stderr.count("the lifespan of 'shop' did not end in time ("),
    }
    assert reports[kind] == (kind != "in_task")


def test_middleware_and_async_tools_are_on_the_loop_and_blocking_tools_in_their_thread() -> None:
    where: list[str] = []

    def note(what: str) -> None:
        where.append(f"{what} in {threading.current_thread().name}")

    @asynccontextmanager
    async def open_shop(server: Server) -> AsyncIterator[str]:
        note("lifespan")
        yield "open"

    server = Server("shop", lifespan=open_shop)

    @server.middleware
    async def around(call: Any, next: Any) -> Any:
        note(f"middleware {call.context.state}")
        return await next(call)

    @server.tool
    def blocking(ctx: Context[str]) -> str:
        note(f"blocking {ctx.state}")
        return ctx.state

    @server.tool
    async def on_loop(ctx: Context[str]) -> str:
        note(f"async {ctx.state}")
        return ctx.state

    app = SyncApp(server)
    own = threading.current_thread().name
    for name in ("blocking", "on_loop"):
        client: Any = _SyncClient(app)
        assert post(client, "tools/call", {"name": name})["content"][0]["text"] == "open"
    loop_thread().stop()
    assert where == [
        "lifespan in accord-loop",
        "middleware open in accord-loop",
        f"blocking open in {own}",
        "middleware open in accord-loop",
        "async open in accord-loop",
    ]


def _shut(peer: HttpPeer) -> None:
    assert eventually(lambda: peer._connection.sock is not None)
    peer._connection.sock.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("clients", [1, 3])
def test_a_mounted_app_cancels_a_start_that_no_client_waits_for(log: Path, clients: int) -> None:
    command = [*UVICORN, "samples.lifespan:fastapi", "--port", "0", "--no-access-log"]
    with served(command, environment(log, "hangs"), ON_UVICORN) as server:
        peers = [HttpPeer(server.port) for _ in range(clients)]
        with ThreadPoolExecutor(clients) as pool:
            calls = [pool.submit(_post, peer, {"name": "look"}) for peer in peers]
            assert eventually(lambda: "enter" in lifespan.events())
            for peer in peers:
                _shut(peer)
            for call in calls:
                call.result(AT_ONCE)
        for peer in peers:
            peer.close()
        assert eventually(lambda: lifespan.events()[-1] == "cancelled")
    assert lifespan.events().count("enter") == lifespan.events().count("cancelled")
    assert "Traceback" not in server.stderr
