"""The servers of tests/frameworks/servers, over HTTP or by the command that serves them on stdio."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

ACCORD = os.environ.get("ACCORD") or str(Path(sys.prefix).parents[1] / "bin/accord")
"""The command `accord` of the environment that contains those of the frameworks."""
SERVERS = Path(__file__).parents[1] / "servers"
_URL = re.compile(r"http://127\.0\.0\.1:[1-9]\d*(?:/mcp)?")


def shop(profile: str | None = None) -> list[str]:
    """Return the command that serves the shop on stdio."""
    chosen = [] if profile is None else ["--profile", profile]
    return [ACCORD, "serve", f"{SERVERS / 'shop.py'}:server", *chosen]


def shop_over_http(profile: str | None = None) -> list[str]:
    """Return the command that serves the shop over HTTP, on a free port."""
    return [*shop(profile), "--http", "127.0.0.1:0"]


def foreign_over_http() -> list[str]:
    """Return the command that serves the foreign server, with the FastMCP beside `accord`."""
    return [str(Path(ACCORD).parent / "python"), str(SERVERS / "foreign.py"), "0"]


@contextmanager
def serving(command: list[str]) -> Iterator[str]:
    """Run a server until the end of the block, and yield the URL of its MCP endpoint."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            lines: list[str] = []
            for line in process.stderr:
                lines.append(line)
                if found := _URL.search(line):
                    break
            else:
                raise RuntimeError(f"{command} has ended: {''.join(lines)}")
            Thread(target=process.stderr.read, daemon=True).start()
            yield found[0].removesuffix("/mcp") + "/mcp"
        finally:
            process.terminate()
