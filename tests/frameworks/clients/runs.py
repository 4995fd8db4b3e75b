"""Runs the probes, each in the environment of its client."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from frameworks.clients.probes.probing import CALLS, PROFILES, SHOP
from frameworks.clients.verdicts import revision_of, verdicts

HERE = Path(__file__).parent
DATA = HERE / "clients.json"
BIN = Path(sys.prefix) / "bin"
ENVIRONMENTS = Path(sys.prefix) / "frameworks"
PEERS = Path(sys.prefix) / "peers/node_modules"


class Probe(NamedTuple):
    """A row of the table: a probe, the environment it runs in, and its arguments."""

    file: str
    environment: str | None = None
    """None is Node, with the packages of tests/peers."""
    arguments: tuple[str, ...] = ()


PROBES = {
    "Pydantic AI": Probe("pydantic_ai_probe.py", "pydantic-ai"),
    "OpenAI Agents SDK": Probe("openai_agents_probe.py", "openai-agents"),
    "LangChain": Probe("langchain_probe.py", "langchain"),
    "smolagents": Probe("smolagents_probe.py", "smolagents"),
    "smolagents, `structured_output`": Probe("smolagents_probe.py", "smolagents", ("structured",)),
    "LlamaIndex": Probe("llama_index_probe.py", "llama-index"),
    "Google ADK": Probe("google_adk_probe.py", "google-adk"),
    "AI SDK (Vercel)": Probe("ai_sdk.mjs"),
    "`fastmcp.Client` 3": Probe("fastmcp_probe.py", "fastmcp-3"),
    "`fastmcp.Client` 4": Probe("fastmcp_probe.py", "fastmcp-4"),
    "MCP Python SDK 1": Probe("sdk_probe.py", "fastmcp-3"),
    "MCP Python SDK 2": Probe("sdk_probe.py", "fastmcp-4"),
}


def run(probe: Probe) -> dict[str, Any]:
    """Return versions, revision, and the verdicts for each profile."""
    done = subprocess.run(
        _command(probe),
        env=os.environ | {"ACCORD": str(BIN / "accord")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
    )
    if done.returncode:
        raise RuntimeError(f"{probe.file} failed:\n{done.stderr}")
    found = json.loads(done.stdout.splitlines()[-1])
    seen = found["seen"]
    return {
        "versions": found["versions"],
        "revision": revision_of(seen["plain"]),
        "profiles": {profile: verdicts(seen[profile]) for profile in PROFILES},
    }


def _command(probe: Probe) -> list[str]:
    file = str(HERE / "probes" / probe.file)
    if probe.environment is not None:
        python = ENVIRONMENTS / probe.environment / "bin/python"
        return [str(python), file, *probe.arguments]
    serve = [str(BIN / "accord"), "serve", f"{SHOP}:server", "--profile"]
    commands = {profile: [*serve, profile] for profile in PROFILES}
    task = {"modules": str(PEERS), "commands": commands, "calls": CALLS}
    return [str(BIN / "node"), file, json.dumps(task)]
