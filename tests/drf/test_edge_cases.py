"""Edge cases of permissions, nested forms, path converters and responses."""

import json
from base64 import b64encode
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.test import override_settings
from django.urls import include, path, re_path, register_converter
from rest_framework import serializers, viewsets
from rest_framework.decorators import action
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import AllowAny, BasePermission, IsAdminUser, IsAuthenticated
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter

from accord import Server
from accord.django import project
from accord.sources.drf import SkippedWarning
from accord.sources.drf.fields import SchemaBuilder
from drf.mcp_clients import ask, call
from storefront.models import Customer, Item, Order


def serving(*patterns: Any) -> Any:
    return override_settings(ROOT_URLCONF=type("Urls", (), {"urlpatterns": list(patterns)}))


def raising(error: Exception) -> type[BasePermission]:
    class Odd(BasePermission):
        def has_permission(self, request: Any, view: Any) -> bool:
            raise error

    return Odd


class Things(viewsets.ViewSet):
    permission_classes: list[Any] = [AllowAny]

    def list(self, request: Any) -> Response:
        return Response([])


def guarded(**permissions: Any) -> Any:
    router = SimpleRouter()
    for name, permission in permissions.items():
        view = type(name, (Things,), {"permission_classes": [permission]})
        router.register(name, view, basename=name)
    return path("", include(router.urls))


def test_a_tool_is_listed_unless_its_view_denies_the_caller() -> None:
    patterns = guarded(
        refuses=raising(PermissionDenied()),
        finds_nothing=raising(Http404()),
        needs_more=raising(KeyError("pk")),
        members=IsAuthenticated,
    )
    with serving(patterns):
        listed = ask(project.server(), "tools/list", {})["tools"]
    assert [tool["name"] for tool in listed] == ["finds_nothing_list", "needs_more_list"]


def test_middleware_that_rejects_every_request_hides_nothing() -> None:
    middleware = [f"{__name__}.closed"]
    with serving(guarded(members=IsAuthenticated)), override_settings(MIDDLEWARE=middleware):
        server = project.server()
        assert len(ask(server, "tools/list", {})["tools"]) == 1
        refused = call(server, "members_list", {})
    assert refused["error"] == "ViewSet returned error: {'detail': 'Service unavailable.'}"
    assert refused["meta"]["error"]["type"] == "unavailable"


def closed(get_response: Any) -> Any:
    def middleware(request: Any) -> Any:
        from rest_framework.renderers import JSONRenderer

        response = Response({"detail": "Service unavailable."}, status=503)
        response.accepted_renderer = JSONRenderer()
        response.accepted_media_type, response.renderer_context = "application/json", {}
        return response.render()

    return middleware


def test_combined_permissions_are_described_as_an_expression() -> None:
    patterns = guarded(
        both=IsAuthenticated & IsAdminUser,
        either=IsAuthenticated | IsAdminUser,
        others=~IsAdminUser,
    )
    with serving(patterns):
        permissions = {each.tool.name: each.permissions for each in project.exposed_tools()}
    assert permissions == {
        "both_list": "(IsAuthenticated and IsAdminUser)",
        "either_list": "(IsAuthenticated or IsAdminUser)",
        "others_list": "not IsAdminUser",
    }


# Forms


class Line(serializers.Serializer):
    sku = serializers.CharField()
    count = serializers.IntegerField()


class Letter(serializers.Serializer):
    to = Line()
    lines = Line(many=True)
    scans = serializers.ListField(child=serializers.FileField())


class Letters(viewsets.GenericViewSet):
    serializer_class = Letter
    permission_classes = [AllowAny]
    parser_classes = [MultiPartParser]

    def create(self, request: Any) -> Response:
        letter = self.get_serializer(data=request.data)
        letter.is_valid(raise_exception=True)
        data = letter.validated_data
        return Response({**data, "scans": [scan.read().decode() for scan in data["scans"]]})


def test_nested_values_survive_a_form() -> None:
    router = SimpleRouter()
    router.register("letters", Letters, basename="letter")
    scans = [{"name": n, "content": b64encode(n.encode()).decode()} for n in ("a", "b")]
    lines = [{"sku": "A", "count": 1}, {"sku": "B", "count": 2}]
    with serving(path("", include(router.urls))):
        body = {"to": {"sku": "C", "count": 3}, "lines": lines, "scans": scans}
        envelope = call(project.server(), "letters_create", {"body": body})
    assert envelope["data"] == {"to": {"sku": "C", "count": 3}, "lines": lines, "scans": ["a", "b"]}


# Fields that are only read


class Read(serializers.ModelSerializer):
    customer = serializers.PrimaryKeyRelatedField(read_only=True)
    items = serializers.PrimaryKeyRelatedField(many=True, read_only=True)
    elsewhere = serializers.PrimaryKeyRelatedField(read_only=True, source="no.such.thing")
    number = serializers.UUIDField(format="int", read_only=True)
    short = serializers.UUIDField(format="hex", read_only=True)
    typed = serializers.PrimaryKeyRelatedField(
        queryset=Customer.objects.all(), pk_field=serializers.UUIDField()
    )
    name = serializers.SlugRelatedField("customer__name", read_only=True)

    class Meta:
        model = Order
        fields = ["customer", "items", "elsewhere", "number", "short", "typed", "name"]


def test_read_only_relations_have_the_type_of_their_model() -> None:
    properties = SchemaBuilder("out", lambda *_: None).object_schema(Read())["properties"]
    assert properties["customer"] == {"type": "integer"}
    assert properties["items"]["items"] == {"type": ["integer", "null"]}
    assert properties["elsewhere"] == {}
    assert properties["number"] == {"type": ["integer", "null"]}
    assert properties["short"] == {"type": ["string", "null"]}
    assert properties["typed"]["format"] == "uuid"
    assert properties["name"] == {}
    assert Item._meta.pk is not None


# URLs


class Year:
    regex = "[0-9]{4}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return f"{value:04d}"


register_converter(Year, "yyyy")


class Years(Things):
    def list(self, request: Any, year: int = 0) -> Response:
        return Response({"year": year})


def test_a_converter_that_needs_its_own_type_gets_text() -> None:
    with serving(path("years/<yyyy:year>/", Years.as_view({"get": "list"}))):
        server = project.server()
        for year in (7, "0007"):
            assert call(server, "years_list", {"kwargs": {"year": year}})["data"] == {"year": 7}
        missed = call(server, "years_list", {"kwargs": {"year": "7"}})
        assert missed["meta"]["error"]["type"] == "not_found"


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"^a|b/$", "its URL has alternatives"),
        (r"^x/([a-z]+)/$", "its URL has unnamed groups"),
    ],
)
def test_a_url_that_cannot_be_built_is_skipped(pattern: str, reason: str) -> None:
    with (
        serving(re_path(pattern, Things.as_view({"get": "list"}))),
        pytest.warns(SkippedWarning, match=f"Things is skipped: {reason}"),
    ):
        assert project.server().tools == {}


# Responses


class Odd(viewsets.ViewSet):
    permission_classes = [AllowAny]

    @action(detail=False)
    def latin(self, request: Any) -> HttpResponse:
        return HttpResponse(b"\xff\xfe", content_type="text/plain; charset=utf-8")

    @action(detail=False)
    def broken(self, request: Any) -> HttpResponse:
        return HttpResponse(b"{", content_type="application/json", status=400)

    @action(detail=False)
    def listed(self, request: Any) -> HttpResponse:
        raise serializers.ValidationError(["no", "never"])

    @action(detail=False)
    def dated(self, request: Any) -> HttpResponse:
        later = {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}
        return Response({"detail": "Later"}, status=503, headers=later)


@pytest.fixture
def odd() -> Any:
    router = SimpleRouter()
    router.register("odd", Odd, basename="odd")
    with serving(path("", include(router.urls))):
        yield project.server()


def test_unusual_responses_are_passed_on(odd: Server) -> None:
    result = ask(odd, "tools/call", {"name": "odd_latin", "arguments": {}})
    assert [block["type"] for block in result["content"]][-1] == "resource"
    broken = call(odd, "odd_broken", {})
    assert broken["error"] == "ViewSet returned error: {'detail': 'Bad request.'}"
    listed = call(odd, "odd_listed", {})["meta"]["error"]["fields"]
    assert [(each["field"], each["error"]) for each in listed] == [
        ("query", "no"),
        ("query", "never"),
    ]
    assert "retry_after" not in call(odd, "odd_dated", {})["meta"]["error"]
    assert json.dumps(broken)
