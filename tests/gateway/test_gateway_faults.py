"""Upstreams that are dead, slow or hostile: what their callers and those of others see."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from accord import Client, MCPError, Problem, Server, upstream
from accord.client import ToolInfo
from accord.gateway import Gateway, UpstreamSpec, spec_of
from accord.gateway.slots import CallSlots
from accord.reader import Reading
from client.connections import descriptors
from commands import ACCORD
from gateway.gateways import ODD, SAMPLE, client_of, gateway_of, message_of, until
from http_peer import HttpServer
from processes import children, is_gone

NEW = "2026-07-28"
KEY = "dev.accord-mcp/gateway"


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(main)


def odd_spec(folder: Path, name: str = "odd", **settings: Any) -> UpstreamSpec:
    file = folder / f"{name}.json"
    options = settings.pop("options", {})
    file.write_text(json.dumps(settings))
    return spec_of([*ODD, str(file)], name=name, **options)


async def say(client: Client, result: Any, tool: str = "say") -> Reading:
    return await client.call_tool(tool, {"raw": json.dumps(result)})


@pytest.mark.requirement("gateway.4.others")
def test_a_dead_upstream_hides_nothing_of_the_others(tmp_path: Path) -> None:
    async def main() -> None:
        gateway = Gateway([spec_of("/nonexistent x", name="dead"), odd_spec(tmp_path)])
        async with client_of(gateway.server, NEW) as client:
            names = [each.name for each in await client.list_tools()]
            assert "say" in names
            assert gateway.upstreams["dead"].status == "unavailable"
            assert "No such file" in gateway.upstreams["dead"].reason

    run(main())


@pytest.mark.requirement("gateway.4.last-good-list", "gateway.4.tried-at-once")
def test_a_server_that_died_stays_listed_and_is_started_again_by_a_call(tmp_path: Path) -> None:
    async def main() -> None:
        gateway = gateway_of(SAMPLE)
        one = gateway.upstreams["sample"]
        async with client_of(gateway.server, NEW) as client:
            before = (await client.call_tool("pid")).value
            assert not is_marked(await client.list_tools())
            os.kill(before, signal.SIGKILL)
            await until(lambda: one.status == "unavailable")
            assert is_marked(await client.list_tools())
            began = monotonic()
            after = (await client.call_tool("pid")).value
            assert after != before
            assert monotonic() - began < 5
            assert not is_marked(await client.list_tools())

    run(main())


def is_marked(tools: list[ToolInfo]) -> bool:
    return all(
        each.raw.get("_meta", {}).get(KEY) == {"status": "unavailable"}
        for each in tools
        if each.name != "read_more"
    )


@pytest.mark.requirement("gateway.4.unavailable")
def test_a_call_to_a_dead_server_names_it(tmp_path: Path) -> None:
    async def main() -> None:
        spec = odd_spec(tmp_path, options={"timeout": 2})
        gateway = Gateway([spec])
        async with client_of(gateway.server, NEW) as client:
            await say(client, {"content": []})
            os.unlink(spec.command[-1])  # noqa: PTH108 - so it cannot start again
            await client.call_tool("leave")
            await until(lambda: gateway.upstreams["odd"].status == "unavailable")
            reading = await client.call_tool("say")
            assert reading.is_failure
            assert "Server 'odd' is unavailable" in message_of(reading)
            assert "odd.json" not in message_of(reading)  # of its stderr
            assert "odd.json" in gateway.upstreams["odd"].reason

    run(main())


@pytest.mark.requirement("gateway.5.deadline", "gateway.5.late")
def test_a_slow_upstream_is_waited_for_until_its_deadline_and_told_later(tmp_path: Path) -> None:
    async def main() -> None:
        slow = odd_spec(tmp_path, "slow", sleep=1.5, options={"deadline": 0.5})
        gateway = Gateway([slow, odd_spec(tmp_path, options={"prefix": "o_"})])
        began = monotonic()
        async with client_of(gateway.server, "2025-11-25") as client:
            assert monotonic() - began < 1.4
            names = [each.name for each in await client.list_tools()]
            assert "o_say" in names
            assert "say" not in names
            async with client.subscribe(lists=["tools"]) as told, asyncio.timeout(10):
                await anext(told)
            assert "say" in [each.name for each in await client.list_tools()]

    run(main())


@pytest.mark.requirement("gateway.8.one-call")
def test_the_timeout_of_a_call_ends_that_call_only(tmp_path: Path) -> None:
    async def main() -> None:
        gateway = Gateway([odd_spec(tmp_path, options={"timeout": 0.5})])
        async with client_of(gateway.server, NEW) as client:
            hanging = asyncio.create_task(client.call_tool("hang"))
            good = await say(client, {"content": [{"type": "text", "text": "here"}]})
            assert good.value == "here"
            late = await hanging
            assert late.is_failure
            assert "not answered within 0.5 s" in message_of(late)
            assert (await say(client, {"content": []})).is_failure is False
            assert gateway.upstreams["odd"].status == "ok"

    run(main())


@pytest.mark.requirement("gateway.7.may-have-run")
def test_a_call_that_may_have_run_is_not_repeated(tmp_path: Path) -> None:
    async def main() -> None:
        gateway = Gateway([odd_spec(tmp_path)])
        async with client_of(gateway.server, NEW) as client:
            reading = await client.call_tool("leave")
            assert reading.is_failure
            assert "the call may have run" in message_of(reading)
            assert "fatal" not in message_of(reading)
            assert (await say(client, {"content": []})).is_failure is False

    run(main())


@pytest.mark.requirement("gateway.4.unavailable", "gateway.7.may-have-run")
def test_a_kill_in_the_middle_of_a_hundred_calls_gives_a_hundred_answers() -> None:
    async def main() -> None:
        gateway = gateway_of(SAMPLE)
        async with client_of(gateway.server, NEW) as client:
            pid = (await client.call_tool("pid")).value
            calls = [
                asyncio.create_task(client.call_tool("slow", {"number": n, "seconds": 0.01 * n}))
                for n in range(100)
            ]
            await until(lambda: sum(each.done() for each in calls) > 20)
            os.kill(pid, signal.SIGKILL)
            readings = await asyncio.gather(*calls)
            good = [n for n, each in enumerate(readings) if not each.is_failure]
            assert all(readings[n].value == n for n in good)
            assert 20 < len(good) < 100
            failed = [each for each in readings if each.is_failure]
            assert all("Server 'sample'" in message_of(each) for each in failed)
            assert (await client.call_tool("slow", {"number": 7})).value == 7

    run(main())


@pytest.mark.requirement("gateway.24.tree")
@pytest.mark.slow
def test_many_starts_and_stops_leave_no_process_and_no_descriptor(tmp_path: Path) -> None:
    async def main() -> None:
        gateway = Gateway([odd_spec(tmp_path), spec_of("/nonexistent", name="dead")])
        for _ in range(100):
            async with client_of(gateway.server, NEW) as client:
                assert (await say(client, {"content": []})).is_failure is False
        assert set(children(os.getpid())) <= others

    before, others = descriptors(), set(children(os.getpid()))
    run(main())
    assert descriptors() <= before


@pytest.mark.requirement("gateway.1.parked")
@pytest.mark.parametrize("behind", ["2025-11-25", NEW])
def test_a_question_that_is_answered_too_late_says_so(
    behind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.gateway.calls.PARKED_SECONDS", 0.2)
    can: dict[str, Any] = {"elicitation": {"form": {}}}

    async def main() -> None:
        gateway = gateway_of(SAMPLE, revision=behind)
        async with client_of(gateway.server, NEW, capabilities=can) as client:
            asked = (await client.request("tools/call", {"name": "ask_form"})).result
            (key,) = asked["inputRequests"]
            await asyncio.sleep(0.5)
            (field,) = asked["inputRequests"][key]["params"]["requestedSchema"]["properties"]
            retry = {
                "name": "ask_form",
                "inputResponses": {key: {"action": "accept", "content": {field: "red"}}},
                "requestState": asked["requestState"],
            }
            late = (await client.request("tools/call", retry)).result
            if behind == NEW:  # nothing is held for it
                assert late["content"][0]["text"] == "accept: red"
            else:
                assert late["isError"] is True
                assert "or too late" in late["content"][0]["text"]
                assert not gateway.upstreams["sample"].requests.are_parked

    run(main())


@pytest.mark.requirement("gateway.18.noise")
@pytest.mark.parametrize(
    ("tool", "text"), [("garbage", "after garbage"), ("wrong_id", "mine"), ("chatter", "enough")]
)
def test_noise_of_an_upstream_harms_nothing(tmp_path: Path, tool: str, text: str) -> None:
    async def main() -> None:
        async with client_of(Gateway([odd_spec(tmp_path)]).server, NEW) as client:
            assert (await client.call_tool(tool)).value == text

    run(main())


@pytest.mark.requirement("gateway.23.sizes")
def test_fifty_megabytes_fail_and_the_next_call_works(tmp_path: Path) -> None:
    async def main() -> None:
        gateway = Gateway([odd_spec(tmp_path), odd_spec(tmp_path, "other")])
        async with client_of(gateway.server, NEW) as client:
            huge = asyncio.create_task(client.call_tool("huge"))
            assert (await say(client, {"content": []}, "other_say")).is_failure is False
            reading = await huge
            assert reading.is_failure
            assert "longer than 16777216 bytes" in message_of(reading)
            assert (await say(client, {"content": []})).is_failure is False

    run(main())


@pytest.mark.requirement("gateway.24.tree")
def test_the_process_tree_of_an_upstream_ends_with_the_gateway(tmp_path: Path) -> None:
    script = tmp_path / "parent.sh"
    pid_file = tmp_path / "pid"
    script.write_text(f"sleep 1000 & echo $! > {pid_file}; exec {' '.join(ODD)}\n")

    async def main() -> list[int]:
        gateway = Gateway([spec_of(["sh", str(script)], name="tree")])
        async with client_of(gateway.server, NEW) as client:
            assert (await say(client, {"content": []})).is_failure is False
            return [pid for pid in children(os.getpid()) if pid not in others]

    others = children(os.getpid())
    found = asyncio.run(main())
    assert found
    end = monotonic() + 5
    while monotonic() < end and not (all(map(is_gone, found)) and is_gone(sleeper(pid_file))):
        sleep(0.01)
    assert all(map(is_gone, found))
    assert is_gone(sleeper(pid_file))


def sleeper(file: Path) -> int:
    return int(file.read_text())


@pytest.mark.requirement("gateway.24.environment")
def test_the_environment_of_an_upstream_is_an_allow_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    environment = spec_of("npx x", env={"OWN": "1"}).connection["env"]
    assert environment["OWN"] == "1"
    assert environment["PATH"] == os.environ["PATH"]
    assert "AWS_SECRET_ACCESS_KEY" not in environment


@pytest.mark.requirement("gateway.15.reversible")
def test_a_foreign_server_is_included_with_a_prefix(tmp_path: Path) -> None:
    async def main() -> None:
        server = Server("shop")

        @server.tool
        def add(a: int) -> int:
            return a

        server.include(upstream(SAMPLE), prefix="fs_")
        async with client_of(server, NEW) as client:
            names = [each.name for each in await client.list_tools()]
            assert names[0] == "add"
            assert "fs_add" in names
            assert (await client.call_tool("fs_add", {"a": 1, "b": 2})).value == 3
            uris = [each.uri for each in await client.list_resources()]
            assert uris == ["room://fs_lamp"]
            (lamp,) = await client.read_resource("room://fs_lamp")
            assert lamp.content == "A brass lamp."
            (colour,) = await client.read_resource("room://fs_lamp/colour")
            assert colour.content == "The lamp is green."
            assert (await client.complete("fs_greet", "name", "g")).values == ["grace"]

    run(main())


@pytest.mark.requirement("gateway.2.collision", "gateway.15.reversible", "gateway.15.links")
def test_two_servers_with_the_same_tools_are_both_there(tmp_path: Path) -> None:
    async def main() -> None:
        gateway = Gateway([spec_of(SAMPLE, name="one"), spec_of(SAMPLE, name="two")])
        async with client_of(gateway.server, NEW) as client:
            names = [each.name for each in await client.list_tools()]
            assert {"add", "two_add"} <= set(names)
            one = (await client.call_tool("pid")).value
            two = (await client.call_tool("two_pid")).value
            assert one != two
            uris = [each.uri for each in await client.list_resources()]
            assert uris == ["room://lamp", "room://two.lamp"]
            (lamp,) = await client.read_resource("room://two.lamp")
            assert lamp.content == "A brass lamp."
            raw = await client.call_tool_raw("two_media")
            links = [each for each in raw.result["content"] if each["type"] == "resource_link"]
            assert [each["uri"] for each in links] == ["room://two.lamp"]

    run(main())


@pytest.mark.requirement("gateway.20.list-and-call")
def test_filters_hold_for_lists_and_calls() -> None:
    async def main() -> None:
        gateway = Gateway([spec_of(SAMPLE, name="s", read_only=True, only=["a*", "p*", "w*"])])
        async with client_of(gateway.server, NEW) as client:
            names = [each.name for each in await client.list_tools()]
            assert names == ["read_more", "add", "waited", "pid"]
            with pytest.raises(Exception, match="Unknown tool: ask_form"):
                await client.call_tool("ask_form")

    run(main())


@pytest.mark.requirement("gateway.6.odd-lists")
def test_lists_of_any_oddness_are_merged_with_none_lost(tmp_path: Path) -> None:
    tools: list[Any] = [
        {"name": "plain", "inputSchema": {"type": "object"}},
        {"name": "without schema"},
        {"name": "größe/α", "description": None, "inputSchema": {"anyOf": [{"type": "object"}]}},
        {"name": "x" * 120, "inputSchema": {"$ref": "#/$defs/a", "$defs": {"a": {}}}},
        {"name": "big", "inputSchema": {"type": "object", "description": "y" * 53_000}},
        {"name": "marks", "inputSchema": {"properties": {"a": {"x-mcp-header": "a b"}}}},
        {"name": "bools", "inputSchema": {"type": "object", "properties": {"cursor": True}}},
        {"name": "types", "title": 7, "annotations": [], "icons": {}, "_meta": "x"},
        {"name": "lists", "inputSchema": {"type": "object", "properties": []}},
    ]
    tools += [{"name": f"tool{number}", "inputSchema": {"type": "object"}} for number in range(990)]

    async def main() -> None:
        gateway = Gateway([odd_spec(tmp_path, tools=tools)])
        for revision in ("2024-11-05", NEW):
            async with client_of(gateway.server, revision) as client:
                found = await client.list_tools()
                assert len(found) == len(tools) + 1
                assert all(len(each.name) <= 64 and each.name.isascii() for each in found)
                assert all(each.raw["inputSchema"]["type"] == "object" for each in found)
                reading = await client.call_tool(found[2].name, {})
                assert reading.is_failure is False

    run(main())


@pytest.mark.requirement("gateway.23.in-flight")
def test_calls_beyond_the_limit_wait_for_their_turn() -> None:
    async def main() -> None:
        gateway = gateway_of(SAMPLE, max_calls=2)
        async with client_of(gateway.server, NEW) as client:
            began = monotonic()
            calls = [client.call_tool("slow", {"number": n, "seconds": 0.2}) for n in range(6)]
            readings = await asyncio.gather(*calls)
            assert [each.value for each in readings] == list(range(6))
            assert monotonic() - began >= 0.6
            assert (await client.call_tool("add", {"a": 1, "b": 1})).value == 2

    run(main())


@pytest.mark.requirement("gateway.23.in-flight")
def test_a_call_without_a_turn_is_refused_with_the_limit() -> None:
    async def main() -> None:
        slots = CallSlots("s", 1)
        slots.take()
        with pytest.raises(Problem, match="'s' has 1 open requests, its limit") as refused:
            await slots.wait(0.05)
        assert refused.value.retry_after == 1.0
        waiting = [asyncio.ensure_future(slots.wait(10)) for _ in range(1_000)]
        await asyncio.sleep(0)
        with pytest.raises(Problem, match="1,000 requests wait already"):
            await slots.wait(10)
        slots.release()
        await waiting[0]
        assert not slots.is_free
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        slots.release()
        assert slots.is_free

    run(main())


@pytest.mark.requirement("gateway.23.in-flight")
def test_a_call_that_is_cancelled_gives_its_turn_to_the_next() -> None:
    async def main() -> None:
        gateway = gateway_of(SAMPLE, max_calls=1)
        async with client_of(gateway.server, NEW) as client:
            calls = [
                asyncio.create_task(client.call_tool("wait", {"token": str(n)})) for n in range(3)
            ]
            await asyncio.sleep(0.1)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            assert (await client.call_tool("add", {"a": 1, "b": 1})).value == 2

    run(main())


@pytest.mark.requirement("gateway.23.breaker")
def test_a_server_that_answers_nothing_is_not_called_until_it_answers_a_probe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.gateway.upstreams._PROBES", (1.0, 1.0, 1.0, 1.0))

    async def main() -> None:
        gateway = Gateway([odd_spec(tmp_path, options={"timeout": 1.0})])
        one = gateway.upstreams["odd"]
        async with client_of(gateway.server, NEW) as client:
            dozing = [client.call_tool("doze", {"seconds": 3.0})]
            hanging = [client.call_tool("hang") for _ in range(3)]
            for each in await asyncio.gather(*dozing, *hanging):
                assert each.is_failure
            await until(lambda: one.status == "unavailable")
            began = monotonic()
            refused = await client.call_tool("say")
            assert monotonic() - began < 0.2
            assert "does not answer; it is asked again in" in message_of(refused)
            assert "retry_after" in refused.response.to_dict()["error"]["details"]
            assert len(await client.list_tools()) > 5
            await until(lambda: one.status == "ok")
            assert (await say(client, {"content": []})).is_failure is False

    run(main())


@pytest.mark.requirement("gateway.23.breaker", "gateway.8.one-call")
def test_a_slow_tool_is_no_reason_to_refuse_others(tmp_path: Path) -> None:
    async def main() -> None:
        gateway = Gateway([odd_spec(tmp_path, options={"timeout": 1.0})])
        async with client_of(gateway.server, NEW) as client:
            for _ in range(2):
                await asyncio.gather(*(client.call_tool("hang") for _ in range(4)))
                assert gateway.upstreams["odd"].status == "ok"
                assert (await say(client, {"content": []})).is_failure is False

    run(main())


@pytest.mark.requirement("gateway.23.breaker")
def test_a_server_that_never_answers_again_is_started_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.gateway.upstreams._PROBES", (0.1,))

    async def main() -> None:
        gateway = Gateway([odd_spec(tmp_path, options={"timeout": 1.0})])
        async with client_of(gateway.server, NEW) as client:
            calls = [client.call_tool("doze", {"seconds": 600}) for _ in range(3)]
            await asyncio.gather(*calls)
            one = gateway.upstreams["odd"]
            await until(lambda: one.status == "unavailable")
            await until(lambda: one.status == "ok")
            assert (await say(client, {"content": []})).is_failure is False

    run(main())


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "inputSchema": {"type": "object"}} for name in names]


@pytest.mark.requirement("gateway.14.polled", "gateway.14.removed")
def test_lists_of_a_server_that_reports_no_changes_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.gateway.upstreams._MIN_POLL", 0.1)

    async def main() -> None:
        spec = odd_spec(tmp_path, tools=named("say", "old"), ttl_ms=50)
        async with client_of(Gateway([spec]).server, "2025-11-25") as client:
            async with client.subscribe(lists=["tools"]) as told, asyncio.timeout(10):
                odd_spec(tmp_path, tools=named("say", "new"), ttl_ms=50)
                await anext(told)
            assert [each.name for each in await client.list_tools()][1:] == ["say", "new"]
            with pytest.raises(MCPError, match="Unknown tool: old"):
                await client.call_tool("old")

    run(main())


@pytest.mark.requirement("gateway.14.visible")
def test_a_change_that_leaves_the_visible_list_as_it_was_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.gateway.upstreams._MIN_POLL", 0.1)
    options = {"only": ["say"]}

    async def main() -> None:
        gateway = Gateway([odd_spec(tmp_path, tools=named("say"), ttl_ms=50, options=options)])
        one = gateway.upstreams["odd"]
        async with (
            client_of(gateway.server, "2025-11-25") as client,
            client.subscribe(lists=["tools"]) as told,
        ):
            odd_spec(tmp_path, tools=named("hidden", "say"), ttl_ms=50)
            await until(lambda: len(one.entries["tools"]) == 2)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await anext(told)

    run(main())


@pytest.mark.requirement("gateway.14.debounced")
def test_many_changes_at_once_are_told_once() -> None:
    async def main() -> None:
        gateway = gateway_of(SAMPLE, revision="2025-11-25")
        async with (
            client_of(gateway.server, "2025-11-25") as client,
            client.subscribe(lists=["tools"]) as told,
        ):
            names = [f"grown{number}" for number in range(20)]
            await asyncio.gather(*(client.call_tool("grow", {"name": n}) for n in names))
            listed: set[str] = set()
            count = 0
            async with asyncio.timeout(10):
                while not set(names) <= listed:
                    await anext(told)
                    count += 1
                    listed = {each.name for each in await client.list_tools()}
            assert count <= 3

    run(main())


@pytest.mark.requirement("gateway.16.minimum")
def test_lists_are_fresh_for_the_shortest_time_of_all_servers(tmp_path: Path) -> None:
    async def main() -> None:
        long = odd_spec(tmp_path, "long", tools=named("a"), ttl_ms=90_000)
        short = odd_spec(tmp_path, "short", tools=named("b"), ttl_ms=40_000)
        silent = odd_spec(tmp_path, "silent", tools=named("c"))
        for specs, ttl in (([long, short], 40_000), ([long, silent], 0)):
            async with client_of(Gateway(specs).server, NEW) as client:
                reply = await client.request("tools/list", {})
                assert (reply.result["ttlMs"], reply.result["cacheScope"]) == (ttl, "private")

    run(main())


@pytest.mark.requirement("gateway.16.resources")
@pytest.mark.parametrize(("behind", "scope"), [("2025-11-25", "private"), (NEW, "public")])
def test_a_resource_is_fresh_for_as_long_as_its_server_says(behind: str, scope: str) -> None:
    async def main() -> None:
        async with client_of(gateway_of(SAMPLE, revision=behind).server, NEW) as client:
            reply = await client.request("resources/read", {"uri": "room://lamp/colour"})
            assert reply.result["cacheScope"] == scope
            assert reply.result["ttlMs"] == (60_000 if behind == NEW else 0)

    run(main())


@pytest.mark.requirement("gateway.4.never-empty")
def test_a_list_that_fails_is_not_an_empty_list(tmp_path: Path) -> None:
    async def main() -> None:
        gateway = Gateway([odd_spec(tmp_path, tools="not a list"), odd_spec(tmp_path, "good")])
        async with client_of(gateway.server, NEW) as client:
            assert gateway.upstreams["odd"].status == "unavailable"
            assert "say" in [each.name for each in await client.list_tools()]

    run(main())


EXCLUSIVE = """\
import fcntl, os, sys

lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
os.set_inheritable(lock.fileno(), True)
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.mark.requirement("gateway.24.lifetime")
@pytest.mark.parametrize("behind", ["2025-11-25", NEW])
@pytest.mark.parametrize("is_exclusive", [False, True], ids=["side by side", "one at a time"])
def test_a_process_is_replaced_after_its_lifetime_and_no_call_fails(
    tmp_path: Path, behind: str, is_exclusive: bool
) -> None:
    lock = [sys.executable, "-c", EXCLUSIVE, str(tmp_path / "lock")] if is_exclusive else []

    async def main() -> None:
        gateway = gateway_of([*lock, *SAMPLE], lifetime=0.5, revision=behind)
        async with client_of(gateway.server, NEW) as client:
            first = (await client.call_tool("pid")).value
            slow = asyncio.create_task(client.call_tool("slow", {"number": 7, "seconds": 1.5}))
            found = first
            async with asyncio.timeout(20):
                while found == first:
                    reading = await client.call_tool("pid")
                    assert not reading.is_failure, reading.response
                    found = reading.value
                    await asyncio.sleep(0.02)
            assert slow.done() is is_exclusive
            assert (await slow).value == 7
            await until(lambda: is_gone(first))
            assert gateway.upstreams["sample"].status == "ok"

    run(main())


LIMITED = """\
from accord.gateway import Gateway, spec_of

spec = spec_of({command!r}, name="one", lifetime=0.5, revision="2025-11-25")
server = Gateway([spec]).server
"""


@pytest.mark.requirement("gateway.24.lifetime", "gateway.9.pool")
def test_the_sessions_of_callers_are_replaced_too(tmp_path: Path) -> None:
    async def main(url: str) -> None:
        async with (
            client_of(url, NEW, headers={"Authorization": "Bearer a"}) as ada,
            client_of(url, NEW, headers={"Authorization": "Bearer b"}) as bob,
        ):
            before = [(await each.call_tool("pid")).value for each in (ada, bob)]
            assert len(set(before)) == 2
            async with asyncio.timeout(20):
                for client, pid in zip((ada, bob), before, strict=True):
                    while (await client.call_tool("pid")).value == pid:  # noqa: ASYNC110
                        await asyncio.sleep(0.05)
            await until(lambda: all(map(is_gone, before)))

    file = tmp_path / "limited.py"
    file.write_text(LIMITED.format(command=SAMPLE))
    with HttpServer([ACCORD, "serve", str(file), "--http", "127.0.0.1:0"]) as gateway:
        run(main(gateway.url))
