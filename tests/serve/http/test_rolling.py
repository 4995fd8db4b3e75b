"""Two replicas behind nginx are restarted one after the other: no call fails."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from commands import ACCORD, ENVIRONMENT, SAMPLES
from doc_pages import ROOT
from http_peer import HttpServer
from nginx import configure, needs_nginx, running
from processes import free_port
from redis_server import RedisServer, needs_redis
from stdio_peer import CLIENT_INFO, modern_params

CLIENTS = 100
CONF = ROOT / "examples/deploy/nginx.conf"


class Replica:
    """One of the processes behind the balancer; it can be restarted on its port."""

    def __init__(self, port: int, *words: str) -> None:
        serve = [ACCORD, "serve", "long_running:server", "--no-page", "--grace", "10"]
        self._command = [*serve, "--http", f"127.0.0.1:{port}", *words]
        self._stack = ExitStack()
        self.port = port

    def start(self) -> None:
        """Start it, and wait until it serves."""
        server = HttpServer(self._command, cwd=SAMPLES, env=ENVIRONMENT)
        self.server = self._stack.enter_context(server)

    def restart(self) -> None:
        """End it by SIGTERM, and start it again."""
        self.server.process.terminate()
        assert self.server.wait() == 0
        self.start()

    def end(self) -> None:
        """End it."""
        self._stack.close()


class Client:
    """Calls `pid` again and again, on a connection that stays open."""

    def __init__(self, port: int, *, has_session: bool) -> None:
        self._port = port
        self._revision = "2025-06-18" if has_session else "2026-07-28"
        self._has_session = has_session
        self._session = ""
        self.answers: Counter[str] = Counter()

    async def run(self, stop: asyncio.Event) -> None:
        """Call until told to stop; each call must succeed."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        if self._has_session:
            params = {
                "protocolVersion": self._revision,
                "capabilities": {},
                "clientInfo": CLIENT_INFO,
            }
            await self._send(reader, writer, "initialize", params)
            assert self._session
        while not stop.is_set():
            params = {"name": "pid", "arguments": {}}
            given = params if self._has_session else modern_params(params, capabilities={})
            status, body = await self._send(reader, writer, "tools/call", given)
            assert status == 200, (status, body)
            self.answers[json.loads(body)["result"]["content"][0]["text"]] += 1
            await asyncio.sleep(0.05)
        writer.close()

    async def _send(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        method: str,
        params: Mapping[str, object],
    ) -> tuple[int, bytes]:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        body = json.dumps(message).encode()
        lines = [
            "POST /mcp HTTP/1.1",
            "Host: mcp.example.com",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            f"MCP-Protocol-Version: {self._revision}",
            f"Content-Length: {len(body)}",
            *([f"Mcp-Session-Id: {self._session}"] if self._session else []),
            *([] if self._has_session else [f"Mcp-Method: {method}", "Mcp-Name: pid"]),
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        found = re.search(r"(?i)content-length: (\d+)", head)
        if found is not None:
            content = await reader.readexactly(int(found[1]))
        else:
            content = b""
            while size := int(await reader.readline(), 16):
                content += (await reader.readexactly(size + 2))[:-2]
            await reader.readline()
        session = re.search(r"(?i)mcp-session-id: (\S+)", head)
        self._session = self._session if session is None else session[1]
        return int(head.split()[1]), content


@contextmanager
def balanced(folder: Path, *words: str) -> Iterator[tuple[int, list[Replica]]]:
    """Two replicas behind nginx, with the example's configuration; gives its port."""
    ports = [free_port() for _ in range(3)]
    key = folder / "key"
    key.write_bytes(b"k" * 32)
    key.chmod(0o600)
    common = ["--key-file", str(key), "--public-url", "https://mcp.example.com", *words]
    replicas = [Replica(port, *common) for port in ports[1:]]
    part = CONF.read_text()
    for name in ("ssl_certificate ", "ssl_certificate_key "):
        part = re.sub(rf" *{name} *\S+;\n", "", part)
    here = {
        "listen 443 ssl": f"listen 127.0.0.1:{ports[0]}",
        "127.0.0.1:8001": f"127.0.0.1:{ports[1]}",
        "127.0.0.1:8002": f"127.0.0.1:{ports[2]}",
    }
    configure(folder, part, here)
    with ExitStack() as stack:
        for each in replicas:
            each.start()
            stack.callback(each.end)
        stack.enter_context(running(folder, ports[0]))
        yield ports[0], replicas


@needs_nginx
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "kind", ["alone", "workers", pytest.param("with a store", marks=needs_redis)]
)
def test_no_call_fails_while_replicas_are_restarted(kind: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        words = ["--workers", "2"] if kind == "workers" else []
        if kind == "with a store":
            words = ["--store", stack.enter_context(RedisServer()).url, "--rate", "100000/s"]
        port, replicas = stack.enter_context(balanced(tmp_path, *words))

        async def main() -> list[Client]:
            stop = asyncio.Event()
            clients = [Client(port, has_session=number % 2 == 0) for number in range(CLIENTS)]
            running = [asyncio.create_task(each.run(stop)) for each in clients]
            for _ in range(2):
                for replica in replicas:
                    await asyncio.sleep(1)
                    await asyncio.to_thread(replica.restart)
            await asyncio.sleep(1)
            stop.set()
            await asyncio.gather(*running)
            return clients

        answers = sum((each.answers for each in asyncio.run(main())), Counter[str]())
    assert len(answers) >= 6, "each process has answered; of workers, most"
    assert answers.total() > 20 * CLIENTS
