"""Who is compared: how each server is started, and with how many calls it is measured."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from bench.wire import Tool


@dataclass(frozen=True)
class Contender:
    name: str
    title: str
    command: tuple[str, ...]
    module: str | None  # what has to be importable
    calls: Mapping[Tool, int]
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_installed(self) -> bool:
        return self.module is None or find_spec(self.module) is not None

    def count(self, tool: Tool, scale: float) -> int:
        return max(1, round(self.calls[tool] * scale))

    def count_alone(self, scale: float) -> int:
        """How many calls are made one by one."""
        return max(1, round(self.calls["rows"] * scale / 2))


def accord_command(target: str) -> tuple[str, ...]:
    """The installed command, or what it does where accord is only on the path."""
    script = Path(sys.executable).with_name("accord")
    if script.exists():
        return (str(script), "serve", target)
    start = "import sys; from accord.cli import main; sys.exit(main())"
    return (sys.executable, "-c", start, "serve", target)


def python_module(name: str) -> tuple[str, ...]:
    return (sys.executable, "-m", f"bench.servers.{name}")


# The counts differ so that each is measured over about a second of work: a slow server need not be
# called a hundred thousand times to be told from a fast one.
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
