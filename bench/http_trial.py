"""One measurement of one server over HTTP: one checked call, wrk, one more checked call."""

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

# The wrk script; the values that it uses are set before it.
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
# For the warm-up only: wrk takes longer to search a reply than a fast server to write it.
CHECK = """
function response(status, headers, body)
  if status ~= 200 or not body:find(expected, 1, true) then wrong = wrong + 1 end
end
"""


@dataclass(frozen=True)
class Exchange:
    """A request that is repeated, and the JSON-RPC reply to it."""

    headers: Mapping[str, str]
    body: bytes
    reply: bytes


@dataclass(frozen=True)
class HttpTrial:
    """The figures of one tool on one process."""

    cpu_us: float
    calls_per_second: float
    memory_mb: float


def has_wrk() -> bool:
    return shutil.which("wrk") is not None


def measure_http(
    contender: HttpContender, seconds: int, constant: Exchange | None = None
) -> dict[Tool, HttpTrial]:
    """Measure each tool; `constant` is the request and reply of the constant app."""
    env = {**contender.over_stdio.env, "BENCH_REPLY": constant.reply.decode() if constant else ""}
    trials: dict[Tool, HttpTrial] = {}
    with HttpChild(contender.command, env, keep_stderr=contender.keep_stderr) as child:
        child.wait_until_listening()
        session = constant.headers if constant else open_session(child, contender)
        for tool in contender.tools:
            headers = {**session, **wire.http_headers(contender.era, "tools/call", tool)}
            call = call_once(child, contender, headers, tool)
            expected = str(wire.expected_value(tool, FIRST_CALL))
            run_wrk(child, call, WARM_UP_SECONDS, expected)
            cpu = child.cpu_seconds()
            calls, elapsed = run_wrk(child, call, seconds)
            cpu = child.cpu_seconds() - cpu
            call_once(child, contender, headers, tool)
            trials[tool] = HttpTrial(cpu / calls * 1e6, calls / elapsed, child.memory_bytes() / 1e6)
    return trials


def first_exchange(contender: HttpContender) -> Exchange:
    """Return a real request and reply, for the constant app to repeat."""
    with HttpChild(contender.command, contender.over_stdio.env) as child:
        child.wait_until_listening()
        headers = open_session(child, contender)
        headers |= wire.http_headers(contender.era, "tools/call", "add")
        return call_once(child, contender, headers, "add")


def open_session(child: HttpChild, contender: HttpContender) -> dict[str, str]:
    """Make the handshake if the era has one, and return the session's headers."""
    if contender.era != HANDSHAKE:
        return {}
    headers = wire.http_headers(HANDSHAKE, "initialize")
    reply, session_id = post(child, headers, wire.initialize())
    wire.result_in(reply, 0)
    session = {"Mcp-Session-Id": session_id} if session_id else {}
    post(child, headers | session, wire.initialized())
    return session


def call_once(
    child: HttpChild, contender: HttpContender, headers: Mapping[str, str], tool: Tool
) -> Exchange:
    body = wire.call(contender.era, FIRST_CALL, tool).rstrip()
    reply, _ = post(child, headers, body)
    wire.check_calls([reply], tool, range(FIRST_CALL, FIRST_CALL + 1))
    return Exchange(headers, body, reply)


def post(child: HttpChild, headers: Mapping[str, str], body: bytes) -> tuple[bytes, str | None]:
    """Return the message and the session id of the response."""
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


def run_wrk(
    child: HttpChild, call: Exchange, seconds: int, expected: str | None = None
) -> tuple[int, float]:
    """Repeat a request on all connections; return the number of calls and the seconds.

    If `expected` is given, every reply must contain it.
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
    summary = json.loads(done.stdout.splitlines()[-1])
    if summary["errors"] or not summary["calls"]:
        raise WrongReplyError(f"wrk reported errors: {summary}")
    return summary["calls"], summary["microseconds"] / 1e6
