"""Values: what JSON can hold goes out; what it cannot is our own fault, and the log says where."""

import base64
import json
import logging
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from accord import Answer, ContractError, Encoded, Server, error_response, render, success_response
from accord.model.values import require_json
from accord.profiles import PROFILES
from peer import Peer

V1, V2, V3, V4, V5 = wire.REVISIONS
each_profile = pytest.mark.parametrize("profile", PROFILES)


class Point(msgspec.Struct):
    x: Any
    y: Any = None


@dataclass
class Line:
    start: Any
    end: Any = None


class Pair(NamedTuple):
    first: Any
    second: Any = None


class Colour(Enum):
    RED = "red"


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


# require_json


FINE: dict[str, Any] = {
    "null": None,
    "booleans": [True, False],
    "numbers": [0, -1, 2**70, 0.5, -0.0, 1e308],
    "text": ["", "é", "\0"],
    "objects": {"a": {"b": []}, 1: 2},
    "a tuple": (1, (2,)),
    "a named tuple": Pair(1, "x"),
    "a struct": Point(1, [Point(2)]),
    "a dataclass": Line(1, {"a": Line(2)}),
    "a date": date(2026, 1, 1),
    "a decimal": Decimal("1.5"),
    "an id": UUID(int=7),
    "an enum": Colour.RED,
    "the same list twice": [[1]] * 2,
    "a hundred levels": nested(99),
}


@pytest.mark.parametrize("value", FINE.values(), ids=FINE)
@pytest.mark.parametrize("is_declared", [False, True])
def test_what_json_can_hold_is_fine(value: Any, is_declared: bool) -> None:
    require_json(value, "it", is_declared=is_declared)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)  # fmt: skip


@given(json_values)
def test_every_json_value_is_fine(value: Any) -> None:
    require_json(value, "it")


STRANGE: dict[str, tuple[Any, str]] = {
    "a set": ({1}, "set, which JSON does not have"),
    "a frozenset": ([frozenset()], "frozenset, which JSON does not have at [0]"),
    "bytes": ({"a": b"x"}, "bytes, which JSON does not have at ['a']"),
    "a bytearray": (bytearray(b"x"), "bytearray, which JSON does not have"),
    "a memoryview": ([memoryview(b"x")], "memoryview, which JSON does not have at [0]"),
    "in a tuple": ((1, {2}), "set, which JSON does not have at [1]"),
    "in a named tuple": (Pair(1, {2}), "set, which JSON does not have at [1]"),
    "in a struct": (Point(1, {2}), "set, which JSON does not have at ['y']"),
    "in a dataclass": ([Line({2})], "set, which JSON does not have at [0]['start']"),
    "deep down": (
        {"rows": [{}, {"tags": [[b""]]}]},
        "bytes, which JSON does not have at ['rows'][1]['tags'][0][0]",
    ),
}
NEVER: dict[str, tuple[Any, str]] = {
    "NaN": (math.nan, "a float that JSON does not have"),
    "infinity": ([math.inf], "a float that JSON does not have at [0]"),
    "minus infinity": ({"a": (0, -math.inf)}, "a float that JSON does not have at ['a'][1]"),
    "NaN in a struct": (Point(math.nan), "a float that JSON does not have at ['x']"),
    "NaN in a dataclass": (Line(0, [math.nan]), "a float that JSON does not have at ['end'][0]"),
}


@pytest.mark.parametrize(("value", "reason"), (STRANGE | NEVER).values(), ids=STRANGE | NEVER)
def test_what_json_does_not_have_is_refused_with_its_place(value: Any, reason: str) -> None:
    with pytest.raises(ContractError) as caught:
        require_json(value, "the result of get")
    assert str(caught.value) == f"the result of get holds {reason}"


@pytest.mark.parametrize("value", [value for value, _ in STRANGE.values()], ids=STRANGE)
def test_where_it_is_declared_sets_and_bytes_are_fine(value: Any) -> None:
    require_json(value, "it", is_declared=True)


@pytest.mark.parametrize(
    "value",
    [*(value for value, _ in NEVER.values()), {1.5, math.nan}],
    ids=[*NEVER, "NaN in a set"],
)
def test_no_declaration_makes_these_fine(value: Any) -> None:
    with pytest.raises(ContractError, match=r"^it holds "):
        require_json(value, "it", is_declared=True)


BAD_NAMES: dict[str, Any] = {
    "bytes": {b"a": 1},
    "NaN": {math.nan: 1},
    "infinity": {"a": [{math.inf: 1}]},
    "one name twice": {1: "a", "1": "b"},
}


@pytest.mark.parametrize("value", BAD_NAMES.values(), ids=BAD_NAMES)
def test_names_that_json_does_not_have_are_refused_too(value: Any) -> None:
    with pytest.raises(ContractError, match=r"^it holds "):
        require_json(value, "it")


# What a tool returns


def returning(value: Any, hint: Any, profile: str = "plain") -> Server:
    def get():
        return value

    get.__annotations__["return"] = hint
    server = Server("shop", version="1.0", profile=profile)
    server.tool(read_only=True)(get)
    return server


def assert_masked(reply: dict[str, Any], profile: str) -> None:
    if "error" in reply:
        assert profile == "bare"
        assert reply["error"] == {"code": -32603, "message": "Internal error"}
        return
    assert reply["result"]["isError"] is True
    (block,) = reply["result"]["content"]
    match profile:
        case "plain" | "bare":
            assert block["text"] == "Error executing tool: Internal error"
        case "prose":
            assert block["text"] == "Error executing get: Internal error"
        case "envelope":
            assert json.loads(block["text"])["error"] == "Internal error"
        case "generic":
            assert json.loads(block["text"])["error"]["message"] == "Internal error"


def logged(caplog: pytest.LogCaptureFixture) -> str:
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("accord", logging.ERROR)
    if record.exc_info is not None:  # an error that has no place in the author's file
        assert record.getMessage() == "tool get failed"
        return str(record.exc_info[1])
    found = re.fullmatch(
        r"tool get failed: (.*) \(\S*test_values\.py:\d+\)", record.getMessage(), re.DOTALL
    )
    assert found is not None
    return found[1]


def lone_surrogate() -> Any:
    return {"text": "\ud800"}


UNSENDABLE: dict[str, tuple[Callable[[], Any], str]] = {
    "a set": (lambda: {"ids": {1, 2}}, "holds set, which JSON does not have at ['ids']"),
    "a frozenset": (lambda: [frozenset([1])], "holds frozenset, which JSON does not have at [0]"),
    "bytes": (lambda: {"a": [b"x"]}, "holds bytes, which JSON does not have at ['a'][0]"),
    "a bytearray": (lambda: {"a": bytearray(b"x")}, "holds bytearray"),
    "NaN": (lambda: {"mean": math.nan}, "holds a float that JSON does not have at ['mean']"),
    "infinity": (lambda: [1, math.inf], "holds a float that JSON does not have at [1]"),
    "an object": (lambda: {"a": [1, object()]}, "object, which JSON does not have at ['a'][1]"),
    "a generator": (
        lambda: {"a": (n for n in range(3))},
        "generator, which JSON does not have at ['a']",
    ),
    "a class": (lambda: [int], "type, which JSON does not have at [0]"),
    "an exception": (lambda: ValueError("x"), "ValueError, which JSON does not have"),
    "a lone surrogate": (lone_surrogate, "surrogates not allowed"),
    "broken JSON": (lambda: Encoded(b'{"a": '), "truncated"),
    "JSON with NaN": (lambda: Encoded(b"[NaN]"), "malformed"),
    "JSON that is no UTF-8": (lambda: Encoded(b'"\xff"'), "decode"),
}


@pytest.mark.parametrize(("make", "reason"), UNSENDABLE.values(), ids=UNSENDABLE)
@pytest.mark.parametrize(
    ("profile", "revision"),
    [("plain", V1), ("envelope", V4), ("bare", V1), ("bare", V5), ("prose", V3), ("generic", V5)],
)
def test_what_cannot_be_sent_is_masked_and_the_log_says_why(
    make: Callable[[], Any],
    reason: str,
    profile: str,
    revision: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert_masked(Peer(returning(make(), Any, profile), revision).call("get"), profile)
    assert reason in logged(caplog)


@pytest.mark.parametrize(("make", "reason"), UNSENDABLE.values(), ids=UNSENDABLE)
@pytest.mark.parametrize("hint", [Answer, Answer[Any]], ids=["Answer", "Answer[Any]"])
def test_nor_can_an_answer_hold_it(
    make: Callable[[], Any], reason: str, hint: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert_masked(Peer(returning(Answer(make()), hint), V4).call("get"), "plain")
    assert reason in logged(caplog)


@pytest.mark.parametrize("value", BAD_NAMES.values(), ids=BAD_NAMES)
def test_nor_can_the_names_in_an_object_be_anything(
    value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert_masked(Peer(returning(value, Any), V4).call("get"), "plain")
    assert "holds" in logged(caplog)


def test_an_object_of_no_known_kind_is_logged_with_its_place(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert_masked(Peer(returning({"a": [1, object()]}, Any), V4).call("get"), "plain")
    assert "['a'][1]" in logged(caplog)


LOOSELY: dict[str, tuple[Any, Any, str]] = {
    "dict[str, Any]": (dict[str, Any], {"a": {1}}, "set, which JSON does not have at ['a']"),
    "dict": (dict, {"a": {1}}, "set, which JSON does not have at ['a']"),
    "list": (list, [b""], "bytes, which JSON does not have at [0]"),
    "list[Any]": (list[Any], [[{1}]], "set, which JSON does not have at [0][0]"),
    "object with Any": (Point, Point(1, b"x"), "bytes, which JSON does not have at ['y']"),
    "list of such": (list[Line], [Line(1, {2})], "set, which JSON does not have at [0]['end']"),
    "or Any": (list[int] | dict[str, Any], {"a": {1}}, "set, which JSON does not have at ['a']"),
    "float": (float, math.nan, "a float that JSON does not have"),
    "float or null": (float | None, math.nan, "a float that JSON does not have"),
    "list[float]": (list[float], [0.5, math.inf], "a float that JSON does not have at [1]"),
    "set[float]": (set[float], {math.nan}, "a float that JSON does not have at [0]"),
    "dict[str, float | None]": (
        dict[str, float | None],
        {"a": None, "b": -math.inf},
        "a float that JSON does not have at ['b']",
    ),
}


@pytest.mark.parametrize(("hint", "value", "reason"), LOOSELY.values(), ids=LOOSELY)
def test_a_declaration_that_leaves_it_open_does_not_help(
    hint: Any, value: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert_masked(Peer(returning(value, hint), V4).call("get"), "plain")
    assert logged(caplog) == f"the result of get holds {reason}"


DECLARED: dict[str, tuple[Any, Any, Any]] = {
    "set[int]": (set[int], {1}, [1]),
    "frozenset[str]": (frozenset[str], frozenset("a"), ["a"]),
    "bytes": (bytes, b"\0\xff", base64.b64encode(b"\0\xff").decode()),
    "dict[str, set[int]]": (dict[str, set[int]], {"a": {1}}, {"a": [1]}),
    "list[bytes]": (list[bytes], [b"x"], ["eA=="]),
    "float | None": (float | None, None, None),
    "list[str | None]": (list[str | None], ["null", None], ["null", None]),
    "answer of a set": (Answer[set[int]], Answer({1}), [1]),
    "answer of bytes": (Answer[bytes], Answer(b"x"), "eA=="),
    "date": (date, date(2026, 1, 2), "2026-01-02"),
}


@pytest.mark.parametrize(("hint", "value", "expected"), DECLARED.values(), ids=DECLARED)
@pytest.mark.parametrize("revision", wire.REVISIONS)
def test_what_is_declared_goes_out_as_its_schema_says(
    hint: Any, value: Any, expected: Any, revision: str
) -> None:
    result = Peer(returning(value, hint), revision).call("get")["result"]
    assert json.loads(result["content"][0]["text"]) == expected
    if "structuredContent" in result:
        assert result["structuredContent"] in (expected, {"result": expected})


def test_a_call_that_was_masked_leaves_the_next_one_alone() -> None:
    values = iter([{1}, [2]])
    server = Server("shop")

    @server.tool
    def get() -> Any:
        return next(values)

    peer = Peer(server, V4)
    assert_masked(peer.call("get"), "plain")
    assert peer.call("get")["result"]["content"] == [{"type": "text", "text": "[2]"}]


@pytest.mark.parametrize("value", [{1}, b"x", math.nan], ids=["set", "bytes", "NaN"])
@pytest.mark.parametrize(
    "use",
    [
        lambda value: render({"a": value}),
        lambda value: success_response(a=value),
        lambda value: error_response("Bad", details={"a": value}),
    ],
    ids=["render", "success_response", "error_response"],
)  # fmt: skip
def test_without_a_server_it_is_a_contract_error(use: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(ContractError, match="holds"):
        use(value)
