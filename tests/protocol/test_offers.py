"""Prompts, resources, completion and log in every revision: what is told, and what is refused."""

import json
from typing import Any, Literal

import pytest

import wire
from accord import (
    Annotations,
    Audio,
    Completion,
    Context,
    ContractError,
    Embedded,
    Icon,
    Link,
    Message,
    Problem,
    Server,
)
from accord.model.tool import Bound, Tool
from peer import Peer

every_revision = pytest.mark.parametrize("revision", wire.REVISIONS)
V1, V2, V3, V4, V5 = wire.REVISIONS
SECRET = "the combination is 4711"
ICON = Icon("https://example.org/i.png", sizes=["any"], theme="dark")


def library() -> Server:
    server = Server("library", version="1.0", icons=[ICON], website_url="https://example.org")

    @server.resource(
        "book://one",
        title="One",
        icons=[ICON],
        meta={"example.org/shelf": 1},
        annotations=Annotations(priority=0.5, last_modified="2026-01-01T00:00:00Z"),
    )
    def one() -> str:
        """The first."""
        return "Once"

    @server.resource("book://{shelf}/{number}")
    def many(shelf: Literal["a", "b"], number: int) -> dict[str, Any]:
        """All others."""
        return {"shelf": shelf, "number": number}

    @server.resource("book://broken")
    def broken() -> str:
        """Fail with something that nobody should see."""
        raise RuntimeError(SECRET)

    @server.resource("book://lent")
    async def lent() -> str:
        """Fail with a reason."""
        raise Problem.conflict("It is lent", remediation="come again")

    @server.resource("book://odd")
    def odd() -> Any:
        """Return what JSON has no word for."""
        return {1, 2}

    @server.resource("book://unspeakable")
    async def unspeakable() -> str:
        """Fail with words that have no UTF-8."""
        raise Problem.conflict("\ud800")

    @server.resource("book://unquestionable")
    async def unquestionable(context: Context) -> str:
        """Ask in words that have no UTF-8."""
        return str((await context.elicit("\ud800", str)).data)

    @server.resource("book://empty")
    def empty() -> list[Any]:
        """Nothing at all."""
        return []

    add_prompts(server)
    return server


def add_prompts(server: Server) -> None:
    @server.prompt(title="Review", icons=[ICON], meta={"example.org/tone": "dry"})
    def review(book: str, stars: int = 3, style: Literal["dry", "kind"] = "dry") -> str:
        """Review a book.

        Args:
            book: Which one
        """
        return f"Review {book}: {stars} {style}"

    @server.prompt
    def talk() -> list[Any]:
        return [
            Message("Hello", "assistant"),
            Audio(b"x", "audio/wav"),
            Link("book://one", "one"),
            Embedded("book://one", b"x"),
        ]

    @server.prompt
    def wrong() -> int:
        return 5

    @server.completion("review", "book")
    def books(value: str, others: dict[str, str]) -> list[str]:
        if value == "!":
            raise RuntimeError(SECRET)
        return [f"{value}{others.get('style', '')}"]


@pytest.fixture
def peer_of() -> Any:
    server = library()
    return lambda revision: Peer(server, revision)


def error(reply: dict[str, Any]) -> tuple[int, str, Any]:
    return reply["error"]["code"], reply["error"]["message"], reply["error"].get("data")


# What a server says it has


def has(server: Server, revision: str) -> Any:
    if revision == V5:
        return Peer(server, revision).ask("server/discover")["result"]["capabilities"]
    return Peer(server).initialize(revision)["result"]["capabilities"]


@pytest.mark.requirement(
    "mcp.capabilities.resources", "mcp.capabilities.prompts", "mcp.capabilities.completions"
)
@every_revision
def test_it_has_what_it_has_and_nothing_else(revision: str) -> None:
    everything: dict[str, Any] = {"prompts": {}, "resources": {}, "completions": {}, "logging": {}}
    if revision == V1:
        del everything["completions"]
    assert has(library(), revision) == everything
    assert has(Server("empty"), revision) == {"tools": {}}


@pytest.mark.requirement("mcp.capabilities.completions")
def test_what_can_be_completed_is_told_also_if_that_was_said_late() -> None:
    server = Server("s")
    server.prompt(name="review")(lambda book: f"Review {book}")
    assert has(server, V5) == {"prompts": {}}
    server.completion("review", "book")(lambda value: [value])
    assert has(server, V5) == {"prompts": {}, "completions": {}}


@pytest.mark.requirement("mcp.capabilities.logging", "mcp.capabilities.list-changed")
@every_revision
def test_log_and_changes_are_told_of_where_there_can_be_any(revision: str) -> None:
    server = Server("s", changing={"prompts"})
    assert has(server, revision) == {"prompts": {"listChanged": True}}

    @server.resource("a://b", watched=True)
    async def resource(context: Context) -> str:
        return "x"

    assert has(server, revision) == {
        "prompts": {"listChanged": True},
        "resources": {"subscribe": True},
        "logging": {},
    }

    @server.tool
    def tool(context: Context) -> str:
        return "a plain function cannot log"

    assert has(server, revision)["tools"] == {}


def test_only_lists_that_there_are_can_change() -> None:
    with pytest.raises(ContractError, match="no list of 'roots'; there are tools"):
        Server("s", changing={"roots"})  # type: ignore[arg-type]


ABSENT: dict[str, Any] = {
    "prompts/list": {},
    "prompts/get": {"name": "x"},
    "resources/list": {},
    "resources/templates/list": {},
    "resources/read": {"uri": "a://b"},
    "resources/subscribe": {"uri": "a://b"},
    "resources/unsubscribe": {"uri": "a://b"},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "x"},
        "argument": {"name": "a", "value": ""},
    },
    "logging/setLevel": {"level": "info"},
    "subscriptions/listen": {"notifications": {}},
}


@pytest.mark.requirement("mcp.methods.unknown")
@every_revision
@pytest.mark.parametrize("method", ABSENT)
def test_a_method_without_its_capability_is_not_found(method: str, revision: str) -> None:
    server = Server("s")
    server.tool(name="t")(lambda: 1)
    reply = Peer(server, revision).ask(method, ABSENT[method])
    assert error(reply) == (-32601, f"Method not found: {method}", None)


@pytest.mark.requirement("mcp.methods.removed")
@pytest.mark.parametrize(
    "method",
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"],
)
def test_the_stateless_era_has_lost_some_methods(method: str) -> None:
    server = Server("s")

    @server.resource("a://b", watched=True)
    async def resource(context: Context) -> str:
        return "x"

    reply = Peer(server, V5).ask(method, {"uri": "a://b", "level": "info"})
    assert error(reply) == (-32601, f"Method not found: {method}", None)


def test_a_server_without_tools_has_no_list_of_them() -> None:
    assert error(Peer(library(), V5).ask("tools/list"))[0] == -32601


# Lists


@every_revision
def test_entries_say_what_their_revision_has_a_place_for(revision: str, peer_of: Any) -> None:
    peer = peer_of(revision)
    (one, *_) = peer.ask("resources/list")["result"]["resources"]
    (many,) = peer.ask("resources/templates/list")["result"]["resourceTemplates"]
    review, talk, _ = peer.ask("prompts/list")["result"]["prompts"]
    titled = {"title"} if revision >= V3 else set()
    dressed = {"_meta"} if revision >= V3 else set()
    dressed |= {"icons"} if revision >= V4 else set()
    common = {"name", "description"} | titled | dressed
    assert one.keys() == common | {"uri", "mimeType", "annotations"}
    assert review.keys() == common | {"arguments"}
    assert many == {
        "uriTemplate": "book://{shelf}/{number}",
        "name": "many",
        "description": "All others.",
        "mimeType": "application/json",
    }
    assert talk == {"name": "talk"}
    assert review["arguments"] == [
        {"name": "book", "description": "Which one", "required": True},
        {"name": "stars"},
        {"name": "style"},
    ]
    if revision >= V4:
        assert one["icons"] == [{"src": ICON.src, "sizes": ["any"], "theme": "dark"}]


@pytest.mark.requirement("mcp.caching.hints", "mcp.caching.same-scope")
@pytest.mark.parametrize(
    ("changing", "ttl"), [((), 300_000), (("prompts", "resources", "tools"), 0)]
)
def test_a_list_that_changes_is_not_to_be_kept(changing: Any, ttl: int) -> None:
    server = Server("s", changing=changing, page_size=1)
    for n in range(2):
        server.tool(name=f"t{n}")(lambda: 1)
        server.prompt(name=f"p{n}")(lambda: "x")
        server.resource(f"a://{n}")(lambda: "x")
    peer = Peer(server, V5)
    for method, scope in (
        ("tools/list", "private"),
        ("prompts/list", "public"),
        ("resources/list", "public"),
    ):
        first = peer.ask(method)["result"]
        second = peer.ask(method, {"cursor": first["nextCursor"]})["result"]
        for page in (first, second):
            assert (page["ttlMs"], page["cacheScope"]) == (ttl, scope)
        assert "nextCursor" not in second


@pytest.mark.requirement("mcp.pagination.invalid-cursor")
@every_revision
@pytest.mark.parametrize("method", ["prompts/list", "resources/list", "resources/templates/list"])
def test_only_a_cursor_of_ours_for_this_list_leads_on(
    method: str, revision: str, peer_of: Any
) -> None:
    peer = peer_of(revision)
    for cursor in ("", "x", "1AAAA", "accord.1"):
        assert error(peer.ask(method, {"cursor": cursor}))[0] == -32602
    server = Server("s", page_size=1)
    for n in range(2):
        server.prompt(name=f"p{n}")(lambda: "x")
        server.resource(f"a://{n}")(lambda: "x")
    other = Peer(server, revision)
    cursor = other.ask("prompts/list")["result"]["nextCursor"]
    assert error(other.ask("resources/list", {"cursor": cursor}))[0] == -32602


@pytest.mark.requirement("mcp.schemas.dialect")
@every_revision
def test_a_schema_of_the_authors_own_is_shown_as_it_is(revision: str) -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"a": {"$anchor": "a", "type": "object", "properties": {}}},
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "allOf": [{"anyOf": [{"required": ["a"]}]}],
        "if": {"required": ["a"]},
        "then": {"minProperties": 1},
        "additionalProperties": False,
    }
    server = Server("s")
    server.add(
        Tool(
            name="t",
            description="",
            input_schema=schema,
            bind=Bound,
            invoke=lambda arguments, _: 1,
            is_async=False,
        )
    )
    (tool,) = Peer(server, revision).ask("tools/list")["result"]["tools"]
    assert tool["inputSchema"] == schema


# Reading


@pytest.mark.requirement(
    "mcp.resources.not-found", "mcp.resources.no-empty-contents", "mcp.errors.retired"
)
@every_revision
@pytest.mark.parametrize("uri", ["book://none", "", "x", "book://one/", "BOOK://one", "book://a"])
def test_a_resource_that_is_not_there(uri: str, revision: str, peer_of: Any) -> None:
    code = -32602 if revision == V5 else -32002
    reply = peer_of(revision).ask("resources/read", {"uri": uri})
    assert error(reply) == (code, "Resource not found", {"uri": uri})


@every_revision
def test_variables_are_checked_against_their_types(revision: str, peer_of: Any) -> None:
    peer = peer_of(revision)
    (content,) = peer.ask("resources/read", {"uri": "book://a/7"})["result"]["contents"]
    assert json.loads(content["text"]) == {"shelf": "a", "number": 7}
    assert (content["uri"], content["mimeType"]) == ("book://a/7", "application/json")
    code, message, data = error(peer.ask("resources/read", {"uri": "book://c/x"}))
    assert code == -32602
    assert "shelf must be one of a, b" in message
    assert [each["field"] for each in data["validation_errors"]] == ["shelf", "number"]


@pytest.mark.requirement("mcp.errors.internal")
@every_revision
@pytest.mark.parametrize("uri", ["book://broken", "book://odd", "book://unspeakable"])
def test_nothing_leaks(
    uri: str, revision: str, peer_of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    reply = peer_of(revision).ask("resources/read", {"uri": uri})
    assert error(reply) == (-32603, "Internal error", None)
    assert f"resource {uri} failed" in caplog.text


def test_a_question_that_cannot_be_sent_is_a_bug() -> None:
    peer = Peer(library(), V5, {"elicitation": {}})
    reply = peer.ask("resources/read", {"uri": "book://unquestionable"})
    assert error(reply) == (-32603, "Internal error", None)


@every_revision
def test_a_problem_is_said_as_it_was_written(revision: str, peer_of: Any) -> None:
    reply = peer_of(revision).ask("resources/read", {"uri": "book://lent"})
    details = {"code": "CONFLICT", "remediation": "come again"}
    assert error(reply) == (-32603, "It is lent", details)


@pytest.mark.requirement("mcp.resources.no-empty-contents")
@every_revision
def test_nothing_is_content_too(revision: str, peer_of: Any) -> None:
    (content,) = peer_of(revision).ask("resources/read", {"uri": "book://empty"})["result"][
        "contents"
    ]
    assert content["text"] == "[]"


# Prompts


@every_revision
def test_a_prompt_says_what_its_revision_has_blocks_for(revision: str, peer_of: Any) -> None:
    messages = peer_of(revision).ask("prompts/get", {"name": "talk"})["result"]["messages"]
    assert [m["role"] for m in messages] == ["assistant", "user", "user", "user"]
    kinds = [m["content"]["type"] for m in messages]
    audio = "audio" if revision >= V2 else "text"
    link = "resource_link" if revision >= V3 else "text"
    assert kinds == ["text", audio, link, "resource"]


PROMPTS: list[tuple[dict[str, Any], str]] = [
    ({"name": "none"}, "Unknown prompt: none"),
    ({"name": "review"}, "Invalid arguments for review: book is required"),
    (
        {"name": "review", "arguments": {"stars": "many", "style": "x"}},
        "Invalid arguments for review: book is required; stars must be an integer, not a string; "
        "style must be one of dry, kind",
    ),
    ({"name": "review", "arguments": []}, "params.arguments must be an object"),
    ({}, "Invalid params for prompts/get: Object missing required field name"),
]


@pytest.mark.requirement("mcp.prompts.invalid")
@every_revision
@pytest.mark.parametrize(("params", "message"), PROMPTS)
def test_a_prompt_that_cannot_be_got(
    params: dict[str, Any], message: str, revision: str, peer_of: Any
) -> None:
    code, said, _ = error(peer_of(revision).ask("prompts/get", params))
    assert (code, said) == (-32602, message)


@every_revision
def test_a_prompt_that_says_nothing_is_a_bug(revision: str, peer_of: Any) -> None:
    assert error(peer_of(revision).ask("prompts/get", {"name": "wrong"}))[:2] == (
        -32603,
        "Internal error",
    )


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (lambda *args: "x", r"not \*args"),
        (5, "is not a function"),
    ],
)
def test_what_is_no_prompt_is_refused(function: Any, fault: str) -> None:
    with pytest.raises(ContractError, match=fault):
        Server("s").prompt(function)


def test_an_argument_that_no_text_can_be_is_refused() -> None:
    def prompt(rows: list[int]) -> str:
        return "x"

    with pytest.raises(ContractError, match="'rows' of prompt 'prompt' must be a type"):
        Server("s").prompt(prompt)


def test_two_of_one_name_are_refused_and_what_is_gone_can_come_again() -> None:
    server = library()
    with pytest.raises(ContractError, match="two prompts named 'review'"):
        server.prompt(name="review")(lambda: "x")
    with pytest.raises(ContractError, match="two resources at 'book://one'"):
        server.resource("book://one")(lambda: "x")
    prompt, resource = server.prompts["review"], server.resources["book://one"]
    server.remove(prompt)
    server.remove(resource)
    with pytest.raises(
        ContractError, match="'review' cannot be removed: the server does not have it"
    ):
        server.remove(prompt)
    server.add(prompt)
    server.add(resource)
    assert list(server.prompts)[-1] == "review"


# Completion


def complete(peer: Peer, ref: Any, name: str, value: str, **others: str) -> dict[str, Any]:
    params = {"ref": ref, "argument": {"name": name, "value": value}}
    if others:
        params["context"] = {"arguments": others}
    return peer.ask("completion/complete", params)


REVIEW = {"type": "ref/prompt", "name": "review"}
BOOKS = {"type": "ref/resource", "uri": "book://{shelf}/{number}"}


@every_revision
@pytest.mark.parametrize(
    ("ref", "name", "value", "values"),
    [
        (REVIEW, "style", "", ["dry", "kind"]),
        (REVIEW, "style", "K", ["kind"]),
        (REVIEW, "style", "x", []),
        (REVIEW, "stars", "", []),
        (REVIEW, "book", "a", ["a"]),
        (BOOKS, "shelf", "", ["a", "b"]),
        (BOOKS, "number", "1", []),
    ],
)
def test_an_argument_is_completed(
    ref: Any, name: str, value: str, values: list[str], revision: str, peer_of: Any
) -> None:
    completion = complete(peer_of(revision), ref, name, value)["result"]["completion"]
    assert completion == {"values": values}


@every_revision
def test_the_other_arguments_help(revision: str, peer_of: Any) -> None:
    reply = complete(peer_of(revision), REVIEW, "book", "a", style="dry")
    assert reply["result"]["completion"]["values"] == ["adry"]


@pytest.mark.requirement("mcp.completion.invalid")
@every_revision
@pytest.mark.parametrize(
    ("ref", "name"),
    [
        (REVIEW, "none"),
        ({"type": "ref/prompt", "name": "none"}, "book"),
        ({"type": "ref/resource", "uri": "review"}, "book"),
        ({"type": "ref/prompt", "name": "book://{shelf}/{number}"}, "shelf"),
        ({"type": "ref/tool", "name": "review"}, "book"),
        ({"name": "review"}, "book"),
    ],
)
def test_what_cannot_be_completed(ref: Any, name: str, revision: str, peer_of: Any) -> None:
    assert error(complete(peer_of(revision), ref, name, ""))[0] == -32602


def test_a_completion_that_fails_leaks_nothing(peer_of: Any) -> None:
    assert error(complete(peer_of(V5), REVIEW, "book", "!")) == (-32603, "Internal error", None)


@pytest.mark.requirement("mcp.completion.at-most-100")
def test_at_most_a_hundred_come_at_once() -> None:
    server = library()

    @server.completion("review", "stars")
    def stars(value: str) -> Completion:
        return Completion([str(n) for n in range(150)], total=1_000)

    found = complete(Peer(server, V5), REVIEW, "stars", "")["result"]["completion"]
    assert (len(found["values"]), found["total"], found["hasMore"]) == (100, 1_000, True)


def test_a_completion_is_for_an_argument_that_there_is() -> None:
    server = library()
    for owner, argument in (("review", "none"), ("none", "book"), ("book://one", "x")):
        with pytest.raises(ContractError, match="has no argument"):
            server.completion(owner, argument)(lambda value: [value])
    with pytest.raises(ContractError, match="must take the typed value"):
        server.completion("review", "book")(lambda: ["x"])


# Log


def logging() -> Server:
    server = Server("s")

    @server.tool
    async def talk(context: Context) -> str:
        for level in ("debug", "info", "warning", "emergency"):
            await context.log(level, {"at": level}, logger="s")
        return "said"

    @server.tool
    async def shout(context: Context) -> str:
        await context.log("loud", "x")  # type: ignore[arg-type]
        return "said"

    return server


def levels(peer: Peer) -> list[str]:
    assert [m["method"] for m in peer.said] == ["notifications/message"] * len(peer.said)
    found = [m["params"]["level"] for m in peer.said]
    assert [m["params"] for m in peer.said] == [
        {"level": level, "data": {"at": level}, "logger": "s"} for level in found
    ]
    return found


@pytest.mark.parametrize("revision", wire.REVISIONS[:-1])
def test_log_comes_from_the_level_that_a_client_sets(revision: str) -> None:
    peer = Peer(logging(), revision)
    peer.call("talk")
    assert levels(peer) == ["info", "warning", "emergency"], "where nothing was said"
    for level, heard in (("error", ["emergency"]), ("debug", None)):
        assert peer.ask("logging/setLevel", {"level": level})["result"] == {}
        peer.said.clear()
        peer.call("talk")
        assert levels(peer) == (heard or ["debug", "info", "warning", "emergency"])


@pytest.mark.requirement("mcp.logging.only-asked")
def test_in_the_stateless_era_log_comes_to_those_who_ask_in_the_request() -> None:
    peer = Peer(logging(), V5)
    peer.call("talk")
    assert peer.said == []
    for level, heard in (("warning", ["warning", "emergency"]), ("emergency", ["emergency"])):
        meta = {"io.modelcontextprotocol/logLevel": level}
        peer.said.clear()
        peer.ask("tools/call", {"name": "talk", "_meta": meta})
        assert levels(peer) == heard


@pytest.mark.requirement("mcp.logging.invalid-level")
@every_revision
def test_a_level_that_there_is_not(revision: str) -> None:
    peer = Peer(logging(), revision)
    if revision == V5:
        meta = {"io.modelcontextprotocol/logLevel": "loud"}
        reply = peer.ask("tools/call", {"name": "talk", "_meta": meta})
    else:
        reply = peer.ask("logging/setLevel", {"level": "loud"})
    assert error(reply)[0] == -32602
    assert peer.call("shout")["result"]["isError"] is True
