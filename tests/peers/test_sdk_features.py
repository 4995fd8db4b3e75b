"""The official SDK's client does everything that a server can have, in both eras, over every way.

One session for each combination does it all; each test looks at a part of what came of it.
"""

import asyncio
import os
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.types import (
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    PromptReference,
    ResourceTemplateReference,
    Root,
    TextContent,
)
from pydantic import FileUrl

from commands import ACCORD, SAMPLES
from http_peer import HttpServer

pytestmark = pytest.mark.slow

MODES = {"legacy": "2025-11-25", "auto": "2026-07-28"}
HTTP: dict[str, list[str]] = {"http": [], "workers": ["--workers", "3"]}
WAYS = ["stdio", *HTTP]


@pytest.fixture(scope="module", autouse=True)
def servers() -> Iterator[None]:
    with ExitStack() as stack:
        for way, words in HTTP.items():
            command = [ACCORD, "serve", "features:every_feature", "--http", "127.0.0.1:0", *words]
            started = HttpServer(command, cwd=SAMPLES, env=dict(os.environ))
            URL[way] = stack.enter_context(started).url
        yield


URL: dict[str, str] = {}


class ClientUser:
    """The user and the model of a client: records their requests, and answers from a list."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.answers: list[ElicitResult] = []

    async def elicit(self, context: Any, params: Any) -> ElicitResult:
        self.asked.append(params)
        return self.answers.pop(0)

    async def sample(self, context: Any, params: Any) -> CreateMessageResult:
        self.asked.append(params)
        return CreateMessageResult(
            role="assistant", content=TextContent(text="Hail"), model="m", stop_reason="endTurn"
        )

    async def roots(self, context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl("file:///home/ada"), name="home")])

    def says(self, **content: Any) -> ElicitResult:
        return ElicitResult(action="accept", content=content)


@asynccontextmanager
async def connected(
    mode: str, way: str, person: ClientUser, heard: list[Any]
) -> AsyncIterator[Client]:
    """Connect a client with a user; notifications are kept."""
    command = StdioServerParameters(
        command=ACCORD, args=["serve", "features:every_feature"], cwd=SAMPLES, env=dict(os.environ)
    )

    async def hear(message: Any) -> None:
        heard.append(message)

    async def hear_log(params: Any) -> None:
        heard.append(params)

    async with Client(
        command if way == "stdio" else URL[way],
        mode=mode,
        read_timeout_seconds=30,
        elicitation_callback=person.elicit,
        sampling_callback=person.sample,
        list_roots_callback=person.roots,
        logging_callback=hear_log,
        message_handler=hear,
        log_level="info",
    ) as client:
        assert client.protocol_version == MODES[mode]
        yield client


@cache
def session(mode: str, way: str) -> SimpleNamespace:
    """Return the results of a client that uses every feature once."""
    found = SimpleNamespace(heard=[], progress=[])
    person = found.person = ClientUser()

    async def everything() -> None:
        async with connected(mode, way, person, found.heard) as client:
            found.info = client.server_info
            found.capabilities = client.server_capabilities
            await _read(client, found)
            await _talk(client, found, mode)
            await _ask(client, found, person)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        asyncio.run(everything())
    return found


async def walk(ask: Callable[..., Awaitable[Any]], member: str) -> list[list[Any]]:
    """All pages of a list."""
    page = await ask()
    pages = [getattr(page, member)]
    while page.next_cursor is not None:
        page = await ask(cursor=page.next_cursor)
        pages.append(getattr(page, member))
    return pages


async def _read(client: Client, found: SimpleNamespace) -> None:
    found.tools = await walk(client.list_tools, "tools")
    found.prompts = await walk(client.list_prompts, "prompts")
    found.resources = await walk(client.list_resources, "resources")
    found.templates = await walk(client.list_resource_templates, "resource_templates")
    uris = ["menu", "logo", "box", "orders/7", "files/a/b.txt", "search?query=tea"]
    found.contents = {uri: (await client.read_resource(f"sample://{uri}")) for uri in uris}
    found.errors = {}
    for uri in ("sample://orders/10", "sample://orders/many", "sample://files/../x", "sample://no"):
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        found.errors[uri] = caught.value
    found.prompt = await client.get_prompt("recommend", {"drink": "tea", "cups": "3"})
    for name, arguments in (("recommend", {"drink": "beer"}), ("recommend", {}), ("no", {})):
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, arguments)
        found.errors[f"{name} {arguments}"] = caught.value
    prompt = PromptReference(name="recommend")
    template = ResourceTemplateReference(uri="sample://orders/{number}")
    found.completions = {
        "choices": await client.complete(prompt, {"name": "drink", "value": "c"}),
        "function": await client.complete(
            prompt, {"name": "guest", "value": "a"}, {"drink": "coffee"}
        ),
        "none": await client.complete(prompt, {"name": "cups", "value": "1"}),
        "many": await client.complete(template, {"name": "number", "value": "1"}),
    }


async def _talk(client: Client, found: SimpleNamespace, mode: str) -> None:
    if mode == "legacy":
        await client.set_logging_level("info")

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        found.progress.append((progress, total, message))

    await client.call_tool("brew", progress_callback=hear)
    found.tray = await client.call_tool("tray")
    found.shelf = await client.call_tool("shelf", {"region": "nörth", "row": 7})


async def _ask(client: Client, found: SimpleNamespace, person: ClientUser) -> None:
    async def call(name: str, *answers: ElicitResult) -> Any:
        person.answers[:] = answers
        (content,) = (await client.call_tool(name)).content
        assert isinstance(content, TextContent)
        return content.text

    wish = person.says(drink="tea", size="l", cups=2, extras=["milk"])
    found.order = await call("order", wish)
    found.declined = await call("order", ElicitResult(action="decline"))
    found.cancelled = await call("order", ElicitResult(action="cancel"))
    found.visit = await call("pay", ElicitResult(action="accept"))
    found.praise = await call("praise")
    found.folders = await client.call_tool("folders")
    found.greet = await call("greet", person.says(value="Ada"), person.says(value="King"))
    person.answers[:] = [person.says(value="Ada")]
    found.diary = await client.read_resource("sample://diary")
    person.answers[:] = [person.says(value="bees")]
    found.chat = await client.get_prompt("chat")


each = pytest.mark.parametrize(("mode", "way"), [(m, w) for m in MODES for w in WAYS])


@each
def test_it_learns_what_there_is(mode: str, way: str) -> None:
    found = session(mode, way)
    can = found.capabilities
    assert {can.tools.list_changed, can.prompts.list_changed, can.resources.list_changed} == {True}
    assert can.resources.subscribe
    assert can.completions is not None
    assert can.logging is not None
    assert (found.info.title, found.info.website_url) == ("Every feature", "https://example.org")
    assert found.info.icons[0].src == "https://example.org/icon.png"


@each
def test_every_list_comes_in_pages(mode: str, way: str) -> None:
    found = session(mode, way)
    for pages in (found.tools, found.prompts, found.resources, found.templates):
        assert [len(page) for page in pages[:-1]] == [2] * (len(pages) - 1)
        assert 1 <= len(pages[-1]) <= 2
    assert [r.uri for page in found.resources for r in page] == [
        f"sample://{name}" for name in ("menu", "logo", "diary", "box")
    ]
    assert [t.uri_template for page in found.templates for t in page] == [
        f"sample://{rest}" for rest in ("orders/{number}", "files/{+path}", "search{?query,limit}")
    ]


@each
def test_titles_icons_annotations_and_meta_arrive(mode: str, way: str) -> None:
    found = session(mode, way)
    order, prompt, menu = found.tools[0][0], found.prompts[0][0], found.resources[0][0]
    titles = [each.title for each in (order, prompt, menu)]
    assert titles == ["Order a drink", "Recommend", "Menu"]
    assert {each.icons[0].sizes[0] for each in (order, prompt, menu)} == {"48x48"}
    metas = [each.meta for each in (order, prompt, menu)]
    assert metas == [
        {"example.org/counter": 3},
        {"example.org/tone": "warm"},
        {"example.org/wall": "north"},
    ]
    assert (menu.size, menu.mime_type, menu.annotations.priority) == (10, "text/plain", 1.0)
    arguments = [(a.name, a.description, bool(a.required)) for a in prompt.arguments]
    assert arguments == [
        ("drink", "What to recommend", True),
        ("guest", "To whom", False),
        ("cups", None, False),
    ]


@each
def test_resources_are_read(mode: str, way: str) -> None:
    read = {uri: result.contents for uri, result in session(mode, way).contents.items()}
    assert read["menu"][0].text.startswith("coffee\ntea")
    assert (read["logo"][0].blob, read["logo"][0].mime_type) == ("iVBORw0K", "image/png")
    assert [(c.uri, getattr(c, "text", None)) for c in read["box"]] == [
        ("sample://box/1", "one"),
        ("sample://box/2", None),
    ]
    assert (read["orders/7"][0].text, read["orders/7"][0].mime_type) == (
        '{"number":7,"drink":"tea"}',
        "application/json",
    )
    assert read["orders/7"][0].uri == "sample://orders/7"
    assert read["files/a/b.txt"][0].text == "file a/b.txt"
    assert read["search?query=tea"][0].text == '["tea"]'


@each
def test_a_resource_says_how_long_it_may_be_kept(mode: str, way: str) -> None:
    contents = session(mode, way).contents
    kept = [(contents[uri].ttl_ms, contents[uri].cache_scope) for uri in ("menu", "logo")]
    is_modern = MODES[mode] == "2026-07-28"
    assert kept == ([(2_500, "public"), (0, "private")] if is_modern else [(0, "private")] * 2)


@each
def test_what_is_not_there_has_the_code_of_its_revision(mode: str, way: str) -> None:
    errors = session(mode, way).errors
    missing = -32602 if MODES[mode] == "2026-07-28" else -32002
    for uri, message in {
        "sample://orders/10": "No order 10",
        "sample://files/../x": "Resource not found",
        "sample://no": "Resource not found",
    }.items():
        assert (errors[uri].code, errors[uri].message) == (missing, message)
        assert errors[uri].data == {"uri": uri}
    assert errors["sample://orders/many"].code == -32602


@each
def test_a_prompt_takes_its_arguments_as_text(mode: str, way: str) -> None:
    found = session(mode, way)
    assert found.prompt.description == "Recommend a drink."
    (message,) = found.prompt.messages
    assert (message.role, message.content.text) == ("user", "Recommend 3 tea to you")
    beer, nothing, no = (
        found.errors[name] for name in ("recommend {'drink': 'beer'}", "recommend {}", "no {}")
    )
    assert {beer.code, nothing.code, no.code} == {-32602}
    assert "drink must be one of coffee, tea" in beer.message
    assert "drink is required" in nothing.message
    assert no.message == "Unknown prompt: no"


@each
def test_arguments_are_completed(mode: str, way: str) -> None:
    completed = {name: r.completion for name, r in session(mode, way).completions.items()}
    assert completed["choices"].values == ["coffee"]
    assert (completed["function"].values, completed["function"].total) == (["ada", "alan"], 2)
    assert completed["none"].values == []
    many = completed["many"]
    assert (len(many.values), many.total, many.has_more) == (100, 111, True)


@each
def test_progress_and_log_arrive(mode: str, way: str) -> None:
    found = session(mode, way)
    assert found.progress == [(1, 2, "grinding"), (2, 2, "brewing")]
    logged = [each for each in found.heard if getattr(each, "logger", None) == "grinder"]
    assert [(each.level, each.data) for each in logged] == [("warning", {"beans": 3})]
    assert not [each for each in found.heard if getattr(each, "data", None) == "grinding"]


@each
def test_a_tool_returns_all_kinds_of_content_mixed(mode: str, way: str) -> None:
    text, image, audio, more, resource, link = session(mode, way).tray.content
    assert (text.text, more.text) == ("Here you are:", "and")
    assert (image.data, image.annotations.priority) == ("iVBORw0K", 0.5)
    assert (audio.mime_type, resource.resource.text) == ("audio/wav", "Enjoy")
    assert (link.uri, link.description) == ("sample://menu", "What there is")


@each
def test_arguments_go_into_headers_where_there_are_some(mode: str, way: str) -> None:
    assert session(mode, way).shelf.content[0].text == "nörth 7"


@each
def test_a_person_fills_in_a_form(mode: str, way: str) -> None:
    found = session(mode, way)
    assert found.order == "2 tea LARGE_CUP milk"
    assert (found.declined, found.cancelled) == ("decline", "cancel")
    form = found.person.asked[0]
    assert form.message == "What would you like?"
    schema = form.requested_schema
    assert schema["required"] == ["drink"]
    assert schema["properties"] == {
        "drink": {"type": "string", "description": "What to drink"},
        "size": {
            "type": "string",
            "oneOf": [
                {"const": "s", "title": "Small Cup"},
                {"const": "l", "title": "Large Cup"},
            ],
            "default": "s",
        },
        "cups": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
        "extras": {
            "type": "array",
            "items": {"type": "string", "enum": ["milk", "sugar"]},
            "default": [],
        },
    }


@each
def test_a_person_is_sent_to_a_page(mode: str, way: str) -> None:
    found = session(mode, way)
    assert found.visit == "accept"
    (page,) = [each for each in found.person.asked if getattr(each, "mode", "") == "url"]
    assert (page.message, page.url) == ("Please pay", "https://example.org/pay")


@each
def test_a_model_and_the_folders_are_asked(mode: str, way: str) -> None:
    found = session(mode, way)
    assert found.praise == "m: Hail"
    asked = next(each for each in found.person.asked if hasattr(each, "max_tokens"))
    assert (asked.max_tokens, asked.system_prompt, asked.temperature) == (
        20,
        "You are a poet.",
        0.5,
    )
    assert [m.role for m in asked.messages] == ["user", "assistant", "user"]
    assert asked.messages[2].content.mime_type == "image/png"
    assert "file:///home/ada" in found.folders.content[0].text


@each
def test_several_questions_at_once_and_one_more(mode: str, way: str) -> None:
    assert session(mode, way).greet == "Hail, Ada King of file:///home/ada"


@each
def test_prompts_and_resources_ask_too(mode: str, way: str) -> None:
    found = session(mode, way)
    assert found.diary.contents[0].text == "Dear Ada"
    first, second, third = found.chat.messages
    assert first.content.text == "Let us talk about bees"
    assert (second.role, third.content.type) == ("assistant", "image")


# Changes


@each
def test_it_hears_of_changes(mode: str, way: str) -> None:
    heard: list[Any] = []

    async def old(client: Client) -> set[str]:
        await client.subscribe_resource("sample://menu")
        await client.subscribe_resource("sample://orders/7")
        await client.unsubscribe_resource("sample://orders/7")
        for tool, arguments in STEPS:
            await client.call_tool(tool, arguments)
        async with asyncio.timeout(40):
            while len(methods := {getattr(m, "method", "") for m in heard}) < 4:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        uris = {m.params.uri for m in heard if m.method == "notifications/resources/updated"}
        assert uris == {"sample://menu"}
        return methods

    async def new(client: Client) -> set[str]:
        async with client.listen(
            tools_list_changed=True,
            prompts_list_changed=True,
            resources_list_changed=True,
            resource_subscriptions=["sample://menu", "sample://logo"],
        ) as changes:
            assert changes.honored.resource_subscriptions == ["sample://menu"]
            for tool, arguments in STEPS:
                await client.call_tool(tool, arguments)
            events: set[str] = set()
            async with asyncio.timeout(40):
                while len(events) < 4:
                    events.add(type(await anext(changes)).__name__)
        return events

    async def main() -> set[str]:
        async with connected(mode, way, ClientUser(), heard) as client:
            return await (old if mode == "legacy" else new)(client)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        found = asyncio.run(main())
    assert found == (OLD if mode == "legacy" else NEW)


STEPS: list[tuple[str, dict[str, Any]]] = [
    ("open_counter", {}),
    ("close_counter", {}),
    ("rewrite_menu", {"dish": "cake"}),
]
OLD = {
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
}
NEW = {"ToolsListChanged", "PromptsListChanged", "ResourcesListChanged", "ResourceUpdated"}
