"""Servers inside of servers: what the parts have, the whole has, also when they change."""

import asyncio
import gc
import re
import sys
import time
import weakref
from collections.abc import Iterable
from threading import Thread
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from accord import (
    Answer,
    Client,
    Context,
    ContractError,
    Depends,
    Embedded,
    Link,
    Message,
    Problem,
    Server,
)
from accord.model.changes import Change, ListChanged, Updated
from accord.server import combine
from peer import Peer


class ChangeRecorder:
    """A subscriber that keeps the changes it is notified of."""

    def __init__(self) -> None:
        self.heard: list[Change] = []

    def hear(self, change: Change) -> None:
        self.heard.append(change)


def part(name: str, **options: Any) -> Server:
    server = Server(name, **options)
    server.tool(name=f"{name}_tool")(lambda: 1)
    server.prompt(name=f"{name}_prompt")(lambda word: f"Say {word}")
    server.resource(f"{name}://x", watched=True)(lambda: name)
    server.completion(f"{name}_prompt", "word")(lambda value: [value + name])
    return server


def test_the_whole_has_what_its_parts_have() -> None:
    peer = Peer(combine({"a": part("a"), "b": part("b")}), wire.STATELESS)
    lists = {
        "tools/list": [t["name"] for t in peer.ask("tools/list")["result"]["tools"]],
        "prompts/list": [p["name"] for p in peer.ask("prompts/list")["result"]["prompts"]],
        "resources/list": [r["uri"] for r in peer.ask("resources/list")["result"]["resources"]],
    }
    assert lists == {
        "tools/list": ["a_tool", "b_tool"],
        "prompts/list": ["a_prompt", "b_prompt"],
        "resources/list": ["a://x", "b://x"],
    }
    ref = {"type": "ref/prompt", "name": "b_prompt"}
    params = {"ref": ref, "argument": {"name": "word", "value": "x"}}
    assert peer.ask("completion/complete", params)["result"]["completion"]["values"] == ["xb"]


def test_the_whole_changes_as_its_parts_do() -> None:
    first = part("a", changing={"tools", "prompts"})
    whole, ear = combine({"a": first, "b": part("b")}), ChangeRecorder()
    whole.registry.changes.subscribe(ear.hear)
    first.tool(name="late")(lambda: 1)
    assert list(whole.tools) == ["a_tool", "b_tool", "late"]
    first.remove(first.tools["late"])
    assert list(whole.tools) == ["a_tool", "b_tool"]
    first.updated("a://x")
    assert ear.heard == [ListChanged("tools"), ListChanged("tools"), Updated("a://x")]


@pytest.mark.parametrize("kind", ["prompt", "resource"])
def test_a_clash_names_both(kind: str) -> None:
    servers = {target: Server(target) for target in ("one", "two")}
    for server in servers.values():
        if kind == "prompt":
            server.prompt(name="same")(lambda: "x")
        else:
            server.resource("same://x")(lambda: "x")
    with pytest.raises(ContractError, match=f"both one and two have a {kind} 'same"):
        combine(servers)


def test_parts_may_change_in_several_threads_at_once() -> None:
    parts = {name: part(name, changing={"tools"}) for name in "ab"}
    whole = combine(parts)
    failures: list[BaseException] = []

    def churn(server: Server, name: str) -> None:
        try:
            for _ in range(200):
                server.tool(name=name)(lambda: 1)
                server.remove(server.tools[name])
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test is to know
            failures.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [Thread(target=churn, args=(parts[name], f"{name}_more")) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert failures == []
    assert list(whole.tools) == ["a_tool", "b_tool"]


def included(inner: Server, *prefixes: str, **options: Any) -> Server:
    """A server that includes another one, once for each prefix."""
    outer = Server("outer", **options)
    for prefix in prefixes:
        outer.include(inner, prefix=prefix)
    return outer


def text(reply: Any) -> str:
    return str(reply["result"]["content"][0]["text"])


def test_names_get_the_prefix() -> None:
    outer = included(part("a"), "x_")
    peer = Peer(outer, wire.STATELESS)
    assert (list(outer.tools), list(outer.prompts)) == (["x_a_tool"], ["x_a_prompt"])
    assert text(peer.call("x_a_tool")) == "1"
    got = peer.ask("prompts/get", {"name": "x_a_prompt", "arguments": {"word": "hi"}})
    assert got["result"]["messages"][0]["content"]["text"] == "Say hi"
    assert "Unknown tool: a_tool" in peer.call("a_tool")["error"]["message"]
    ref = {"type": "ref/prompt", "name": "x_a_prompt"}
    params = {"ref": ref, "argument": {"name": "word", "value": "b"}}
    assert peer.ask("completion/complete", params)["result"]["completion"]["values"] == ["ba"]


def test_prefixes_add_up() -> None:
    inner = part("a", changing={"tools"})
    middle = included(inner, "m_")
    outer = included(middle, "o_")
    inner.tool(name="late")(lambda: "late")
    assert list(outer.tools) == ["o_m_a_tool", "o_m_late"]
    assert list(outer.resources) == ["a://o_m_x"]
    assert text(Peer(outer, wire.STATELESS).call("o_m_late")) == '"late"'
    assert outer.registry.changing == {"tools"}


def test_a_server_is_included_again_under_another_prefix() -> None:
    inner, calls = Server("inner"), []

    @inner.tool
    def count() -> int:
        """Count the calls."""
        calls.append(1)
        return len(calls)

    inner.resource("in://{name}")(lambda name: name)
    outer = included(inner, "a_", "b_")
    peer = Peer(outer, wire.STATELESS)
    assert [text(peer.call(name)) for name in ("a_count", "b_count", "a_count")] == ["1", "2", "3"]
    reply = peer.ask("resources/read", {"uri": "in://b_x"})
    assert reply["result"]["contents"] == [
        {"uri": "in://b_x", "mimeType": "text/plain", "text": "x"}
    ]


@pytest.mark.parametrize("order", [("include", "register"), ("register", "include")], ids=str)
def test_it_does_not_matter_whether_features_or_inclusion_come_first(order: tuple[str]) -> None:
    inner, outer = Server("inner"), Server("outer")
    for step in order:
        if step == "include":
            outer.include(inner, prefix="x_")
        else:
            inner.tool(name="t")(lambda: "t")
            inner.prompt(name="p")(lambda word: word)
            inner.completion("p", "word")(lambda value: [value * 2])
            inner.resource("r://{name}")(lambda name: name)
            inner.completion("r://{name}", "name")(lambda value: [value * 3])
    peer = Peer(outer, wire.STATELESS)
    assert text(peer.call("x_t")) == '"t"'
    for ref, argument, wanted in (
        ({"type": "ref/prompt", "name": "x_p"}, "word", "aa"),
        ({"type": "ref/resource", "uri": "r://x_{name}"}, "name", "aaa"),
    ):
        params = {"ref": ref, "argument": {"name": argument, "value": "a"}}
        found = peer.ask("completion/complete", params)["result"]["completion"]["values"]
        assert found == [wanted]


def test_a_removed_feature_is_gone_and_can_come_back() -> None:
    inner = part("a")
    outer = included(inner, "x_")
    tool, prompt, resource = (
        inner.tools["a_tool"],
        inner.prompts["a_prompt"],
        inner.resources["a://x"],
    )
    for feature in (tool, prompt, resource):
        inner.remove(feature)
    assert not outer.tools
    assert not outer.prompts
    assert not outer.resources
    for feature in (tool, prompt, resource):
        inner.add(feature)
    assert list(outer.tools) == ["x_a_tool"]
    assert list(outer.resources) == ["a://x_x"]


def test_an_included_feature_that_the_whole_has_removed_can_be_removed_from_the_part() -> None:
    inner = part("a")
    outer = included(inner, "x_")
    outer.remove(outer.tools["x_a_tool"])
    assert list(inner.tools) == ["a_tool"]
    inner.remove(inner.tools["a_tool"])
    inner.tool(name="a_tool")(lambda: 2)
    assert list(outer.tools) == ["x_a_tool"]


def test_a_feature_of_the_whole_stays_that_took_the_name_of_an_included_one() -> None:
    inner = part("a")
    outer = included(inner, "x_")
    outer.remove(outer.tools["x_a_tool"])
    outer.tool(name="x_a_tool")(lambda: "own")
    inner.configure(profile="prose")
    inner.remove(inner.tools["a_tool"])
    assert text(Peer(outer, wire.STATELESS).call("x_a_tool")) == '"own"'
    with pytest.raises(ContractError, match="both server 'outer' and server 'a'"):
        inner.tool(name="a_tool")(lambda: 1)


def itself(server: Server) -> None:
    server.include(server, prefix="x_")


def a_cycle(server: Server) -> None:
    middle, inner = Server("middle"), Server("inner")
    server.include(middle, prefix="m_")
    middle.include(inner, prefix="i_")
    inner.include(server, prefix="s_")


def twice(server: Server) -> None:
    inner = Server("inner")
    server.include(inner, prefix="i_")
    server.include(inner, prefix="i_")


def an_odd_prefix(server: Server) -> None:
    server.include(Server("inner"), prefix="in ner/")


def no_text_as_prefix(server: Server) -> None:
    server.include(Server("inner"), prefix=None)  # type: ignore[arg-type]


def no_server(server: Server) -> None:
    server.include("shop:server")  # type: ignore[arg-type]


def a_long_prefix(server: Server) -> None:
    inner = Server("inner")
    inner.tool(name="t" * 100)(lambda: 1)
    server.include(inner, prefix="p" * 29)


def a_taken_name(server: Server) -> None:
    inner = Server("my inner")
    inner.tool(name="add")(lambda: 1)
    server.tool(name="add")(lambda: 2)
    server.include(inner)


def a_taken_name_of_two(server: Server) -> None:
    for name in ("one", "two"):
        inner = Server(name)
        inner.prompt(name="same")(lambda: "x")
        server.include(inner, prefix="p_")


def a_late_name(server: Server) -> None:
    inner = Server("inner")
    server.include(inner, prefix="i_")
    server.tool(name="i_add")(lambda: 1)
    inner.tool(name="add")(lambda: 1)


def a_late_name_of_its_own(server: Server) -> None:
    inner = Server("inner")
    server.include(inner, prefix="i_")
    inner.tool(name="add")(lambda: 1)
    server.tool(name="i_add")(lambda: 1)


def a_page_of_the_web(server: Server) -> None:
    for name in ("one", "two"):
        inner = Server(name)
        inner.resource("https://example.com/x")(lambda: "x")
        server.include(inner, prefix=f"{name}_")


def a_tool_called_read_more(server: Server) -> None:
    server.tool(name="read_more")(lambda: 1)
    server.include(Server("inner", read_more=True), prefix="i_")


HERE = r"test_inclusion\.py:\d+"
FAULTS = {
    itself: rf"server 'outer' cannot include itself \(included at .*{HERE}\)",
    a_cycle: rf"server 'outer' already includes server 'inner', so that cannot .*{HERE}",
    twice: rf"server 'inner' .*{HERE}\) and server 'inner' .*{HERE}\) are the same server; include"
    " it with another prefix: prefix='inner_i_'",
    an_odd_prefix: "the prefix 'in ner/' must be letters, digits, _ . or -, such as 'db_'",
    no_text_as_prefix: "the prefix None must be letters",
    no_server: "'shop:server' is not a Server; write server.include",
    a_long_prefix: r"tool 't{100}' of server 'inner' .* has 129 characters .* the most is 128",
    a_taken_name: rf"both server 'outer' and server 'my inner' \(included at .*{HERE}\) have a tool"
    " 'add'; include it with another prefix: prefix='my_inner_'",
    a_taken_name_of_two: r"both server 'one' .* and server 'two' .* have a prompt 'p_same'; .*"
    " prefix='two_p_'",
    a_late_name: r"both server 'outer' and server 'inner' .* have a tool 'i_add'",
    a_late_name_of_its_own: r"there are two tools named 'i_add': one is of server 'inner'",
    a_page_of_the_web: r"both server 'one' .* have a resource 'https://example.com/x'; give one",
    a_tool_called_read_more: r"server 'outer' has a tool 'read_more' of its own; rename it",
}


@pytest.mark.parametrize("misuse", FAULTS, ids=lambda misuse: misuse.__name__)
def test_a_wrong_inclusion_is_an_error_that_says_what_to_write(misuse: Any) -> None:
    with pytest.raises(ContractError) as error:
        misuse(Server("outer"))
    assert re.search(FAULTS[misuse], str(error.value)), str(error.value)


def test_a_collision_changes_nothing() -> None:
    inner, outer = Server("inner"), Server("outer")
    inner.tool(name="one")(lambda: 1)
    inner.tool(name="two")(lambda: 1)
    outer.tool(name="two")(lambda: 2)
    with pytest.raises(ContractError):
        outer.include(inner)
    assert list(outer.tools) == ["two"]
    outer.include(inner, prefix="x_")
    outer.tool(name="x_three")(lambda: 1)
    with pytest.raises(ContractError):
        inner.tool(name="three")(lambda: 1)
    assert list(inner.tools) == ["one", "two"]
    assert list(outer.tools) == ["two", "x_one", "x_two", "x_three"]


def test_a_collision_two_levels_up_is_found_before_anything_changes() -> None:
    inner, middle, outer = Server("inner"), Server("middle"), Server("outer")
    outer.tool(name="o_m_x")(lambda: 1)
    outer.include(middle, prefix="o_")
    middle.include(inner, prefix="m_")
    with pytest.raises(ContractError, match="have a tool 'o_m_x'"):
        inner.tool(name="x")(lambda: 1)
    assert not inner.tools
    assert not middle.tools
    late = Server("late")
    late.tool(name="x")(lambda: 1)
    with pytest.raises(ContractError, match="have a tool 'o_m_x'"):
        middle.include(late, prefix="m_")
    assert not middle.tools


def test_a_subscriber_hears_of_the_uri_that_the_whole_has() -> None:
    inner, ear = part("a"), ChangeRecorder()
    outer = included(included(inner, "m_"), "o_")
    outer.registry.changes.subscribe(ear.hear)
    inner.updated("a://x")
    assert ear.heard == [Updated("a://o_m_x")]
    assert outer.registry.find_resource("a://o_m_x") is not None


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("shop://orders/{id}", "shop://x_orders/{id}"),
        ("shop://{id}", "shop://x_{id}"),
        ("file:///etc/hosts", "file:///x_etc/hosts"),
        ("urn:isbn:{number}", "urn:x_isbn:{number}"),
        ("https://example.com/a", "https://example.com/a"),
        ("http://example.com/{a}", "http://example.com/{a}"),
        ("HTTPS://example.com", "HTTPS://example.com"),
    ],
)
def test_a_uri_gets_the_prefix_behind_its_scheme(uri: str, shown: str) -> None:
    inner = Server("inner")
    names = re.findall(r"\{(\w+)\}", uri)
    scope: dict[str, Any] = {}
    exec(f"def read({', '.join(names)}): return ','.join([{', '.join(names)}])", scope)
    inner.resource(uri)(scope["read"])
    outer = included(inner, "x_")
    assert list(outer.resources) == [shown]
    asked = re.sub(r"\{\w+\}", "42", shown)
    reply = Peer(outer, wire.STATELESS).ask("resources/read", {"uri": asked})
    (content,) = reply["result"]["contents"]
    assert (content["uri"], content["text"]) == (asked, "42" if names else "")


def linking(*, is_async: bool) -> Server:
    """A server whose tools, prompts and resources refer to its resources."""
    server = Server("inner")
    returns: dict[str, Any] = {
        "one": lambda: Link("in://a/1", "one"),
        "several": lambda: ["text", Link("in://a/1", "one"), Embedded("in://a/2", "two")],
        "answer": lambda: Answer("data", blocks=[Link("in://a/1", "one")]),
        "elsewhere": lambda: Link("other://a/1", "one"),
    }
    for name, function in returns.items():

        async def later(function: Any = function) -> Any:
            return function()

        server.tool(name=name)(_nullary(later) if is_async else function)
    server.prompt(name="p")(lambda: [Message(Embedded("in://a/1", "x"), "assistant"), "more"])
    server.resource("in://a/{number}")(lambda number: [Embedded(f"in://a/{number}", number)])
    return server


def _nullary(function: Any) -> Any:
    async def call() -> Any:
        return await function()

    return call


def uris_in(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        yield from [value["uri"]] if "uri" in value else []
        for each in value.values():
            yield from uris_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from uris_in(each)


@pytest.mark.parametrize("is_async", [False, True])
def test_results_link_to_the_resources_of_the_whole(is_async: bool) -> None:
    outer = included(included(linking(is_async=is_async), "b_"), "a_")
    peer = Peer(outer, wire.STATELESS)
    wanted = {
        "one": ["in://a_b_a/1"],
        "several": ["in://a_b_a/1", "in://a_b_a/2"],
        "answer": ["in://a_b_a/1"],
        "elsewhere": ["other://a/1"],
    }
    found = {name: list(uris_in(peer.call(f"a_b_{name}")["result"]["content"])) for name in wanted}
    assert found == wanted
    prompt = peer.ask("prompts/get", {"name": "a_b_p"})["result"]["messages"]
    assert list(uris_in(prompt)) == ["in://a_b_a/1"]
    read = peer.ask("resources/read", {"uri": "in://a_b_a/7"})["result"]["contents"]
    assert [each["uri"] for each in read] == ["in://a_b_a/7"]


def test_links_are_rewritten_once_there_are_resources() -> None:
    inner = Server("inner")
    inner.tool(name="link")(lambda: Link("in://x", "x"))
    outer = included(inner, "p_")
    peer = Peer(outer, wire.STATELESS)
    assert list(uris_in(peer.call("p_link"))) == ["in://x"]
    inner.resource("in://x")(lambda: "x")
    assert list(uris_in(peer.call("p_link"))) == ["in://p_x"]


def test_each_tool_has_the_profile_and_limit_of_its_server() -> None:
    inner = Server("inner", profile="envelope", max_bytes=2_000)
    inner.tool(name="usual")(lambda: 1)
    inner.tool(name="own", profile="prose", max_bytes=3_000)(lambda: 1)
    middle = included(inner, "m_", profile="bare")
    outer = included(middle, "o_", profile="generic")

    def settings() -> dict[str, tuple[Any, Any]]:
        return {name: (tool.profile, tool.max_bytes) for name, tool in outer.tools.items()}

    assert settings() == {"o_m_usual": ("envelope", 2_000), "o_m_own": ("prose", 3_000)}
    inner.configure(max_bytes=4_000)
    assert settings()["o_m_usual"] == ("envelope", 4_000)
    outer.configure(profile="plain")
    inner.tool(name="late")(lambda: 1)
    assert settings() == {
        "o_m_usual": ("plain", 4_000),
        "o_m_own": ("prose", 3_000),
        "o_m_late": ("plain", 4_000),
    }


def test_read_more_continues_answers_of_an_included_server() -> None:
    inner = Server("inner", read_more=True, max_bytes=2_000)

    @inner.tool(read_only=True)
    def numbers() -> list[int]:
        """Many numbers."""
        return list(range(1_000))

    outer = included(included(inner, "m_"), "o_")
    assert sorted(outer.tools) == ["o_m_numbers", "read_more"]
    peer = Peer(outer, wire.STATELESS)
    found, reply = [], peer.call("o_m_numbers")
    while True:
        found += reply["result"]["structuredContent"]["result"]
        answer = reply["result"].get("_meta", {}).get("dev.accord-mcp/answer", {})
        cursor = answer.get("page", {}).get("cursor")
        if cursor is None:
            break
        reply = peer.call("read_more", cursor=cursor)
    assert found == list(range(1_000))


def test_a_cursor_continues_the_answer_of_an_included_tool() -> None:
    inner = Server("inner", max_bytes=2_000)

    @inner.tool(read_only=True)
    def numbers(cursor: str | None = None) -> list[int]:
        """Many numbers."""
        return list(range(1_000))

    outer = included(inner, "a_", "b_")
    peer = Peer(outer, wire.STATELESS)
    first = peer.call("a_numbers")["result"]
    cursor = first["_meta"]["dev.accord-mcp/answer"]["page"]["cursor"]
    more = peer.call("a_numbers", cursor=cursor)["result"]["structuredContent"]["result"]
    assert more[0] == len(first["structuredContent"]["result"])
    assert peer.call("b_numbers", cursor=cursor)["result"]["isError"]


def test_read_more_comes_later_too() -> None:
    inner, middle = Server("inner", read_more=True), Server("middle")
    outer = included(middle, "o_")
    middle.include(inner, prefix="m_")
    assert list(outer.tools) == ["read_more"]


def test_instructions_name_the_prefix() -> None:
    inner = Server("inner", instructions="Call list first.")
    middle = included(inner, "m_", instructions="Middle.")
    outer = included(middle, "o_", instructions="Outer.")
    assert outer.instructions == (
        "Outer.\n\nFor tools and prompts whose names begin with o_:\nMiddle.\n\n"
        "For tools and prompts whose names begin with m_:\nCall list first."
    )
    assert Server("none").instructions is None
    result = Peer(outer, "2025-06-18").initialize("2025-06-18")["result"]
    assert result["instructions"] == outer.instructions


@pytest.mark.parametrize("is_async", [False, True])
def test_errors_name_the_tool_with_its_prefix(is_async: bool) -> None:
    inner = Server("inner")

    def add(a: int) -> int:
        """Add."""
        raise Problem.conflict("Invalid arguments for add: no")

    async def add_later(a: int) -> int:
        """Add."""
        return a

    inner.tool(name="add")(add_later if is_async else add)
    inner.prompt(name="ask")(lambda word: word)
    outer = included(included(inner, "m_"), "o_")
    peer = Peer(outer, wire.STATELESS)
    assert "Invalid arguments for o_m_add: a" in text(peer.call("o_m_add", a="x"))
    error = peer.ask("prompts/get", {"name": "o_m_ask", "arguments": {}})["error"]
    assert "for o_m_ask:" in error["message"]


def test_a_call_has_the_state_and_the_middleware_of_its_server() -> None:
    """Outer middleware runs around that of the inner servers, also if it is added later."""
    servers = {name: Server(name) for name in ("outer", "middle", "inner")}
    trace: list[str] = []

    def follow(server: Server, name: str) -> None:
        async def middleware(call: Any, following: Any) -> Any:
            trace.append(name)
            return await following(call)

        server.middleware(middleware)

    for name, server in servers.items():
        server.registry.scope.state = name

        def state(context: Context) -> str:
            """The state."""
            return f"{context.state} {context.tool}"

        server.tool(name="state")(state)
    follow(servers["inner"], "inner")
    servers["middle"].include(servers["inner"], prefix="i_")
    servers["outer"].include(servers["middle"], prefix="m_")
    follow(servers["middle"], "middle")
    follow(servers["outer"], "outer")
    peer = Peer(servers["outer"], wire.STATELESS)
    found = {}
    for name in ("state", "m_state", "m_i_state"):
        trace.clear()
        found[name] = (text(peer.call(name)), list(trace))
    assert found == {
        "state": ("outer state", ["outer"]),
        "m_state": ("middle m_state", ["outer", "middle"]),
        "m_i_state": ("inner m_i_state", ["outer", "middle", "inner"]),
    }
    assert len(servers["outer"].registry.scopes) == 3


def name_of_shop() -> str:
    return "inner"


@pytest.mark.parametrize("overriding", ["inner", "middle", "outer"])
def test_a_dependency_of_an_included_tool_can_be_replaced(overriding: str) -> None:
    servers = {name: Server(name) for name in ("outer", "middle", "inner")}

    @servers["inner"].tool
    def link(name: Annotated[str, Depends(name_of_shop)]) -> Link:
        """A link."""
        return Link("in://x", name)

    servers["inner"].resource("in://x")(lambda: "x")
    servers["middle"].include(servers["inner"], prefix="i_")
    servers["outer"].include(servers["middle"], prefix="m_")

    def found() -> tuple[str, str]:
        reply = Peer(servers["outer"], wire.STATELESS).call("m_i_link")
        content = reply["result"]["content"][0]
        return content["name"], content["uri"]

    assert found() == ("inner", "in://m_i_x")
    with servers[overriding].override(name_of_shop, lambda: f"{overriding}!"):
        assert found() == (f"{overriding}!", "in://m_i_x")
        with servers["outer"].override(name_of_shop, lambda: "last"):
            assert found() == ("last", "in://m_i_x")
    assert found() == ("inner", "in://m_i_x")


def test_the_scopes_of_included_servers_are_known_before_they_have_features() -> None:
    inner = Server("inner")
    outer = included(included(inner, "m_"), "o_")
    assert inner.registry.scope in outer.registry.scopes


@pytest.mark.parametrize("is_async", [False, True])
def test_the_time_limit_of_an_included_tool_holds(is_async: bool) -> None:
    inner, ended = Server("inner"), []

    async def slow() -> str:
        try:
            await asyncio.sleep(600)
        finally:
            ended.append("slow")
        return "late"

    def blocking() -> str:
        time.sleep(2)
        return "late"

    inner.tool(name="slow", timeout=0.05)(slow if is_async else blocking)
    outer = included(inner, "x_")
    answer = asyncio.run(outer.call("x_slow"))
    assert answer.is_failure
    assert answer.response.error is not None
    assert answer.response.error.code == "TIMEOUT"
    assert ended == (["slow"] if is_async else [])


def test_an_audience_is_asked_for_the_names_of_its_server() -> None:
    inner = Server("inner")
    seen: list[str] = []

    def audience(sender: Any) -> Any:
        def is_for_sender(name: str) -> bool:
            seen.append(name)
            return name == "shown"

        return is_for_sender

    for name in ("shown", "hidden"):
        inner.tool(name=name, audience=audience)(lambda: 1)
    outer = included(inner, "x_", "y_")
    assert outer.registry.hidden_from(None) == {"x_hidden", "y_hidden"}
    assert set(seen) == {"shown", "hidden"}
    assert len(outer.registry.audiences) == 2


def test_an_outer_server_that_is_not_used_any_more_is_collected() -> None:
    inner = part("a")
    outer = included(inner, "x_")
    gone = weakref.ref(outer.registry)
    del outer
    gc.collect()
    assert gone() is None
    inner.tool(name="late")(lambda: 1)
    assert inner.registry.followers == []


NAMES = st.sampled_from(["a", "b", "c", "p_a", "q_a", "p_b"])
PREFIXES = st.sampled_from(["", "p_", "q_", "p_p_"])


@given(st.lists(NAMES, unique=True), st.lists(NAMES, unique=True), PREFIXES, st.booleans())
def test_the_whole_has_the_union_and_each_call_reaches_its_function(
    own: list[str], others: list[str], prefix: str, comes_first: bool
) -> None:
    outer, inner = Server("outer"), Server("inner")
    for server, names in ((outer, own), (inner, others)):
        server.registry.scope.state = server.identity.name
        for name in names if server is outer or not comes_first else ():
            server.tool(name=name)(_told(name))
    shown = [prefix + name for name in others]

    def include() -> None:
        outer.include(inner, prefix=prefix)
        for name in others if comes_first else ():
            inner.tool(name=name)(_told(name))

    if set(own) & set(shown):
        with pytest.raises(ContractError, match="have a tool"):
            include()
        return
    include()
    assert list(outer.tools) == [*own, *shown]
    peer = Peer(outer, wire.STATELESS)
    assert [text(peer.call(name)) for name in own] == [f"outer:{name}" for name in own]
    assert [text(peer.call(name)) for name in shown] == [f"inner:{name}" for name in others]


def _told(name: str) -> Any:
    def tool(context: Context) -> str:
        """The state and the name."""
        return f"{context.state}:{name}"

    return tool


@pytest.mark.parametrize("revision", ["2025-11-25", wire.STATELESS])
def test_a_client_follows_an_included_server(revision: str) -> None:
    inner = part("a", changing={"tools"})
    outer = included(included(inner, "m_"), "o_")

    async def main() -> list[Change]:
        heard: list[Change] = []
        async with (
            Client(outer, revision=revision) as client,
            client.subscribe("a://o_m_x", lists=["tools"]) as changes,
        ):
            inner.updated("a://x")
            heard.append(await anext(changes))
            inner.tool(name="late")(lambda: 1)
            heard.append(await anext(changes))
            inner.disable("late")
            heard.append(await anext(changes))
            names = [tool.name for tool in await client.list_tools()]
            assert names == ["o_m_a_tool"]
        return heard

    async def within() -> list[Change]:
        async with asyncio.timeout(30):
            return await main()

    assert asyncio.run(within()) == [
        Updated("a://o_m_x"),
        ListChanged("tools"),
        ListChanged("tools"),
    ]


def test_a_tool_that_a_server_would_have_twice_is_refused_before_anything_changes() -> None:
    inner, middle, outer = Server("inner"), Server("middle"), Server("outer")
    outer.include(inner)
    outer.include(middle)
    middle.include(inner)
    with pytest.raises(ContractError, match=r"both .* have a tool 'a'"):
        inner.tool(name="a")(lambda: None)
    assert [list(each.tools) for each in (inner, middle, outer)] == [[], [], []]
