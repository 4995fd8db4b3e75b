"""Arguments as words: `item=rope count:=3`, read by the schema of the tool, beside JSON."""

import json
import re
from pathlib import Path
from shlex import quote
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.cli.arguments import arguments_of
from accord.errors import ContractError
from cli.command import ACCORD, EXAMPLES, accord, assert_one_line_of_misuse, write

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "item": {"type": "string"},
        "count": {"type": "integer"},
        "price": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "gift": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": ["array", "null"], "items": {"$ref": "#/$defs/Size"}},
        "where": {"$ref": "#/$defs/Where"},
        "either": {"type": ["integer", "string"]},
        "colour": {"enum": ["red", 5, None]},
        "free": {},
    },
    "$defs": {
        "Size": {"type": "integer"},
        "Where": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "floor": {"type": "integer"}},
            "additionalProperties": {"type": "number"},
        },
    },
}
READ: dict[str, dict[str, Any]] = {
    "item=rope count=3": {"item": "rope", "count": 3},
    "item=5": {"item": "5"},
    "item=": {"item": ""},
    "item=a=b:=c": {"item": "a=b:=c"},
    "item:=null": {"item": None},
    "count=-3": {"count": -3},
    "count:=3": {"count": 3},
    "price=2.50": {"price": 2.5},
    "price=3": {"price": 3},
    "price=null": {"price": None},
    "price=1e3": {"price": 1000.0},
    "gift=true": {"gift": True},
    "gift=No": {"gift": False},
    "tags=a": {"tags": ["a"]},
    "tags=a tags=b": {"tags": ["a", "b"]},
    "tags[]=a tags[]=b": {"tags": ["a", "b"]},
    'tags=["a","b"]': {"tags": ["a", "b"]},
    'tags:=["a","b"]': {"tags": ["a", "b"]},
    "sizes=1 sizes=2": {"sizes": [1, 2]},
    "where[city]=Oslo where[floor]=2": {"where": {"city": "Oslo", "floor": 2}},
    "where[7]=2.5": {"where": {"7": 2.5}},
    'where={"city":"Oslo"}': {"where": {"city": "Oslo"}},
    "either=5": {"either": "5"},
    "either:=5": {"either": 5},
    "colour=5": {"colour": 5},
    "colour=red": {"colour": "red"},
    "colour=null": {"colour": None},
    "colour=blue": {"colour": "blue"},
    "free=5": {"free": "5"},
    "other[a][b][]=1 other[a][b][]:=2": {"other": {"a": {"b": ["1", 2]}}},
    "lines[0][item]=rope lines[0][n]:=2 lines[1][item]=net": {
        "lines": [{"item": "rope", "n": 2}, {"item": "net"}]
    },
    r"a\=b=c": {"a=b": "c"},
    r"a\:=c": {"a:": "c"},
    r"a\[b\]=c": {"a[b]": "c"},
    r"a[b\]]=c": {"a": {"b]": "c"}},
    r"a\\=c": {"a\\": "c"},
    "größe=5": {"größe": "5"},
    '{"item":"rope"} count=3': {"item": "rope", "count": 3},
    '{"item":"rope"} item=net': {"item": "net"},
    '{"tags":["a"]} tags=b': {"tags": ["a", "b"]},
    "": {},
}
REFUSED: dict[str, str] = {
    "rope": "'rope' is not an argument; write NAME=rope with one of item, count",
    "=rope": "'=rope' is not an argument",
    "[0]=rope": "not a JSON object",
    "item[=rope": "is not an argument",
    "count=three": "count=three: count must be an integer",
    "count=1_000": "count must be an integer",
    "count=９": "count must be an integer",
    "price=nan": "price must be a number or null",
    "price=1e999": "price must be a number or null",
    "gift=maybe": "gift must be true or false",
    "sizes=big": "sizes[] must be an integer",
    "where=Oslo": "where must be a JSON object; or write where[KEY]=TEXT",
    "where[floor]=top": "where[floor] must be an integer",
    "count:=three": "the value is not JSON; for a text write count=three",
    "count:=": "the value is not JSON",
    "itm=rope": "there is no argument 'itm'; did you mean 'item'?",
    "item=a item=b": "item has a value already",
    "where[city]=a where:={}": "where has a value already",
    "where:={} where[city]=a": "where[city] has a value already",
    "free=a free[b]=c": "free[b] has a value already",
    "tags[3]=a": "[3] is not the next item, which is [0]",
    "free[99999999999999999999]=a": "is not the next item",
    "item=a {}": "a JSON object must come first",
    "{} {}": "a JSON object must come first",
}


@pytest.mark.parametrize("words", READ)
def test_words_are_read_by_the_schema(words: str) -> None:
    assert arguments_of(words.split(), SCHEMA) == READ[words]


@pytest.mark.parametrize("words", REFUSED)
def test_a_word_that_does_not_fit_is_named_with_what_to_write(words: str) -> None:
    with pytest.raises(ContractError, match=re.escape(REFUSED[words])):
        arguments_of(words.split(), SCHEMA)


def test_a_long_word_is_shortened_in_a_message() -> None:
    for word in ("count:=" + "[" * 100_000, "count=" + "x" * 100_000):
        with pytest.raises(ContractError) as error:
            arguments_of([word], SCHEMA)
        assert len(str(error.value)) < 200


def test_a_tool_that_takes_no_others_gets_no_others() -> None:
    with pytest.raises(ContractError, match="no argument 'xyz'; arguments: item"):
        arguments_of(["xyz=1"], {"properties": {"item": {}}, "additionalProperties": False})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.text(min_size=1).filter(lambda name: name.strip() and name[0] not in "-{ \t\r\n")


def escaped(name: str) -> str:
    return re.sub(r"([=:\[\]\\])", r"\\\1", name)


@given(st.dictionaries(NAMES, JSON, max_size=4))
def test_every_json_object_can_be_written_as_words(value: dict[str, Any]) -> None:
    words = [f"{escaped(name)}:={json.dumps(each)}" for name, each in value.items()]
    words = [word for word in words if word.lstrip()[:1] not in "{["]
    assert arguments_of(words) == {
        name: each for name, each in value.items() if escaped(name).lstrip()[:1] not in "{["
    }


@given(st.dictionaries(NAMES, st.text(), max_size=4))
def test_every_text_is_the_same_text_without_a_schema(value: dict[str, str]) -> None:
    words = [f"{escaped(name)}={each}" for name, each in value.items()]
    assert arguments_of(words) == value


@given(st.text().filter(lambda word: word != "-"), st.dictionaries(st.text(), JSON))
def test_no_word_and_no_schema_is_a_traceback(word: str, schema: dict[str, Any]) -> None:
    try:
        found = arguments_of([word], {"properties": schema, "$defs": schema})
    except ContractError:
        return
    json.dumps(found)


def test_references_without_end_are_followed_within_limits() -> None:
    loop = {"$ref": "#/$defs/a"}
    schema = {"properties": {"a": loop}, "$defs": {"a": {"anyOf": [loop, loop]}}}
    assert arguments_of(["a=5"], schema) == {"a": "5"}


# With a server

BAZAAR = '''
from typing import Any

from accord import Server

server = Server("bazaar", version="1.0")


@server.tool
def price(item: str, count: int = 1, tags: list[str] | None = None, gift: bool = False) -> Any:
    """Return what it was called with."""
    return [item, count, tags, gift]
'''
COMMAND = f"{quote(ACCORD)} serve bazaar"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("bazaar"), bazaar=BAZAAR)


@pytest.mark.parametrize("target", ["bazaar", COMMAND], ids=["local", "remote"])
def test_words_reach_local_and_remote_tools_as_the_types_that_they_expect(
    folder: Path, target: str
) -> None:
    words = ["item=007", "count=3", "tags=a", "tags=b", "gift=true"]
    done = accord("call", target, "price", *words, cwd=folder)
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == ["007", 3, ["a", "b"], True]


@pytest.mark.parametrize("target", ["bazaar", COMMAND], ids=["local", "remote"])
def test_misspelled_words_are_one_line_for_local_and_remote_tools(
    folder: Path, target: str
) -> None:
    for words, fragment in (
        (["prise", "item=a"], "there is no tool 'prise'; did you mean 'price'?"),
        (["price", "itm=a"], "there is no argument 'itm'; did you mean 'item'?"),
        (["price", "item=a", "count=x"], "count must be an integer"),
    ):
        assert_one_line_of_misuse(accord("call", target, *words, cwd=folder), fragment)


def test_json_on_standard_input_and_words_go_together() -> None:
    done = accord("call", "shop:server", "add", "-", "b=3", stdin=b'{"a": 2}')
    assert done == (0, "5\n", "")


def test_a_word_that_is_not_utf_8_is_one_line() -> None:
    assert_one_line_of_misuse(accord("call", "shop", "add", b"a=\xff", cwd=EXAMPLES), "UTF-8")
