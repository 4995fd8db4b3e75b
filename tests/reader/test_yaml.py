"""Text in YAML is read as the value that it stands for; prose with labels stays prose."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.reader import read
from accord.reader.yaml import yaml_value

WRITTEN: dict[str, tuple[str, Any]] = {
    "flags": ("success: true\ndata: []\nnote: null\n", {"success": True, "data": [], "note": None}),
    "sequence under a name": (
        "data:\n- id: 1\n  tags:\n  - a\n  - b c\n- id: 2\n  tags: []\n",
        {"data": [{"id": 1, "tags": ["a", "b c"]}, {"id": 2, "tags": []}]},
    ),
    "indented sequence": ("items:\n  - 1\n  - -2.5\n  - x\n", {"items": [1, -2.5, "x"]}),
    "sequence alone": ("- id: 1\n  ok: true\n- id: 2\n  ok: false\n", [
        {"id": 1, "ok": True}, {"id": 2, "ok": False}]),
    "nested": (
        "---\nkind: Pod\nmetadata:\n  labels:\n    app: web\nspec: {}\n",
        {"kind": "Pod", "metadata": {"labels": {"app": "web"}}, "spec": {}},
    ),
    "quoted": ("a: 'it''s'\nb: \"x\\ty\"\nc: '12'\nd: ~\ne: true", {
        "a": "it's", "b": "x\ty", "c": "12", "d": None, "e": True}),
    "block text": ("ok: true\ntext: |\n  one\n  two\nfolded: >-\n  three\n  four\n", {
        "ok": True, "text": "one\ntwo", "folded": "three four"}),
    "a program": ("ok: true\ncode: |\n  def f():\n      return 1\n", {
        "ok": True, "code": "def f():\n    return 1"}),
    "lines of Windows": ("ok: true\r\nitems:\r\n- 1\r\n", {"ok": True, "items": [1]}),
    "a value that goes on": ("ok: true\nwords: one two\n  three\n", {
        "ok": True, "words": "one two three"}),
    "flow": ("ok: true\nids: [1, 2, x]\n", {"ok": True, "ids": [1, 2, "x"]}),
    "a colon in a value": ("ok: true\nnote: see: this\n", {"ok": True, "note": "see: this"}),
    "capitals": ("ITEM_TYPE: tag\n\nITEM_1:\n  id: a\n", {"ITEM_TYPE": "tag", "ITEM_1": {"id": "a"}}),
    "a time": ("ok: true\nat: 2026-11-15T21:57:51Z\n", {"ok": True, "at": "2026-11-15T21:57:51Z"}),
}  # fmt: skip

PROSE = {
    "labels": "name: Ada\nage: 36",
    "a sentence behind": "note: hello\nthis is prose: true\nand more of it",
    "words with blanks": "First name: Ada\nIs here: true",
    "the same twice": "ok: true\nok: false",
    "depths that do not fit": "a:\n    b: 1\n  c: 2\nd: true",
    "JSON": 'ok: true\ndata: {"a": 1}',
    "an anchor": "ok: true\na: &x 1",
    "a dash alone": "- one\n- two",
    "nothing": "",
}


@pytest.mark.parametrize(("text", "value"), WRITTEN.values(), ids=WRITTEN)
def test_yaml_is_what_it_stands_for(text: str, value: Any) -> None:
    assert yaml_value(text) == (True, value)


@pytest.mark.parametrize("text", PROSE.values(), ids=PROSE)
def test_words_with_colons_are_words(text: str) -> None:
    assert yaml_value(text)[0] is False


NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
WORDS = st.from_regex(r"[A-Za-z][A-Za-z ]{0,20}[A-Za-z]", fullmatch=True).filter(
    lambda words: words not in ("true", "false", "null")
)
LEAVES = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | WORDS
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


def written(value: Any, depth: int = 0) -> str:
    """A value in YAML, from the next line on if it is a block."""
    blanks = "  " * depth
    if value == [] or value == {}:
        return " []\n" if value == [] else " {}\n"
    if isinstance(value, dict):
        return "\n" + "".join(
            f"{blanks}{name}:{written(each, depth + 1)}" for name, each in value.items()
        )
    if isinstance(value, list):
        return "\n" + "".join(f"{blanks}-{written(each, depth + 1)}" for each in value)
    return f" {_said(value)}\n"


def _said(value: Any) -> str:
    return {"None": "null", "True": "true", "False": "false"}.get(str(value), str(value))


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4))
def test_what_is_written_is_read(value: dict[str, Any]) -> None:
    text = f"seen: true\n{written(value).lstrip()}" if "seen" not in value else "seen: true"
    expected = {"seen": True} | (value if "seen" not in value else {})
    assert yaml_value(text) == (True, expected)


@given(st.text(alphabet="ab:-# \n'\"[]{}|>&", max_size=60))
def test_anything_is_read_or_left(text: str) -> None:
    found, value = yaml_value(f"ok: true\n{text}")
    assert not found or isinstance(value, dict)


def test_a_reply_in_yaml_is_judged_as_if_it_were_json() -> None:
    failed = read("error: Task 'x' not found\nsuccess: false\nhints: []", "show_task").response
    assert (failed.response_type, failed.error and failed.error.message) == (
        "error",
        "Task 'x' not found",
    )
    listed = read("data:\n- id: 1\n- id: 2\nsuccess: true", "task_list").response
    assert (listed.response_type, listed.data) == ("list", [{"id": 1}, {"id": 2}])


def test_a_file_in_yaml_is_a_text() -> None:
    text = "version: 2\njobs:\n  - name: build\n"
    for tool, arguments in (("read_file", {"path": "ci.yml"}), ("shell", {"command": "cat x"})):
        assert read(text, tool, arguments).response.response_type == "single"
