"""Forms: which types a person can be asked for, how each revision words them, and what comes back."""

import json
from dataclasses import dataclass, field
from datetime import date
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pytest

from accord import ContractError, Elicit, Elicited, ElicitURL, ListRoots, Message, Sample
from accord.model.content import Audio, Image
from accord.model.forms import InvalidContent, form_of
from accord.model.questions import digest
from accord.revisions import REVISIONS

OLD, TITLED = REVISIONS["2025-06-18"], REVISIONS["2026-07-28"]


class Colour(Enum):
    DARK_RED = "r"
    BLUE = "b"


class Number(IntEnum):
    ONE = 1


@dataclass
class Data:
    name: str
    colour: Colour = Colour.BLUE
    age: int | None = None
    tags: list[Literal["x", "y"]] = field(default_factory=list)


class Typed(TypedDict):
    yes: bool
    born: date


class Bounded(msgspec.Struct):
    mail: Annotated[str, msgspec.Meta(max_length=9, extra_json_schema={"format": "email"})]
    share: Annotated[float, msgspec.Meta(ge=0, le=1, title="Share")] = 0.5


RED_AND_BLUE = [{"const": "r", "title": "Dark Red"}, {"const": "b", "title": "Blue"}]
FORMS: dict[str, tuple[Any, dict[str, Any], list[str]]] = {
    "text": (str, {"value": {"type": "string"}}, ["value"]),
    "a number": (float, {"value": {"type": "number"}}, ["value"]),
    "yes or no": (bool, {"value": {"type": "boolean"}}, ["value"]),
    "a date": (date, {"value": {"type": "string", "format": "date"}}, ["value"]),
    "a choice": (Literal["b", "a"], {"value": {"type": "string", "enum": ["b", "a"]}}, ["value"]),
    "a titled choice": (Colour, {"value": {"type": "string", "oneOf": RED_AND_BLUE}}, ["value"]),
    "several": (
        list[Colour],
        {"value": {"type": "array", "items": {"anyOf": RED_AND_BLUE}}},
        ["value"],
    ),
    "a dataclass": (
        Data,
        {
            "name": {"type": "string"},
            "colour": {"type": "string", "oneOf": RED_AND_BLUE, "default": "b"},
            "age": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
        },
        ["name"],
    ),
    "a TypedDict": (
        Typed,
        {"yes": {"type": "boolean"}, "born": {"type": "string", "format": "date"}},
        ["born", "yes"],
    ),
    "bounds": (
        Bounded,
        {
            "mail": {"type": "string", "maxLength": 9, "format": "email"},
            "share": {
                "type": "number",
                "minimum": 0,
                "maximum": 1,
                "title": "Share",
                "default": 0.5,
            },
        },
        ["mail"],
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_type_is_a_form(name: str) -> None:
    asked, properties, required = FORMS[name]
    params = Elicit("?", asked).params(TITLED)
    assert params["message"] == "?"
    schema = params["requestedSchema"]
    assert (schema["type"], schema["properties"]) == ("object", properties)
    assert sorted(schema["required"]) == required


def test_names_of_choices_stand_in_a_list_where_a_revision_has_no_titles() -> None:
    schema = Elicit("?", Colour).params(OLD)["requestedSchema"]
    names = {"type": "string", "enum": ["r", "b"], "enumNames": ["Dark Red", "Blue"]}
    assert schema["properties"] == {"value": names}


def test_a_client_that_knows_no_several_choices_is_not_asked() -> None:
    capabilities: dict[str, Any] = {"elicitation": {}}
    assert Elicit("?", list[Colour]).lacks(capabilities, OLD) == {"elicitation": {"form": {}}}
    assert Elicit("?", list[Colour]).lacks(capabilities, TITLED) is None
    assert Elicit("?", Colour).lacks(capabilities, OLD) is None


class Nested(msgspec.Struct):
    inner: Data


@pytest.mark.parametrize(
    "asked",
    [Nested, list[str], list[int], dict[str, int], Any, Number, bytes | str, object],
    ids=str,
)
@pytest.mark.requirement("mcp.elicitation.flat")
def test_what_no_client_can_show_is_refused_when_it_is_written(asked: Any) -> None:
    with pytest.raises(ContractError):
        Elicit("?", asked)


READ: list[tuple[Any, bytes, Any]] = [
    (str, b'{"value": "x"}', "x"),
    (Colour, b'{"value": "r"}', Colour.DARK_RED),
    (list[Colour], b'{"value": ["r", "b"]}', [Colour.DARK_RED, Colour.BLUE]),
    (Data, b'{"name": "ada", "age": 3}', Data("ada", age=3)),
    (Typed, b'{"yes": true, "born": "1815-12-10"}', {"yes": True, "born": date(1815, 12, 10)}),
    ({"type": "object", "properties": {"a": {"type": "integer"}}}, b'{"a": 1}', {"a": 1}),
]


@pytest.mark.parametrize(("asked", "content", "data"), READ)
def test_what_was_filled_in_is_read(asked: Any, content: bytes, data: Any) -> None:
    answer = b'{"action": "accept", "content": %s}' % content
    assert Elicit("?", asked).read(answer) == Elicited("accept", data)


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_nobody_has_to_answer(action: str) -> None:
    said = Elicit("?", Data).read(b'{"action": "%s", "content": {}}' % action.encode())
    assert (said.action, said.accepted, said.data) == (action, False, None)


@pytest.mark.requirement("mcp.elicitation.validate")
@pytest.mark.parametrize(
    ("asked", "answer", "words"),
    [
        (Data, b'{"action": "accept"}', "name is required"),
        (Data, b'{"action": "accept", "content": {"name": 5}}', "name must be a string"),
        (Bounded, b'{"action": "accept", "content": {"mail": "0123456789"}}', "mail must have at"),
        (
            {"type": "object", "properties": {"a": {"type": "integer"}}},
            b'{"action": "accept", "content": {"a": "x"}}',
            "a must be an integer",
        ),
        (str, b'{"action": "perhaps"}', "wrong shape"),
        (str, b"5", "wrong shape"),
        (str, b"{}", "wrong shape"),
        (str, b'{"action": "accept", "content": 5}', "content"),
    ],
)
def test_what_does_not_fit_is_said_and_where(asked: Any, answer: bytes, words: str) -> None:
    with pytest.raises(InvalidContent, match=words):
        Elicit("?", asked).read(answer)


def test_a_question_is_known_by_what_it_says() -> None:
    digests = {
        digest(question, TITLED)
        for question in (
            Elicit("a", str),
            Elicit("b", str),
            Elicit("a", int),
            ElicitURL("a", "https://a"),
            ElicitURL("a", "https://b"),
            Sample("a"),
            Sample("a", max_tokens=2),
            Sample([Message("a", "assistant")]),
            ListRoots(),
        )
    }
    assert len(digests) == 9
    assert digest(Elicit("a", str), TITLED) == digest(Elicit("a", str), TITLED)


def test_a_page_has_an_id_where_the_revision_wants_one() -> None:
    visit = ElicitURL("Pay", "https://example.org")
    assert visit.params(TITLED) == {"mode": "url", "message": "Pay", "url": "https://example.org"}
    first, second = (visit.params(REVISIONS["2025-11-25"])["elicitationId"] for _ in range(2))
    assert first != second


ABLE: list[tuple[Any, dict[str, Any], bool]] = [
    (Elicit("?", str), {}, False),
    (Elicit("?", str), {"elicitation": {}}, True),
    (Elicit("?", str), {"elicitation": {"form": {}}}, True),
    (Elicit("?", str), {"elicitation": {"form": {}, "url": {}}}, True),
    (Elicit("?", str), {"elicitation": {"url": {}}}, False),
    (Elicit("?", str), {"elicitation": None}, False),
    (ElicitURL("?", "https://a"), {"elicitation": {}}, False),
    (ElicitURL("?", "https://a"), {"elicitation": {"url": {}}}, True),
    (Sample("?"), {"sampling": {}}, True),
    (Sample("?"), {"elicitation": {}}, False),
    (ListRoots(), {"roots": {"listChanged": True}}, True),
    (ListRoots(), {}, False),
]


@pytest.mark.requirement("mcp.elicitation.modes", "mcp.asking.capabilities")
@pytest.mark.parametrize(("question", "capabilities", "can"), ABLE)
def test_only_clients_that_say_they_can_are_asked(
    question: Any, capabilities: dict[str, Any], can: bool
) -> None:
    assert (question.lacks(capabilities, TITLED) is None) is can


def test_older_revisions_are_not_asked_what_they_do_not_have() -> None:
    everything: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}
    for date_, form, url in (("2025-03-26", False, False), ("2025-06-18", True, False)):
        revision = REVISIONS[date_]
        assert (Elicit("?", str).lacks(everything, revision) is None) is form
        assert (ElicitURL("?", "https://a").lacks(everything, revision) is None) is url


def test_what_a_model_said_is_its_text_and_more() -> None:
    answer = b'{"role": "assistant", "model": "m", "content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]}'
    said = Sample("?").read(answer)
    assert (said.text, said.model, len(said.content)) == ("a\nb", "m", 3)


def test_a_model_is_shown_what_its_revision_has_a_block_for() -> None:
    said = Sample([Image(b"x", "image/png"), Audio(b"x", "audio/wav")])
    kinds = [m["content"]["type"] for m in said.params(REVISIONS["2024-11-05"])["messages"]]
    assert kinds == ["image", "text"]


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(ContractError, match="a message is text"):
        Sample([5]).params(TITLED)  # type: ignore[list-item]


@pytest.mark.parametrize(
    "content",
    [
        {"n": "x"},
        {"n": [[[]]]},
        {"n": json.loads("[" * 300 + "]" * 300)},
        {**{f"x{n}": n for n in range(5_000)}, "n": "x"},
        {"n": 1, "many": ["a"] * 5_000 + ["c"]},
    ],
    ids=["plain", "nested", "too deep", "behind others", "at the end"],
)
def test_nothing_gets_past_a_schema(content: dict[str, Any]) -> None:
    choices = {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}
    asked = {"type": "object", "properties": {"n": {"type": "number"}, "many": choices}}
    with pytest.raises(InvalidContent):
        form_of(asked).read(json.dumps(content).encode())
    assert form_of(asked).read(b'{"n": 1, "other": []}') == {"n": 1, "other": []}


@pytest.mark.requirement("mcp.elicitation.valid-url")
@pytest.mark.parametrize(
    "url", ["", "x", "/pay", "example.org/pay", "https://", "https://a b", "a:\n"]
)
def test_a_page_has_a_url(url: str) -> None:
    with pytest.raises(ContractError, match="is not the URL of a page"):
        ElicitURL("Pay, please", url)
    assert ElicitURL("Pay, please", "https://example.org/pay?id=1").url
