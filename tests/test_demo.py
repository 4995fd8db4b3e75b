"""`make demo`: one command, one server, one page; a second time as well, and a quiet end."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from commands import Popen
from http_peer import HttpServer
from processes import free_port
from serve.talk import ENVIRONMENT

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "examples/demo"
CHARACTER = {"name": "Mira", "character_class": "wizard", "level": 3}


def command(folder: Path, port: int = 0) -> list[str]:
    return [sys.executable, str(DEMO), "--port", str(port), "--folder", str(folder)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "made"


@pytest.fixture(scope="module")
def demo(folder: Path) -> Iterator[HttpServer]:
    with HttpServer(command(folder), cwd=ROOT, env=ENVIRONMENT) as server:
        yield server


def calls(url: str, *wanted: tuple[str, dict[str, Any]]) -> list[Any]:
    """Return the names of all tools, and the official client's result of each."""

    async def talk() -> list[Any]:
        async with Client(url, read_timeout_seconds=30) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            return [names, *[await client.call_tool(name, given) for name, given in wanted]]

    return asyncio.run(talk())


def test_a_client_finds_the_tools_of_all_three_and_each_answers(
    demo: HttpServer, folder: Path
) -> None:
    names, shelf, sold, rolled = calls(
        demo.url,
        ("catalogue", {"category": "music", "limit": 3}),
        ("run_query", {"query": "SELECT count(*) AS orders FROM orders"}),
        ("roll_character", CHARACTER),
    )
    assert {"catalogue", "run_query", "insert_row", "fill_dnd_character_sheet"} <= names
    assert {"search_schema", "explain_query"} <= names
    assert [each["name"] for each in shelf.structured_content["result"]] == [
        "lute",
        "flute",
        "drum",
    ]
    assert sold.structured_content == [{"orders": 900}]
    sheet = ("fill_dnd_character_sheet", rolled.structured_content)
    _, filled = calls(demo.url, sheet)
    assert filled.is_error is False
    assert (folder / "sheets/mira.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("kind", ["fighter", "rogue", "wizard"])
@pytest.mark.parametrize("level", [1, 20])
def test_every_character_that_is_rolled_fills_a_sheet(
    demo: HttpServer, kind: str, level: int
) -> None:
    wish = {"name": f"Kiva {kind}", "character_class": kind, "level": level}
    _, rolled = calls(demo.url, ("roll_character", wish))
    sheet = ("fill_dnd_character_sheet", rolled.structured_content)
    _, filled = calls(demo.url, sheet)
    assert filled.is_error is False, filled


def test_lists_lead_on_to_their_next_page(demo: HttpServer) -> None:
    _, first, rows = calls(
        demo.url,
        ("catalogue", {}),
        ("run_query", {"query": "SELECT * FROM orders ORDER BY id"}),
    )
    assert first.meta["dev.accord-mcp/answer"]["page"]["nextOffset"] == 10
    page = rows.meta["dev.accord-mcp/answer"]["page"]
    assert page["hasMore"] is True
    _, rest = calls(
        demo.url,
        ("run_query", {"query": "SELECT * FROM orders ORDER BY id", "cursor": page["cursor"]}),
    )
    parts = [each.structured_content["result"] for each in (rows, rest)]
    assert sum(map(len, parts)) == 900


def test_the_page_is_where_it_says(demo: HttpServer) -> None:
    found = demo.said(re.compile(r"^demo: MCP at (\S+)/mcp and a page at (\S+)$", re.M))
    assert found[2] == f"{found[1]}/"
    with urllib.request.urlopen(found[2]) as page:
        assert page.headers.get_content_type() == "text/html"


def test_what_it_says_to_try_works(demo: HttpServer) -> None:
    command = demo.said(re.compile(r"^demo: try (.+)$", re.M))[1]
    done = subprocess.run(
        ["sh", "-c", command], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert (done.returncode, "lute" in done.stdout) == (0, True), done.stderr


def test_the_shop_is_the_same_wherever_it_is_made(demo: HttpServer) -> None:
    _, *found = calls(
        demo.url,
        ("run_query", {"query": "SELECT name, sold FROM best_sellers LIMIT 2"}),
        ("run_query", {"query": "SELECT count(*) AS many, sum(quantity) AS sold FROM order_lines"}),
    )
    assert [each.structured_content for each in found] == [
        [{"name": "torch", "sold": 232}, {"name": "flute", "sold": 230}],
        [{"many": 2224, "sold": 7754}],
    ]


def test_a_port_in_use_gets_a_sentence_that_says_what_to_do(demo: HttpServer, folder: Path) -> None:
    done = subprocess.run(
        command(folder, demo.port), cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 2
    *_, reason, advice = done.stderr.splitlines()
    assert f"cannot listen on 127.0.0.1:{demo.port}: Address already in use" in reason
    assert advice.endswith("make demo PORT=8001")
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")
def test_make_runs_it_where_it_was_made_before_and_ctrl_c_ends_it_quietly(
    demo: HttpServer, folder: Path
) -> None:
    port = free_port()
    venv = os.path.relpath(sys.prefix, ROOT)
    words = [f"VENV={venv}", f"PORT={port}", f"DEMO={folder}", f"--old-file={venv}/.base"]
    with Popen(
        ["make", "demo", *words],
        cwd=ROOT,
        env={key: value for key, value in ENVIRONMENT.items() if key != "MAKEFLAGS"},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        assert running.stderr is not None
        said = []
        for line in running.stderr:
            said.append(line)
            if line.startswith("demo: try "):
                os.killpg(running.pid, signal.SIGINT)
        code = running.wait(40)
    what, where, to_try = said
    assert what.startswith("demo: one MCP server with ")
    assert (
        where
        == f"demo: MCP at http://127.0.0.1:{port}/mcp and a page at http://127.0.0.1:{port}/\n"
    )
    assert to_try.startswith("demo: try ")
    assert code in (0, -signal.SIGINT)
