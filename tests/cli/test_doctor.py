"""`accord doctor`: what is installed, what is missing, and what MCP clients would start."""

import json
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.extras import extras
from cli.command import ACCORD, ENVIRONMENT, accord, accord_in_terminal


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without configuration files."""
    for name in ("HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setitem(ENVIRONMENT, name, str(tmp_path))
    monkeypatch.setitem(ENVIRONMENT, "PATH", f"{Path(ACCORD).parent}:/usr/bin:/bin")
    return tmp_path


def findings(*words: str, cwd: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(accord("doctor", "--json", *words, cwd=cwd).out)
    return found


def of(found: list[dict[str, Any]], topic: str) -> list[tuple[str, str]]:
    return [(each["status"], each["message"]) for each in found if each["topic"] == topic]


def test_a_sound_installation_is_in_order(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    done = accord("doctor", "--port", str(free), cwd=home)
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("\neverything is in order\n")
    assert f"Python {sys.version.split()[0]}" in done.out
    assert f"installed: {', '.join(extras())}" in done.out
    shown = accord_in_terminal(80, "doctor", "--port", str(free), cwd=home)
    assert "\x1b[32mok      \x1b[0m" in shown


def test_a_port_in_use_is_a_warning(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
        (port,) = of(findings("--port", str(number), cwd=home), "Port")
    assert port == ("warning", f"cannot listen on 127.0.0.1:{number}: Address already in use")


def test_another_accord_on_the_path_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = home / "accord"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setitem(ENVIRONMENT, "PATH", f"{home}:/usr/bin:/bin")
    assert ("warning", f"accord on the PATH is another installation: {other}") in of(
        findings(cwd=home), "Installation"
    )
    monkeypatch.setitem(ENVIRONMENT, "PATH", "/nowhere")
    found = of(findings(cwd=home), "Installation")
    assert ("warning", "the command accord is not on the PATH") in found


CAT = shutil.which("cat") or "/bin/cat"
ENTRIES: dict[str, tuple[Any, list[tuple[str, str]]]] = {
    "sound": ({"command": CAT, "args": []}, []),
    "a URL": ({"type": "http", "url": "https://example.com/mcp"}, []),
    "another scheme": (
        {"url": "ftp://x"},
        [("error", "url must begin with http:// or https://, not 'ftp://x'")],
    ),
    "not an object": (5, [("error", "the entry must be an object")]),
    "empty": ({}, [("error", "the entry has neither a command nor a url")]),
    "args": ({"command": CAT, "args": [5]}, [("error", "args must be an array of texts")]),
    "gone": ({"command": "/nowhere/x"}, [("error", "the command /nowhere/x is not installed")]),
    "relative": ({"command": "cat"}, [("warning", "the command cat is not an absolute path")]),
    "no target": (
        {"command": ACCORD, "args": ["serve", "/nowhere/shop.py:server"]},
        [("error", "the target /nowhere/shop.py does not exist")],
    ),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_the_entry_of_a_server_is_checked(home: Path, name: str) -> None:
    entry, faults = ENTRIES[name]
    (home / ".cursor").mkdir()
    file = home / ".cursor/mcp.json"
    file.write_text(json.dumps({"mcpServers": {name: entry}}))
    first, *rest = of(findings(cwd=home), "MCP clients")
    assert first == ("ok", f"Cursor: 1 server in {file}")
    assert rest == [(status, f"Cursor: {name}: {fault}") for status, fault in faults]
    code = 1 if any(status == "error" for status, _ in faults) else 0
    assert accord("doctor", cwd=home).code == code


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": 5}', "\udcff"])
def test_a_file_that_is_not_valid_is_an_error(home: Path, text: str) -> None:
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").write_text(text, errors="surrogateescape")
    ((status, message),) = of(findings(cwd=home), "MCP clients")
    assert (status, message.startswith("Cursor: ")) == ("error", True)
