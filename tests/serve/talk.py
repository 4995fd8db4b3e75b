"""Starts sample servers over stdio, and makes the messages of calls."""

import json
from typing import Any

from commands import ACCORD, ENVIRONMENT, SAMPLES, TESTS, launch_command
from stdio_peer import StdioPeer, modern_params
from wire import Message, RequestId

UNWATCHED = {key: value for key, value in ENVIRONMENT.items() if not key.startswith("COVERAGE")}
"""For what is timed: coverage writes its data when a process ends."""


def serving(
    target: str = "faulty:blocking", *, grace: float = 5, env: dict[str, str] = ENVIRONMENT
) -> StdioPeer:
    """Start `accord serve` with a sample server."""
    return StdioPeer([ACCORD, "serve", target, "--grace", str(grace)], cwd=SAMPLES, env=env)


def limited(settings: str) -> StdioPeer:
    """Start the sample `faulty:blocking` with settings, given as JSON."""
    command = launch_command("stdio", "faulty:blocking", **json.loads(settings))
    return StdioPeer(command, cwd=TESTS, env=ENVIRONMENT)


def calling(id: RequestId, tool: str, /, **arguments: Any) -> Message:
    """A call as a message of the newest revision, to be sent without waiting for the reply."""
    params = modern_params({"name": tool, "arguments": arguments})
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def ask(peer: StdioPeer, tool: str, /, **arguments: Any) -> str:
    """Call a tool and wait for the text it answers with."""
    return text(peer.modern("tools/call", {"name": tool, "arguments": arguments}))


def text(reply: Message) -> str:
    """The text of a call that succeeded."""
    result = reply["result"]
    assert "isError" not in result, result
    return str(result["content"][0]["text"])


def failure(reply: Message) -> str:
    """The text of a call that failed."""
    result = reply["result"]
    assert result["isError"] is True, result
    return str(result["content"][0]["text"])


def cancel(peer: StdioPeer, id: RequestId) -> None:
    peer.notify("notifications/cancelled", {"requestId": id})
