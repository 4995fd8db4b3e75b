"""Every client revision against every upstream revision: calls, messages, questions (behaviour 1)."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accord import MCPError
from accord.client import Client
from accord.revisions import REVISIONS as ROWS
from gateway.gateways import REVISIONS, WAYS, User, client_of, gateway_of, sample, served, until

pytestmark = pytest.mark.requirement(
    "gateway.1.revisions", "gateway.1.questions", "gateway.12.messages"
)

FILE = Path(__file__).with_name("bridge.json")
TABLE = json.loads(FILE.read_text())
"""What crosses, by the revision of the client and of the upstream; docs/gateway.md shows it."""
ALWAYS = [
    *("call", "failure", "progress", "log", "cancel", "list change"),
    *("completion", "resource", "prompt"),
]


@pytest.fixture(scope="module", params=WAYS)
def target(request: pytest.FixtureRequest) -> Iterator[Any]:
    with sample(request.param) as found:
        yield found


@pytest.fixture(params=REVISIONS)
def upstream(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=REVISIONS)
def front(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_everything_crosses(target: Any, front: str, upstream: str) -> None:
    async def main() -> None:
        user = User()
        gateway = gateway_of(target, revision=upstream)
        async with client_of(gateway.server, front, user) as client:
            assert gateway.upstreams["sample"].revision == upstream
            assert await crossing(client, user, front, upstream) == TABLE[front][upstream]

    asyncio.run(main())


def test_the_table_has_every_pair_and_says_what_the_revisions_have_in_common() -> None:
    for front in REVISIONS:
        for upstream in REVISIONS:
            both = [ROWS[front], ROWS[upstream]]
            found = TABLE[front][upstream]
            assert ("form" in found) is all(row.elicitation for row in both)
            assert ("page" in found) is all(row.url_elicitation for row in both)
            assert {"call", "failure", "model", "roots"} <= set(found)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_everything_crosses_a_gateway_in_a_process(way: str, front: str, upstream: str) -> None:
    async def main(target: Any) -> None:
        user = User()
        async with client_of(target, front, user) as client:
            assert client.revision == front
            assert await crossing(client, user, front, upstream) == TABLE[front][upstream]

    with sample(way) as target, served(way, target, upstream) as gateway:
        asyncio.run(main(gateway))


async def crossing(client: Client, user: User, front: str, upstream: str) -> list[str]:
    """Return what crosses; raise if something else does not cross."""
    await calls(client)
    await failures(client, front)
    await progress_and_logs(client, user)
    asked = await questions(client, user)
    await prompts_and_resources(client)
    await changes(client, f"{front}-{upstream}".replace("-", "_"))
    await cancellation(client, f"{front}/{upstream}")
    return [*ALWAYS, *asked]


async def calls(client: Client) -> None:
    assert (await client.call_tool("add", {"a": 2, "b": 3})).value == 5
    many = await asyncio.gather(*(client.call_tool("add", {"a": n, "b": n}) for n in range(20)))
    assert [each.value for each in many] == [2 * n for n in range(20)]
    assert (await client.call_tool("rows", {"count": 3})).value[2] == {"id": 2, "text": "x" * 10}


async def failures(client: Client, front: str) -> None:
    reply = await client.call_tool_raw("fail")
    assert reply.result["isError"] is True
    assert "No lamp here" in reply.result["content"][0]["text"]
    with pytest.raises(MCPError, match="Unknown tool"):
        await client.call_tool("nothing")
    with pytest.raises(MCPError) as missing:
        await client.read_resource("room://nothing/at/all")
    assert missing.value.code == ROWS[front].missing_resource


async def progress_and_logs(client: Client, user: User) -> None:
    told: list[Any] = []
    await client.call_tool(
        "steps", on_progress=lambda done, total, text: told.append((done, total, text))
    )
    assert told == [(step, 3, f"step {step}") for step in (1, 2, 3)]
    await until(lambda: len(user.logs) >= 3)
    assert [each.data for each in user.logs] == [{"step": step} for step in (1, 2, 3)]


async def questions(client: Client, user: User) -> list[str]:
    """Return the kinds of questions that cross; others are clear failures."""
    user.asked.clear()
    found = []
    form = await client.call_tool("ask_form")
    if form.value == "accept: blue":
        found.append("form")
        user.answers = {"First?": "red", "Second, after red?": "green"}
        assert (await client.call_tool("ask_twice")).value == "red then green"
        assert user.asked[0] == "Which colour?"
    else:
        assert "elicitation" in str(form.response.message)
    page = await client.call_tool("ask_page")
    if page.value == "accept":
        found.append("page")
        assert "https://example.com/sign-in" in user.asked
    else:
        assert "elicitation" in str(page.response.message)
    assert (await client.call_tool("ask_model")).value == "hello from the model"
    assert (await client.call_tool("ask_roots")).value == ["file:///home"]
    return [*found, "model", "roots"]


async def prompts_and_resources(client: Client) -> None:
    assert [each.name for each in await client.list_prompts()] == ["greet"]
    assert (await client.get_prompt("greet", {"name": "ada"})).messages[0].content == "Greet ada."
    assert (await client.complete("greet", "name", "a")).values == ["ada", "alan"]
    (lamp,) = await client.read_resource("room://lamp")
    assert lamp.content == "A brass lamp."
    (colour,) = await client.read_resource("room://lamp/colour")
    assert (colour.uri, colour.content) == ("room://lamp/colour", "The lamp is green.")
    assert [each.uri for each in await client.list_resources()] == ["room://lamp"]
    assert [each.uri_template for each in await client.list_resource_templates()] == [
        "room://{thing}/colour"
    ]


async def changes(client: Client, name: str) -> None:
    async with client.subscribe("room://lamp", lists=["tools"]) as told, asyncio.timeout(10):
        await client.call_tool("grow", {"name": f"grown_{name}"})
        assert (await anext(told)).kind == "tools"  # type: ignore[union-attr]
        assert f"grown_{name}" in [each.name for each in await client.list_tools()]
        await client.call_tool("touch")
        while not hasattr(change := await anext(told), "uri"):
            pass
        assert change.uri == "room://lamp"


async def cancellation(client: Client, token: str) -> None:
    async def state(word: str) -> bool:
        return bool((await client.call_tool("waited", {"token": token})).value[word])

    call = asyncio.create_task(client.call_tool("wait", {"token": token}))
    async with asyncio.timeout(10):
        while not await state("waits"):  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.01)
        call.cancel()
        while not await state("cancelled"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
