"""The golden rule itself: what it lets pass, and what it finds."""

from typing import Any

import pytest

from golden.rule import differences

TEXT = {"content": [{"type": "text", "text": '{"a": [1, null]}'}]}
PROSE = {"content": [{"type": "text", "text": "Found 1 rows:\n[]"}]}

SAME: dict[str, tuple[Any, Any, list[str]]] = {
    "the same": ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, []),
    "another order": ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
    "JSON written otherwise": (TEXT, {"content": [{"type": "text", "text": '{"a":[1,null]}'}]}, []),
    "a further member that is allowed": ({"r": {}}, {"r": {"meta": 1}}, ["r.meta"]),
    "one in a list": ({"tools": [{}, {}]}, {"tools": [{"x": 1}, {}]}, ["tools[].x"]),
}
OTHER: dict[str, tuple[Any, Any, str]] = {
    "a value": ({"a": 1}, {"a": 2}, "a is 2, not 1"),
    "a type": ({"a": 1}, {"a": True}, "a is True, not 1"),
    "a member that is missing": ({"a": None}, {}, "a is missing"),
    "a further member": ({}, {"a": None}, "a is in no document"),
    "an item too few": ([1, 2], [1], " has 1 items, not 2"),
    "JSON in a text": (
        TEXT,
        {"content": [{"type": "text", "text": '{"a": [2, null]}'}]},
        "content[].text as JSON.a[] is 2, not 1",
    ),
    "prose that says the same otherwise": (
        PROSE,
        {"content": [{"type": "text", "text": "Found 1 row:\n[]"}]},
        "content[].text is 'Found 1 row:\\n[]', not 'Found 1 rows:\\n[]'",
    ),
}


@pytest.mark.parametrize(("shown", "sent", "further"), SAME.values(), ids=list(SAME))
def test_what_a_document_shows_passes(shown: Any, sent: Any, further: list[str]) -> None:
    assert list(differences(shown, sent, further)) == []


@pytest.mark.parametrize(("shown", "sent", "found"), OTHER.values(), ids=list(OTHER))
def test_what_differs_is_found_and_named(shown: Any, sent: Any, found: str) -> None:
    assert list(differences(shown, sent)) == [found]
