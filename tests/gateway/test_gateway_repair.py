"""Repairs of replies that break the protocol (behaviour 18): by rule, and nothing is lost."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.gateway.repair import fits_schema, repair

pytestmark = pytest.mark.requirement("gateway.18.repairs")

TEXT = {"type": "text", "text": "hello"}
OBJECT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("given", "content", "change"),
    [
        ({"content": [TEXT]}, [TEXT], ()),
        ({"content": [TEXT], "isError": False}, [TEXT], ()),
        ({"content": []}, [], ()),
        ({"content": "hello"}, [TEXT], ("content: not an array",)),
        ({"content": TEXT}, [TEXT], ("content: not an array",)),
        ({"content": ["hello"]}, [TEXT], ("content: blocks of a wrong shape",)),
        ({"content": [{"text": "hello"}]}, [TEXT], ("content: blocks of a wrong shape",)),
        ("hello", [TEXT], ("result: not an object",)),
        (
            {"structuredContent": {"a": 1}},
            [{"type": "text", "text": '{"a":1}'}],
            ("content: missing",),
        ),
        ({"answer": 42}, [{"type": "text", "text": '{"answer":42}'}], ("content: missing",)),
        (
            {"content": [{"type": "image", "data": "eA=="}]},
            [{"type": "image", "data": "eA==", "mimeType": "image/png"}],
            ("content: blocks of a wrong shape",),
        ),
        (
            {"content": [{"type": "resource", "resource": {"uri": "a:b"}}]},
            [{"type": "text", "text": '{"type":"resource","resource":{"uri":"a:b"}}'}],
            ("content: blocks of a wrong shape",),
        ),
        ({"content": [TEXT], "_meta": 7}, [TEXT], ("_meta: not an object",)),
        ({"content": [TEXT], "structuredContent": None}, [TEXT], ("structuredContent: null",)),
    ],
)
def test_content_is_repaired(given: Any, content: Any, change: tuple[str, ...]) -> None:
    found = repair(given)
    assert found.members["content"] == content
    assert found.changed == change


@pytest.mark.parametrize(
    ("flag", "is_error"),
    [("true", True), ("false", False), (1, True), (0, False), (None, False), ("", False)],
)
def test_a_flag_of_another_type_is_read(flag: Any, is_error: bool) -> None:
    found = repair({"content": [TEXT], "isError": flag})
    assert found.members.get("isError", False) is is_error
    assert found.changed == ("isError: not a boolean",)


def test_a_missing_structure_comes_from_the_text() -> None:
    found = repair({"content": [{"type": "text", "text": '{"n": 3}'}]}, fits_schema(OBJECT))
    assert found.members["structuredContent"] == {"n": 3}
    assert found.changed == ("structuredContent: from the text",)
    assert "isError" not in found.members


def test_a_reply_that_breaks_its_own_schema_is_a_failure_with_all_its_content() -> None:
    found = repair({"content": [TEXT], "structuredContent": {"n": "x"}}, fits_schema(OBJECT))
    assert found.members["isError"] is True
    assert "structuredContent" not in found.members
    assert found.members["content"][1:] == [TEXT]
    assert "breaks its own output schema" in found.members["content"][0]["text"]


@pytest.mark.parametrize("schema", [None, True, {"type": "nonsense"}, {"$ref": "http://x/y"}])
def test_a_schema_that_cannot_be_used_checks_nothing(schema: Any) -> None:
    found = repair({"content": [TEXT], "structuredContent": {"n": "x"}}, fits_schema(schema))
    assert found.changed == ()


@given(json_values)
def test_any_result_becomes_a_valid_one(result: Any) -> None:
    found = repair(result).members
    assert isinstance(found["content"], list)
    for block in found["content"]:
        assert isinstance(block, dict)
        assert isinstance(block["type"], str)
        assert block["type"] != "text" or isinstance(block["text"], str)
    assert isinstance(found.get("isError", False), bool)
    assert isinstance(found.get("_meta", {}), dict)
    assert repair(found).changed == ()


@given(st.lists(json_values, max_size=3))
def test_every_text_of_the_content_is_still_there(blocks: list[Any]) -> None:
    found = json.dumps(repair({"content": blocks}).members["content"])
    for block in blocks:
        if isinstance(block, str):
            assert json.dumps(block)[1:-1] in found
