"""What the body of a tool may be: what the view takes over HTTP."""

from typing import Any

import pytest
from django.test import override_settings
from django.urls import include, path
from rest_framework import serializers, viewsets
from rest_framework.decorators import action
from rest_framework.permissions import AllowAny
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.views import APIView

from accord import Server
from accord.django import mcp_tool, project
from drf.mcp_clients import call, over_http
from storefront.models import Customer
from storefront.serializers import CustomerSerializer

OPEN = {"type": ["object", "array"], "items": {}}
BOB = {"name": "Bob", "email": "bob@example.com"}
EVE = {"name": "Eve", "email": "eve@example.com"}


class Reason(serializers.Serializer):
    reason = serializers.CharField()


class Customers(viewsets.ModelViewSet):
    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer
    permission_classes = [AllowAny]

    @action(detail=False, methods=["post"])
    def echo(self, request: Any) -> Response:
        return Response({"got": request.data})

    @action(detail=False, methods=["post"], serializer_class=Reason)
    def declared(self, request: Any) -> Response:
        return Response({"got": request.data})

    @action(detail=False, methods=["put"], serializer_class=CustomerSerializer)
    def repeated(self, request: Any) -> Response:
        return Response({"got": request.data})

    @mcp_tool(input_serializer=None)
    @action(detail=False, methods=["post"])
    def bare(self, request: Any) -> Response:
        return Response({"got": request.data})

    @mcp_tool(input_serializer=Reason)
    @action(detail=False, methods=["delete"])
    def purge(self, request: Any) -> Response:
        return Response({"got": request.data})

    @mcp_tool(input_serializer=Reason)
    def list(self, request: Any) -> Response:
        return Response({"got": request.data})


class ByAction(viewsets.GenericViewSet):
    """Chooses the serializer in code."""

    permission_classes = [AllowAny]

    def get_serializer_class(self) -> Any:
        return {"create": CustomerSerializer, "refund": Reason}.get(self.action, CustomerSerializer)

    def create(self, request: Any) -> Response:
        return Response({"got": request.data})

    @action(detail=False, methods=["post"])
    def refund(self, request: Any) -> Response:
        return Response({"got": request.data})

    @action(detail=False, methods=["post"])
    def touch(self, request: Any) -> Response:
        return Response({"got": request.data})


class Several(viewsets.ModelViewSet):
    """Creates one or several."""

    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer
    permission_classes = [AllowAny]

    def get_serializer(self, *args: Any, **kwargs: Any) -> Any:
        if isinstance(kwargs.get("data"), list):
            kwargs["many"] = True
        return super().get_serializer(*args, **kwargs)


class Plain(APIView):
    permission_classes = [AllowAny]

    def post(self, request: Any) -> Response:
        return Response({"got": request.data})


@pytest.fixture
def server() -> Any:
    router = SimpleRouter()
    router.register("customers", Customers, basename="customer")
    router.register("chosen", ByAction, basename="chosen")
    router.register("several", Several, basename="several")
    patterns = [path("", include(router.urls)), path("plain/", Plain.as_view())]
    with override_settings(ROOT_URLCONF=type("Urls", (), {"urlpatterns": patterns})):
        yield project.server()


def body_of(server: Server, tool: str) -> Any:
    return server.tools[tool].input_schema["properties"].get("body")


@pytest.mark.parametrize("tool", ["customers_echo", "chosen_touch", "plain_post"])
def test_an_action_without_a_serializer_of_its_own_has_an_open_body(
    server: Server, tool: str
) -> None:
    assert body_of(server, tool) == OPEN
    assert "required" not in server.tools[tool].input_schema


@pytest.mark.parametrize(
    ("tool", "required"),
    [
        ("customers_create", ["name", "email"]),
        ("customers_declared", ["reason"]),
        ("customers_repeated", ["name", "email"]),
        ("customers_purge", ["reason"]),
        ("customers_list", ["reason"]),
        ("chosen_create", ["name", "email"]),
        ("chosen_refund", ["reason"]),
    ],
)
def test_a_serializer_of_the_action_describes_its_body(
    server: Server, tool: str, required: list[str]
) -> None:
    assert body_of(server, tool)["required"] == required
    assert "body" in server.tools[tool].input_schema["required"]


def test_an_action_that_takes_no_body_has_none(server: Server) -> None:
    assert body_of(server, "customers_bare") is None
    given: list[Any] = [{}, {"body": {}}, {"body": None}]
    for arguments in given:
        assert call(server, "customers_bare", arguments)["data"] == {"got": {}}


BODIES: list[Any] = [{}, {"a": [1]}, [], [1, {"b": None}], [[]], "text", 7, 0.5, True]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("tool", ["customers_echo", "plain_post"])
def test_what_the_view_takes_over_http_the_tool_takes(server: Server, tool: str, body: Any) -> None:
    url = {"customers_echo": "/customers/echo/", "plain_post": "/plain/"}[tool]
    assert over_http("POST", url, body, {}).json() == {"got": body}
    assert call(server, tool, {"body": body})["data"] == {"got": body}


def test_no_body_and_null_are_an_empty_one(server: Server) -> None:
    for arguments in ({}, {"body": None}):
        assert call(server, "customers_echo", arguments)["data"] == {"got": {}}


def test_a_body_reaches_actions_of_every_method(server: Server) -> None:
    for tool in ("customers_purge", "customers_list"):
        assert call(server, tool, {"body": {"reason": "x"}})["data"] == {"got": {"reason": "x"}}


def test_a_view_that_takes_one_or_several_says_so(server: Server) -> None:
    schema = server.tools["several_create"].input_schema
    assert schema["required"] == ["body"]
    shared = {"$ref": "#/$defs/body"}
    assert schema["properties"]["body"] == {"anyOf": [shared, {"type": "array", "items": shared}]}
    assert schema["$defs"]["body"]["required"] == ["name", "email"]
    made = call(server, "several_create", {"body": [BOB, EVE]})["data"]["items"]
    assert [each["name"] for each in made] == ["Bob", "Eve"]
    failed = call(server, "several_create", {"body": [BOB | {"email": "x@y.zz"}, {}]})
    assert failed["meta"]["error"]["type"] == "validation"
