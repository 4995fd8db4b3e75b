"""Several servers as one: what the parts have, the whole has, also when they change."""

import sys
from threading import Thread
from typing import Any

import pytest

import wire
from accord import ContractError, Server
from accord.model.changes import Change, ListChanged, Updated
from accord.server.combined import combine
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
