"""Servers whose answers are too large, and functions that read the parts of such an answer."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jsonschema_rs
import pytest

import wire
from accord import (
    Server,
)
from accord.profiles import PROFILES
from law import channels
from peer import Peer

V1, V2, V3, V4, V5 = wire.REVISIONS
META = "dev.accord-mcp/answer"
LIMIT = 2_048
LEAST = 1_024
MOST_PARTS = 500

each_profile = pytest.mark.parametrize("profile", PROFILES)
each_revision = pytest.mark.parametrize("revision", wire.REVISIONS)
each_way = pytest.mark.parametrize("way", ["cursor", "read_more"])


@dataclass(frozen=True)
class Part:
    """One result as a caller reads it: the data, and what stands beside it."""

    result: dict[str, Any]
    data: Any
    size: int
    beside: dict[str, Any]

    @property
    def page(self) -> dict[str, Any]:
        return dict(self.beside.get("page", {}))

    @property
    def cursor(self) -> str | None:
        return self.page.get("cursor")

    @property
    def warnings(self) -> list[str]:
        return [warning["message"] for warning in self.beside.get("warnings", [])]

    @property
    def is_truncated(self) -> bool:
        return bool(self.beside.get("truncated", False))


def largest_channel(result: dict[str, Any]) -> int:
    """The bytes of all text, or of the structure, whichever is larger."""
    text = sum(len(block.get("text", "").encode()) for block in result["content"])
    if "structuredContent" not in result:
        return text
    dumped = json.dumps(
        result["structuredContent"], ensure_ascii=False, separators=(",", ":")
    ).encode()
    return max(text, len(dumped))


def read(result: dict[str, Any], profile: str, *, is_text: bool = False) -> Part:
    """A successful result in a profile; all of its channels have to say the same."""
    assert "isError" not in result, result
    (whole,) = [block["text"] for block in result["content"] if block["type"] == "text"]
    beside = result.get("_meta", {}).get(META, {})
    if profile in ("envelope", "generic"):
        root = json.loads(whole)
        assert result.get("structuredContent", root) == root
        data = _of_envelope(root, beside) if profile == "envelope" else _of_generic(root, beside)
    else:
        data = _of_text(whole, beside, profile, is_text=is_text)
        _check_structure(result, data, beside, is_text=is_text)
        if profile == "bare":
            assert {n: each for n, each in result.items() if n not in OWN} == _root(data, beside)
    return Part(result, data, largest_channel(result), beside)


OWN = {"content", "structuredContent", "_meta", "resultType"}


def _of_text(text: str, beside: dict[str, Any], profile: str, *, is_text: bool) -> Any:
    if not beside:
        return text if is_text else json.loads(text)
    if profile != "prose":
        said = channels.with_details(json.loads(text))
        assert said == _said(said.data, beside)
        return said.data
    text, _, paragraph = text.rpartition("\n\n")
    assert channels.details_of_words(paragraph) == beside
    return text if is_text else json.loads(text)


def _said(data: Any, beside: dict[str, Any]) -> channels.Said:
    return channels.Said(
        data,
        beside.get("page"),
        beside.get("warnings"),
        beside.get("partial", False),
        beside.get("truncated", False),
    )


def _root(data: Any, beside: dict[str, Any]) -> dict[str, Any]:
    if isinstance(data, dict):
        return {**data, "_accord": beside} if beside else data
    return {"result": data, **beside}


def _check_structure(
    result: dict[str, Any], data: Any, beside: dict[str, Any], *, is_text: bool
) -> None:
    if "structuredContent" not in result:
        return
    structure = result["structuredContent"]
    if beside:
        assert channels.with_details(structure) == _said(data, beside)
    else:
        assert not is_text
        assert structure in (data, {"result": data})


def _of_envelope(root: dict[str, Any], beside: dict[str, Any]) -> Any:
    meta = root["meta"]
    assert meta.get("pagination", {}).get("cursor") == beside.get("page", {}).get("cursor")
    assert meta.get("truncated", False) == beside.get("truncated", False)
    assert meta.get("warnings", []) == [w["message"] for w in beside.get("warnings", [])]
    return root["data"][meta["wrapper"]] if meta.get("wrapper") else root["data"]


def _of_generic(root: dict[str, Any], beside: dict[str, Any]) -> Any:
    pagination, metadata = root.get("pagination", {}), root.get("metadata", {})
    has_number = isinstance(pagination.get("nextOffset"), int)
    cursor = pagination.get("cursor") if has_number else pagination.get("nextOffset")
    assert cursor == beside.get("page", {}).get("cursor")
    assert metadata.get("truncated", False) == beside.get("truncated", False)
    assert metadata.get("warnings", []) == beside.get("warnings", [])
    return root["data"][metadata["wrapper"]] if "wrapper" in metadata else root["data"]


class Failed(NamedTuple):
    """A failed call as a caller reads it."""

    message: str
    code: str | None
    size: int


def failed(reply: dict[str, Any], profile: str) -> Failed:
    if "error" in reply:
        assert profile == "bare"
        return Failed(
            reply["error"]["message"],
            None,
            len(json.dumps(reply["error"], ensure_ascii=False).encode()),
        )
    result = reply["result"]
    assert result["isError"] is True
    (words,) = [block["text"] for block in result["content"]]
    size = largest_channel(result)
    if profile == "envelope":
        root = json.loads(words)
        return Failed(root["error"], root["meta"]["error"]["code"], size)
    if profile == "generic":
        error = json.loads(words)["error"]
        return Failed(error["message"], error["code"], size)
    return Failed(words, None, size)


def of(function: Callable[..., Any], *, limit: int = LIMIT, **options: Any) -> Server:
    """A server whose one tool is read-only, unless it is said not to be."""
    tool_options = {"read_only": True} | options.pop("tool", {})
    server = Server("shop", version="1.0", max_bytes=limit, **options)
    server.tool(name="get", **tool_options)(function)
    return server


def saying(value: Any, hint: Any = Any, *, way: str = "cursor", **options: Any) -> Server:
    """A server whose tool `get` returns a value, and lets the rest be fetched in this way."""

    def takes_cursor(cursor: str | None = None):
        return value

    def takes_nothing():
        return value

    function = takes_cursor if way == "cursor" else takes_nothing
    function.__annotations__["return"] = hint
    return of(function, read_more=way == "read_more", **options)


def walk(
    peer: Peer, profile: str, *, way: str = "cursor", is_text: bool = False, **arguments: Any
) -> Iterator[Part]:
    """All parts of an answer, by following the cursors."""
    reply = peer.call("get", **arguments)
    for _ in range(MOST_PARTS):
        part = read(reply["result"], profile, is_text=is_text)
        yield part
        if part.cursor is None:
            return
        if way == "cursor":
            reply = peer.call("get", **arguments | {"cursor": part.cursor})
        else:
            reply = peer.call("read_more", cursor=part.cursor)
    raise AssertionError("there is no end to it")


def joined(values: Sequence[Any], whole: Any) -> Any:
    """Parts of one value put together: what each part has whole, and what they have between them."""
    first = values[0]
    if all(value == whole for value in values):
        return first
    if isinstance(first, dict):
        assert all(value.keys() == whole.keys() for value in values)
        return {name: joined([value[name] for value in values], whole[name]) for name in first}
    assert isinstance(first, list | str), values
    return [item for value in values for item in value] if type(first) is list else "".join(values)


def schema_of(peer: Peer, tool: str = "get") -> Any:
    tools = peer.ask("tools/list")["result"]["tools"]
    return next(entry.get("outputSchema") for entry in tools if entry["name"] == tool)


def assert_valid(part: Part, schema: Any) -> None:
    if schema is not None:
        jsonschema_rs.validator_for(schema).validate(part.result["structuredContent"])


def cursor_in(reply: dict[str, Any]) -> str:
    return str(reply["result"]["_meta"][META]["page"]["cursor"])


ROWS = [{"id": n, "name": f"Product {n} ☃", "tags": ["a", None], "price": n / 4} for n in range(90)]


def filler(length: int) -> str:
    return "x" * length


MANY = [f"item {n:04}" for n in range(1_000)]
