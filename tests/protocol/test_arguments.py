"""Arguments that do not fit: whose failure that is depends on the revision, what is said does not."""

import json
from typing import Any

import pytest

import wire
from peer import Peer
from samples.features import basics as server

META_KEY = "dev.accord-mcp/answer"
REJECTED = ("2024-11-05", "2025-03-26", "2025-06-18")

every_revision = pytest.mark.parametrize("revision", wire.REVISIONS)

BAD_ARGUMENTS: dict[str, tuple[str, dict[str, Any], set[str]]] = {
    "both missing": ("add", {}, {"a", "b"}),
    "one missing": ("add", {"a": 1}, {"b"}),
    "both of the wrong type": ("add", {"a": "hunter2", "b": [1]}, {"a", "b"}),
    "one wrong, one missing": ("add", {"b": None}, {"a", "b"}),
    "wrong beside unknown": ("add", {"a": 1.5, "b": 2, "toolCallId": "x"}, {"a"}),
    "an object for a number": ("add", {"a": {"hunter2": 1}, "b": 2}, {"a"}),
    "unknown to a strict tool": ("exact", {"a": 1, "toolCallId": "x"}, {"toolCallId"}),
    "unknown and wrong": ("exact", {"a": "x", "b": 1, "c": 2}, {"a", "b", "c"}),
}


@pytest.mark.requirement("mcp.tools.validate")
@pytest.mark.parametrize("revision", REJECTED)
@pytest.mark.parametrize(("tool", "arguments", "fields"), BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS)
def test_an_older_revision_rejects_and_names_every_bad_field(
    tool: str, arguments: dict[str, Any], fields: set[str], revision: str
) -> None:
    error = Peer(server, revision).call(tool, **arguments)["error"]
    assert error["code"] == -32602
    found = error["data"]["validation_errors"]
    assert {entry["field"] for entry in found} == fields
    assert all(entry.keys() == {"field", "error", "severity"} for entry in found)
    assert all(entry["error"] and entry["severity"] == "error" for entry in found)
    assert "hunter2" not in str(error)


@pytest.mark.requirement("mcp.tools.validate")
@pytest.mark.parametrize("revision", [r for r in wire.REVISIONS if r not in REJECTED])
@pytest.mark.parametrize(("tool", "arguments", "fields"), BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS)
def test_a_newer_revision_fails_the_call_and_names_every_bad_field(
    tool: str, arguments: dict[str, Any], fields: set[str], revision: str
) -> None:
    result = Peer(server, revision).call(tool, **arguments)["result"]
    assert result["isError"] is True
    text = result["content"][0]["text"]
    assert text.startswith("Error executing tool: ")
    assert all(f"{field} " in text for field in fields)
    assert "hunter2" not in text


@every_revision
def test_unknown_arguments_are_ignored_with_a_warning(revision: str) -> None:
    result = Peer(server, revision).call("add", a=2, b=3, colour="red", size=5)["result"]
    (block,) = result["content"]
    assert "isError" not in result
    said = wire.decode(block["text"].encode())
    assert said == {"result": 5, **result["_meta"][META_KEY]}
    assert [notice["message"] for notice in said["warnings"]] == [
        "Unknown argument 'colour' was ignored",
        "Unknown argument 'size' was ignored",
    ]


@every_revision
def test_arguments_that_clients_add_are_ignored_without_one(revision: str) -> None:
    added = {"toolCallId": "call_1", "sessionId": 5, "action": "sendMessage", "chatInput": "hi"}
    peer = Peer(server, revision)
    assert peer.call("add", a=2, b=3, **added)["result"] == peer.call("add", a=2, b=3)["result"]


NUMBERS = {
    "400 digits": "7" * 400,
    "5,000 digits": "7" * 5_000,
    "past a double": "1e400",
    "a fraction": "1.5",
}


@every_revision
@pytest.mark.parametrize("tool", ["echo", "exact"])
@pytest.mark.parametrize("digits", NUMBERS.values(), ids=NUMBERS)
def test_a_number_of_any_size_gets_one_reply(digits: str, tool: str, revision: str) -> None:
    peer = Peer(server, revision)
    name = {"echo": "value", "exact": "a"}[tool]
    params = {"name": tool, "arguments": {name: "DIGITS"}}
    frame = json.dumps(peer.worded("tools/call", params, 1)).replace('"DIGITS"', digits)
    (reply,) = peer.send(frame.encode())
    assert reply["id"] == 1
