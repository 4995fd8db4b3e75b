"""What a gateway costs: `python -m bench.gateway` prints CPU time and latency of calls through it.

A client over stdio calls `add` and a tool with 100 rows: of the sample upstream itself, through
Accord in each mode, and through FastMCP's proxy; the upstream is a child process, or serves HTTP.
Calls are made one at a time, and pipelined: all are written at once, and the replies read.
CPU time is that of the process that the client talks to, its own code and the kernel's.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from threading import Thread
from time import perf_counter
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
ACCORD = str(Path(sys.executable).with_name("accord"))
SAMPLE = [ACCORD, "serve", str(ROOT / "tests/gateway/sample_upstream.py")]
TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "add": ("add", {"a": 2, "b": 3}),
    "100 rows": ("rows", {"count": 100, "width": 20}),
}
MODES = ("as-is", "repaired", "normalised")
PROXY = """\
import json, sys
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy
target = json.loads(sys.argv[1])
proxy = create_proxy(target if isinstance(target, str) else StdioTransport(target[0], target[1:]))
proxy.run(show_banner=False)
"""
TICK = 1_000_000 / os.sysconf("SC_CLK_TCK")  # microseconds


class Cost(NamedTuple):
    """Microseconds for a call."""

    cpu: float
    latency: float
    pipelined: float
    """CPU time of a call that need not be waited for."""


class Peer:
    """A client of a process over stdio, without any work of its own that counts."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._id = 0
        client = {"name": "bench", "version": "1"}
        self.request(
            "initialize",
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client},
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def request(self, method: str, params: dict[str, Any]) -> bytes:
        assert self._process.stdout is not None
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        for line in self._process.stdout:
            if re.search(rb'"id": ?%d[,}]' % self._id, line):
                return line
        raise EOFError(f"{method} was not answered")

    def cost(self, tool: str, arguments: dict[str, Any], calls: int) -> Cost:
        params = {"name": tool, "arguments": arguments}
        for _ in range(20):
            assert b'"isError":true' not in self.request("tools/call", params)
        before, seconds = self._ticks(), list[float]()
        for _ in range(calls):
            began = perf_counter()
            self.request("tools/call", params)
            seconds.append(perf_counter() - began)
        cpu = (self._ticks() - before) * TICK / calls
        return Cost(cpu, median(seconds) * 1e6, self._pipelined(params, calls))

    def _pipelined(self, params: dict[str, Any], calls: int) -> float:
        """Return microseconds of CPU for a call, if they are written without waiting."""
        assert self._process.stdout is not None
        before = self._ticks()
        writer = Thread(target=self._send_all, args=(params, calls))
        writer.start()
        for _ in range(calls):
            assert self._process.stdout.readline()
        writer.join()
        return (self._ticks() - before) * TICK / calls

    def _send_all(self, params: dict[str, Any], calls: int) -> None:
        for _ in range(calls):
            self._id += 1
            message = {"jsonrpc": "2.0", "id": self._id, "method": "tools/call", "params": params}
            self._send(message)

    def _ticks(self) -> int:
        stat = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(stat[11]) + int(stat[12])

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)


@contextmanager
def over_http() -> Iterator[str]:
    """Serve the sample upstream over HTTP; gives its URL."""
    command = [*SAMPLE, "--http", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        found = re.search(r"MCP at (\S+)", child.stderr.readline())
        assert found is not None
        try:
            yield found[1]
        finally:
            child.terminate()


def report(name: str, command: list[str], calls: int) -> None:
    """Print one line of the table."""
    peer = Peer(command)
    try:
        found = [peer.cost(*task, calls) for task in TASKS.values()]
    finally:
        peer.close()
    cells = " | ".join(
        f"{each.cpu:,.0f} | {each.latency:,.0f} | {each.pipelined:,.0f}" for each in found
    )
    print(f"| {name} | {cells} |", flush=True)


def main() -> None:
    """Print the table: microseconds of CPU and of latency (median) for each call."""
    heads = " | ".join(f"{name}, CPU | latency | CPU pipelined" for name in TASKS)
    print(f"| microseconds | {heads} |\n|---{'|---:' * 3 * len(TASKS)}|")
    report("the server itself", SAMPLE, 3_000)
    with over_http() as url:
        for way, target in (("stdio", " ".join(SAMPLE)), ("HTTP", url)):
            for mode in MODES:
                command = [ACCORD, "serve", target, "--replies", mode]
                report(f"Accord, {mode}, upstream over {way}", command, 1_500)
            given = json.dumps(SAMPLE if way == "stdio" else url)
            report(
                f"FastMCP's proxy, upstream over {way}", [sys.executable, "-c", PROXY, given], 300
            )


if __name__ == "__main__":
    main()
