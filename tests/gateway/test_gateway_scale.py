"""Many upstreams and many tools: none is lost, and a list is as fast as that of one server."""

import asyncio
import json
import os
import random
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import pytest

from accord import Server
from accord.gateway import Gateway, spec_of
from commands import ACCORD
from gateway.gateways import HERE, client_of, until
from http_peer import HttpServer
from processes import children

NEW = "2026-07-28"
VALID = re.compile(r"[A-Za-z0-9_-]{1,64}")
COMMON = ("search", "list", "get", "create_issue", "query", "fetch", "read_file", "ping")
ODD_NAMES = ("größe/α", "a b c", "x" * 120, "né.té", "tool.with.dots", "名前", "-", "UPPER Case")


@contextmanager
def many(folder: Path, servers: list[list[dict[str, Any]]]) -> Iterator[str]:
    """Serve lists of tools; gives the URL that the numbers of the servers follow."""
    file = folder / "servers.json"
    file.write_text(json.dumps(servers))
    with HttpServer([sys.executable, str(HERE / "many_upstreams.py"), str(file)]) as found:
        yield found.url


def plain(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    return {"name": name, "description": f"Does {name}.", "inputSchema": schema}


def real_lists(count: int, total: int) -> list[list[dict[str, Any]]]:
    """Return lists of tools of that number and oddness: those of many servers of the registry."""
    chance = random.Random(941)
    sizes = [1] * count
    for _ in range(total - count):  # a few servers have most of the tools
        sizes[int(count * chance.random() ** 3)] += 1
    return [list_of(number, size, chance) for number, size in enumerate(sizes)]


def list_of(number: int, size: int, chance: random.Random) -> list[dict[str, Any]]:
    names = dict.fromkeys(chance.sample(COMMON, k=min(size, chance.randrange(1, 4))))
    if chance.random() < 0.3:
        names[chance.choice(ODD_NAMES)] = None
    while len(names) < size:
        names[f"tool_{number}_{len(names)}" if chance.random() < 0.7 else f"do_{len(names)}"] = None
    return [odd(each, chance) for each in list(names)[:size]]


def odd(name: str, chance: random.Random) -> dict[str, Any]:
    tool = plain(name)
    match chance.randrange(12):
        case 0:
            del tool["description"]
        case 1:
            tool["inputSchema"] = {"type": "object", "anyOf": [{"required": ["a"]}, {}]}
        case 2:
            tool["inputSchema"] |= {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}}
        case 3:
            tool["inputSchema"] = {"type": "object"}
        case 4 if chance.random() < 0.05:
            tool["inputSchema"]["description"] = "y" * 53_000
        case 5:
            tool |= {"title": "A title", "annotations": {"readOnlyHint": True}}
    return tool


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.requirement("gateway.2.valid", "gateway.6.odd-lists")
def test_the_lists_of_941_servers_are_merged_with_none_lost(tmp_path: Path) -> None:
    servers = real_lists(941, 6_688)
    assert sum(map(len, servers)) == 6_688

    async def main(url: str) -> None:
        specs = [spec_of(f"{url}{n}", name=f"server-{n}", deadline=90) for n in range(941)]
        gateway = Gateway(specs)
        async with client_of(gateway.server, NEW) as client:
            await until(lambda: all(e.status == "ok" for e in gateway.upstreams.values()), 60)
            listed = [each for each in await client.list_tools() if each.name != "read_more"]
            assert len(listed) == len({each.name for each in listed}) == 6_688
            assert all(VALID.fullmatch(each.name) for each in listed)
            given = [tool for tools in servers for tool in tools]
            for own, shown in zip(given, listed, strict=True):  # in the order of the configuration
                same = ("description", "inputSchema", "title", "annotations")
                assert [own.get(each) for each in same] == [shown.raw.get(each) for each in same]
            owners = [(n, tool["name"]) for n, tools in enumerate(servers) for tool in tools]
            chosen = random.Random(1).sample(range(6_688), 100)
            for number in chosen:
                reading = await client.call_tool(listed[number].name, {"q": "x", "a": 1})
                assert tuple(reading.value) == owners[number]

    with many(tmp_path, servers) as url:
        asyncio.run(main(url))


@pytest.mark.requirement("gateway.6.fast")
def test_the_list_of_100_servers_is_as_fast_as_that_of_one(tmp_path: Path) -> None:
    one = Server("one")
    for number in range(1_000):

        @one.tool(name=f"tool_{number}", description="Does it.")
        def tool(q: str) -> str:
            return q

    async def seconds(server: Server) -> float:
        async with client_of(server, NEW) as client:
            found = []
            for _ in range(9):
                began = perf_counter()
                reply = await client.request("tools/list", {})
                found.append(perf_counter() - began)
                assert len(reply.result["tools"]) >= 1_000
            return median(found)

    async def main(url: str) -> None:
        hundred = Gateway([spec_of(f"{url}{n}", name=f"s{n}", deadline=60) for n in range(100)])
        assert await seconds(hundred.server) < 3 * await seconds(one)

    servers = [[plain(f"tool_{n}_{m}") for m in range(10)] for n in range(100)]
    with many(tmp_path, servers) as url:
        asyncio.run(main(url))


@pytest.mark.requirement("gateway.5.deadline", "gateway.4.others")
@pytest.mark.parametrize("dead", ["refuses", "hangs"])
def test_one_dead_server_among_ten_delays_the_nine_to_its_deadline_at_most(
    tmp_path: Path, dead: str
) -> None:
    async def main(url: str) -> None:
        specs = [spec_of(f"{url}{n}", name=f"s{n}") for n in range(9)]
        other = "http://127.0.0.1:1/mcp" if dead == "refuses" else f"{url}hang"
        specs.insert(4, spec_of(other, name="dead", deadline=1.0))
        gateway = Gateway(specs)
        began = perf_counter()
        async with client_of(gateway.server, NEW) as client:
            names = {each.name for each in await client.list_tools()}
            assert perf_counter() - began < 5
            assert {f"tool_{n}" for n in range(9)} <= names
            assert gateway.upstreams["dead"].status != "ok"

    with many(tmp_path, [[plain(f"tool_{n}")] for n in range(9)]) as url:
        asyncio.run(main(url))


@pytest.mark.requirement("gateway.9.memory")
def test_an_idle_server_takes_less_than_a_megabyte(tmp_path: Path) -> None:
    def memory(url: str, count: int) -> int:
        entries = {f"s{n}": {"url": f"{url}{n}"} for n in range(count)}
        file = tmp_path / f"mcp{count}.json"
        file.write_text(json.dumps({"mcpServers": entries}))
        with HttpServer([ACCORD, "serve", str(file), "--http", "127.0.0.1:0"]) as gateway:
            status = Path(f"/proc/{gateway.process.pid}/status").read_text()
            return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1])  # type: ignore[index]

    servers = [[plain(f"tool_{n}_{m}") for m in range(10)] for n in range(101)]
    with many(tmp_path, servers) as url:
        assert memory(url, 101) - memory(url, 1) < 100 * 1_024


@pytest.mark.long
@pytest.mark.timeout(3_000)
@pytest.mark.requirement("gateway.24.tree")
def test_a_thousand_starts_and_stops_leave_no_process() -> None:
    async def main() -> None:
        command = [sys.executable, str(HERE / "odd_upstream.py")]
        gateway = Gateway([spec_of(command, name="odd")])
        for _ in range(1_000):
            async with client_of(gateway.server, NEW) as client:
                assert len(await client.list_tools()) > 1
        assert set(children(os.getpid())) <= before

    before = set(children(os.getpid()))
    asyncio.run(main())
