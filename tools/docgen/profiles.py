"""Example results in every profile, from the server in docs/contract.md."""

import json
import re
from typing import Any

from accord import ClientInfo, Server
from accord.profiles import PROFILES, asking_for
from accord.protocol import Request
from accord.revisions import REVISIONS
from accord.serve.call import OneWay, RunningCall
from accord.serve.executor import run_blocking

REVISION = "2025-11-25"
CASES = {"A success": {}, "A failure": {"limit": 0}}
_FIRST_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def generate(page: str) -> str:
    """Return a section for each profile with a success and a failure."""
    server = _server(page)
    return "\n\n".join(
        f"### {name}\n\n" + "\n\n".join(_case(server, name, case) for case in CASES)
        for name in PROFILES
    )


def _server(page: str) -> Server:
    """Return the server that the first code block of the page defines."""
    block = _FIRST_BLOCK.search(page)
    if block is None:
        raise ValueError("docs/contract.md has no Python block with a server")
    module: dict[str, Any] = {}
    exec(compile(block[1], "contract.md", "exec"), module)
    server = module["server"]
    assert isinstance(server, Server)
    return server


def _case(server: Server, profile: str, case: str) -> str:
    client = ClientInfo(REVISIONS[REVISION], asking_for(profile))
    request = Request(1, client, name="stock", arguments=json.dumps(CASES[case]).encode())
    call = RunningCall(request, None, OneWay())
    reply = json.loads(run_blocking(server.dispatcher, call).reply)
    kind = "result" if "result" in reply else "error"
    title = case if kind == "result" else f"{case}, as a JSON-RPC error"
    return f"{title}:\n\n```json\n{_format(reply[kind])}\n```"


def _format(result: dict[str, Any]) -> str:
    """Format an object with one line for each member."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in result.items()]
    return "{\n" + ",\n".join(lines) + "\n}"
