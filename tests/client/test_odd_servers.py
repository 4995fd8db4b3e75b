"""`Client` with servers that end sessions, send odd contents, or report too much."""

import asyncio
import json
from typing import Any

import pytest

from accord import Client, ContractError, Elicited, ElicitRequest, PeerError, SampleRequest
from accord.client import ListChanged, Subscription, Updated
from client.connections import run
from client.test_ends import asking
from peers.scripted_server import Request, event, handshake, scripted_server, stateless
from samples import features

DATA = "aGk="


def result_of(method: str, result: Any, use: Any) -> Any:
    """Return what a client makes of one result."""

    async def answer(request: Request) -> None:
        if request.rpc == method:
            await request.result({"resultType": "complete", **result})
        else:
            await stateless(request)

    async def main() -> Any:
        async with scripted_server(answer) as server, Client(server.url) as client:
            return await use(client)

    return run(main())


CONTENTS: dict[str, tuple[Any, Any]] = {
    "text": ({"type": "text", "text": "hi"}, "'hi'"),
    "image": ({"type": "image", "data": DATA, "mimeType": "image/png"}, "Image(data=b'hi'"),
    "audio": ({"type": "audio", "data": DATA}, "Audio(data=b'hi', mime_type=''"),
    "link": ({"type": "resource_link", "uri": "a://b", "name": "n"}, "Link(uri='a://b', name='n'"),
    "resource": ({"type": "resource", "resource": {"uri": "a://b", "text": "t"}}, "content='t'"),
    "unknown": (
        {"type": "hologram"},
        "prompts/get returned content of an unknown type: 'hologram'",
    ),
    "no type": ({"type": [1]}, "of an unknown type: [1]"),
    "no object": ("text", "of an unknown type: None"),
    "no data": ({"type": "image"}, "prompts/get returned data that is not Base64"),
    "bad data": ({"type": "image", "data": "?"}, "prompts/get returned data that is not Base64"),
    "empty resource": ({"type": "resource"}, "prompts/get returned data that is not Base64"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_a_message_of_a_prompt_is_read_or_refused(name: str) -> None:
    content, expected = CONTENTS[name]

    async def use(client: Client) -> str:
        try:
            return repr((await client.get_prompt("x")).messages[0].content)
        except PeerError as error:
            return str(error)

    messages = [{"role": "user", "content": content}]
    assert expected in result_of("prompts/get", {"messages": messages}, use)


async def everything(listing: Any) -> Any:
    return await listing


MALFORMED: dict[str, tuple[str, Any, Any, str]] = {
    "no messages": ("prompts/get", {}, lambda c: c.get_prompt("x"), "did not return a list of"),
    "messages of text": (
        "prompts/get",
        {"messages": ["hi"]},
        lambda c: c.get_prompt("x"),
        "did not return a list of messages",
    ),
    "no contents": (
        "resources/read",
        {"contents": None},
        lambda c: c.read_resource("a://b"),
        "did not return a list of contents",
    ),
    "no values": (
        "completion/complete",
        {"completion": {"values": "a"}},
        lambda c: c.complete("x", "y"),
        "did not return values",
    ),
    "no resources": (
        "resources/list",
        {"resources": [1]},
        lambda c: everything(c.list_resources()),
        "did not return a list of resources",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_result_is_an_error(name: str) -> None:
    method, result, use, sentence = MALFORMED[name]
    with pytest.raises(PeerError, match=f"^{method} .*{sentence}"):
        result_of(method, result, use)


def test_an_entry_without_most_members_is_read() -> None:
    async def use(client: Client) -> Any:
        return await client.list_tools(), await client.list_tools()

    tools = [{"name": "a", "title": 5, "inputSchema": None}, {"description": "nameless"}]
    (first, second), _ = result_of("tools/list", {"tools": tools}, use)
    assert (first.name, first.title, first.input_schema, first.output_schema) == (
        "a",
        None,
        {},
        None,
    )
    assert (second.name, second.description, second.raw) == ("", "nameless", tools[1])


def test_a_new_session_gets_the_level_and_the_subscriptions_of_the_old_one() -> None:
    sessions = iter(["s1", "s2"])

    async def answer(request: Request) -> None:
        if request.rpc == "initialize":
            await handshake(request, session=next(sessions))
        elif request.rpc == "tools/call" and request.headers["mcp-session-id"] == "s1":
            await request.reply(404)
        else:
            await handshake(request)

    async def main() -> list[tuple[str, str]]:
        async with scripted_server(answer) as server:
            options: Any = {"era": "handshake", "log_level": "debug"}
            async with (
                Client(server.url, **options) as client,
                client.subscribe("a://b"),
            ):
                assert (await client.call_tool("work")).value == "well"
            return [
                (request.rpc, request.headers.get("mcp-session-id", ""))
                for request in server.requests
                if request.rpc
            ]

    sent = run(main())
    second = sent.index(("tools/call", "s1")) + 1
    assert sent[second:] == [
        ("initialize", ""),
        ("notifications/initialized", "s2"),
        ("logging/setLevel", "s2"),
        ("resources/subscribe", "s2"),
        ("tools/call", "s2"),
        ("resources/unsubscribe", "s2"),
    ]


# Subscriptions


def acknowledged(request: Request, **wanted: Any) -> bytes:
    meta = {"io.modelcontextprotocol/subscriptionId": request.message["id"]}
    params = {"_meta": meta, "notifications": wanted}
    method = "notifications/subscriptions/acknowledged"
    return event(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())


def test_a_subscription_that_the_server_ends_is_over() -> None:
    async def answer(request: Request) -> None:
        if request.rpc != "subscriptions/listen":
            await stateless(request)
            return
        changed = {
            "jsonrpc": "2.0",
            "method": "notifications/tools/list_changed",
            "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": request.message["id"]}},
        }
        await request.stream(
            acknowledged(request, toolsListChanged=True),
            event(json.dumps(changed).encode()),
            event(request.envelope({"resultType": "complete"})),
        )
        await request.end()

    async def main() -> list[Any]:
        async with (
            scripted_server(answer) as server,
            Client(server.url) as client,
            client.subscribe(lists=["tools"]) as changes,
        ):
            return [change async for change in changes]

    assert run(main()) == [ListChanged("tools")]


ENDS: dict[str, tuple[Any, str]] = {
    "not agreed": (
        lambda request: request.stream(acknowledged(request, toolsListChanged=False)),
        "^the server does not report changes of a://b, tools$",
    ),
    "ended": (
        lambda request: request.result({"resultType": "complete"}),
        "^the server ended the subscription before it began$",
    ),
    "rejected": (lambda request: request.error(400, -32601), "^subscriptions/listen failed: no"),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_subscription_that_does_not_begin_is_an_error(name: str) -> None:
    say, sentence = ENDS[name]

    async def answer(request: Request) -> None:
        if request.rpc == "subscriptions/listen":
            await say(request)
            await request.end()
        else:
            await stateless(request)

    async def main() -> None:
        async with (
            scripted_server(answer) as server,
            Client(server.url) as client,
            client.subscribe("a://b", lists=["tools"]),
        ):
            pass

    with pytest.raises(PeerError, match=sentence):
        run(main())


ODD_MESSAGES = [
    b'{"jsonrpc":"2.0","method":[1]}',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":[1]}}',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":[]}',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"accord-1"}}',
    b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":["x"]}}',
    b'{"jsonrpc":"2.0","method":"notifications/message"}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}',
    b'{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":[]}}',
    b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{'
    b'"io.modelcontextprotocol/subscriptionId":[]}}}',
    b'{"jsonrpc":"2.0","id":[{}],"method":"elicitation/create","params":[]}',
    b'{"jsonrpc":"2.0","id":1,"method":[]}',
]


def test_odd_messages_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    async def answer(request: Request) -> None:
        if request.rpc != "tools/call":
            await handshake(request)
            return
        result = {"content": [{"type": "text", "text": "well"}]}
        await request.stream(*map(event, ODD_MESSAGES), event(request.envelope(result)))
        await request.end()

    async def main() -> Any:
        options: Any = {
            "era": "handshake",
            "on_elicit": lambda request: Elicited("cancel"),
            "on_log": print,
        }
        async with scripted_server(answer) as server, Client(server.url, **options) as client:
            reading = await client.call_tool("work", on_progress=print)
            await asyncio.sleep(0.05)
            return reading.value

    assert run(main()) == "well"
    assert caplog.records == []


@pytest.mark.parametrize(
    ("uri", "is_wanted"),
    [("a://b", True), ("a://b/c", True), ("a://bc", False), ("a://", False)],
)
def test_a_subscription_is_for_a_uri_and_those_below_it(uri: str, is_wanted: bool) -> None:
    async def main() -> bool:
        return Subscription(("a://b",), ()).wants(Updated(uri))

    assert run(main()) is is_wanted


def test_changes_that_are_not_read_are_bounded_and_equal_ones_kept_once() -> None:
    async def main() -> list[str]:
        changes = Subscription(("a://",), ())
        for number in [*range(1_500), *range(1_400, 1_500)]:
            changes.add(Updated(f"a://{number}"))
        changes.end()
        return [change.uri async for change in changes if isinstance(change, Updated)]

    assert run(main()) == [f"a://{number}" for number in range(500, 1_500)]


# Callbacks and handlers


def test_every_notification_can_be_received() -> None:
    seen: list[str] = []

    async def receive(notification: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        seen.append(notification["method"])
        raise KeyError("logged")

    async def main() -> None:
        server = features.build("f", every_feature=True)
        async with Client(server, revision="2025-11-25", on_notification=receive) as client:
            await client.notify("notifications/roots/list_changed")
            await client.call_tool("brew")
            for _ in range(5):
                await asyncio.sleep(0)

    run(main())
    assert seen == ["notifications/message"]


def test_the_error_of_a_handler_is_logged_if_its_call_is_not_known(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> tuple[Any, Any]:
        asked, released = asyncio.Event(), asyncio.Event()

        async def fails_the_second_time(request: ElicitRequest) -> dict[str, Any]:
            if asked.is_set():
                raise KeyError("no answer")
            asked.set()
            await released.wait()
            return {"value": "Ada"}

        options: Any = {"revision": "2025-11-25", "on_elicit": fails_the_second_time}
        async with Client(asking(), **options) as client:
            first = asyncio.create_task(client.call_tool("ask"))
            await asked.wait()
            second = await client.call_tool("ask")
            released.set()
            return await first, second

    first, second = run(main())
    assert (first.value, second.is_failure) == ("Ada", True)
    logged = [record.message for record in caplog.records]
    assert logged == ["the handler of elicitation/create failed"]


def test_a_sampling_handler_gets_text_and_must_return_some() -> None:
    async def ask(answer: Any) -> Any:
        server = features.build("f", every_feature=True)
        async with Client(server, on_sample=answer) as client:
            return (await client.call_tool("praise")).value

    def parrot(request: SampleRequest) -> str:
        assert (request.temperature, request.stop) == (0.5, ["."])
        return request.text

    assert run(ask(parrot)) == "unknown: Praise the coffee\nMmh"
    with pytest.raises(ContractError, match="on_sample must return a Sampled or a str, not dict"):
        run(ask(lambda request: {}))


def test_roots_are_declared_when_the_client_is_created() -> None:
    async def main() -> None:
        async with Client(asking()) as client:
            await client.set_roots([])

    with pytest.raises(ContractError, match="roots must be given when the client is created"):
        run(main())
