"""Hostile arguments, and views that misbehave."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http import StreamingHttpResponse
from django.test import override_settings
from django.urls import include, path
from django.utils import translation
from rest_framework import serializers, viewsets
from rest_framework.decorators import action
from rest_framework.parsers import JSONParser, MultiPartParser
from rest_framework.permissions import AllowAny
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.test import APIClient

from accord import Server
from accord.django import endpoint, project
from accord.sources.drf import responses
from drf.mcp_clients import Client, Sender, call, rolled_back, text_of
from drf.users import CREDENTIALS

CLERK = CREDENTIALS["clerk"]


def kind_of(request: Any) -> str:
    return str(request.content_type).partition(";")[0]


class Note(serializers.Serializer):
    """Looks like a file, and is none."""

    name = serializers.CharField()
    content = serializers.CharField()


class Letter(serializers.Serializer):
    note = Note(required=False)
    extra = serializers.JSONField(required=False)
    scan = serializers.FileField(required=False)
    scans = serializers.ListField(child=serializers.FileField(), required=False)


class Letters(viewsets.GenericViewSet):
    serializer_class = Letter
    permission_classes = [AllowAny]

    def create(self, request: Any) -> Response:
        letter = self.get_serializer(data=request.data)
        letter.is_valid(raise_exception=True)
        data = dict(letter.validated_data)
        files = [data.pop("scan", None), *data.pop("scans", [])]
        named = [[file.name, file.content_type, file.size] for file in files if file]
        return Response({**data, "files": named, "type": kind_of(request)})


class Notes(Letters):
    serializer_class = Note


class JsonLetters(Letters):
    parser_classes = [JSONParser]


class Loose(viewsets.ViewSet):
    """Accepts any body."""

    permission_classes = [AllowAny]
    parser_classes = [JSONParser, MultiPartParser]

    def create(self, request: Any) -> Response:
        return Response({"files": list(request.FILES), "type": kind_of(request)})


class Odd(viewsets.ViewSet):
    permission_classes = [AllowAny]

    @action(detail=False)
    def suspicious(self, request: Any) -> Response:
        raise SuspiciousOperation("the safe is behind the picture")

    @action(detail=False)
    def bad(self, request: Any) -> Response:
        raise BadRequest("the safe is behind the picture")

    @action(detail=False)
    def endless(self, request: Any) -> StreamingHttpResponse:
        def parts() -> Iterator[bytes]:
            while True:
                yield b"x" * 1_000

        return StreamingHttpResponse(parts(), content_type="text/plain")

    @action(detail=False)
    def later(self, request: Any) -> StreamingHttpResponse:
        async def parts() -> AsyncIterator[bytes]:
            yield b"[1,"
            yield b"2]"

        return StreamingHttpResponse(parts(), content_type="application/json")

    @action(detail=False)
    def headers(self, request: Any) -> Response:
        return Response(dict(request.headers))

    @action(detail=False)
    def language(self, request: Any) -> Response:
        before = translation.get_language()
        translation.activate("de")
        return Response([before, request.path])


def urls() -> Any:
    router = SimpleRouter()
    for name, view in (
        ("letters", Letters),
        ("notes", Notes),
        ("json-letters", JsonLetters),
        ("loose", Loose),
        ("odd", Odd),
    ):
        router.register(name, view, basename=name)
    return router.urls


@pytest.fixture
def server() -> Iterator[Server]:
    patterns = [path("", include(urls())), path("mcp/", endpoint())]
    with override_settings(ROOT_URLCONF=type("Urls", (), {"urlpatterns": patterns})):
        yield project.server()


# Parameters of a URL

KEYS: list[str | int] = [
    *(
        "..",
        "1/../1",
        "1%2F1",
        "%2e%2e",
        "1/",
        "/1",
        "//1",
        "",
        ".json",
        "1\n",
        "\n1",
        " 1",
        "1\x00",
    ),
    *("1?x=1", "?x=1", "#", "1;a=b", "1&a=b", "é", "１", "😀", "a" * 5_000, "-1", "1.0", "1e0"),
    *(10**30, -1, 0),
]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: repr(key)[:20])
def test_a_key_is_one_url_segment_whatever_it_contains(key: str | int) -> None:
    over_http = APIClient(headers=CLERK).get(f"/api/customers/{quote(str(key), safe='')}/")
    result = Client(headers=CLERK).call_tool("customers_retrieve", {"kwargs": {"pk": key}})
    assert result.get("isError", False) is (over_http.status_code >= 400)
    if over_http.status_code == 200:
        assert result["structuredContent"] == over_http.json()
    else:
        assert text_of(result).endswith("ViewSet returned error: {'detail': 'Not found.'}")


# Bodies


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "name",
    [10**25, -(10**20), 1e300, "\x00", {"name": "x", "content": "!!"}, nested(400), [None] * 2_000],
)
def test_odd_values_in_a_body_get_the_reply_of_the_api(name: Any) -> None:
    body = {"name": name, "email": "odd@example.com"}
    sent = json.dumps(body)
    client = APIClient(headers=CLERK)
    over_http = rolled_back(
        lambda: client.generic("POST", "/api/customers/", sent, "application/json")
    )
    arguments = {"body": body}
    result = rolled_back(lambda: Client(headers=CLERK).call_tool("customers_create", arguments))
    if over_http.status_code == 201:
        assert result["structuredContent"]["name"] == over_http.json()["name"]
    else:
        assert text_of(result).endswith(f"ViewSet returned error: {over_http.json()}")


def test_a_body_that_is_too_deep_is_rejected(server: Server) -> None:
    def send(levels: int) -> Any:
        try:
            return call(server, "loose_create", {"body": {"a": nested(levels)}})["error"]
        except RecursionError:  # in the test's own encoder
            return None

    said = {send(levels) for levels in range(200, 1_000, 100)} - {None}
    allowed = ("body has too many levels", "Invalid arguments for loose_create: arguments hold")
    assert all(words.startswith(allowed) for words in said)


NOTE = {"name": "a", "content": "b"}
FILE = {"name": "a.txt", "content": b64encode(b"hello").decode()}


@pytest.mark.parametrize(
    ("tool", "body", "answer"),
    [
        ("notes_create", NOTE, {**NOTE, "files": [], "type": "application/json"}),
        ("letters_create", {"note": NOTE, "extra": NOTE}, {"note": NOTE, "extra": NOTE}),
        ("letters_create", {"scan": FILE}, {"files": [["a.txt", "application/octet-stream", 5]]}),
        ("letters_create", {"scans": [FILE, FILE]}, {"type": "multipart/form-data"}),
        ("json_letters_create", {"note": FILE}, {"note": FILE, "type": "application/json"}),
        ("loose_create", {"any": FILE}, {"files": ["any"], "type": "multipart/form-data"}),
        ("loose_create", FILE, {"files": [], "type": "application/json"}),
    ],
)
def test_a_file_is_decoded_only_where_the_schema_has_one(
    server: Server, tool: str, body: Any, answer: dict[str, Any]
) -> None:
    data = call(server, tool, {"body": body})["data"]
    assert {name: data[name] for name in answer} == answer


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\boot.ini", "boot.ini"),
        ('a"; filename="b', "a%22; filename=%22b"),
        ("a\r\nContent-Type: text/html\r\n\r\n<b>", "b>"),
    ],
)
def test_the_name_of_a_file_is_escaped(server: Server, name: str, kept: str) -> None:
    scan = {**FILE, "name": name, "content_type": "text/plain\r\nX-Evil: 1"}
    data = call(server, "letters_create", {"body": {"scan": scan}})["data"]
    (sent,) = data["files"]
    assert "\n" not in sent[0]
    assert "/" not in sent[0]
    assert sent[0].endswith(kept)
    assert "\n" not in sent[1]


def test_invalid_base64_is_a_field_error(server: Server) -> None:
    scans = [FILE, {**FILE, "content": "!"}]
    said = call(server, "letters_create", {"body": {"scans": scans}})
    assert said["error"] == "body.scans.content must be Base64"


# Headers


def test_a_header_with_an_underscore_is_dropped(server: Server) -> None:
    sent = Sender({"X_Remote_User": "root", "X-Real": "yes"})
    headers = call(server, "odd_headers", {}, sent)["data"]
    assert "X-Remote-User" not in headers
    assert headers["X-Real"] == "yes"


# What views do


@pytest.mark.parametrize("tool", ["odd_suspicious", "odd_bad"])
@pytest.mark.parametrize("debug", [True, False])
def test_a_suspicious_operation_is_masked(server: Server, tool: str, debug: bool) -> None:
    with override_settings(DEBUG=debug):
        by_itself = call(server, tool, {})["error"]
        inside = text_of(Client().call_tool(tool))
    assert by_itself == "ViewSet returned error: {'detail': 'Bad request.'}"
    assert inside == f"Error executing tool: {by_itself}"


def test_an_endless_stream_is_closed_at_the_limit(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(responses, "_MAX_BYTES", 5_000)
    said = call(server, "odd_endless", {})
    assert said["error"] == "The view's response is larger than 5,000 bytes"


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous iterators")
def test_an_async_stream_is_read_too(server: Server) -> None:
    assert call(server, "odd_later", {})["data"] == {"items": [1, 2]}


def test_the_language_of_one_caller_is_not_that_of_the_next() -> None:
    patterns = i18n_patterns(path("", include(urls())))
    with override_settings(ROOT_URLCONF=type("Urls", (), {"urlpatterns": patterns})):
        server = project.server()
        for _ in range(2):
            said = call(server, "odd_language", {})["data"]["items"]
            assert said == ["en", "/en/odd/language/"]
