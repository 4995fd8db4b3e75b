"""Every feature of MCP through `Client`: in process, over stdio and HTTP, in every revision."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from accord import (
    Client,
    Elicited,
    ElicitRequest,
    Embedded,
    Image,
    MCPError,
    PeerError,
    Root,
    SampleRequest,
)
from accord.client import ListChanged, LogMessage, Updated
from accord.revisions import REVISIONS
from client.connections import REVISIONS as DATES
from client.connections import run
from commands import ACCORD, SAMPLES
from http_peer import HttpServer
from samples import features

NEWEST = DATES[-1]
TARGET = f"{SAMPLES / 'features.py'}:every_feature"
COMMAND = [ACCORD, "serve", TARGET]
WAYS = ["in process", "stdio", "http"]

Feature = Callable[[Client], Awaitable[None]]
FEATURES: dict[str, Feature] = {}


def feature(check: Feature) -> Feature:
    FEATURES[check.__name__] = check
    return check


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with HttpServer([*COMMAND, "--http", "127.0.0.1:0"]) as server:
        yield server.url
    assert "Traceback" not in server.stderr


@pytest.fixture(params=WAYS)
def target(request: pytest.FixtureRequest) -> Any:
    if request.param == "in process":
        return features.build("every_feature", **features.SERVERS["every_feature"])
    return COMMAND if request.param == "stdio" else request.getfixturevalue("url")


def elicit(request: ElicitRequest) -> dict[str, Any] | Elicited[Any]:
    """Answer as a user would: by the message of the question."""
    if request.url is not None:
        return Elicited("accept" if request.url == "https://example.org/pay" else "cancel")
    assert request.schema is not None
    if request.message == "What would you like?":
        return {"drink": "tea", "cups": 2, "size": "s", "extras": ["milk"]}
    return Elicited("accept", {"value": "Ada"})


async def sample(request: SampleRequest) -> str:
    await asyncio.sleep(0)
    return f"{request.max_tokens} {request.system}"


def client_of(target: Any, revision: str, **options: Any) -> Client:
    return Client(
        target,
        revision=revision,
        on_elicit=elicit,
        on_sample=sample,
        roots=["file:///srv", Root("file:///tmp", "temporary"), Path("/etc")],
        **options,
    )


def has(client: Client, part: str) -> bool:
    return bool(getattr(REVISIONS[client.revision], part))


@feature
async def information(client: Client) -> None:
    assert client.server_info["name"] == "every_feature"
    assert {"tools", "prompts", "resources"} <= client.capabilities.keys()
    assert client.instructions is None
    await client.ping()


@feature
async def lists(client: Client) -> None:
    tools = await client.list_tools()
    assert [tool.name for tool in tools][:2] == ["order", "pay"]
    assert len(tools) > 10  # of pages of two
    assert tools[0].input_schema["type"] == "object"
    assert tools[0].title == ("Order a drink" if has(client, "titles") else None)
    assert tools[0].raw["description"] == tools[0].description == "Ask for a drink."
    assert [tool.name async for tool in client.list_tools()] == [tool.name for tool in tools]
    prompts = await client.list_prompts()
    assert [prompt.name for prompt in prompts] == ["recommend", "chat"]
    assert [argument["name"] for argument in prompts[0].arguments] == ["drink", "guest", "cups"]
    resources = {resource.uri: resource async for resource in client.list_resources()}
    assert resources["sample://logo"].mime_type == "image/png"
    templates = await client.list_resource_templates()
    assert "sample://orders/{number}" in [each.uri_template for each in templates]


@feature
async def calls(client: Client) -> None:
    reading = await client.call_tool("shelf", {"region": "north", "row": 3})
    assert (reading.value, reading.is_failure) == ("north 3", False)
    reply = await client.call_tool_raw("shelf", {"region": "north", "row": 3})
    assert reading.raw.replace(b" ", b"")[-40:] == reply.raw.replace(b" ", b"")[-40:]
    assert reply.result["content"][0]["text"] == "north 3"


@feature
async def errors(client: Client) -> None:
    with pytest.raises(MCPError, match=r"^calling nothing failed: Unknown tool") as caught:
        await client.call_tool("nothing")
    assert (caught.value.code, caught.value.message) == (-32602, "Unknown tool: nothing")
    with pytest.raises(MCPError) as caught:
        await client.read_resource("sample://orders/77")
    assert caught.value.code == REVISIONS[client.revision].missing_resource
    with pytest.raises(MCPError, match="prompt nothing failed"):
        await client.get_prompt("nothing")
    assert (await client.call_tool_raw("nothing")).error["code"] == -32602


@feature
async def progress(client: Client) -> None:
    seen: list[Any] = []
    later: list[Any] = []

    async def on_progress(*said: Any) -> None:
        await asyncio.sleep(0.01)
        later.append(said)

    assert (await client.call_tool("brew", on_progress=lambda *p: seen.append(p))).value == "coffee"
    assert seen == [(1, 2, "grinding"), (2, 2, "brewing")]
    await client.call_tool("brew", on_progress=on_progress)
    assert later == seen


@feature
async def elicitation(client: Client) -> None:
    if not has(client, "elicitation"):
        assert (await client.call_tool("forever")).is_failure
        return
    if has(client, "titled_choices"):
        assert (await client.call_tool("order")).value == "2 tea SMALL_CUP milk"
    if has(client, "url_elicitation"):
        assert (await client.call_tool("pay")).value == "accept"
    assert (await client.read_resource("sample://diary"))[0].content == "Dear Ada"
    chat = await client.get_prompt("chat")
    assert chat.messages[0].content == "Let us talk about Ada"
    assert [message.role for message in chat.messages] == ["user", "assistant", "user"]
    assert isinstance(chat.messages[2].content, Image)


@feature
async def sampling_and_roots(client: Client) -> None:
    assert (await client.call_tool("praise")).value == "unknown: 20 You are a poet."
    expected = ["file:///srv", "file:///tmp", "file:///etc"]
    assert (await client.call_tool("folders")).value == expected
    await client.set_roots(["file:///new"])
    assert (await client.call_tool("folders")).value == ["file:///new"]


@feature
async def several_questions(client: Client) -> None:
    if has(client, "elicitation"):
        reading = await client.call_tool("greet")
        assert reading.value.startswith("1000 None, Ada Ada of file:///")


@feature
async def resources(client: Client) -> None:
    assert await client.read_resource("sample://box") == [
        Embedded("sample://box/1", "one", "text/plain"),
        Embedded("sample://box/2", b"two"),
    ]
    (order,) = await client.read_resource("sample://orders/7")
    assert order.mime_type == "application/json"


@feature
async def prompts(client: Client) -> None:
    result = await client.get_prompt("recommend", {"drink": "tea", "cups": "2"})
    assert [message.content for message in result.messages] == ["Recommend 2 tea to you"]
    assert result.description == "Recommend a drink."


@feature
async def completion(client: Client) -> None:
    found = await client.complete("recommend", "guest", "a", others={"drink": "coffee"})
    assert (found.values, found.total) == (["ada", "alan"], 2)
    numbers = await client.complete("sample://orders/{number}", "number")
    assert (len(numbers.values), numbers.has_more) == (100, True)


@feature
async def subscriptions(client: Client) -> None:
    kinds: Any = ["tools", "prompts", "resources"]
    async with client.subscribe("sample://menu") as menu, client.subscribe(lists=kinds) as lists:
        await client.call_tool("rewrite_menu", {"dish": "cake"})
        assert await anext(menu) == Updated("sample://menu")
        await client.call_tool("open_counter")
        changed = {await anext(lists) for _ in kinds}
        assert changed == {ListChanged(kind) for kind in kinds}
    await client.call_tool("close_counter")
    with pytest.raises(PeerError, match="sample://nothing"):
        async with client.subscribe("sample://nothing"):
            pass


@pytest.mark.parametrize("revision", DATES)
def test_every_feature_works_in_every_revision_over_every_transport(
    target: Any, revision: str
) -> None:
    async def main() -> None:
        async with client_of(target, revision, timeout=20) as client:
            assert client.revision == revision
            for check in FEATURES.values():
                await check(client)

    run(main())


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("revision", DATES)
def test_each_feature_works_on_a_new_connection(name: str, revision: str) -> None:
    async def main() -> None:
        server = features.build("every_feature", **features.SERVERS["every_feature"])
        async with client_of(server, revision, timeout=20) as client:
            await FEATURES[name](client)
        assert len(asyncio.all_tasks()) == 1

    run(main())


@pytest.mark.parametrize("revision", ["2025-11-25", NEWEST])
def test_log_messages_come_from_the_level_that_was_set(target: Any, revision: str) -> None:
    heard: list[LogMessage] = []

    async def main() -> list[list[str]]:
        levels: list[list[str]] = []
        async with Client(target, revision=revision, on_log=heard.append) as client:
            for level in (None, "debug", "error"):
                if level is not None:
                    await client.set_log_level(level)
                heard.clear()
                await client.call_tool("brew")
                levels.append([str(message.level) for message in heard])
        return levels

    assert run(main()) == [["warning"], ["debug", "warning"], []]


@pytest.mark.parametrize("revision", ["2025-11-25", NEWEST])
def test_the_level_can_be_given_to_the_client(target: Any, revision: str) -> None:
    heard: list[LogMessage] = []

    async def main() -> None:
        async with Client(
            target, revision=revision, on_log=heard.append, log_level="debug"
        ) as client:
            await client.call_tool("brew")

    run(main())
    assert heard == [
        LogMessage("debug", "grinding"),
        LogMessage("warning", {"beans": 3}, "grinder"),
    ]


def test_messages_are_the_bytes_of_the_wire(target: Any) -> None:
    async def main() -> None:
        async with Client(target, revision="2025-11-25") as client:
            await client.call_tool("shelf", {"region": "north", "row": 3})
            sent = [m.raw for m in client.messages if m.direction == "sent"]
            received = [m.raw for m in client.messages if m.direction == "received"]
        assert b'"method":"initialize"' in sent[0]
        assert b'"method":"tools/call"' in sent[-1]
        assert b"north 3" in received[-1]

    run(main())
