"""The gateway over HTTP: credentials stay where they belong, callers never meet (9, 10, 25)."""

import asyncio
import http.client
import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from accord import Client, MCPError
from commands import ACCORD
from gateway.gateways import ODD, SAMPLE, User, client_of, gateway_of, sample, served
from http_peer import HttpServer
from processes import is_gone

NEW, OLD = "2026-07-28", "2025-11-25"


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with sample("http") as url:
        yield url


def headers_of(client: Client) -> Any:
    return client.call_tool("headers")


@pytest.mark.requirement("gateway.10.no-passthrough")
@pytest.mark.parametrize("revision", [OLD, NEW])
@pytest.mark.parametrize("behind", [OLD, NEW])
def test_no_credential_of_a_caller_reaches_an_upstream(
    upstream: str, revision: str, behind: str
) -> None:
    secrets = {"Authorization": "Bearer s3cret", "Cookie": "sid=s3cret", "X-Api-Key": "s3cret"}

    async def main(url: str) -> None:
        async with client_of(url, revision, headers=secrets) as client:
            found = (await client.call_tool("headers")).value
            assert "s3cret" not in json.dumps(found)
            assert not {"authorization", "cookie", "x-api-key"} & found.keys()
            async with client_of(url, OLD, headers=secrets) as other:
                assert other.messages
            session = found.get("mcp-session-id")
            assert (session is None) is (behind == NEW)

    with served("http", upstream, behind) as url:
        asyncio.run(main(url))


@pytest.mark.requirement("gateway.9.pool")
def test_callers_with_other_credentials_have_other_sessions(upstream: str) -> None:
    async def session_of(url: str, token: str) -> str:
        async with client_of(url, NEW, headers={"Authorization": token}) as client:
            first = (await client.call_tool("headers")).value["mcp-session-id"]
            second = (await client.call_tool("headers")).value["mcp-session-id"]
            assert first == second
            return str(first)

    async def main(url: str) -> None:
        ada, bob = await session_of(url, "Bearer a"), await session_of(url, "Bearer b")
        assert ada != bob
        assert await session_of(url, "Bearer a") == ada

    with served("http", upstream, OLD) as url:
        asyncio.run(main(url))


def post(url: str, token: str, params: dict[str, Any]) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    }
    params = {"name": "ask_form", "arguments": {}, **params, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    host, _, path = url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=20)
    connection.request(
        "POST",
        f"/{path}",
        json.dumps(body),
        {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": NEW,
            "Mcp-Method": "tools/call",
            "Mcp-Name": "ask_form",
            "Authorization": token,
        },
    )
    reply: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return reply


@pytest.mark.requirement("gateway.13.bound")
@pytest.mark.parametrize("behind", [OLD, NEW])
def test_an_answer_of_another_caller_is_refused(upstream: str, behind: str) -> None:
    """A parked call, or the wrapped state of an upstream, belongs to its caller."""

    with served("http", upstream, behind) as url:
        asked = post(url, "Bearer ada", {})["result"]
        assert asked["resultType"] == "input_required"
        (key,) = asked["inputRequests"]
        answer = {"inputResponses": {key: {"action": "accept", "content": {"value": "red"}}}}
        retry = {**answer, "requestState": asked["requestState"]}
        refused = post(url, "Bearer bob", retry)
        assert "belongs to another request" in refused["error"]["message"]
        changed = {**answer, "requestState": asked["requestState"][:-2] + "AA"}
        assert "error" in post(url, "Bearer ada", changed)
        (field,) = asked["inputRequests"][key]["params"]["requestedSchema"]["properties"]
        retry["inputResponses"][key]["content"] = {field: "red"}
        done = post(url, "Bearer ada", retry)["result"]
        assert done["content"][0]["text"] == "accept: red"


@pytest.mark.requirement("gateway.25.health")
def test_health_names_each_upstream(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    entries = {
        "good": {"command": SAMPLE[0], "args": SAMPLE[1:]},
        "dead": {"command": "/nonexistent"},
    }
    file.write_text(json.dumps({"mcpServers": entries}))
    with HttpServer([ACCORD, "serve", str(file), "--http", "127.0.0.1:0"]) as gateway:
        connection = http.client.HTTPConnection(gateway.host, gateway.port, timeout=10)
        connection.request("GET", "/health")
        assert json.loads(connection.getresponse().read()) == {
            "status": "ok",
            "upstreams": {"good": {"status": "ok"}, "dead": {"status": "unavailable"}},
        }
        connection.close()


@pytest.mark.requirement("gateway.25.reload")
def test_a_changed_file_is_served_without_dropping_calls(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    entry = {"command": SAMPLE[0], "args": SAMPLE[1:]}

    def write(**entries: Any) -> None:
        file.write_text(json.dumps({"mcpServers": entries}))

    async def main(url: str) -> None:
        async with client_of(url, OLD, User()) as client:
            pid = (await client.call_tool("pid")).value
            waiting = asyncio.create_task(client.call_tool("wait", {"token": "t"}))
            async with client.subscribe(lists=["tools"]) as told:
                write(one=entry, two={**entry, "only": ["two_add"]})
                async with asyncio.timeout(15):
                    await anext(told)
            names = [each.name for each in await client.list_tools()]
            assert "two_add" in names
            assert "two_pid" not in names
            assert (await client.call_tool("pid")).value == pid
            assert not waiting.done()
            waiting.cancel()
            file.write_text("{")  # a mistake changes nothing
            await asyncio.sleep(1.5)
            assert (await client.call_tool("two_add", {"a": 1, "b": 1})).value == 2
            write(two={**entry, "prefix": "x-"})
            async with asyncio.timeout(15):
                while "x-add" not in [e.name for e in await client.list_tools()]:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
            assert "add" not in [each.name for each in await client.list_tools()]

    write(one=entry)
    with HttpServer([ACCORD, "serve", str(file), "--http", "127.0.0.1:0"]) as gateway:
        asyncio.run(main(gateway.url))


@pytest.mark.requirement("gateway.12.capabilities")
@pytest.mark.parametrize("behind", [OLD, NEW])
def test_an_upstream_is_offered_the_capabilities_of_the_caller(upstream: str, behind: str) -> None:
    async def offered(url: str, user: User | None, revision: str) -> Any:
        async with client_of(url, revision, user) as client:
            return (await client.call_tool("capabilities")).value["capabilities"]

    async def main(url: str) -> None:
        for revision in (OLD, NEW):
            assert await offered(url, None, revision) == {}
            every = await offered(url, User(), revision)
            assert every["elicitation"] == {"form": {}, "url": {}}
            assert {"sampling", "roots"} <= every.keys()
        older = await offered(url, User(), "2025-06-18")
        assert older["elicitation"] == {"form": {}}

    with served("http", upstream, behind) as url:
        asyncio.run(main(url))


@pytest.mark.requirement("gateway.24.tree")
def test_upstreams_end_with_a_gateway_that_is_killed(tmp_path: Path) -> None:
    pid_file, script = tmp_path / "pid", tmp_path / "parent.sh"
    script.write_text(f"sleep 1000 & echo $! > {pid_file}; exec {' '.join(ODD)}\n")
    with served("http", ["sh", str(script)], OLD) as url:

        async def main() -> None:
            async with client_of(url, OLD) as client:
                await client.call_tool("say")

        asyncio.run(main())
        sleeper = int(pid_file.read_text())
        assert not is_gone(sleeper)
        port = int(url.rpartition(":")[2].partition("/")[0])
        os.kill(listening_on(port), signal.SIGKILL)
        end = monotonic() + 5
        while not is_gone(sleeper) and monotonic() < end:
            sleep(0.02)
        assert is_gone(sleeper)


def listening_on(port: int) -> int:
    """Return the process that listens on a port."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    (inode,) = {
        fields[9]
        for fields in map(str.split, lines)
        if int(fields[1].rpartition(":")[2], 16) == port and fields[3] == "0A"
    }
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if os.readlink(link) == f"socket:[{inode}]":  # noqa: PTH115
                return int(link.parts[2])
    raise AssertionError(f"nothing listens on {port}")


@pytest.mark.requirement("gateway.11.no-storm")
def test_a_server_that_requires_a_sign_in_is_named_with_the_command() -> None:
    asked: list[bytes] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        body = b"HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n"
        writer.write(body + b"WWW-Authenticate: Bearer\r\n\r\n")
        writer.close()

    async def main() -> None:
        async with await asyncio.start_server(refuse, "127.0.0.1", 0) as protected:
            port = protected.sockets[0].getsockname()[1]
            url = f"http://127.0.0.1:{port}/mcp"
            gateway = gateway_of(url)
            async with client_of(gateway.server, NEW):
                one = gateway.upstreams["sample"]
                assert one.status == "unavailable"
                assert f"accord login {url}" in one.reason
            assert len(asked) < 10  # no storm

    asyncio.run(main())


@pytest.mark.requirement("gateway.1.parked")
def test_a_retry_reaches_the_worker_that_holds_the_call(upstream: str) -> None:
    with served("http", upstream, OLD, "--workers", "2") as url:
        for _ in range(10):  # each on a connection of its own, to either worker
            asked = post(url, "Bearer ada", {})["result"]
            (key,) = asked["inputRequests"]
            (field,) = asked["inputRequests"][key]["params"]["requestedSchema"]["properties"]
            response = {"action": "accept", "content": {field: "red"}}
            retry = {"inputResponses": {key: response}, "requestState": asked["requestState"]}
            done = post(url, "Bearer ada", retry)["result"]
            assert done["content"][0]["text"] == "accept: red"


@pytest.mark.requirement("gateway.23.rate")
def test_the_rate_of_a_caller_and_tool_is_limited(upstream: str) -> None:
    async def main(url: str) -> None:
        async with client_of(url, NEW, headers={"Authorization": "Bearer ada"}) as client:
            for _ in range(2):
                assert (await client.call_tool("add", {"a": 1, "b": 1})).value == 2
            with pytest.raises(MCPError, match="Too many calls of add: 2/h of a caller"):
                await client.call_tool("add", {"a": 1, "b": 1})
            assert (await client.call_tool("rows", {"count": 1})).is_failure is False

    with served("http", upstream, NEW, "--rate", "2/h") as url:
        asyncio.run(main(url))


def get(server: HttpServer, path: str) -> str:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=10)
    connection.request("GET", path)
    try:
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def config_of(folder: Path, **entries: Any) -> str:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": entries}))
    return str(file)


@pytest.mark.requirement("gateway.25.log", "gateway.25.metrics", "gateway.18.counted")
@pytest.mark.parametrize("workers", [(), ("--workers", "2")])
def test_a_call_has_a_line_in_the_log_and_a_count_in_the_metrics(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    settings = tmp_path / "odd.json"
    settings.write_text("{}")
    odd = {"command": ODD[0], "args": [*ODD[1:], str(settings)]}
    config = config_of(tmp_path, odd=odd, dead={"command": "/nonexistent"})

    async def main(url: str) -> None:
        async with client_of(url, NEW) as client:
            broken = json.dumps({"content": "text"})
            for _ in range(3):
                await client.call_tool("say", {"raw": broken})

    command = [ACCORD, "serve", config, "--telemetry", "--http", "127.0.0.1:0", *workers]
    with HttpServer(command) as gateway:
        asyncio.run(main(gateway.url))
        gateway.said(re.compile("say success .* upstream=odd "), 3)
        lines = [line for line in gateway.stderr.splitlines() if line.startswith("say ")]
        assert len(lines) == 3
        assert f" upstream=odd revision={NEW} upstream_revision={OLD}" in lines[0]
        figures = get(gateway, "/metrics")
    assert 'accord_upstream_up{upstream="odd"} 1.0' in figures
    assert 'accord_upstream_up{upstream="dead"} 0.0' in figures
    assert 'accord_upstream_calls_total{upstream="odd"} 3.0' in figures
    assert 'accord_upstream_repairs_total{tool="say",upstream="odd"} 3.0' in figures


@pytest.mark.requirement("gateway.25.trace")
@pytest.mark.parametrize("telemetry", [(), ("--telemetry",)])
def test_the_trace_of_a_caller_goes_on_and_its_own_meta_does_not(
    tmp_path: Path, telemetry: tuple[str, ...]
) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    settings = tmp_path / "odd.json"
    settings.write_text("{}")
    config = config_of(tmp_path, odd={"command": ODD[0], "args": [*ODD[1:], str(settings)]})

    async def main(url: str) -> None:
        async with client_of(url, NEW) as client:
            meta = {"traceparent": trace, "dev.accord-mcp/x": 1, "other": 2}
            params = {"name": "meta", "arguments": {}, "_meta": meta}
            result = (await client.request("tools/call", params)).result
            assert result["_meta"]["theirs"] == 1
            sent = json.loads(result["content"][0]["text"])
            assert sent["traceparent"].split("-")[1] == trace.split("-")[1]
            assert sent["other"] == 2
            assert not any(name.startswith(("io.", "dev.")) for name in sent)

    command = [ACCORD, "serve", config, "--http", "127.0.0.1:0", *telemetry]
    with HttpServer(command) as gateway:
        asyncio.run(main(gateway.url))


@pytest.mark.requirement("gateway.25.reload")
def test_a_hang_up_reloads_the_file(tmp_path: Path) -> None:
    entry = {"command": SAMPLE[0], "args": SAMPLE[1:]}
    config = config_of(tmp_path, one=entry)

    async def main(gateway: HttpServer) -> None:
        async with client_of(gateway.url, NEW) as client:
            pid = (await client.call_tool("pid")).value
            stamp = os.stat(config)  # noqa: PTH116
            config_of(tmp_path, one=entry, two={**entry, "prefix": "2_"})
            os.utime(config, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
            gateway.process.send_signal(signal.SIGHUP)
            async with asyncio.timeout(20):
                while "2_add" not in [e.name for e in await client.list_tools()]:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
            assert (await client.call_tool("pid")).value == pid

    with HttpServer([ACCORD, "serve", config, "--http", "127.0.0.1:0"]) as gateway:
        asyncio.run(main(gateway))
