"""What callers hold instead of JSON: objects, dumps in snake_case, exceptions, hostile values."""

import asyncio
import dataclasses
import datetime
import decimal
import enum
import itertools
import json
import math
import types
import uuid
from collections import OrderedDict, UserDict, deque, namedtuple
from collections.abc import Iterator, Mapping
from typing import Any
from unittest.mock import MagicMock, Mock

import msgspec
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord import (
    Answer,
    Client,
    Encoded,
    Image,
    MCPError,
    Notice,
    Page,
    Problem,
    Server,
    error_response,
    read,
    success_response,
)
from accord.reader import Reading
from laws import examples

TEXT = {"type": "text", "text": '[{"id": 1}]'}
NO = {"type": "text", "text": "no"}


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Row:
    id: int
    at: datetime.date = datetime.date(2026, 1, 2)


class Model(pydantic.BaseModel):
    id: int
    url: pydantic.AnyUrl = pydantic.AnyUrl("https://example.com/")
    left: Any = None


Pair = namedtuple("Pair", "a b")


class Raising:
    @property
    def content(self) -> Any:
        raise KeyError("content")

    def __getattr__(self, name: str) -> Any:
        raise OSError(name)

    def __str__(self) -> str:
        raise ValueError("no text")

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    def __hash__(self) -> int:
        return 1


class Untold(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class Lying(dict[Any, Any]):
    def items(self) -> Any:
        raise RuntimeError("changed")


@dataclasses.dataclass
class RaisingField:
    id: int

    @property
    def name(self) -> str:
        raise KeyError


class Endless:
    def __init__(self) -> None:
        self.inner = self


class Closed:
    def __getattribute__(self, name: str) -> Any:
        raise OSError(name)


class ClosedType(type):
    def __getattribute__(cls, name: str) -> Any:
        raise OSError(name)


class OfClosedType(metaclass=ClosedType):
    pass


class Growing:
    """An object whose dump has two more of its kind."""

    def model_dump(self, **_options: Any) -> Any:
        return {"left": Growing(), "right": Growing()}


class Unending(Mapping[str, int]):
    def __getitem__(self, name: str) -> int:
        return 1

    def __iter__(self) -> Iterator[str]:
        return map(str, itertools.count())

    def __len__(self) -> int:
        return 2


class UnendingList(list[int]):
    def __iter__(self) -> Iterator[int]:
        return itertools.count()


class Dumping:
    def model_dump(self, **_options: Any) -> Any:
        raise RecursionError


def looped() -> Any:
    loop: dict[str, Any] = {"items": []}
    loop["items"].append(loop)
    return loop


def tangled(size: int) -> Any:
    """Objects that all hold each other."""
    nodes: list[Any] = [{} for _ in range(size)]
    for node in nodes:
        node.update({str(number): each for number, each in enumerate(nodes)})
    return nodes[0]


def doubled(levels: int) -> Any:
    value: Any = types.SimpleNamespace(a=1)
    for _ in range(levels):
        value = (value, value)
    return value


HOSTILE: dict[str, Any] = {
    "a mock": Mock(),
    "a mock of any name": MagicMock(),
    "properties that raise": Raising(),
    "a list of them": [Raising(), {"a": Raising()}],
    "a structure with one": {"content": [NO], "structuredContent": {"text": Raising()}},
    "a structure with one, deep inside": {
        "content": [NO],
        "structuredContent": {"a": [{"b": 1}, {"b": Raising()}]},
    },
    "a mapping that raises": Lying(a=1),
    "a field that raises": RaisingField(1),
    "an object in itself": Endless(),
    "a dump of new objects without end": Growing(),
    "a mapping without end": Unending(),
    "a list without end": UnendingList([1]),
    "a structure with a list without end": {"structuredContent": {"a": UnendingList([1])}},
    "a dump that raises": Dumping(),
    "a list in itself": looped(),
    "objects that hold each other": tangled(12),
    "an object of millions of parts": doubled(60),
    "a number of many digits": {"n": 10**5_000},
    "a generator": (each for each in [1]),
    "a class": Row,
    "a function": looped,
    "a module": json,
    "an iterator": iter([1]),
    "names that JSON does not have": {None: 1, (1, 2): 2, Color.RED: 3, 1.5: 4},
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("reply", HOSTILE.values(), ids=list(HOSTILE))
@pytest.mark.parametrize("tool", [None, "list_things"])
def test_a_hostile_object_gives_a_reading_in_json(reply: Any, tool: str | None) -> None:
    reading = read(reply, tool)
    assert reading.raw is reply
    json.dumps(reading.response.to_dict(), allow_nan=False)
    json.dumps(reading.to_result("envelope"), allow_nan=False)


@pytest.mark.parametrize("is_inside", [False, True])
def test_an_object_that_raises_for_every_name_gives_a_reading(is_inside: bool) -> None:
    for value in (Closed(), OfClosedType, OfClosedType()):  # pytest would ask a parameter for names
        reading = read({"a": [value]} if is_inside else value)
        json.dumps(reading.response.to_dict(), allow_nan=False)


def test_the_text_of_an_object_has_no_address() -> None:
    assert read(Mock()).response.data == {"text": "<Mock>"}
    assert read(object()).response.data == {"text": "<object>"}


async def waiting() -> None:
    """A coroutine that is not awaited."""


def test_what_is_to_be_awaited_or_iterated_is_a_finding() -> None:
    coroutine = waiting()
    assert (
        "a coroutine is not a reply; await it, then read what it returns"
        in read(coroutine).findings
    )
    coroutine.close()
    generator = (each for each in [1, 2])
    assert any("a generator is not a reply" in finding for finding in read(generator).findings)
    assert next(generator) == 1


# Any Python value

ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=5)
    | st.binary(max_size=5)
    | st.datetimes()
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.decimals()
    | st.uuids()
    | st.none().map(lambda _: Raising())
    | st.sampled_from(
        [
            *(Color.RED, Row(1), object(), Mock(), math.inf, range(3)),
            *(Model(id=1, left={"a": None}), "\ud800", b"\xff"),
            *(bytearray(b"a"), memoryview(b"b"), Pair(1, {2}), Notice("w"), Encoded(b"{")),
            *(types.SimpleNamespace(a=b"1"), msgspec.Raw(b"[1]"), Ellipsis, NotImplemented),
        ]
    )
)
NAMES = (
    st.sampled_from(
        """content structuredContent structured_content isError is_error meta _meta type text status
        tool_call_id artifact data kind part_kind result items error code message raw_item output
        jsonrpc id success total return_value role responseType toolName""".split()
    )
    | st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.binary(max_size=3)
    | st.dates()
    | st.sampled_from([Color.RED, Pair(1, 2), "\ud800", 1j])
)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, max_size=3)
    return (
        lists
        | lists.map(tuple)
        | lists.map(deque)
        | st.frozensets(st.integers() | st.text(max_size=2), max_size=3)
        | st.dictionaries(NAMES, inner, max_size=4)
        | st.dictionaries(NAMES, inner, max_size=3).map(UserDict)
        | inner.map(Row)
        | inner.map(lambda each: types.SimpleNamespace(content=each))
    )


VALUES = st.recursive(ATOMS, containers, max_leaves=12)


@settings(max_examples=examples(1_000))
@given(VALUES, st.none() | st.sampled_from(["list_things", "send_message"]))
def test_the_response_to_any_python_value_is_plain_json(value: Any, tool: str | None) -> None:
    reading = read(value, tool)
    assert type(reading) is Reading
    text = json.dumps(reading.response.to_dict(), allow_nan=False)
    assert read(json.loads(text)).response.response_type == reading.response.response_type


PLAIN: list[tuple[Any, Any]] = [
    ({"a": (1, {2}), "b": b"hi"}, {"a": [1, [2]], "b": "aGk="}),
    ({"a": math.nan, "b": -math.inf}, {"a": None, "b": None}),
    ({2: "a", None: "b", True: "c"}, {"2": "a", "null": "b", "true": "c"}),
    (Row(7), {"id": 7, "at": "2026-01-02"}),
    ({"row": Row(7)}, {"row": {"id": 7, "at": "2026-01-02"}}),
    (Model(id=1), {"id": 1, "url": "https://example.com/", "left": None}),
    ({"model": Model(id=1, left=Row(2))}, None),
    (types.SimpleNamespace(a=Color.RED), {"a": "red"}),
    (UserDict(a=1), {"a": 1}),
    (OrderedDict(a=decimal.Decimal("1.50")), {"a": "1.50"}),
    ({"id": uuid.UUID(int=1)}, {"id": "00000000-0000-0000-0000-000000000001"}),
    ({"at": datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)}, {"at": "2026-01-02T00:00:00Z"}),
]


@pytest.mark.parametrize(("value", "data"), PLAIN, ids=repr)
def test_a_python_value_is_written_as_json_has_it(value: Any, data: Any) -> None:
    if data is None:
        data = {
            "model": {"id": 1, "url": "https://example.com/", "left": {"id": 2, "at": "2026-01-02"}}
        }
    assert read(value, "get").response.to_dict()["data"] == data


def test_numbers_of_numpy_are_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    reply = {"a": numpy.float64(1.5), "b": numpy.int32(2), "c": numpy.array([[1, 2]])}
    assert read(reply, "get").response.to_dict()["data"] == {"a": 1.5, "b": 2, "c": [[1, 2]]}


def test_json_keeps_what_it_says() -> None:
    value = {"a": [1, 2.5, None, True, "x", {"b": 10**30}], "ä": "\ud800"}
    assert read(value, "get").response.to_dict()["data"] == value


# Names


@pytest.mark.parametrize(
    "failure",
    [
        {"content": [NO], "is_error": True},
        {"content": [NO], "structured_content": None, "is_error": True, "meta": None},
        {"content": [], "structured_content": {"reason": "no"}, "is_error": True},
        {"content": [], "is_error": True},
        {"structured_content": {"reason": "no"}, "is_error": True},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [NO], "is_error": True}},
        {"meta": {"k": 1}, "content": [NO], "structuredContent": None, "isError": True},
    ],
    ids=str,
)
def test_a_dump_of_a_failure_is_a_failure(failure: dict[str, Any]) -> None:
    assert read(failure, "get").is_failure
    assert read(json.dumps(failure), "get").is_failure


@pytest.mark.parametrize(
    "payload",
    [
        {"is_error": True, "id": 1},
        {"is_error": False, "structured": {"a": 1}},
        {"meta": {"took": 3}, "id": 1},
        {"content": "x", "is_error": True},
        {"structured_content": {"a": 1}, "id": 7},
        {"result_type": "complete", "id": 7},
        {"content": [{"a": 1}], "meta": {"took": 3}},
    ],
    ids=str,
)
def test_a_payload_of_strangers_keeps_its_names(payload: dict[str, Any]) -> None:
    assert read(payload, "get_thing").value == payload


def test_a_member_meta_of_the_servers_own_is_kept() -> None:
    reading = read({"content": [TEXT], "meta": {"took": 3}}, "list")
    assert reading.response.metadata == {"meta": {"took": 3}}


def test_the_name_of_the_wire_wins_and_a_contradiction_is_told() -> None:
    reading = read({"content": [NO], "isError": True, "is_error": False}, "get")
    assert reading.is_failure
    assert "is_error contradicts isError; isError is used" in reading.findings
    same = {"content": [], "structuredContent": {"a": 1}, "structured_content": {"a": 1}}
    assert read(same, "get").findings == []


def test_blocks_have_the_names_of_the_wire() -> None:
    image = {"type": "image", "data": "aGk=", "mime_type": "image/png", "meta": None}
    link = {"type": "resource_link", "uri": "x://a", "name": "a", "mime_type": "a/b", "icons": None}
    inner = {"uri": "x://b", "mime_type": "application/json", "text": "[1]", "meta": {"k": 1}}
    resource = {"type": "resource", "resource": inner, "annotations": {"last_modified": "2026"}}
    reading = read({"content": [image, link, resource], "is_error": False}, "get")
    assert reading.response.to_dict()["metadata"]["attachments"] == [
        {"type": "image", "mimeType": "image/png", "bytes": 2},
        {"type": "resource_link", "uri": "x://a", "name": "a", "mimeType": "a/b"},
        {
            "type": "resource",
            "resource": {
                "uri": "x://b",
                "text": "[1]",
                "mimeType": "application/json",
                "_meta": {"k": 1},
            },
            "annotations": {"lastModified": "2026"},
        },
    ]


# Values of our own, and exceptions


def test_a_reading_is_returned_as_it_is_and_read_again_for_another_tool() -> None:
    reading = read([1, 2], "list_numbers")
    assert read(reading) is reading
    assert read(reading, "list_numbers") is reading
    assert read(reading, "send").response == read([1, 2], "send").response


def test_a_response_says_what_it_says() -> None:
    for reply in ({"content": [TEXT]}, {"content": [NO], "isError": True}, {"success": True}):
        response = read(reply, "send_thing").response
        assert read(response).response == response
        assert read(response.to_dict()).response == response


def test_an_answer_says_the_same_as_its_result() -> None:
    page, picture = Page(total=9, has_more=True, cursor="c"), Image(b"abc", "image/png")
    answer = Answer(
        [{"id": 1}], message="Found", page=page, warnings=["w"], blocks=[picture], partial=True
    )
    reading = read(answer, "list")
    assert (reading.value, reading.page, reading.is_partial) == ([{"id": 1}], page, True)
    assert reading.response.message == "Found"
    assert [each.message for each in reading.warnings] == ["w"]
    assert (reading.response.metadata or {})["attachments"][0]["bytes"] == 3
    assert read(Answer(Encoded(b'{"a": 1}')), "get").value == {"a": 1}
    assert read(Answer(text="only words"), "get").value == "only words"


def test_envelopes_are_read_by_their_shape() -> None:
    assert read(success_response([1, 2]), "list").response.data == [1, 2]
    assert read(error_response("no", code="X")).response.error is not None


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (Problem.not_found("No customer 7", remediation="list them"), "NOT_FOUND", "No customer 7"),
        (MCPError("get failed", -32602, "Unknown tool: x", {"a": 1}), -32602, "Unknown tool: x"),
        (ValueError("bad id"), "error", "bad id"),
        (LookupError('{"error": "bad id", "code": "E1"}'), "E1", "bad id"),
        (TimeoutError(), "error", "TimeoutError"),
        (ExceptionGroup("g", [ValueError("inner")]), "error", "inner"),
        (Untold("x"), "error", "<Untold>"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_an_exception_is_a_failure(error: Any, code: Any, message: str) -> None:
    found = read(error, "get").response.error
    assert found is not None
    assert (found.code, found.message) == (code, message)


def test_a_problem_keeps_its_kind_and_remediation() -> None:
    found = read(Problem.rate_limit("Later", retry_after=3), "get").response.error
    assert found is not None
    assert found.details["retry_after"] == 3  # type: ignore[index]
    assert found.details["type"] == "rate_limit"  # type: ignore[index]


def test_what_our_client_returns_is_read() -> None:
    server = Server("t", version="1")

    @server.tool(read_only=True)
    def rows() -> list[int]:
        return [1, 2]

    async def call() -> None:
        async with Client(server) as client:
            raw = await client.call_tool_raw("rows")
            reading = await client.call_tool("rows")
        assert read(raw, "rows").response == reading.response
        assert read(reading) is reading

    asyncio.run(call())


# Messages of frameworks, as plain data; tests/frameworks has the real ones

MESSAGES: list[tuple[Any, Any]] = [
    ({"role": "tool", "tool_call_id": "1", "content": "[1]"}, [1]),
    ({"type": "tool", "tool_call_id": "1", "name": "t", "content": [TEXT]}, [{"id": 1}]),
    ({"type": "function_call_output", "call_id": "1", "output": "[1]"}, [1]),
    (
        {
            "type": "function_call_output",
            "call_id": "1",
            "output": [{"type": "input_text", "text": "[1]"}],
        },
        [1],
    ),
    ({"type": "text", "text": "[1]"}, [1]),
    (([TEXT], None), [{"id": 1}]),
    (("two", {"structured_content": {"result": [2]}}), {"result": [2]}),
    ((1, 2), [1, 2]),
    (("a", "b"), ["a", "b"]),
]


@pytest.mark.parametrize(("reply", "value"), MESSAGES, ids=str)
def test_a_message_of_a_framework_says_what_the_tool_said(reply: Any, value: Any) -> None:
    assert read(reply, "list_things").value == value


def test_a_list_of_text_blocks_has_one_item_per_block_or_one_text() -> None:
    block = pydantic.create_model(
        "TextContent", type=(str, "text"), text=(str, ...), meta=(Any, None)
    )
    several = [block(text='{"id": 1}'), block(text='{"id": 2}')]
    assert read(several, "list").response.data == [{"id": 1}, {"id": 2}]
    assert read(tuple(several), "list").response.data == [{"id": 1}, {"id": 2}]
    assert read([block(text="sunny")], "get_weather").value == "sunny"
    assert read(block(text="sunny"), "get_weather").value == "sunny"


def test_an_iterator_of_blocks_is_not_consumed() -> None:
    blocks: Iterator[Any] = iter([TEXT])
    read(blocks)
    assert next(blocks) is TEXT
