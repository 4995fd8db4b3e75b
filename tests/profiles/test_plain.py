"""`plain`: data as JSON text, a failure as `Error executing tool: <message> <remediation>`."""

import json
from typing import Any

import pytest

import wire
from accord import (
    Answer,
    Audio,
    Embedded,
    Encoded,
    FieldError,
    Image,
    Link,
    Notice,
    Page,
    Problem,
    Server,
)
from peer import Peer, request
from profiles.one_tool import (
    META,
    V1,
    V2,
    V3,
    V4,
    V5,
    each_revision,
    required,
    saying,
    sent,
    text,
)


def result(outcome: Any, revision: str, hint: Any = Any) -> Any:
    return Peer(saying(outcome, hint), revision).call("get")["result"]


# The messages of seed 000


NOT_FOUND = Problem.not_found("ViewSet returned error: {'detail': 'Not found.'}")


def customers() -> Server:
    server = Server("shop", version="1.0")

    @server.tool
    def customers_list() -> list[dict[str, Any]]:
        return [{"id": 1, "name": "Alice", "email": "alice@example.com"}]

    @server.tool
    def customers_retrieve(kwargs: dict[str, str]) -> dict[str, Any]:
        raise NOT_FOUND

    return server


def test_the_successful_call_of_the_seed() -> None:
    call = request("tools/call", {"name": "customers_list", "arguments": {}}, id=1)
    (reply,) = Peer(customers(), V1).send(call)
    assert isinstance(reply, dict)
    (block,) = reply["result"].pop("content")
    assert reply == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert block["type"] == "text"
    assert json.loads(block["text"]) == [{"id": 1, "name": "Alice", "email": "alice@example.com"}]


def test_the_failed_call_of_the_seed() -> None:
    arguments = {"kwargs": {"pk": "999999"}}
    call = request("tools/call", {"name": "customers_retrieve", "arguments": arguments}, id=2)
    assert Peer(customers(), V3).send(call) == [
        {
            "jsonrpc": "2.0",
            "id": 2,
            "result": {
                "content": [
                    text("Error executing tool: ViewSet returned error: {'detail': 'Not found.'}")
                ],
                "isError": True,
                "_meta": {META: {"problem": sent(NOT_FOUND)}},
            },
        }
    ]


# Success


@each_revision
def test_data_is_compact_json_and_nothing_else_is_added(revision: str) -> None:
    data: list[Any] = [{"name": "Zoë", "tags": [], "none": None}]
    structure: dict[str, Any] = {V1: {}, V2: {}, V5: {"structuredContent": data}}
    assert result(data, revision) == {
        "content": [text('[{"name":"Zoë","tags":[],"none":null}]')],
        **structure.get(revision, {"structuredContent": {"result": data}}),
        **required(revision),
    }


@each_revision
@pytest.mark.parametrize("words", ["5", '{"a": 1}', "", "two\nlines"])
def test_text_goes_in_raw_and_has_no_structure(words: str, revision: str) -> None:
    assert result(words, revision, str) == {"content": [text(words)], **required(revision)}


# Details

PAGE = Page(limit=2, total=7)
OLD = Notice("prices are from yesterday")
SLOW = Notice("slow", code="SLOW", severity="info")
OLD_SENT = '{"message":"prices are from yesterday"}'
SLOW_SENT = '{"message":"slow","code":"SLOW","severity":"info"}'
OWN = {"_accord": {"page": 5}, "a": 1}
DETAILS: dict[str, tuple[Any, Any, str]] = {
    # an answer, its hint, its text; the structure is equal
    "a list": (
        Answer([1], page=PAGE, warnings=[OLD, SLOW], partial=True, truncated=True),
        Any,
        f'{{"result":[1],"page":{{"limit":2,"total":7}},"warnings":[{OLD_SENT},{SLOW_SENT}],'
        '"partial":true,"truncated":true}',
    ),
    "a declared list": (
        Answer([1], page=PAGE),
        list[int],
        '{"result":[1],"page":{"limit":2,"total":7}}',
    ),
    "an empty list": (Answer([], page=PAGE), Any, '{"result":[],"page":{"limit":2,"total":7}}'),
    "a number": (Answer(5, truncated=True), int, '{"result":5,"truncated":true}'),
    "a string": (Answer("5", truncated=True), Any, '{"result":"5","truncated":true}'),
    "text": (Answer('{"a": 1}', truncated=True), str, r'{"result":"{\"a\": 1}","truncated":true}'),
    "no text": (Answer("", truncated=True), str, '{"result":"","truncated":true}'),
    "null": (Answer(None, warnings=[OLD]), Any, f'{{"result":null,"warnings":[{OLD_SENT}]}}'),
    "an object": (
        Answer({"a": [1]}, page=PAGE, warnings=[OLD]),
        Any,
        f'{{"a":[1],"_accord":{{"page":{{"limit":2,"total":7}},"warnings":[{OLD_SENT}]}}}}',
    ),
    "a declared object": (
        Answer({"a": 1}, truncated=True),
        dict[str, int],
        '{"a":1,"_accord":{"truncated":true}}',
    ),
    "one of several types": (
        Answer({"a": 1}, truncated=True),
        dict[str, int] | list[int],
        '{"a":1,"_accord":{"truncated":true}}',
    ),
    "an empty object": (Answer({}, truncated=True), Any, '{"_accord":{"truncated":true}}'),
    "an object that has this member": (
        Answer(OWN, truncated=True),
        Any,
        '{"_accord":{"truncated":true,"_accord":{"page":5}},"a":1}',
    ),
    "an object that has this member in escapes": (
        Answer(Encoded(b'{"\\u005faccord":1,"a":1}'), truncated=True),
        Any,
        '{"_accord":{"truncated":true,"_accord":1},"a":1}',
    ),
    "an object that has this member deeper": (
        Answer({"a": OWN}, truncated=True),
        Any,
        '{"a":{"_accord":{"page":5},"a":1},"_accord":{"truncated":true}}',
    ),
    "JSON with blanks": (
        Answer(Encoded(b' { "a" : 1 } \n'), truncated=True),
        Any,
        '{"a":1,"_accord":{"truncated":true}}',
    ),
    "checked JSON with blanks": (
        Answer(Encoded(b"{ } ", is_checked=True), truncated=True),
        Any,
        '{ "_accord":{"truncated":true}}',
    ),
}


@each_revision
@pytest.mark.parametrize(("answer", "hint", "words"), DETAILS.values(), ids=list(DETAILS))
def test_data_and_details_are_one_object_as_text_and_as_structure(
    answer: Any, hint: Any, words: str, revision: str
) -> None:
    said = result(answer, revision, hint)
    assert said["content"] == [text(words)]
    if revision in (V1, V2):
        assert "structuredContent" not in said
    else:
        assert json.dumps(said["structuredContent"]) == json.dumps(json.loads(words))
    details = said["_meta"][META]
    assert details.get("truncated", False) == answer.truncated
    assert "isError" not in said


def test_a_page_that_the_data_states_adds_nothing_to_it() -> None:
    data = {"count": 7, "next": None, "previous": None, "results": [1]}
    said = result(Answer(data, page=PAGE, page_in_data=True), V4)
    assert said["structuredContent"] == json.loads(said["content"][0]["text"]) == data
    assert said["_meta"] == {META: {"page": {"limit": 2, "total": 7}}}


def test_warnings_stand_beside_data_that_states_its_page() -> None:
    said = result(Answer({"next": None}, page=PAGE, page_in_data=True, warnings=[OLD]), V4)
    warnings = [{"message": "prices are from yesterday"}]
    assert said["structuredContent"] == {"next": None, "_accord": {"warnings": warnings}}


def test_free_members_of_meta_are_in_meta_alone() -> None:
    said = result(Answer([1], meta={"region": "eu"}), V4)
    assert said["content"] == [text("[1]")]
    assert said["_meta"] == {META: {"meta": {"region": "eu"}}}


def test_an_unknown_argument_is_a_warning() -> None:
    peer = Peer(saying(5), V4)
    said = peer.call("get", colour="red")["result"]
    warning = {"message": "Unknown argument 'colour' was ignored", "code": "UNKNOWN_ARGUMENT"}
    assert said["_meta"][META]["warnings"] == [warning]
    assert said["structuredContent"] == {"result": 5, "warnings": [warning]}


@each_revision
@pytest.mark.parametrize("name", ["toolCallId", "sessionId", "action", "chatInput"])
def test_an_argument_that_clients_add_changes_nothing(name: str, revision: str) -> None:
    peer = Peer(saying(5), revision)
    assert peer.call("get", **{name: "7"})["result"] == result(5, revision)


# Failure


@each_revision
@pytest.mark.parametrize("kind", ["validation", "not_found", "unavailable", "internal"])
def test_a_problem_is_shown_as_written(kind: str, revision: str) -> None:
    problem = getattr(Problem, kind)('No customer "7" in /srv/shop.db')
    assert result(problem, revision, int) == {
        "content": [text('Error executing tool: No customer "7" in /srv/shop.db')],
        "isError": True,
        **required(revision, {"problem": sent(problem)}),
    }


@each_revision
def test_a_failure_has_no_structure_and_the_whole_problem_in_meta(revision: str) -> None:
    problem = Problem.rate_limit(
        "Too fast",
        summary="Search failed",
        remediation="wait",
        retry_after=2.5,
        fields=[FieldError("q", "is too broad")],
    )
    assert result(problem, revision, int) == {
        "content": [text("Error executing tool: Too fast. Wait.")],
        "isError": True,
        **required(
            revision,
            {
                "problem": {
                    "kind": "rate_limit",
                    "code": "RATE_LIMITED",
                    "message": "Too fast",
                    "summary": "Search failed",
                    "fields": [{"field": "q", "error": "is too broad", "severity": "error"}],
                    "remediation": "wait",
                    "retryable": True,
                    "retry_after": 2.5,
                }
            },
        ),
    }


SENTENCES: dict[str, tuple[str, str | None, str]] = {
    # a message, a remediation, and the text of both
    "no remediation": ("No sword here", None, "No sword here"),
    "an empty one": ("No sword here", "", "No sword here"),
    "a blank one": ("No sword here\n", " \t\n", "No sword here\n"),
    "both without a full stop": (
        "No sword here",
        "try lantern or rope",
        "No sword here. Try lantern or rope.",
    ),
    "both sentences": ("No sword here.", "Try rope.", "No sword here. Try rope."),
    "other endings": ("No sword?", "look around!", "No sword? Look around!"),
    "a colon": ("Locked:", "wait…", "Locked: Wait…"),
    "a quote": ("No 'zoe'", "try 'ada'", "No 'zoe'. Try 'ada'."),
    "blanks around": ("No sword  \n", "  try rope \n", "No sword. Try rope."),
    "lines": ("No sword\nNo shield", "a\nb", "No sword\nNo shield. A\nb."),
    "a digit first": ("Too many", "5 at most", "Too many. 5 at most."),
    "no capital": ("Nein", "ßtop", "Nein. ßtop."),
    "an accent": ("Non", "écrivez", "Non. Écrivez."),
    "Chinese": ("没有剑。", "试试绳子！", "没有剑。 试试绳子！"),
    "Arabic": ("لا سيف", "جرب الحبل؟", "لا سيف. جرب الحبل؟"),
    "an emoji": ("No 🗡", "🪢", "No 🗡. 🪢."),
}


@pytest.mark.parametrize(
    ("message", "remediation", "words"), SENTENCES.values(), ids=list(SENTENCES)
)
def test_the_text_of_a_failure_is_the_message_and_then_the_remediation(
    message: str, remediation: str | None, words: str
) -> None:
    said = result(Problem.not_found(message, remediation=remediation), V4)
    assert said["content"] == [text(f"Error executing tool: {words}")]
    members = said["_meta"][META]["problem"]
    assert (members["message"], members.get("remediation")) == (message, remediation)


# Content beyond text

IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}
LINK = {"type": "resource_link", "uri": "shop://orders/7", "name": "order 7"}
FULL_LINK = {**LINK, "mimeType": "text/plain", "description": "One order."}
TEXT = {"type": "resource", "resource": {"uri": "shop://a", "text": "hi"}}
BLOB = {
    "type": "resource",
    "resource": {"uri": "shop://b", "blob": "aGk=", "mimeType": "application/pdf"},
}
AS_TEXT = text("[audio/wav, 2 bytes]")
URI = text("shop://orders/7")
BLOCKS: dict[str, tuple[Any, list[Any]]] = {
    # a block, and what the five revisions make of it
    "image": (Image(b"hi", "image/png"), [IMAGE] * 5),
    "audio": (Audio(b"hi", "audio/wav"), [AS_TEXT, AUDIO, AUDIO, AUDIO, AUDIO]),
    "link": (Link("shop://orders/7", "order 7"), [URI, URI, LINK, LINK, LINK]),
    "link with all it can say": (
        Link("shop://orders/7", "order 7", "text/plain", "One order."),
        [URI, URI, FULL_LINK, FULL_LINK, FULL_LINK],
    ),
    "embedded text": (Embedded("shop://a", "hi"), [TEXT] * 5),
    "embedded bytes": (Embedded("shop://b", b"hi", "application/pdf"), [BLOB] * 5),
}


@each_revision
@pytest.mark.parametrize(("block", "forms"), BLOCKS.values(), ids=list(BLOCKS))
def test_a_block_stands_beside_the_text_in_the_form_its_revision_has(
    block: Any, forms: list[Any], revision: str
) -> None:
    said = result(Answer(5, blocks=[block]), revision)
    assert said["content"] == [text("5"), forms[wire.REVISIONS.index(revision)]]


def test_blocks_come_in_their_order_after_data_and_details() -> None:
    blocks: list[Any] = [Image(b"hi", "image/png"), Link("shop://orders/7", "order 7")]
    said = result(Answer(5, blocks=blocks, warnings=["slow"]), V4)
    words = '{"result":5,"warnings":[{"message":"slow"}]}'
    assert said["content"] == [text(words), IMAGE, LINK]


def test_details_stand_before_blocks_without_data() -> None:
    said = result(Answer(None, blocks=[Image(b"hi", "image/png")], warnings=["slow"]), V4)
    words = '{"result":null,"warnings":[{"message":"slow"}]}'
    assert said["content"] == [text(words), IMAGE]
    assert said["structuredContent"] == json.loads(words)
