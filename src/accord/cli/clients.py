"""The MCP clients that a server can be installed in: where each keeps what, and in which words."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple


class Client(NamedTuple):
    """One client, and its configuration file."""

    title: str
    file: Callable[[], Path]
    member: str = "mcpServers"
    """Where in the file the servers are, by name."""
    extra: Mapping[str, Any] = MappingProxyType({})
    """What an entry has beside the command."""
    afterwards: str = ""
    """What is left to do."""


def _desktop() -> Path:
    name = Path("Claude/claude_desktop_config.json")
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support" / name
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", Path.home() / "AppData/Roaming")) / name
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / name


CLIENTS: Final = MappingProxyType(
    {
        "claude-desktop": Client(
            "Claude Desktop", _desktop, afterwards="Quit Claude Desktop and start it again."
        ),
        "claude-code": Client(
            "Claude Code",
            lambda: Path.cwd() / ".mcp.json",
            extra={"type": "stdio"},
            afterwards="Start claude in this folder, and allow the server when it asks.",
        ),
        "cursor": Client(
            "Cursor",
            lambda: Path.home() / ".cursor/mcp.json",
            afterwards="Cursor starts it by itself; its settings show whether it runs.",
        ),
        "vscode": Client(
            "VS Code",
            lambda: Path.cwd() / ".vscode/mcp.json",
            member="servers",
            extra={"type": "stdio"},
            afterwards="Open this folder in VS Code, and start the server from mcp.json.",
        ),
    }
)
