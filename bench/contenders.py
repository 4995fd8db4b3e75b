"""The servers that are compared: command, environment and number of calls of each."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from bench.wire import HANDSHAKE, STATELESS, Era, Tool


@dataclass(frozen=True)
class Contender:
    """A server that is measured over stdio."""

    name: str
    title: str
    command: tuple[str, ...]
    module: str | None  # must be importable
    calls: Mapping[Tool, int]
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_installed(self) -> bool:
        return self.module is None or find_spec(self.module) is not None

    def count(self, tool: Tool, scale: float) -> int:
        return max(1, round(self.calls[tool] * scale))

    def sequential_count(self, scale: float) -> int:
        """Return the number of calls made one at a time."""
        return max(1, round(self.calls["rows"] * scale / 2))


@dataclass(frozen=True)
class HttpContender:
    """A server in one mode that is measured over HTTP."""

    name: str
    title: str
    mode: str
    over_stdio: Contender  # the same server over stdio
    command: tuple[str, ...]  # with {port}
    era: Era
    tools: tuple[Tool, ...] = ("add",)
    keep_stderr: bool = True


def accord_command(*arguments: str) -> tuple[str, ...]:
    """Return the installed `accord serve`, or its equivalent if accord is on the path only."""
    script = Path(sys.executable).with_name("accord")
    if script.exists():
        return (str(script), "serve", *arguments)
    start = "import sys; from accord.cli import main; sys.exit(main())"
    return (sys.executable, "-c", start, "serve", *arguments)


def python_module(name: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", f"bench.servers.{name}", *arguments)


def uvicorn_command(app: str) -> tuple[str, ...]:
    """Return a uvicorn command with the settings of `accord serve`."""
    return (
        *(sys.executable, "-m", "uvicorn", f"bench.servers.{app}:app", "--port={port}"),
        *("--loop=uvloop", "--http=httptools", "--ws=none", "--log-level=warning"),
        *("--no-access-log", "--no-server-header", "--no-date-header"),
    )


# Calls per trial: about one second of work for each server.
SLOW: Mapping[Tool, int] = {"add": 1_000, "add_sync": 800, "rows": 400}
FAST: Mapping[Tool, int] = {"add": 20_000, "add_sync": 10_000, "rows": 2_000}
CONSTANT: Mapping[Tool, int] = {"add": 80_000, "add_sync": 40_000, "rows": 2_000}

ACCORD = Contender(
    "accord", "Accord", accord_command("bench.servers.accord_server:server"), "accord", FAST
)
SDK = Contender("sdk", "SDK, high level", python_module("sdk_server"), "mcp", SLOW)
SDK_LOWLEVEL = Contender(
    "sdk-lowlevel",
    "SDK, low level",
    python_module("sdk_lowlevel_server"),
    "mcp",
    SLOW,
)
FASTMCP = Contender(
    "fastmcp",
    "FastMCP",
    python_module("fastmcp_server"),
    "fastmcp",
    SLOW,
    {"FASTMCP_CHECK_FOR_UPDATES": "off"},
)
LOOP = Contender("loop", "constant loop", python_module("constant_loop"), None, CONSTANT)
CONTENDERS = (ACCORD, SDK, SDK_LOWLEVEL, FASTMCP, LOOP)

ACCORD_HTTP = accord_command("bench.servers.accord_server:server", "--http", "127.0.0.1:{port}")
SDK_DEFAULT = python_module("sdk_server", "{port}")
SDK_JSON = python_module("sdk_server", "{port}", "json")
FASTMCP_DEFAULT = python_module("fastmcp_server", "{port}")
FASTMCP_JSON = python_module("fastmcp_server", "{port}", "json")


def accord_http(name: str, mode: str, era: Era) -> HttpContender:
    """Return `accord serve --http`, whose access log goes to /dev/null."""
    tools: tuple[Tool, ...] = ("add", "add_sync")
    return HttpContender(name, "Accord", mode, ACCORD, ACCORD_HTTP, era, tools, keep_stderr=False)


def on_uvicorn(name: str, title: str, mode: str, contender: Contender, app: str) -> HttpContender:
    era = STATELESS if mode == "2026" else HANDSHAKE
    return HttpContender(name, title, mode, contender, uvicorn_command(app), era)


ACCORD_SESSIONS = accord_http("accord-sessions", "sessions", HANDSHAKE)
ACCORD_2026 = accord_http("accord-2026", "2026", STATELESS)
APP_SESSIONS = on_uvicorn("app-sessions", "Accord's ASGI app", "sessions", ACCORD, "accord_app")
APP_2026 = on_uvicorn("app-2026", "Accord's ASGI app", "2026", ACCORD, "accord_app")
CONSTANT_SESSIONS = on_uvicorn(
    "constant-sessions", "constant reply", "sessions", LOOP, "constant_app"
)
CONSTANT_2026 = on_uvicorn("constant-2026", "constant reply", "2026", LOOP, "constant_app")
HTTP_CONTENDERS = (
    ACCORD_SESSIONS,
    ACCORD_2026,
    APP_SESSIONS,
    APP_2026,
    CONSTANT_SESSIONS,
    CONSTANT_2026,
    HttpContender("sdk-sessions", "SDK", "sessions, SSE", SDK, SDK_DEFAULT, HANDSHAKE),
    HttpContender("sdk-json", "SDK", "stateless JSON", SDK, SDK_JSON, HANDSHAKE),
    HttpContender("sdk-2026", "SDK", "2026 JSON", SDK, SDK_JSON, STATELESS),
    HttpContender(
        "fastmcp-sessions", "FastMCP", "sessions, SSE", FASTMCP, FASTMCP_DEFAULT, HANDSHAKE
    ),
    HttpContender("fastmcp-json", "FastMCP", "stateless JSON", FASTMCP, FASTMCP_JSON, HANDSHAKE),
    HttpContender("fastmcp-2026", "FastMCP", "2026 JSON", FASTMCP, FASTMCP_JSON, STATELESS),
)
