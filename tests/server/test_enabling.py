"""Tags of tools, prompts and resources, and those that are disabled."""

import re
import sys
from itertools import count
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from accord import ContractError, Server
from accord.model.changes import Change, ListChanged
from accord.protocol import entries
from accord.revisions import REVISIONS
from peer import Peer

TAGS = "dev.accord-mcp/tags"
KINDS = {
    "tools/list": ("tools", "name"),
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}


def shop(**options: Any) -> Server:
    """A server with a feature of each kind for users, and one for admins."""
    server = Server("shop", **options)
    for tag in ("user", "admin"):
        server.tool(name=f"{tag}_tool", tags={tag, "all"})(lambda: 1)
        server.prompt(name=f"{tag}_prompt", tags=[tag])(lambda word: word)
        server.resource(f"{tag}://x", tags=(tag,))(lambda: "x")
        server.resource(f"{tag}://y/{{n}}", tags=(tag,))(lambda n: n)
        server.completion(f"{tag}_prompt", "word")(lambda value: [value])
    return server


def listed(server: Server) -> list[str]:
    peer = Peer(server, wire.STATELESS)
    found = []
    for method, (member, key) in KINDS.items():
        result = peer.ask(method).get("result", {})  # an error if there is none of the kind
        found += [each[key] for each in result.get(member, ())]
    return found


EVERYTHING = [
    *("user_tool", "admin_tool", "user_prompt", "admin_prompt"),
    *("user://x", "admin://x", "user://y/{n}", "admin://y/{n}"),
]
FOR_USERS = [each for each in EVERYTHING if each.startswith("user")]


def test_tags_are_in_the_entries() -> None:
    peer = Peer(shop(), wire.STATELESS)
    (user, _) = peer.ask("tools/list")["result"]["tools"]
    assert user["_meta"] == {TAGS: ["all", "user"]}
    assert peer.ask("prompts/list")["result"]["prompts"][1]["_meta"] == {TAGS: ["admin"]}
    assert peer.ask("resources/list")["result"]["resources"][0]["_meta"] == {TAGS: ["user"]}


def test_tags_are_beside_the_meta_of_the_author() -> None:
    server = Server("s")
    server.tool(name="t", tags={"a"}, meta={"own": 1})(lambda: 1)
    server.tool(name="u")(lambda: 1)
    tool, untagged = server.tools.values()
    assert entries.tool_entry(tool, None, REVISIONS[wire.STATELESS])["_meta"] == {
        "own": 1,
        TAGS: ["a"],
    }
    assert "_meta" not in entries.tool_entry(untagged, None, REVISIONS[wire.STATELESS])
    assert tool.meta == {"own": 1}


def test_a_disabled_feature_is_like_an_unknown_one() -> None:
    server = shop()
    server.disable(tags={"admin"})
    assert listed(server) == FOR_USERS
    peer = Peer(server, wire.STATELESS)
    never = Peer(Server("other"), wire.STATELESS)
    arguments: dict[str, Any] = {"name": "admin_tool", "arguments": {}}
    ref = {"type": "ref/prompt", "name": "admin_prompt"}
    requests: list[tuple[str, dict[str, Any]]] = [
        ("tools/call", arguments),
        ("prompts/get", {"name": "admin_prompt", "arguments": {"word": "x"}}),
        ("resources/read", {"uri": "admin://x"}),
        ("resources/read", {"uri": "admin://y/1"}),
        ("completion/complete", {"ref": ref, "argument": {"name": "word", "value": "x"}}),
    ]
    for method, params in requests:
        error = peer.ask(method, params)["error"]
        if method != "completion/complete":  # a server without prompts has no such method
            unknown = never.ask(method, params).get("error", {})
            assert error["code"] in (unknown.get("code"), -32602)
        assert "admin" not in error["message"] or "Unknown" in error["message"]
    server.enable(tags={"admin"})
    assert listed(server) == EVERYTHING
    assert all("result" in peer.ask(method, params) for method, params in requests)


@pytest.mark.parametrize(
    ("switches", "hidden"),
    [
        ([("disable", ["admin_tool"], [])], ["admin_tool"]),
        ([("disable", ["admin://x", "user_prompt"], [])], ["admin://x", "user_prompt"]),
        ([("disable", [], ["all"])], ["user_tool", "admin_tool"]),
        ([("disable", [], ["none has it"])], []),
        ([("disable", [], ["all"]), ("enable", ["user_tool"], [])], ["admin_tool"]),
        ([("disable", ["user_tool"], []), ("enable", [], ["all"])], []),
        ([("disable", ["user_tool"], []), ("disable", ["user_tool"], [])], ["user_tool"]),
        ([("enable", ["user_tool"], [])], []),
        (
            [("disable", ["user_tool"], []), ("enable", [], ["all"]), ("disable", [], ["user"])],
            FOR_USERS,
        ),
    ],
)
def test_the_last_switch_that_matches_decides(
    switches: list[tuple[str, list[str], list[str]]], hidden: list[str]
) -> None:
    server = shop()
    for verb, names, tags in switches:
        getattr(server, verb)(*names, tags=tags)
    assert listed(server) == [each for each in EVERYTHING if each not in hidden]


def test_a_feature_can_be_registered_disabled() -> None:
    server = Server("s")
    server.tool(name="a")(lambda: 1)
    server.tool(name="b", enabled=False)(lambda: 1)
    server.prompt(name="p", enabled=False)(lambda word: word)
    server.completion("p", "word")(lambda value: [value + "!"])
    server.resource("r://x", enabled=False)(lambda: "x")
    server.tool(name="c")(lambda: 1)
    assert (list(server.tools), server.prompts, server.resources) == (["a", "c"], {}, {})
    server.enable("b", "p", "r://x")
    assert listed(server) == ["a", "b", "c", "p", "r://x"], "in the order of registration"
    params = {
        "ref": {"type": "ref/prompt", "name": "p"},
        "argument": {"name": "word", "value": "x"},
    }
    reply = Peer(server, wire.STATELESS).ask("completion/complete", params)
    assert reply["result"]["completion"]["values"] == ["x!"]


def test_a_disabled_name_is_still_taken() -> None:
    server = Server("s")
    server.tool(name="a", enabled=False)(lambda: 1)
    with pytest.raises(ContractError, match=r"there are two tools named 'a' \(.*:\d+\)"):
        server.tool(name="a")(lambda: 1)


def test_a_disabled_tag_hides_what_is_registered_later() -> None:
    server = Server("s")
    server.disable(tags={"admin"})
    server.tool(name="a", tags={"admin"})(lambda: 1)
    server.tool(name="b")(lambda: 1)
    assert listed(server) == ["b"]


def test_a_disabled_feature_can_be_removed() -> None:
    server = shop()
    tool, prompt = server.tools["admin_tool"], server.prompts["admin_prompt"]
    server.disable(tags={"admin"})
    server.remove(tool)
    server.remove(prompt)
    server.enable(tags={"admin"})
    assert "admin_tool" not in server.tools
    assert server.registry.completers_of("admin_prompt") == {}
    server.tool(name="admin_tool")(lambda: 2)


class Ear:
    """A subscriber that keeps the changes it is notified of."""

    def __init__(self) -> None:
        self.heard: list[Change] = []

    def hear(self, change: Change) -> None:
        self.heard.append(change)


def test_clients_are_notified_once_for_each_list_that_changed() -> None:
    server, ear = shop(changing={"tools", "resources"}), Ear()
    server.registry.changes.subscribe(ear.hear)
    server.disable(tags={"admin", "user"})
    assert ear.heard == [ListChanged("resources"), ListChanged("tools")]
    server.disable("user_tool")
    assert len(ear.heard) == 2, "nothing has changed"
    server.enable("user_tool")
    assert ear.heard[2:] == [ListChanged("tools")]
    server.tool(name="quiet", tags={"admin"})(lambda: 1)
    assert len(ear.heard) == 3, "clients do not see it"


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (lambda s: s.disable(), r"disable\(\) needs names or tags: server.disable\('name'\) or"),
        (lambda s: s.enable(tags=[]), r"enable\(\) needs names or tags"),
        (
            lambda s: s.disable("admin_tol"),
            "no tool, prompt or resource 'admin_tol'; did you mean 'admin_tool'",
        ),
        (lambda s: s.disable("zzz"), "no tool, prompt or resource 'zzz'$"),
        (lambda s: s.disable(print), r"is not a name; write server.disable\('name'\)"),
        (lambda s: s.disable(tags="admin"), "must be a set of strings, such as {'admin'}"),
        (lambda s: s.tool(tags="admin", name="t")(lambda: 1), "tags of tool 't' must be a set"),
        (lambda s: s.tool(tags={1}, name="t")(lambda: 1), r"tags of tool 't' .*test_enabling"),
        (lambda s: s.tool(tags=7, name="t")(lambda: 1), "must be a set of strings"),
        (lambda s: s.tool(tags={""}, name="t")(lambda: 1), "must be a set of strings"),
        (lambda s: s.prompt(tags="x", name="p")(lambda: "x"), "tags of prompt 'p' must be"),
        (lambda s: s.resource("r://x", tags="x")(lambda: "x"), "tags of resource r://x must be"),
        (lambda s: s.tool(tag={"x"})(lambda: 1), "no option 'tag'; did you mean 'tags'"),
        (lambda s: s.tool(timeout=0, name="t")(lambda: 1), "timeout of tool 't' must be a number"),
        (lambda s: s.tool(timeout="5", name="t")(lambda: 1), "timeout of tool 't' must be"),
        (lambda s: s.tool(timeout=True, name="t")(lambda: 1), "timeout of tool 't' must be"),
        (lambda s: s.tool(timeout=float("nan"), name="t")(lambda: 1), "timeout of tool 't' must"),
    ],
    ids=count(),
)
def test_a_mistake_is_an_error(misuse: Any, message: str) -> None:
    server = shop()
    with pytest.raises(ContractError) as error:
        misuse(server)
    assert re.search(message, str(error.value)), str(error.value)
    assert listed(server) == EVERYTHING


# Included servers


def test_an_outer_server_sees_what_clients_of_the_inner_one_see() -> None:
    inner, outer = shop(), Server("outer")
    inner.disable("admin_tool")
    outer.include(inner, prefix="x_")
    assert list(outer.tools) == ["x_user_tool"]
    inner.enable("admin_tool")
    assert list(outer.tools) == ["x_user_tool", "x_admin_tool"]
    outer.disable("x_user_tool", tags={"admin"})
    assert not outer.tools
    assert list(inner.tools) == ["user_tool", "admin_tool"]
    inner.disable(tags={"all"})
    inner.enable(tags={"all"})
    assert not outer.tools, "it stays disabled here"
    outer.enable(tags={"all"})
    assert list(outer.tools) == ["x_user_tool", "x_admin_tool"]


def test_the_tool_that_continues_answers_cannot_be_disabled() -> None:
    server = Server("s", read_more=True)
    with pytest.raises(ContractError, match="make the server without it: read_more=False"):
        server.disable("read_more")
    server = Server("s")
    server.tool(name="read_more")(lambda: 1)
    server.disable("read_more")
    assert not server.tools


def test_enabling_a_tool_whose_name_is_taken_in_an_outer_server_is_an_error() -> None:
    inner, outer = Server("inner"), Server("outer")
    outer.include(inner, prefix="x_")
    inner.tool(name="a", enabled=False)(lambda: 1)
    outer.tool(name="x_a")(lambda: 2)
    for _ in range(2):
        with pytest.raises(ContractError, match="both server 'outer' and server 'inner'"):
            inner.enable("a")
    assert not inner.tools


def test_the_middleware_of_a_tool_survives_a_switch() -> None:
    server, trace = Server("s"), []

    @server.middleware
    async def follow(call: Any, following: Any) -> Any:
        trace.append(call.name)
        return await following(call)

    server.tool(name="t", enabled=False)(lambda: 1)
    server.enable("t")
    Peer(server, wire.STATELESS).call("t")
    server.disable("t")
    server.enable("t")
    Peer(server, wire.STATELESS).call("t")
    assert trace == ["t", "t"]


def test_the_switches_of_a_server_that_is_switched_for_years_do_not_add_up() -> None:
    server = shop()
    for _ in range(1_000):
        server.disable("user_tool", tags={"admin"})
        server.enable("user_tool", tags={"admin"})
    assert len(server.registry._rules) == 2


def test_features_may_be_switched_in_several_threads() -> None:
    server, outer = shop(), Server("outer")
    outer.include(server, prefix="x_")
    failures: list[BaseException] = []

    def churn(tag: str) -> None:
        try:
            for _ in range(100):
                server.disable(tags={tag})
                listed(outer)
                server.enable(tags={tag})
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test is to know
            failures.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [Thread(target=churn, args=(tag,)) for tag in ("user", "admin")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert failures == []
    assert listed(server) == EVERYTHING


SWITCHES = st.tuples(
    st.booleans(),
    st.lists(st.sampled_from(["a", "b", "c"]), max_size=2),
    st.lists(st.sampled_from(["s", "t"]), max_size=2),
).filter(lambda each: bool(each[1] or each[2]))


@given(st.lists(SWITCHES, max_size=6), st.booleans())
def test_listed_tools_are_those_whose_last_switch_enables_them(
    switches: list[tuple[bool, list[str], list[str]]], starts_enabled: bool
) -> None:
    server = Server("s")
    tags: dict[str, set[str]] = {"a": {"s"}, "b": {"s", "t"}, "c": set()}
    for name, own in tags.items():
        server.tool(name=name, tags=own, enabled=starts_enabled)(lambda: 1)
    wanted = dict.fromkeys(tags, starts_enabled)
    for is_enabled, names, given_tags in switches:
        (server.enable if is_enabled else server.disable)(*names, tags=given_tags)
        for name, own in tags.items():
            if name in names or own & set(given_tags):
                wanted[name] = is_enabled
    assert list(server.tools) == [name for name, is_on in wanted.items() if is_on]
