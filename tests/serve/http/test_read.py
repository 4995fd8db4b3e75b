"""`POST /read`: anybody's reply in, the generic response and how we know it out."""

import asyncio
import json
import re
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from accord import Server
from cli.command import accord, assert_one_line_of_misuse, write
from http_peer import HttpPeer, HttpServer
from serve.http.talk import ERAS, limited
from serve.talk import ACCORD, ENVIRONMENT

CHANNELS = {"totalChannels": 9, "channels": [{"id": "1"}], "hasMore": True}
RESULT = {"content": [{"type": "text", "text": json.dumps(CHANNELS)}]}
MESSAGE = {"jsonrpc": "2.0", "id": 1, "result": RESULT}
JSON = "application/json"
DOCS = Path(__file__).parents[3] / "docs/reading.md"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: Any


def post(
    server: HttpServer, body: Any, *, path: str = "/read", method: str = "POST", **headers: str
) -> Answer:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"content-type": JSON} | {k.replace("_", "-"): v for k, v in headers.items()}
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request(method, path, body=raw, headers=given)
    response = connection.getresponse()
    said = {name.lower(): value for name, value in response.getheaders()}
    text = response.read()
    connection.close()
    return Answer(response.status, said, json.loads(text) if text else None)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """The reader alone."""
    command = [ACCORD, "serve", "reader", "--http", "127.0.0.1:0", "--grace", "0.2"]
    folder = tmp_path_factory.mktemp("empty")
    with HttpServer(command, cwd=folder, env=ENVIRONMENT) as running:
        yield running
    assert "Traceback" not in running.stderr


# What is said


@pytest.mark.parametrize(
    "reply",
    [MESSAGE, RESULT, CHANNELS, json.dumps(CHANNELS), [{"output": CHANNELS}]],
    ids=["a message", "a result", "a payload", "its text", "as n8n wraps it"],
)
def test_a_reply_is_answered_with_the_generic_response(reader: HttpServer, reply: Any) -> None:
    answer = post(reader, {"reply": reply, "tool": "list_channels", "arguments": {"limit": 1}})
    assert answer.status == 200
    assert answer.headers["content-type"] == JSON
    assert list(answer.body) == ["response", "origin", "confidence", "findings", "rules"]
    response = answer.body["response"]
    assert response["toolName"] == "list_channels"
    assert (response["responseType"], response["data"]) == ("list", [{"id": "1"}])
    assert response["pagination"]["hasMore"] is True


@pytest.mark.parametrize("reply", [MESSAGE, RESULT, CHANNELS])
def test_a_bare_reply_will_do(reader: HttpServer, reply: Any) -> None:
    response = post(reader, reply).body["response"]
    assert (response["toolName"], response["data"]) == ("unknown", [{"id": "1"}])


def test_a_payload_that_has_a_reply_among_others_is_one_itself(reader: HttpServer) -> None:
    payload = {"reply": "yes", "author": "ada"}
    assert post(reader, payload).body["response"]["data"] == payload


def test_null_is_as_good_as_left_out(reader: HttpServer) -> None:
    answer = post(reader, {"reply": RESULT, "tool": None, "arguments": None})
    assert answer.body["response"]["responseType"] == "list"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not JSON",
        b"\xff\x00",
        b'{"a": "\\ud800"}',
        b'{"reply": {"a": "\\ud800"}}',
        b'{"reply": NaN}',
        b"[" * 100_000,
        json.dumps({"reply": "x" * 1_000_000}).encode(),
    ],
    ids=["nothing", "text", "binary", "half", "half in reply", "NaN", "deep", "large"],
)
def test_bad_input_is_a_reading_too(reader: HttpServer, body: bytes) -> None:
    answer = post(reader, body)
    assert answer.status == 200
    assert answer.body["response"]["responseType"] == "single"


@pytest.mark.parametrize(
    ("asked", "word"),
    [({"tool": 5}, "tool"), ({"arguments": "{}"}, "arguments"), ({"arguments": []}, "arguments")],
)
def test_a_misshapen_question_is_refused_and_says_why(
    reader: HttpServer, asked: dict[str, Any], word: str
) -> None:
    answer = post(reader, {"reply": RESULT, **asked})
    assert answer.status == 400
    assert answer.body["error"]["message"].startswith(f"{word} is ")


def test_the_example_in_the_docs_is_what_it_says(reader: HttpServer) -> None:
    page = DOCS.read_text()
    asked = re.search(r"-d '(.*)'$", page, re.M)
    shown = re.search(r"```json\n(\{\n  \"response\".*?)```", page, re.S)
    assert asked is not None
    assert shown is not None
    assert post(reader, asked[1].encode()).body == json.loads(shown[1])


# Who is let in, and how much of it


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_it_is_for_post_alone(reader: HttpServer, method: str) -> None:
    answer = post(reader, b"", method=method)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://elsewhere.example"}, 403),
        ({"host": "elsewhere.example"}, 403),
        ({"content_type": "text/plain"}, 415),
        ({"accept": "text/html"}, 406),
        ({"origin": "http://localhost:5678", "accept": "*/*"}, 200),
    ],
)
def test_it_is_kept_like_mcp_itself(
    reader: HttpServer, headers: dict[str, str], status: int
) -> None:
    assert post(reader, RESULT, **headers).status == status


def test_a_reply_that_is_too_large_is_refused() -> None:
    with limited(max_request=1_000, reader=True) as server:
        assert post(server, {"reply": "x" * 2_000}).status == 413
        assert post(server, {"reply": "x" * 500}).status == 200


# Where it is


@pytest.mark.parametrize("revision", ERAS)
def test_the_reader_alone_is_an_mcp_server_without_tools(reader: HttpServer, revision: str) -> None:
    with HttpPeer(reader.port, revision) as peer:
        assert peer.ask("tools/list").message["result"]["tools"] == []
        assert peer.visit("GET", path="/health").status == 200


def test_it_is_beside_the_tools_of_a_server(server: HttpServer) -> None:
    assert post(server, RESULT).status == 200


def test_it_is_not_where_nobody_asked_for_it() -> None:
    with limited() as server:
        assert post(server, RESULT).status == 404


def test_an_app_has_it_when_told_to() -> None:
    async def ask(**settings: Any) -> int:
        sent: list[Any] = []
        app = Server("own").asgi(**settings)
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/read", "headers": headers}
        body = json.dumps(RESULT).encode()

        async def receive() -> Any:
            return {"type": "http.request", "body": body}

        async def send(message: Any) -> None:
            sent.append(message)

        await app(scope, receive, send)
        return int(sent[0]["status"])

    assert asyncio.run(ask()) == 404
    assert asyncio.run(ask(reader=True)) == 200


def test_the_reader_alone_needs_http(tmp_path: Path) -> None:
    assert_one_line_of_misuse(accord("serve", "reader", cwd=tmp_path), "--http")


def test_a_module_of_that_name_has_to_be_named_as_one(tmp_path: Path) -> None:
    source = "from accord import Server\nserver = Server('mine', version='1.0')\n"
    write(tmp_path, reader=source)
    assert accord("tools", "reader:server", cwd=tmp_path).out == "mine 1.0: 0 tools\n"
    assert_one_line_of_misuse(accord("tools", "reader", cwd=tmp_path), "has no tools")
