"""One process of one contender over HTTP: called once, then by wrk, then once more."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from bench import wire
from bench.child import TIME_LIMIT, HttpChild
from bench.contenders import HttpContender
from bench.trial import FIRST_CALL
from bench.wire import HANDSHAKE, Tool, WrongReplyError

CONNECTIONS = 16
WARM_UP_SECONDS = 1
PATH = "/mcp"

# What wrk runs, after the values it uses are set.
SCRIPT = """
wrk.method = "POST"
wrong = 0
function setup(thread) worker = thread end
function done(summary)
  local e = summary.errors
  print(string.format('{"calls":%d,"microseconds":%d,"errors":%d}', summary.requests, summary.duration,
    worker:get("wrong") + e.status + e.connect + e.read + e.write + e.timeout))
end
"""
# Only to warm up: it takes wrk longer to read a reply than a fast server to write it.
CHECK = """
function response(status, headers, body)
  if status ~= 200 or not body:find(expected, 1, true) then wrong = wrong + 1 end
end
"""


@dataclass(frozen=True)
class Asked:
    """One request, as it is sent over and over, and the JSON-RPC reply to it."""

    headers: Mapping[str, str]
    body: bytes
    reply: bytes


@dataclass(frozen=True)
class HttpTrial:
    cpu_us: float
    calls_per_second: float
    memory_mb: float


def has_wrk() -> bool:
    return shutil.which("wrk") is not None


def measure_http(
    contender: HttpContender, seconds: int, asked: Asked | None = None
) -> dict[Tool, HttpTrial]:
    """`asked` is for the constant reply: what it is asked, and what it says."""
    env = {**contender.over_stdio.env, "BENCH_REPLY": asked.reply.decode() if asked else ""}
    trials: dict[Tool, HttpTrial] = {}
    with HttpChild(contender.command, env, keep_stderr=contender.keep_stderr) as child:
        child.wait_until_listening()
        opened = asked.headers if asked else open_http(child, contender)
        for tool in contender.tools:
            headers = {**opened, **wire.http_headers(contender.era, "tools/call", tool)}
            call = ask(child, contender, headers, tool)
            expected = str(wire.expected_value(tool, FIRST_CALL))
            load(child, call, WARM_UP_SECONDS, expected)
            cpu = child.cpu_seconds()
            calls, elapsed = load(child, call, seconds)
            cpu = child.cpu_seconds() - cpu
            ask(child, contender, headers, tool)
            trials[tool] = HttpTrial(cpu / calls * 1e6, calls / elapsed, child.memory_bytes() / 1e6)
    return trials


def first_asked(contender: HttpContender) -> Asked:
    """A real request and the reply to it, for the constant reply to say."""
    with HttpChild(contender.command, contender.over_stdio.env) as child:
        child.wait_until_listening()
        headers = open_http(child, contender)
        headers |= wire.http_headers(contender.era, "tools/call", "add")
        return ask(child, contender, headers, "add")


def open_http(child: HttpChild, contender: HttpContender) -> dict[str, str]:
    """The handshake where the era has one, and the headers of the session where there is one."""
    if contender.era != HANDSHAKE:
        return {}
    headers = wire.http_headers(HANDSHAKE, "initialize")
    reply, session = post(child, headers, wire.initialize())
    wire.result_in(reply, 0)
    opened = {"Mcp-Session-Id": session} if session else {}
    post(child, headers | opened, wire.initialized())
    return opened


def ask(
    child: HttpChild, contender: HttpContender, headers: Mapping[str, str], tool: Tool
) -> Asked:
    body = wire.call(contender.era, FIRST_CALL, tool).rstrip()
    reply, _ = post(child, headers, body)
    wire.check_calls([reply], tool, range(FIRST_CALL, FIRST_CALL + 1))
    return Asked(headers, body, reply)


def post(child: HttpChild, headers: Mapping[str, str], body: bytes) -> tuple[bytes, str | None]:
    """The message in a response, and the session it names."""
    connection = HTTPConnection("127.0.0.1", child.port, timeout=TIME_LIMIT)
    try:
        connection.request("POST", PATH, body, dict(headers))
        response = connection.getresponse()
        reply = response.read()
    finally:
        connection.close()
    if response.status // 100 != 2:
        raise WrongReplyError(f"status {response.status}: {reply[:300]!r}")
    if response.headers.get_content_type() == "text/event-stream":
        lines = [
            line.removeprefix(b"data:").strip()
            for line in reply.splitlines()
            if line[:5] == b"data:"
        ]
        reply = b"".join(lines)
    return reply, response.headers["Mcp-Session-Id"]


def load(
    child: HttpChild, call: Asked, seconds: int, expected: str | None = None
) -> tuple[int, float]:
    """The same request from all connections at once: how many were answered, in what time.

    Every reply has to have `expected` in it, if that is given.
    """
    values = [f"wrk.headers[{json.dumps(k)}] = {json.dumps(v)}" for k, v in call.headers.items()]
    values.append(f"wrk.body = {json.dumps(call.body.decode())}")
    values.append(f"expected = {json.dumps(expected or '')}")
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "call.lua")
        script.write_text("\n".join([*values, SCRIPT, CHECK if expected else ""]))
        done = subprocess.run(
            [
                *("wrk", "--threads", "1", "--connections", str(CONNECTIONS)),
                *("--duration", f"{seconds}s", "--script", str(script)),
                f"http://127.0.0.1:{child.port}{PATH}",
            ],
            capture_output=True,
            check=True,
            timeout=TIME_LIMIT,
        )
    said = json.loads(done.stdout.splitlines()[-1])
    if said["errors"] or not said["calls"]:
        raise WrongReplyError(f"wrk met errors: {said}")
    return said["calls"], said["microseconds"] / 1e6
