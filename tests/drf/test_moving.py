"""Projects of django-rest-framework-mcp work with another import."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core import checks
from django.test import override_settings
from django.urls import include, path, reverse
from rest_framework import viewsets
from rest_framework.authentication import SessionAuthentication, TokenAuthentication
from rest_framework.decorators import action
from rest_framework.permissions import AllowAny, IsAdminUser, IsAuthenticated
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter

from accord.django import endpoint, mcp_tool, mcp_viewset, project
from accord.django.settings import mcp_settings
from accord.django.test import MCPClient
from accord.django.views import MCPView
from accord.errors import ContractError
from accord.sources.drf import naming
from drf import moved_views
from drf.mcp_clients import Client, Sender, ask, call, text_of
from drf.users import CREDENTIALS, user
from storefront.models import Customer

BOB = {"name": "Bob", "email": "bob@example.com"}
UNKNOWN = "Authentication credentials were not provided."


@pytest.fixture(autouse=True)
def decorated(monkeypatch: pytest.MonkeyPatch) -> dict[type, None]:
    """The decorated viewsets: those of the README, without those of other tests."""
    own = {each: None for each in naming._decorated if each.__module__ == moved_views.__name__}
    monkeypatch.setattr(naming, "_decorated", own)
    return own


def urls(*patterns: Any, **settings: Any) -> Any:
    found = type("Urls", (), {"urlpatterns": list(patterns)})
    return override_settings(ROOT_URLCONF=found, **settings)


@pytest.fixture
def readme() -> Iterator[None]:
    """A project with the URLs of the README: none but the endpoint's."""
    with urls(path("mcp/", include("accord.django.urls"))):
        project.endpoints()["mcp/"].rebuild()
        yield


def theirs(**members: Any) -> Any:
    return override_settings(DJANGORESTFRAMEWORK_MCP=members)


def routed(**views: Any) -> Any:
    router = SimpleRouter()
    for name, view in views.items():
        router.register(name, view, basename=name)
    return path("api/", include(router.urls))


# The examples of the README


@pytest.mark.usefixtures("readme")
def test_decorated_viewsets_are_tools_without_a_url() -> None:
    names = {tool["name"] for tool in MCPClient(HTTP_AUTHORIZATION=CLERK).list_tools()["tools"]}
    actions = ("list", "retrieve", "create", "update", "partial_update", "destroy")
    for basename in ("customers", "members", "posts", "active"):
        assert {f"{basename}_{action}" for action in actions} <= names
    assert {"content_generate", "content_recent_posts", "get_customer_details"} <= names
    assert {"chosen_list", "named_list", "bulk_bulk_create"} <= names
    others = {"content_undecorated", "chosen_create", "chosen_banish", "named_retrieve"}
    assert not others & names
    assert reverse("mcp-endpoint") == "/mcp/"


CLERK = CREDENTIALS["clerk"]["Authorization"]
CALLS: list[tuple[str, Any, Any]] = [
    ("customers_list", {}, [{"id": 1, "name": "Alice", "email": "alice@example.com"}]),
    (
        "customers_retrieve",
        {"kwargs": {"pk": "1"}},
        {"id": 1, "name": "Alice", "email": "alice@example.com"},
    ),
    ("customers_destroy", {"kwargs": {"pk": "1"}}, None),
    ("content_generate", {"body": {"user_prompt": "hi"}}, {"llm_response": "HI"}),
    ("content_recent_posts", {}, [True]),
    (
        "get_customer_details",
        {"kwargs": {"pk": 1}},
        {"id": 1, "name": "Alice", "email": "alice@example.com"},
    ),
]


@pytest.mark.usefixtures("readme")
@pytest.mark.parametrize(("tool", "arguments", "data"), CALLS)
def test_a_tool_of_the_readme_can_be_called(tool: str, arguments: Any, data: Any) -> None:
    result = MCPClient(HTTP_AUTHORIZATION=CLERK).call_tool(tool, arguments)
    assert "isError" not in result
    assert json.loads(result["content"][0]["text"]) == data
    assert result.get("structuredContent") == data


@pytest.mark.usefixtures("readme")
def test_an_input_serializer_describes_the_body() -> None:
    listed = MCPClient(HTTP_AUTHORIZATION=CLERK).list_tools()["tools"]
    tools = {tool["name"]: tool for tool in listed}
    schemas = {name: tool["inputSchema"]["properties"] for name, tool in tools.items()}
    prompt = {"type": "string", "minLength": 1, "description": "The prompt to send to the LLM"}
    assert schemas["content_generate"]["body"] == {
        "type": "object",
        "properties": {"user_prompt": prompt},
        "required": ["user_prompt"],
    }
    assert "body" not in schemas["content_recent_posts"]
    assert "add_created_at_footer" in schemas["posts_create"]["body"]["properties"]
    assert "add_created_at_footer" not in schemas["posts_update"]["body"]["properties"]
    bulk = schemas["bulk_bulk_create"]["body"]
    assert (bulk["type"], bulk["items"]["required"]) == ("array", ["name", "email"])
    details = tools["get_customer_details"]
    assert details["title"] == "Get Customer Details"
    assert details["description"].startswith("Retrieve detailed information")


@pytest.mark.usefixtures("readme")
def test_an_array_is_passed_to_a_list_serializer() -> None:
    eve = {"name": "Eve", "email": "eve@example.com"}
    client = MCPClient(HTTP_AUTHORIZATION=CLERK)
    result = client.call_tool("bulk_bulk_create", {"body": [BOB, eve]})
    assert [each["name"] for each in result["structuredContent"]] == ["Bob", "Eve"]
    assert Customer.objects.filter(name__in=["Bob", "Eve"]).count() == 2


def test_a_view_hides_rows_from_mcp_requests_alone() -> None:
    Customer.objects.create(**BOB)
    patterns = routed(active=moved_views.ActiveViewSet), path("mcp/", MCPView.as_view())
    with urls(*patterns):
        listed = MCPClient().call_tool("active_list")["structuredContent"]
        over_http = Client().get("/api/active/").json()
        apart = call(project.server(), "active_list", {}, Sender({}))["data"]["items"]
    assert [each["name"] for each in listed] == [each["name"] for each in apart] == ["Alice"]
    assert [each["name"] for each in over_http] == ["Alice", "Bob"]


def test_the_test_client_has_the_handshake_of_theirs() -> None:
    with urls(path("mcp/", MCPView.as_view())):
        client = MCPClient(auto_initialize=False)
        with pytest.raises(ContractError, match="call initialize"):
            client.call_tool("customers_list")
        said = client.initialize()
        assert said["serverInfo"]["name"] == "django-rest-framework-mcp"
        result = client.call_tool("customers_create", {"body": {}})
        assert result["isError"] is True
        assert "credentials were not provided" in text_of(result)
    with urls(path("ai/", MCPView.as_view())):
        assert MCPClient(False, False, mcp_endpoint="ai/").list_tools()["tools"]


# Names


def test_a_routed_viewset_keeps_the_prefix_of_its_router(decorated: Any) -> None:
    patterns = routed(clients=moved_views.CustomerViewSet), path("mcp/", MCPView.as_view())
    with urls(*patterns):
        names = set(project.server().tools)
    assert "clients_list" in names
    assert "customers_list" not in names


def test_names_with_the_action_first_are_a_setting() -> None:
    with urls(path("mcp/", MCPView.as_view())), theirs(ACTION_FIRST_NAMES=True):
        names = set(project.server().tools)
    assert {"list_customers", "partial_update_posts", "generate_content", "list_members"} <= names
    assert "get_customer_details" in names
    assert not {"customers_list", "content_generate"} & names


def test_two_viewsets_of_one_model_need_a_basename(decorated: Any) -> None:
    decorated[type("Twice", (moved_views.CustomerViewSet,), {})] = None
    wanted = r"CustomerViewSet and Twice have the same basename 'customers'; .*basename=…\)"
    with urls(path("mcp/", MCPView.as_view())), pytest.raises(ContractError, match=wanted):
        project.server()


@pytest.mark.parametrize(
    ("decorate", "reason"),
    [
        (lambda: mcp_tool(input_serializer=moved_views.GenerateInputSerializer()), "not Generate"),
        (lambda: mcp_tool(input_serializer=dict), "must be a serializer class or None"),
    ],
)
def test_an_input_serializer_that_is_not_a_class_is_an_error(decorate: Any, reason: str) -> None:
    with pytest.raises(
        ContractError, match=rf"input_serializer of generate must .*{reason}|{reason}"
    ):
        decorate()(moved_views.ContentViewSet.generate)


def test_a_viewset_is_a_tool_only_if_it_is_decorated_itself() -> None:
    class Derived(moved_views.CustomerViewSet): ...

    patterns = routed(derived=Derived), path("mcp/", MCPView.as_view())
    with urls(*patterns):
        assert not {name for name in project.server().tools if name.startswith("derived")}


# request.is_mcp_request


class Places:
    """Where a request was seen, and what it said."""

    seen: dict[str, Any] = {}


def note(place: str, request: Any) -> None:
    Places.seen[place] = getattr(request, "is_mcp_request", None)


class Permission(AllowAny):
    def has_permission(self, request: Any, view: Any) -> bool:
        note("permission", request)
        return True


class Backend:
    def filter_queryset(self, request: Any, queryset: Any, view: Any) -> Any:
        note("filter", request)
        return queryset


class Noting(moved_views.CustomerSerializer):
    def to_representation(self, instance: Any) -> Any:
        note("serializer", self.context["request"])
        return super().to_representation(instance)


class Authentication(SessionAuthentication):
    def authenticate(self, request: Any) -> Any:
        note("authentication", request)
        return super().authenticate(request)


class Watched(viewsets.ReadOnlyModelViewSet):
    queryset = Customer.objects.all()
    serializer_class = Noting
    permission_classes = [Permission]
    filter_backends = [Backend]
    authentication_classes = [Authentication]

    def list(self, request: Any) -> Response:
        note("view", request)
        return super().list(request)


def watching(get_response: Any) -> Any:
    def middleware(request: Any) -> Any:
        if not request.path.startswith("/mcp/"):
            note("middleware", request)
        return get_response(request)

    return middleware


@pytest.mark.parametrize("way", ["inside", "by itself", "over HTTP"])
def test_each_part_of_a_view_can_tell_mcp_requests(way: str) -> None:
    Places.seen = {}
    patterns = routed(watched=Watched), path("mcp/", endpoint())
    from django.conf import settings

    with urls(*patterns, MIDDLEWARE=[*settings.MIDDLEWARE, f"{__name__}.watching"]):
        if way == "inside":
            Client().call_tool("watched_list")
        elif way == "by itself":
            call(project.server(), "watched_list", {}, Sender({}))
        else:
            Client().get("/api/watched/")
    value = None if way == "over HTTP" else True
    places = ("middleware", "authentication", "permission", "view", "filter", "serializer")
    assert Places.seen == dict.fromkeys(places, value)


def test_a_schema_is_that_of_the_serializer_for_mcp_requests() -> None:
    class Short(moved_views.CustomerSerializer):
        class Meta(moved_views.CustomerSerializer.Meta):
            fields = ["name"]

    class Two(viewsets.ModelViewSet):
        queryset = Customer.objects.all()

        def get_serializer_class(self) -> Any:
            is_mcp = getattr(self.request, "is_mcp_request", False)
            return Short if is_mcp else moved_views.CustomerSerializer

    with urls(routed(two=Two)):
        schema = project.server().tools["two_create"].input_schema
    assert schema["properties"]["body"]["properties"].keys() == {"name"}


# Access to the endpoint


def rpc(method: str, name: str | None = None, **headers: str) -> Any:
    params = {} if name is None else {"name": name, "arguments": {}}
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    sent = {"MCP-Protocol-Version": "2025-06-18", **headers}
    return Client().generic("POST", "/mcp/", json.dumps(message), "application/json", headers=sent)


HEADER = "Token"


@pytest.mark.parametrize("keeps_200", [False, True])
@pytest.mark.parametrize(
    ("who", "status", "words"),
    [
        ("anonymous", 401, f"Unauthorized: {UNKNOWN} (WWW-Authenticate: Token)"),
        ("stranger", 401, "Unauthorized: Invalid token. (WWW-Authenticate: Token)"),
        ("visitor", 403, "Forbidden: You do not have permission to perform this action."),
    ],
)
def test_a_caller_without_access_is_refused(
    who: str, status: int, words: str, keeps_200: bool
) -> None:
    patterns = path("mcp/", moved_views.RestrictedMCPView.as_view())
    with urls(patterns), theirs(RETURN_200_FOR_ERRORS=keeps_200):
        called = rpc("tools/call", "customers_list", **CREDENTIALS[who])
        others = [rpc(method, **CREDENTIALS[who]) for method in ("tools/list", "initialize")]
    for response in (called, *others):
        assert response.status_code == (200 if keeps_200 else status)
        challenge = HEADER if status == 401 and not keeps_200 else None
        assert response.headers.get("WWW-Authenticate") == challenge
    result = json.loads(called.content)
    assert (result["id"], result["result"]["isError"]) == (7, True)
    assert text_of(result["result"]) == f"Error executing tool: {words}"
    for other in others:
        error = json.loads(other.content)
        assert (error["id"], error["error"]["message"]) == (7, words)


def test_a_caller_with_access_is_served() -> None:
    group = Group.objects.create(name="mcp_users")
    group.user_set.add(user("visitor"))
    with urls(path("mcp/", moved_views.RestrictedMCPView.as_view())):
        visitor = rpc("tools/call", "customers_list", **CREDENTIALS["visitor"])
    with urls(path("mcp/", moved_views.AuthenticatedMCPView.as_view())):
        clerk = rpc("tools/call", "customers_list", **CREDENTIALS["clerk"])
    for response in (visitor, clerk):
        assert "isError" not in json.loads(response.content)["result"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"id": null}', b"[" * 5000, b'"\xff"'])
def test_a_body_that_is_not_a_message_is_refused_too(body: bytes) -> None:
    with urls(path("mcp/", moved_views.AuthenticatedMCPView.as_view())):
        response = Client().generic("POST", "/mcp/", body, "application/json")
    assert (response.status_code, response.headers["WWW-Authenticate"]) == (401, HEADER)
    assert "id" not in json.loads(response.content)


def test_a_refusal_without_a_challenge_is_a_403() -> None:
    class BySession(MCPView):
        authentication_classes = [SessionAuthentication]

        def has_mcp_permission(self, request: Any) -> bool:
            return bool(request.user.is_authenticated)

    with urls(path("mcp/", BySession.as_view())):
        response = rpc("tools/list")
    assert (response.status_code, "WWW-Authenticate" in response.headers) == (403, False)


def test_a_session_does_not_give_access_without_session_authentication() -> None:
    class Staff(MCPView):
        def has_mcp_permission(self, request: Any) -> bool:
            return bool(request.user.is_authenticated)

    client = Client("/mcp/")
    client.force_login(user("clerk"))
    with urls(path("mcp/", Staff.as_view())):
        assert client.post_message("tools/list").status_code == 403


def test_access_holds_in_a_separate_process_too() -> None:
    with urls(path("mcp/", moved_views.AuthenticatedMCPView.as_view())):
        server = project.server()
        refused = call(server, "customers_list", {}, Sender({}))
        allowed = call(server, "customers_list", {}, Sender(CREDENTIALS["clerk"]))
        assert ask(server, "tools/list", {}, Sender({}))["tools"] == []
        assert ask(server, "tools/list", {}, Sender(CREDENTIALS["clerk"]))["tools"]
    assert refused["error"] == f"Unauthorized: {UNKNOWN} (WWW-Authenticate: Token)"
    assert refused["meta"]["error"]["type"] == "authentication"
    assert allowed["success"] is True


def test_attributes_of_the_view_can_be_set_in_the_urls() -> None:
    open_view = moved_views.AuthenticatedMCPView.as_view(has_mcp_permission=lambda *_: True)
    with urls(path("mcp/", open_view)):
        assert rpc("tools/list").status_code == 200
    with pytest.raises(TypeError, match="MCPView has no attribute colour"):
        MCPView.as_view(colour="red")


# Replies of views


def members(who: str, view: Any, **headers: str) -> Any:
    with urls(path("mcp/", view)):
        return rpc("tools/call", "members_list", **CREDENTIALS[who], **headers)


@pytest.mark.parametrize(("who", "words"), [("anonymous", UNKNOWN), ("stranger", "Invalid token.")])
def test_a_401_of_a_view_is_that_of_the_endpoint_by_a_setting(who: str, words: str) -> None:
    said = f"Error executing tool: ViewSet returned error: {{'detail': '{words}'}}"
    only: Any = {"marked_only": "actions"}
    for response, status in [
        (members(who, MCPView.as_view()), 401),
        (members(who, endpoint(**only)), 200),
        (members(who, endpoint(auth_status=True, **only)), 401),
    ]:
        assert response.status_code == status
        assert response.headers.get("WWW-Authenticate") == (HEADER if status == 401 else None)
        result = json.loads(response.content)["result"]
        assert (result["isError"], text_of(result)) == (True, said)
    with theirs(RETURN_200_FOR_ERRORS=True):
        assert members(who, MCPView.as_view()).status_code == 200
        assert members(who, endpoint(auth_status=True, **only)).status_code == 401


def test_a_403_of_a_view_has_that_status_too() -> None:
    class Admins(viewsets.ViewSet):
        permission_classes = [IsAdminUser]
        authentication_classes = [TokenAuthentication]

        def list(self, request: Any) -> Response:
            raise NotImplementedError

    with urls(routed(admins=Admins), path("mcp/", endpoint(auth_status=True))):
        response = rpc("tools/call", "admins_list", **CREDENTIALS["clerk"])
        assert (response.status_code, "WWW-Authenticate" in response.headers) == (403, False)
        assert rpc("tools/call", "admins_list").status_code == 401
        batch = json.dumps(
            [
                {
                    "jsonrpc": "2.0",
                    "id": n,
                    "method": "tools/call",
                    "params": {"name": "admins_list"},
                }
                for n in (1, 2)
            ]
        )
        assert Client().generic("POST", "/mcp/", batch, "application/json").status_code == 200


# Settings


class Guarded(viewsets.ViewSet):
    permission_classes = [IsAdminUser]
    authentication_classes = [SessionAuthentication]

    def list(self, request: Any) -> Response:
        return Response({"user": str(request.user), "auth": type(request.auth).__name__})

    @mcp_tool()
    @action(detail=True, permission_classes=[IsAuthenticated])
    def own(self, request: Any, pk: str) -> Response:
        return Response({"user": str(request.user)})


def guarded(who: str, tool: str = "guarded_list", **members: Any) -> Any:
    view: Any = type("View", (MCPView,), {"authentication_classes": [TokenAuthentication]})
    mcp_viewset()(Guarded)
    with urls(routed(guarded=Guarded), path("mcp/", view.as_view())), theirs(**members):
        client = Client("/mcp/", revision="2025-11-25", headers=CREDENTIALS[who])
        listed = {each["name"] for each in client.list_tools()}
        arguments = {"kwargs": {"pk": 1}} if tool.endswith("own") else {}
        reply = json.loads(
            client.post_message("tools/call", {"name": tool, "arguments": arguments}).content
        )
        return listed & {"guarded_list", "guarded_own"}, reply["result"]


def test_views_authenticate_and_check_permissions_by_default() -> None:
    listed, result = guarded("clerk")
    assert (listed, result["isError"]) == (set(), True)
    assert UNKNOWN in text_of(result)


def test_a_view_takes_the_caller_of_the_endpoint_by_a_setting() -> None:
    bypass: Any = {"BYPASS_VIEWSET_AUTHENTICATION": True}
    listed, result = guarded("clerk", "guarded_own", **bypass)
    assert (listed, result["structuredContent"]) == ({"guarded_own"}, {"user": "clerk"})
    listed, result = guarded("clerk", **bypass)
    assert "You do not have permission" in text_of(result)
    _, result = guarded("anonymous", "guarded_own", **bypass)
    assert result["isError"] is True


def test_permissions_of_views_are_not_checked_by_a_setting() -> None:
    both: Any = {"BYPASS_VIEWSET_AUTHENTICATION": True, "BYPASS_VIEWSET_PERMISSIONS": True}
    listed, result = guarded("clerk", **both)
    assert listed == {"guarded_list", "guarded_own"}
    assert result["structuredContent"] == {"user": "clerk", "auth": "Token"}
    _, result = guarded("anonymous", BYPASS_VIEWSET_PERMISSIONS=True)
    assert result["structuredContent"] == {"user": "AnonymousUser", "auth": "NoneType"}


def test_the_settings_bypass_nothing_over_http_or_at_other_endpoints() -> None:
    both: Any = {"BYPASS_VIEWSET_AUTHENTICATION": True, "BYPASS_VIEWSET_PERMISSIONS": True}
    with urls(routed(guarded=Guarded), path("mcp/", endpoint())), theirs(**both):
        assert Client().get("/api/guarded/").status_code == 403
        assert Client("/mcp/").call_tool("guarded_list")["isError"] is True


def test_settings_are_read_on_use_and_unknown_ones_are_reported() -> None:
    assert mcp_settings.RETURN_200_FOR_ERRORS is False
    with theirs(RETURN_200_FOR_ERRORS=True, BYPASS_ALL=True), urls():
        assert mcp_settings.RETURN_200_FOR_ERRORS is True
        (warning,) = checks.run_checks(tags=["urls"])
    assert "has no member 'BYPASS_ALL'; there are BYPASS_VIEWSET_AUTHENTICATION" in warning.msg
    with pytest.raises(AttributeError, match="has no member 'BYPASS_ALL'"):
        _ = mcp_settings.BYPASS_ALL
