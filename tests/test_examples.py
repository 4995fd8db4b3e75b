"""The servers in examples/, in every way of serving them."""

import asyncio
import json
import os
import re
import sqlite3
import subprocess
import sys
import urllib.request
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

import coffee
from accord import Client, Elicited, ElicitRequest, Reading, Server
from commands import ACCORD, ENVIRONMENT, TESTS
from http_peer import HttpServer

EXAMPLES = TESTS.parent / "examples"
COFFEE = str(EXAMPLES / "coffee.py")
ERAS = ["2025-11-25", "2026-07-28"]
LIMIT = 20
"""Seconds for a command that has to end at once, on a slow machine."""


def environment(database: Path, **more: str) -> dict[str, str]:
    path = os.pathsep.join([str(EXAMPLES), os.environ.get("PYTHONPATH", "")])
    return {**ENVIRONMENT, "COFFEE_DB": str(database), "PYTHONPATH": path, **more}


def sold(database: Path) -> list[tuple[str, int]]:
    """Return the orders that were committed."""
    with closing(sqlite3.connect(database)) as opened:
        return opened.execute("SELECT drink, cups FROM sold ORDER BY id").fetchall()


# The coffee shop, by a client


def accord_serve(env: Mapping[str, str]) -> HttpServer:
    return HttpServer([ACCORD, "serve", COFFEE, "--http", "127.0.0.1:0"], env=env)


def uvicorn(app: str, env: Mapping[str, str]) -> HttpServer:
    target = f"samples.coffee_apps:{app}"
    command = [sys.executable, "-m", "uvicorn", target, "--port", "0", "--no-access-log"]
    return HttpServer(command, cwd=TESTS, env=env, url=re.compile(r"on (http://\S+)"))


class Shop:
    """The coffee shop, served in some way."""

    def __init__(self, way: str, database: Path) -> None:
        self.database = database
        self.env = environment(database)
        self.target: Server | str = coffee.server
        served: AbstractContextManager[Any] = nullcontext()
        match way:
            case "stdio":
                self.target = f"{sys.executable} -m accord serve {COFFEE}"
            case "http":
                served = accord_serve(self.env)
            case "in_fastapi" | "in_starlette":
                served = uvicorn(way, self.env)
        self._served = served

    def __enter__(self) -> "Shop":
        server = self._served.__enter__()
        if isinstance(server, HttpServer):
            origin = f"http://{server.host}:{server.port}"
            self.target = server.url if server.url.endswith("/mcp") else f"{origin}/shop/mcp"
        return self

    def __exit__(self, *error: Any) -> None:
        self._served.__exit__(*error)

    def client(self, **options: Any) -> Client:
        if isinstance(self.target, str) and not self.target.startswith("http"):
            options |= {"env": self.env}
        return Client(self.target, timeout=LIMIT, **options)


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "coffee.db"
    monkeypatch.setenv("COFFEE_DB", str(path))
    return path


@pytest.fixture(params=["in_process", "stdio", "http", "in_fastapi", "in_starlette"])
def shop(request: pytest.FixtureRequest, database: Path) -> Iterator[Shop]:
    with Shop(request.param, database) as shop:
        yield shop


@pytest.mark.parametrize("revision", ERAS)
def test_guests_order_are_asked_and_see_the_chart(shop: Shop, revision: str) -> None:
    asked: list[str] = []
    steps: list[tuple[float, float | None, str | None]] = []

    def guest(question: ElicitRequest) -> Mapping[str, Any] | Elicited[Any]:
        asked.append(question.message)
        return {"value": True} if "espresso" in question.message else Elicited("decline")

    async def main() -> None:
        async with shop.client(revision=revision, on_elicit=guest) as client:

            async def order(drink: str, cups: int, **options: Any) -> Any:
                wish = {"order": {"drink": drink, "cups": cups}}
                return await client.call_tool("order", wish, **options)

            first = await order("mocha", 2, on_progress=lambda *step: steps.append(step))
            assert first.value == {"drink": "mocha", "cups": 2, "id": 1, "total": 8.0}
            refused = await order("mocha", 5)
            assert failure(refused) == "Nothing was ordered"
            second = await order("espresso", 5)
            assert second.value == {"drink": "espresso", "cups": 5, "id": 2, "total": 12.5}
            invalid = await order("tea", 99)
            assert "order.drink must be one of espresso, mocha" in failure(invalid)
            assert "order.cups must be at most 12" in failure(invalid)
            many = await asyncio.gather(*[order("mocha", 1) for _ in range(8)])
            assert sorted(each.value["id"] for each in many) == [*range(3, 11)]
            chart = await client.call_tool_raw("chart")
            assert bars(chart.result) == [5, 10]

    asyncio.run(main())
    assert asked == ["5 cups of mocha, really?", "5 cups of espresso, really?"]
    assert steps == [(1, 2, "brewing mocha"), (2, 2, "brewing mocha")]
    assert sold(shop.database) == [("mocha", 2), ("espresso", 5), *[("mocha", 1)] * 8]


def failure(reading: Reading) -> str:
    """Return the message of a call that failed."""
    assert reading.response.error is not None
    return str(reading.response.error.message)


def bars(result: dict[str, Any]) -> list[int]:
    """Return the lengths of the two bars in a chart."""
    (block,) = result["content"]
    assert (block["type"], block["mimeType"]) == ("image", "image/png")
    image = Image.open(BytesIO(b64decode(block["data"])))
    image.load()  # raises if a checksum is wrong
    assert image.size == (100, 40)
    pixels = image.convert("L")
    return [sum(pixels.getpixel((x, row)) == 0 for x in range(100)) for row in (10, 30)]


@pytest.mark.parametrize("app", ["in_fastapi", "in_starlette"])
def test_the_routes_of_the_host_work_beside_the_shop(app: str, database: Path) -> None:
    with uvicorn(app, environment(database)) as server:
        with urllib.request.urlopen(f"http://{server.host}:{server.port}/hours") as answer:
            assert json.load(answer) == "from seven to seven"
        assert database.exists()  # the lifespan has started with the host


def test_a_question_ends_without_an_order_if_the_guest_cannot_be_asked(database: Path) -> None:
    async def main() -> Any:
        async with Client(coffee.server) as client:
            return await client.call_tool_raw("order", {"order": {"drink": "mocha", "cups": 5}})

    reply = asyncio.run(main())
    assert reply.error is not None or reply.result["isError"]
    assert sold(database) == []


def test_orders_are_refused_while_the_shop_is_closed(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COFFEE_CLOSED", "1")

    async def main() -> None:
        async with Client(coffee.server) as client:
            refused = await client.call_tool("order", {"order": {"drink": "mocha"}})
            assert failure(refused) == "The shop is closed"
            assert bars((await client.call_tool_raw("chart")).result) == [0, 0]

    asyncio.run(main())
    assert sold(database) == []


def test_a_dependency_is_replaced_at_run_time(tmp_path: Path, database: Path) -> None:
    other = tmp_path / "other.db"

    async def elsewhere() -> AsyncIterator[AsyncConnection]:
        engine = create_async_engine(f"sqlite+aiosqlite:///{other}")
        async with engine.begin() as db:
            await db.execute(text("CREATE TABLE sold (id INTEGER PRIMARY KEY, drink, cups)"))
            yield db
        await engine.dispose()

    async def main() -> None:
        with coffee.server.override(coffee.transaction, elsewhere):
            reading = await coffee.server.call("order", {"order": {"drink": "mocha"}})
        assert reading.value == {"drink": "mocha", "cups": 1, "id": 1, "total": 4.0}

    asyncio.run(main())
    assert (sold(other), sold(database)) == ([("mocha", 1)], [])


# The coffee shop, from the command line


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "out", "err"),
    [
        (
            "order",
            {"order": {"drink": "mocha", "cups": 2}},
            0,
            {"drink": "mocha", "cups": 2, "id": 1, "total": 8.0},
            "",
        ),
        ("chart", {}, 0, None, "saved: chart.png (image/png, "),
        (
            "order",
            {"order": {"drink": "mocha", "cups": 5}},
            1,
            None,
            "declined '5 cups of mocha, really?'",
        ),
        ("order", {"order": {"cups": 0}}, 1, None, "order.drink is required"),
        ("order", {}, 1, None, "error: Invalid arguments for order: order is required"),
        ("sing", {}, 2, None, "chart"),
    ],
)
def test_accord_call_ends_at_once(
    tmp_path: Path, tool: str, arguments: dict[str, Any], code: int, out: object, err: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "accord", "call", COFFEE, tool, json.dumps(arguments)],
        env=environment(tmp_path / "coffee.db"),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,  # raises
    )
    assert (done.returncode, err in done.stderr) == (code, True), done.stderr
    assert (json.loads(done.stdout) if done.stdout else None) == out
    assert "Traceback" not in done.stderr


def test_a_database_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "accord", "call", COFFEE, "chart"],
        env=environment(tmp_path / "no folder" / "coffee.db"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "unable to open database file" in done.stderr
    assert done.stderr.count("\n") == 1
