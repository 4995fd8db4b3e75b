"""What the probes share: one calls each tool of the shop by a client, and prints what came through.

A probe runs in the environment of its client. Where the client has a model, the model is scripted:
it calls one tool, and keeps what it is sent then.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

PROFILES = ("plain", "prose", "bare", "envelope", "generic")
CALLS: dict[str, dict[str, Any]] = {
    "stock": {},
    "orders": {"cursor": "after-0"},
    "log": {},
    "price": {"item": "rope"},
    "buy": {"item": "sword"},
    "picture": {},
    "revision": {},
}
"""Each tool, with all of its arguments: smolagents requires those that have a default too."""
SHOP = Path(__file__).parents[2] / "servers" / "shop.py"


class Seen(NamedTuple):
    """What a model is sent after a call: its text, the number of images, how a failure is marked."""

    text: str
    images: int = 0
    mark: str = ""
    """`marked` if the framework marks a failure, `ends the run` if it raises."""


Call = Callable[[str, dict[str, Any]], Awaitable[Seen]]
Connect = Callable[[list[str], Callable[[Call], Awaitable[None]]], Awaitable[None]]
"""Connects to the server that a command starts, and calls a function with what calls a tool."""


def main(distributions: list[str], connect: Connect) -> None:
    """Print what a client lets its model see, for each profile and tool, as JSON."""
    seen = {profile: asyncio.run(_seen(profile, connect)) for profile in PROFILES}
    versions = {name: version(name) for name in distributions}
    print()  # some clients print without an end of line
    print(json.dumps({"versions": versions, "seen": seen}))


async def _seen(profile: str, connect: Connect) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}

    async def call_all(call: Call) -> None:
        for tool, arguments in CALLS.items():
            try:
                seen = await call(tool, arguments)
            except Exception as error:  # noqa: BLE001 - whatever ends the agent's run
                seen = Seen(str(error), mark="ends the run")
            found[tool] = seen._asdict()

    await connect([os.environ["ACCORD"], "serve", f"{SHOP}:server", "--profile", profile], call_all)
    if "revision" not in found:
        sys.exit(f"the probe did not call the tools in {profile}")
    return found
