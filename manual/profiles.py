"""The same answers in every profile, as the server of docs/contract.md gives them."""

import json
import re
from typing import Any

from accord import Client, Server
from accord.profiles import PROFILES, asking_for
from accord.protocol import Call
from accord.revisions import REVISIONS
from accord.serve.blocking import run

REVISION = "2025-11-25"
CASES = {"A success": {}, "A failure": {"limit": 0}}
_FIRST_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def made(page: str) -> str:
    """Each profile with a success and a failure, whole."""
    server = _server(page)
    return "\n\n".join(
        f"### {name}\n\n" + "\n\n".join(_case(server, name, case) for case in CASES)
        for name in PROFILES
    )


def _server(page: str) -> Server:
    """The server in the first block of the page."""
    block = _FIRST_BLOCK.search(page)
    if block is None:
        raise ValueError("the page has no server")
    module: dict[str, Any] = {}
    exec(compile(block[1], "contract.md", "exec"), module)
    server = module["server"]
    assert isinstance(server, Server)
    return server


def _case(server: Server, profile: str, case: str) -> str:
    client = Client(REVISIONS[REVISION], asking_for(profile))
    call = Call(1, client, name="stock", arguments=json.dumps(CASES[case]).encode())
    reply = json.loads(run(server, call).reply)
    kind = "result" if "result" in reply else "error"
    words = case if kind == "result" else f"{case}, as a JSON-RPC error"
    return f"{words}:\n\n```json\n{_shown(reply[kind])}\n```"


def _shown(result: dict[str, Any]) -> str:
    """A line for each member."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in result.items()]
    return "{\n" + ",\n".join(lines) + "\n}"
