"""The example in separate processes: our servers, Django's, and the official client."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from mcp import Client as SdkClient

from drf.users import CREDENTIALS
from http_peer import HttpPeer, HttpServer
from serve.http.talk import eventually
from stdio_peer import StdioPeer

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "examples/drf_shop"
BIN = Path(sys.executable).parent
MODES = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
TARGET = "django:storefront.settings"
HIRE = """
import django; django.setup()
from django.core.management import call_command
from drf.users import create_users
call_command("stock"); create_users()
"""
WSGI = """
import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
from storefront.wsgi import application

class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

class Quiet(WSGIRequestHandler):
    def log_message(self, *_): ...

server = make_server("127.0.0.1", 0, application, Server, Quiet)
print(f"MCP at http://127.0.0.1:{server.server_port}/mcp/", file=sys.stderr, flush=True)
server.serve_forever()
"""
ASGI = """
import sys, uvicorn
from storefront.asgi import application

class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        port = self.servers[0].sockets[0].getsockname()[1]
        print(f"MCP at http://127.0.0.1:{port}/mcp/", file=sys.stderr, flush=True)

config = uvicorn.Config(application, port=0, log_level="error", lifespan="off")
Server(config).run()
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A shop with people in it, in a file."""
    folder = tmp_path_factory.mktemp("shop")
    found = {
        **os.environ,
        "STOREFRONT_DB": str(folder / "shop.sqlite3"),
        "DJANGO_SETTINGS_MODULE": "storefront.settings",
        "PYTHONPATH": f"{PROJECT}{os.pathsep}{ROOT / 'tests'}",
    }
    subprocess.run([sys.executable, "-c", HIRE], env=found, check=True)
    return found


@pytest.fixture(scope="module")
def own(environment: dict[str, str]) -> Iterator[HttpServer]:
    """`accord serve` over HTTP."""
    command = [str(BIN / "accord"), "serve", TARGET, "--http", "127.0.0.1:0"]
    with HttpServer(command, env=environment, cwd=PROJECT) as server:
        yield server


@pytest.fixture(scope="module", params=["WSGI", "ASGI"])
def djangos(environment: dict[str, str], request: pytest.FixtureRequest) -> Iterator[HttpServer]:
    """Django in a WSGI or ASGI server."""
    code = {"WSGI": WSGI, "ASGI": ASGI}[request.param]
    with HttpServer([sys.executable, "-c", code], env=environment, cwd=PROJECT) as server:
        yield server


def manage(environment: dict[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
def test_a_separate_process_acts_for_the_caller(own: HttpServer, revision: str) -> None:
    with HttpPeer(own.port, revision) as anonymous:
        assert json.loads(anonymous.call("customers_list"))[0]["name"] == "Alice"
        listed = anonymous.ask("tools/list").message["result"]["tools"]
        assert "orders_list" not in {tool["name"] for tool in listed}
    with HttpPeer(own.port, revision, headers=CREDENTIALS["clerk"]) as clerk:
        assert json.loads(clerk.call("orders_list"))["count"] == 2
        listed = clerk.ask("tools/list").message["result"]["tools"]
        assert len(listed) == 26
    with HttpPeer(own.port, revision, headers=CREDENTIALS["visitor"]) as visitor:
        listed = {tool["name"] for tool in visitor.ask("tools/list").message["result"]["tools"]}
        assert "customers_create" in listed
        assert "products_create" not in listed


def test_a_session_cannot_be_used_by_another(own: HttpServer) -> None:
    with HttpPeer(own.port, "2025-06-18", headers=CREDENTIALS["clerk"]) as clerk:
        asked = clerk.request("tools/list")
        assert clerk.post(asked, headers=CREDENTIALS["visitor"]).status == 404


def test_concurrent_calls_get_their_own_replies_and_leave_no_connection(own: HttpServer) -> None:
    def ask(number: int) -> bool:
        who = "clerk" if number % 2 else "anonymous"
        with HttpPeer(own.port, headers=CREDENTIALS[who]) as peer:
            response = peer.post(peer.calling("orders_list"))
            return ("isError" in response.message["result"]) == (who == "anonymous")

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(40)))
    assert eventually(lambda: open_databases(own.process.pid) == [])


def open_databases(pid: int) -> list[str]:
    links = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        target = str(link.resolve())
        if target.endswith(".sqlite3"):
            links.append(target)
    return links


def talk(server: HttpServer, mode: str, say: Any) -> Any:
    async def session() -> Any:
        async with SdkClient(server.url, mode=mode, read_timeout_seconds=30) as client:
            assert client.protocol_version == MODES[mode]
            return await say(client)

    return asyncio.run(session())


@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_works_with_django(djangos: HttpServer, mode: str) -> None:
    async def say(client: Any) -> None:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names[:2] == ["customers_list", "customers_retrieve"]
        found = await client.call_tool("customers_list", {})
        assert found.is_error is False
        assert json.loads(found.content[0].text)[0]["email"] == "alice@example.com"
        pages = await client.call_tool("products_list", {"query": {"page_size": 1}})
        assert pages.structured_content["count"] == 3
        failed = await client.call_tool("customers_retrieve", {"kwargs": {"pk": "999999"}})
        assert failed.is_error is True
        assert failed.content[0].text.endswith("ViewSet returned error: {'detail': 'Not found.'}")

    talk(djangos, mode, say)


@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_works_with_a_separate_process(own: HttpServer, mode: str) -> None:
    async def say(client: Any) -> None:
        for name in ("customers_list", "products_list", "api_health_get"):
            assert (await client.call_tool(name, {})).is_error is False

    talk(own, mode, say)


def test_stdio_acts_as_the_named_user(environment: dict[str, str]) -> None:
    command = [sys.executable, "manage.py", "mcp", "--user", "clerk"]
    with StdioPeer(command, env=environment, cwd=PROJECT) as peer:
        peer.initialize("2025-06-18")
        reply = peer.request("tools/call", {"name": "orders_list", "arguments": {}})
        assert reply["result"]["structuredContent"]["count"] == 2
        names = [tool["name"] for tool in peer.request("tools/list")["result"]["tools"]]
        assert len(names) == 26
        peer.close_input()
        assert peer.wait() == 0


def test_stdio_is_anonymous_without_a_user(environment: dict[str, str]) -> None:
    command = [sys.executable, "manage.py", "mcp", "--profile", "envelope"]
    with StdioPeer(command, env=environment, cwd=PROJECT) as peer:
        reply = peer.modern("tools/call", {"name": "orders_list", "arguments": {}})
        envelope = json.loads(reply["result"]["content"][0]["text"])
        assert envelope["meta"]["error"]["type"] == "authentication"
        assert len(peer.modern("tools/list")["result"]["tools"]) == 7


def test_the_list_has_permissions_and_arguments(
    environment: dict[str, str],
) -> None:
    shown = manage(environment, "mcp", "--list", "--user", "visitor").stdout
    assert (
        "products_create (not for this user)\n"
        "    for    DjangoModelPermissionsOrAnonReadOnly\n"
        "    body   sku, name, price, category?, photo?\n"
    ) in shown
    assert (
        "orders_refund (not for this user)\n"
        "    for    IsAuthenticated and DjangoModelPermissions\n"
        "    kwargs pk\n"
        "    body   reason, code?\n"
    ) in shown
    assert "contact_list\n    for    anybody\n" in shown
    assert len(re.findall(r"^\w", shown, re.M)) == 26
    assert "not for" not in manage(environment, "mcp", "--list").stdout


def test_a_closed_pipe_ends_the_list_without_a_traceback(
    environment: dict[str, str],
) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [sys.executable, "manage.py", "mcp", "--list"],
        cwd=PROJECT,
        env=environment,
        stdout=write_end,
        stderr=subprocess.PIPE,
    )
    os.close(write_end)
    assert (done.returncode, done.stderr) == (1, b"")


def test_an_unknown_user_is_an_error(environment: dict[str, str]) -> None:
    done = manage(environment, "mcp", "--user", "zoe")
    assert (done.returncode, done.stderr) == (1, "CommandError: user 'zoe' does not exist\n")


def test_the_project_checks_itself(environment: dict[str, str]) -> None:
    assert "no issues" in manage(environment, "check").stdout


def accord(environment: dict[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(BIN / "accord"), *words], cwd=PROJECT, env=environment, capture_output=True, text=True
    )


def test_the_command_line_serves_a_project(environment: dict[str, str]) -> None:
    done = accord(environment, "call", TARGET, "customers_retrieve", '{"kwargs": {"pk": 1}}')
    assert json.loads(done.stdout)["name"] == "Alice"
    assert done.returncode == 0
    table = accord(environment, "tools", TARGET).stdout
    assert table.startswith("django-rest-framework-mcp 0.1.0: 26 tools\n")


def test_a_project_that_cannot_be_loaded_is_one_line(environment: dict[str, str]) -> None:
    done = accord(environment, "tools", "django:nowhere.settings")
    said = "could not load django:nowhere.settings: ModuleNotFoundError: No module named 'nowhere'"
    assert (done.returncode, done.stderr) == (2, f"accord tools: {said}\n")


@pytest.mark.parametrize("module", ["accord.django", "accord.testing", "accord.sources.drf"])
def test_a_missing_extra_names_the_command_that_installs_it(module: str) -> None:
    code = f"""
import sys
for name in ("django", "rest_framework", "rest_framework.test"):
    sys.modules[name] = None
try:
    import {module}
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == ""
    assert "the extra django is required for accord." in done.stdout
