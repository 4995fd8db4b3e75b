"""An upstream for the tests of the gateway: one of everything that crosses it.

`accord serve sample_upstream.py` serves it; the gateway's connection chooses the revision.
"""

import asyncio
import os
from typing import Any

from accord import (
    Answer,
    Audio,
    Completion,
    Context,
    ElicitURL,
    Image,
    Link,
    Problem,
    Server,
)

server = Server(
    "sample-upstream",
    version="1.0",
    changing=("tools", "prompts", "resources"),
    instructions="Ask.",
)
_waiting: list[str] = []
_cancelled: list[str] = []
_counted = {"calls": 0}


@server.tool(read_only=True)
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
async def fail() -> int:
    """Fail as a tool does."""
    raise Problem.not_found("No lamp here", remediation="try another room")


@server.tool
async def steps(context: Context) -> str:
    """Report progress and log, then end."""
    for step in (1, 2, 3):
        await context.progress(step, 3, f"step {step}")
        await context.log("warning", {"step": step}, "steps")
    return "three steps"


@server.tool
async def wait(token: str) -> str:
    """Wait until the call is cancelled."""
    _waiting.append(token)
    try:
        await asyncio.Event().wait()
    finally:
        _cancelled.append(token)
    return "never"


@server.tool(read_only=True)
async def waited(token: str) -> dict[str, bool]:
    """Return whether a call waits, and whether it was cancelled."""
    return {"waits": token in _waiting, "cancelled": token in _cancelled}


@server.tool
async def grow(name: str) -> str:
    """Add a tool of that name."""

    async def grown() -> str:
        return name

    server.tool(name=name, description="A tool that was added.")(grown)
    return name


@server.tool
async def touch() -> str:
    """Tell subscribers that the lamp has changed."""
    server.updated("room://lamp")
    return "touched"


@server.tool
async def ask_form(context: Context) -> str:
    """Ask the user for a colour."""
    _counted["calls"] += 1
    answer = await context.elicit("Which colour?", str)
    return f"{answer.action}: {answer.data}"


@server.tool
async def ask_twice(context: Context) -> str:
    """Ask two questions, one after the other."""
    first = await context.elicit("First?", str)
    second = await context.elicit(f"Second, after {first.data}?", str)
    return f"{first.data} then {second.data}"


@server.tool
async def ask_page(context: Context) -> str:
    """Ask the user to open a page."""
    answer = (await context.ask(page=ElicitURL("Please sign in", "https://example.com/sign-in")))[
        "page"
    ]
    return answer.action


@server.tool
async def ask_model(context: Context) -> str:
    """Ask the client's model."""
    return (await context.sample("Say hello", max_tokens=20)).text


@server.tool
async def ask_roots(context: Context) -> list[str]:
    """Ask for the client's folders."""
    return [root.uri for root in await context.roots()]


@server.tool(read_only=True)
async def capabilities(context: Context) -> dict[str, Any]:
    """Return what this server knows of its client."""
    return {"revision": context.revision, "capabilities": context.client.capabilities}


@server.tool(read_only=True)
async def headers(context: Context) -> dict[str, str]:
    """Return the HTTP headers of the call."""
    sender = context.sender
    return {} if sender is None else {k.decode(): v.decode() for k, v in sender.fields.items()}


@server.tool(read_only=True)
async def media() -> Answer[None]:
    """Return blocks of every kind."""
    return Answer(
        message="four blocks",
        blocks=[
            Image(b"\x89PNG", "image/png"),
            Audio(b"RIFF", "audio/wav"),
            Link("room://lamp", "lamp"),
        ],
    )


@server.tool(read_only=True)
async def rows(count: int, width: int = 10) -> list[dict[str, Any]]:
    """Return so many rows."""
    return [{"id": number, "text": "x" * width} for number in range(count)]


@server.tool
async def story(lines: int) -> str:
    """Return a text of so many lines."""
    return "\n".join(f"line {number} of the story" for number in range(lines))


@server.tool(read_only=True)
async def pid() -> int:
    """Return the process."""
    return os.getpid()


@server.tool
async def slow(number: int, seconds: float = 0.05) -> int:
    """Return a number after a while."""
    await asyncio.sleep(seconds)
    return number


@server.tool
async def leave() -> str:
    """End the process in the middle of the call."""
    os._exit(3)


@server.prompt
async def greet(name: str) -> str:
    """Greet somebody."""
    return f"Greet {name}."


@server.completion("greet", "name")
async def names(value: str) -> Completion:
    return Completion([each for each in ("ada", "alan", "grace") if each.startswith(value)])


@server.resource("room://lamp", name="lamp", watched=True)
async def lamp() -> str:
    """Describe the lamp."""
    return "A brass lamp."


@server.resource("room://{thing}/colour", name="colour", fresh_for=60, is_public=True)
async def colour(thing: str) -> str:
    """Return the colour of a thing."""
    return f"The {thing} is green."
