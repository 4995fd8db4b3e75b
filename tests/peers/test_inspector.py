"""The CLI of the MCP Inspector against our server, in both eras, over stdio."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
EXAMPLES = Path(__file__).parents[2] / "examples"
INSPECTOR = Path(sys.prefix, "peers/node_modules/.bin/mcp-inspector")
ERAS = ["legacy", "modern"]


def inspect(tmp_path: Path, era: str, *words: str) -> "subprocess.CompletedProcess[bytes]":
    """Let the Inspector start our server and ask it one thing."""
    if not INSPECTOR.exists():
        pytest.fail(f"there is no {INSPECTOR}: `make test` installs it")
    server = [str(BIN / "accord"), "serve", "shop:server"]
    options = ["--protocol-era", era, "--format", "json", "--quiet"]
    return subprocess.run(
        [BIN / "node", INSPECTOR, "--cli", *server, *options, *words],
        cwd=EXAMPLES,
        env=os.environ | {"HOME": str(tmp_path)},
        capture_output=True,
        timeout=50,
    )


def result(done: "subprocess.CompletedProcess[bytes]") -> dict[str, Any]:
    printed: dict[str, Any] = json.loads(done.stdout)["result"]
    return printed


@pytest.mark.parametrize("era", ERAS)
def test_it_lists_our_tools_and_finds_nothing_wrong_with_their_schemas(
    tmp_path: Path, era: str
) -> None:
    done = inspect(tmp_path, era, "--method", "tools/list", "--strict")
    assert (done.returncode, done.stderr) == (0, b"")
    add, orders = result(done)["tools"]
    assert (add["name"], orders["name"]) == ("add", "orders")
    assert orders["annotations"] == {"readOnlyHint": True}


@pytest.mark.parametrize(("era", "structure"), [("legacy", {"result": 5}), ("modern", 5)])
def test_a_call_succeeds(tmp_path: Path, era: str, structure: Any) -> None:
    words = ["--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=2", "b=3"]
    done = inspect(tmp_path, era, *words)
    assert (done.returncode, done.stderr) == (0, b"")
    assert result(done)["content"] == [{"type": "text", "text": "5"}]
    assert result(done)["structuredContent"] == structure


@pytest.mark.parametrize("era", ERAS)
def test_a_call_fails(tmp_path: Path, era: str) -> None:
    words = ["--method", "tools/call", "--tool-name", "orders", "--tool-arg", "customer=zoe"]
    done = inspect(tmp_path, era, *words)
    assert done.returncode == 5, "its own code for a tool that says isError"
    assert json.loads(done.stderr)["error"]["code"] == "tool_is_error"
    assert result(done)["isError"] is True
    assert result(done)["content"][0]["text"] == (
        "Error executing tool: No customer 'zoe'. Try ada or grace."
    )
