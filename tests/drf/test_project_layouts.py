"""Project layouts: overlapping URLs, mounts, middleware and permissions."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import pytest
from django.http import HttpResponse, JsonResponse
from django.test import override_settings
from django.urls import include, path, re_path
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework import serializers, viewsets
from rest_framework.filters import OrderingFilter
from rest_framework.permissions import AllowAny, BasePermission, IsAuthenticated
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.test import APIClient
from rest_framework.views import APIView

from accord.django import endpoint, project
from accord.sources.drf import SkippedWarning
from accord.sources.drf.fields import SchemaBuilder
from drf.mcp_clients import Client, ask, call, text_of
from drf.users import CREDENTIALS
from storefront.models import Customer
from storefront.serializers import CustomerSerializer

TENANT: ContextVar[str] = ContextVar("tenant", default="nobody's")


class Seen:
    """Values that middleware recorded, in order."""

    users: list[str] = []
    views: list[str] = []


@contextmanager
def serving(*patterns: Any, **more: Any) -> Iterator[None]:
    urls = type("Urls", (), {"urlpatterns": [*patterns, path("mcp/", endpoint())]})
    with override_settings(ROOT_URLCONF=urls, **more):
        yield


# Names


class Files(APIView):
    permission_classes = [AllowAny]

    def get(self, request: Any, **kwargs: Any) -> Response:
        return Response({"path": request.path, **kwargs})


def test_a_plain_view_is_named_by_its_url_and_the_parameters_at_its_end() -> None:
    patterns = [
        path("files/", Files.as_view()),
        path("files/<int:pk>/", Files.as_view()),
        path("rooms/<str:room>/files/", Files.as_view()),
        path("rooms/files/<str:key>/", Files.as_view()),
        path("<int:year>/", Files.as_view()),
    ]
    with serving(*patterns):
        tools = project.server().tools
        assert list(tools) == [
            *("files_get", "files_pk_get", "rooms_files_get", "rooms_files_key_get"),
            "year_get",
        ]
        answered = call(project.server(), "rooms_files_key_get", {"kwargs": {"key": "a"}})
    assert answered["data"] == {"path": "/rooms/files/a/", "key": "a"}


def test_one_view_at_urls_with_the_same_parameters_has_numbered_tools() -> None:
    patterns = [
        re_path(r"^files/(?P<key>[0-9]+)/$", Files.as_view()),
        re_path(r"^files/(?P<key>[a-z]+)/$", Files.as_view()),
    ]
    with serving(*patterns):
        server = project.server()
        assert list(server.tools) == ["files_key_get", "files_key_get_2"]
        good = call(server, "files_key_get_2", {"kwargs": {"key": "a"}})
        bad = call(server, "files_key_get_2", {"kwargs": {"key": "1"}})
    assert (good["success"], bad["success"]) == (True, False)


def test_a_url_with_and_without_a_slash_is_one_tool() -> None:
    patterns = [path("files/<int:pk>", Files.as_view()), path("files/<int:pk>/", Files.as_view())]
    with serving(*patterns):
        assert list(project.server().tools) == ["files_pk_get"]


class Others(Files):
    """At a URL of which another view is first."""


def test_a_view_shadowed_by_another_is_skipped() -> None:
    patterns = [
        path("files/<int:pk>/", Files.as_view()),
        path("files/<int:pk>/", Others.as_view()),
    ]
    wanted = r"test_project_layouts\.Others is skipped: /files/\{pk\}/ resolves to Files"
    with serving(*patterns), pytest.warns(SkippedWarning, match=wanted):
        assert list(project.server().tools) == ["files_pk_get"]


def test_a_router_mounted_twice_at_one_url_gives_its_tools_once() -> None:
    router = SimpleRouter()
    router.register("things", Things, basename="thing")
    with serving(path("", include(router.urls)), path("", include(router.urls))):
        assert list(project.server().tools) == ["things_list", "things_create", "things_retrieve"]


# What can be known of a view outside of a request


class Shy(viewsets.ReadOnlyModelViewSet):
    """A queryset that needs a request."""

    serializer_class: Any = CustomerSerializer
    filter_backends = [DjangoFilterBackend, OrderingFilter]
    filterset_fields = ["name"]
    ordering_fields = ["email"]

    def get_queryset(self) -> Any:
        return Customer.objects.filter(pk=self.request.user.employer_id)


class Bare(viewsets.GenericViewSet):
    """Generic, without a serializer."""

    def create(self, request: Any) -> Response:
        return Response(request.data)


def test_filters_are_known_without_a_queryset() -> None:
    with serving(of(Shy)):
        listed = project.server().tools["things_list"].input_schema["properties"]["query"]
    assert set(listed["properties"]) == {"name", "ordering"}


def test_a_generic_view_without_a_serializer_gives_no_warning() -> None:
    with serving(of(Bare)):
        schema = project.server().tools["things_create"].input_schema
    assert schema["properties"]["body"] == {"type": ["object", "array"], "items": {}}


class Nameless(Shy):
    serializer_class = None


class Titled(APIView):
    """No generic view, and has a serializer all the same."""

    serializer_class = CustomerSerializer

    def patch(self, request: Any) -> Response:
        return Response(request.data)


def test_filters_of_an_unknown_model_are_reported() -> None:
    wanted = "parameters of DjangoFilterBackend are unknown: LookupError: the model of its"
    with serving(of(Nameless)), pytest.warns(SkippedWarning, match=wanted):
        project.server()


def test_a_serializer_of_a_plain_view_describes_its_body() -> None:
    with serving(path("customers/", Titled.as_view())):
        schema = project.server().tools["customers_patch"].input_schema
    body = schema["properties"]["body"]
    assert set(body["properties"]) == {"name", "email"}
    assert "required" not in body


def test_an_output_schema_is_three_levels_deep() -> None:
    class Leaf(serializers.Serializer):
        name = serializers.CharField()

    class Twig(serializers.Serializer):
        leaf = Leaf()

    class Branch(serializers.Serializer):
        twig = Twig()

    class Tree(serializers.Serializer):
        branch = Branch()

    def leaf(side: Any) -> Any:
        schema = SchemaBuilder(side, lambda *_: None).object_schema(Tree())
        for name in ("branch", "twig", "leaf"):
            schema = schema["properties"][name]
        return schema

    assert leaf("in")["properties"] == {"name": {"type": "string", "minLength": 1}}
    assert leaf("out") == {"type": ["object", "null"]}


def test_a_path_converter_has_its_schema() -> None:
    with serving(path("rooms/<int:floor>/<uuid:key>/<slug:name>/", Files.as_view())):
        schema = project.server().tools["rooms_floor_key_name_get"].input_schema
    assert schema["properties"]["kwargs"]["properties"] == {
        "floor": {"type": ["integer", "string"]},
        "key": {"type": "string", "format": "uuid"},
        "name": {"type": ["string", "integer"]},
    }


# Permissions that go by more than the caller


class Members(BasePermission):
    """Lets in who is a member of what the URL, or what was sent, names."""

    def has_permission(self, request: Any, view: Any) -> bool:
        return "ours" in (view.kwargs.get("pk"), *list(request.data or {}))


class Things(viewsets.ViewSet):
    permission_classes: list[Any] = [Members]

    def list(self, request: Any) -> Response:
        return Response([TENANT.get(), request.path])

    def create(self, request: Any) -> Response:
        return Response(request.data)

    def retrieve(self, request: Any, pk: str) -> Response:
        if pk == "broken":
            raise LookupError(pk)
        return Response({"pk": pk, "tenant": TENANT.get()})


class OfMembers(Things):
    permission_classes = [IsAuthenticated, Members]


class Open(Things):
    permission_classes = [AllowAny]


def of(view: Any) -> Any:
    router = SimpleRouter()
    router.register("things", view, basename="thing")
    return path("api/", include(router.urls))


@pytest.mark.parametrize(
    ("view", "listed"),
    [(Things, ["things_create", "things_retrieve"]), (OfMembers, [])],
)
def test_a_permission_that_reads_arguments_hides_nothing(view: Any, listed: list[str]) -> None:
    with serving(of(view)):
        server = project.server()
        tools = [tool["name"] for tool in ask(server, "tools/list", {})["tools"]]
        assert tools == listed
        assert [tool["name"] for tool in Client().list_tools()] == listed
        theirs = call(server, "things_retrieve", {"kwargs": {"pk": "theirs"}})
        ours = call(server, "things_retrieve", {"kwargs": {"pk": "ours"}})
    assert theirs["success"] is False
    assert ours["success"] is (view is Things)


@pytest.mark.parametrize(
    "look",
    [
        lambda request, view: view.kwargs["pk"] == "ours",
        lambda request, view: "ours" in view.kwargs,
        lambda request, view: list(view.kwargs) == ["ours"],
        lambda request, view: len(view.kwargs) > 1,
        lambda request, view: bool(request.parser_context["kwargs"].get("pk")) and False,
    ],
    ids=["item", "in", "iter", "len", "get"],
)
def test_a_permission_may_read_arguments_in_any_way(look: Any) -> None:
    permission = type("Looks", (BasePermission,), {"has_permission": lambda _, r, v: look(r, v)})
    view = type("Looked", (Things,), {"permission_classes": [permission]})
    with serving(of(view)):
        listed = ask(project.server(), "tools/list", {})["tools"]
    assert "things_retrieve" in [tool["name"] for tool in listed]


# Middleware that goes by the URL, or keeps the request


def tenants(get_response: Any) -> Any:
    def middleware(request: Any) -> Any:
        token = TENANT.set("ada's" if request.path.startswith("/api/things/") else "nobody's")
        try:
            response = get_response(request)
        finally:
            TENANT.reset(token)
        Seen.users.append(str(getattr(request, "user", None)))
        return response

    return middleware


class Hooks:
    """A middleware that has every hook."""

    def __init__(self, get_response: Any) -> None:
        self._get_response = get_response

    def __call__(self, request: Any) -> Any:
        if request.path == "/api/things/closed/":
            return JsonResponse({"detail": "Closed."}, status=403)
        return self._get_response(request)

    def process_view(self, request: Any, view: Any, args: Any, kwargs: Any) -> Any:
        Seen.views.append(request.resolver_match.view_name)
        return HttpResponse(status=204) if kwargs.get("pk") == "empty" else None

    def process_exception(self, request: Any, error: Exception) -> Any:
        found = isinstance(error, LookupError)
        return JsonResponse({"detail": f"{error}?"}, status=409) if found else None

    def process_template_response(self, request: Any, response: Any) -> Any:
        response["X-Seen"] = "yes"
        return response


def unused(get_response: Any) -> Any:
    from django.core.exceptions import MiddlewareNotUsed

    raise MiddlewareNotUsed


class Later:
    """A middleware that is async, and nothing else."""

    sync_capable = False
    async_capable = True

    def __init__(self, get_response: Any) -> None:
        from asgiref.sync import markcoroutinefunction

        self._get_response = get_response
        markcoroutinefunction(self)

    async def __call__(self, request: Any) -> Any:
        return await self._get_response(request)


OWN = [f"{__name__}.{name}" for name in ("unused", "Hooks", "Later", "tenants")]


@pytest.fixture
def surrounded() -> Iterator[None]:
    from django.conf import settings

    Seen.users.clear()
    Seen.views.clear()
    with serving(of(Open), MIDDLEWARE=[*settings.MIDDLEWARE, *OWN]):
        yield


@pytest.mark.parametrize("key", ["1", "closed", "empty", "broken"])
def test_middleware_sees_the_url_of_the_view_that_is_called(surrounded: None, key: str) -> None:
    over_http = APIClient().get(f"/api/things/{key}/")
    result = Client().call_tool("things_retrieve", {"kwargs": {"pk": key}})
    assert result.get("isError", False) is (over_http.status_code >= 400)
    if over_http.status_code == 200:
        assert result["structuredContent"] == over_http.json() == {"pk": "1", "tenant": "ada's"}
    elif over_http.status_code != 204:
        wanted = f"Error executing tool: ViewSet returned error: {over_http.json()}"
        assert text_of(result) == wanted


@override_settings(FORCE_SCRIPT_NAME="/shop/")
def test_a_script_name_is_part_of_the_path() -> None:
    with serving(of(Open)):
        assert APIClient().get("/api/things/").json()[1] == "/shop/api/things/"
        assert call(project.server(), "things_list", {})["data"]["items"][1] == "/shop/api/things/"
        result = Client("/mcp/").call_tool("things_list")
    assert result["structuredContent"][1] == "/shop/api/things/"


def test_middleware_that_stores_the_request_sees_its_user(surrounded: None) -> None:
    client = Client(headers=CREDENTIALS["clerk"])
    client.call_tool("things_list")
    assert Seen.users[0] == "clerk"
    assert Seen.views[-1] == "thing-list"
