"""A caller of an endpoint gets no further than the project allows, whatever the settings are."""

from functools import wraps
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import override_settings
from django.urls import include, path
from rest_framework import viewsets
from rest_framework.authentication import (
    BaseAuthentication,
    SessionAuthentication,
    TokenAuthentication,
)
from rest_framework.decorators import api_view, permission_classes
from rest_framework.exceptions import APIException
from rest_framework.permissions import AllowAny, IsAdminUser, IsAuthenticated
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

from accord.django import endpoint, mcp_viewset, project
from accord.django.views import MCPView
from accord.sources.drf import naming
from drf.mcp_clients import Client, Sender, call, text_of
from drf.users import CREDENTIALS, user

BYPASS = {"BYPASS_VIEWSET_AUTHENTICATION": True, "BYPASS_VIEWSET_PERMISSIONS": True}


@pytest.fixture(autouse=True)
def decorated(monkeypatch: pytest.MonkeyPatch) -> None:
    """No viewsets of other tests."""
    monkeypatch.setattr(naming, "_decorated", {})


def serving(*patterns: Any, bypass: bool = False, **settings: Any) -> Any:
    found = type("Urls", (), {"urlpatterns": list(patterns)})
    members = BYPASS if bypass else {}
    return override_settings(ROOT_URLCONF=found, DJANGORESTFRAMEWORK_MCP=members, **settings)


CLERKS_TOKEN = "clerks-token"


class Who(APIView):
    """Answers with the caller."""

    permission_classes: Any = [IsAdminUser]
    authentication_classes: Any = [SessionAuthentication]

    def get(self, request: Any) -> Response:
        return Response({"user": str(request.user), "auth": str(request.auth)})


class ByToken(MCPView):
    authentication_classes = [TokenAuthentication]


def everything() -> Any:
    return endpoint(access=ByToken)


def refusing(view: Any) -> Any:
    @wraps(view)
    def decorator(request: Any, *args: Any, **kwargs: Any) -> Any:
        return HttpResponse("not from here", status=403)

    return decorator


def who(credentials: str = "clerk", tool: str = "who_get") -> Any:
    return Client("/mcp/", headers=CREDENTIALS[credentials]).call_tool(tool)


# Views without their permissions


def test_a_decorator_around_a_view_still_refuses_without_permissions() -> None:
    patterns = (
        path("who/", refusing(Who.as_view())),
        path("open/", Who.as_view()),
        path("mcp/", everything()),
    )
    with serving(*patterns, bypass=True):
        refused, allowed = who(), who(tool="open_get")
    assert refused["isError"] is True
    assert allowed["structuredContent"] == {"user": "clerk", "auth": CLERKS_TOKEN}


def test_a_function_view_has_no_permissions_by_the_setting() -> None:
    @api_view(["GET"])
    @permission_classes([IsAdminUser])
    def own(request: Any) -> Response:
        return Response({"user": str(request.user)})

    with serving(path("who/", own), path("mcp/", everything()), bypass=True):
        assert who()["structuredContent"] == {"user": "clerk"}


def test_marks_on_a_view_reach_middleware_without_permissions_too() -> None:
    view: Any = Who.as_view()
    view.is_internal = True
    with serving(
        path("who/", view),
        path("mcp/", everything()),
        bypass=True,
        MIDDLEWARE=[f"{__name__}.NoInternalViews"],
    ):
        assert "internal" in text_of(who())


class NoInternalViews:
    """Refuses views with a mark."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: Any) -> Any:
        return self.get_response(request)

    def process_view(self, request: Any, view: Any, args: Any, kwargs: Any) -> Any:
        if getattr(view, "is_internal", False):
            return HttpResponse('{"detail": "internal"}', "application/json", status=403)
        return None


class Once(SimpleRateThrottle):
    rate = "1/hour"

    def get_cache_key(self, request: Any, view: Any) -> str:
        return f"once-{request.user}"


def test_throttles_and_permissions_of_objects_hold_without_permissions() -> None:
    class Throttled(Who):
        throttle_classes = [Once]

    class Owner(AllowAny):
        def has_object_permission(self, request: Any, view: Any, obj: Any) -> bool:
            return False

    class Owned(Who):
        permission_classes = [Owner]

        def get(self, request: Any) -> Response:
            self.check_object_permissions(request, object())
            return super().get(request)

    patterns = (
        path("who/", Throttled.as_view()),
        path("owned/", Owned.as_view()),
        path("mcp/", everything()),
    )
    with serving(*patterns, bypass=True):
        assert "isError" not in who()
        assert "throttled" in text_of(who())
        assert "permission" in text_of(who(tool="owned_get"))


def test_a_call_without_permissions_leaves_the_api_and_other_endpoints_as_they_are() -> None:
    patterns = (
        path("who/", Who.as_view()),
        path("mcp/", everything()),
        path("other/", endpoint()),
    )
    with serving(*patterns, bypass=True):
        for _ in range(2):
            assert "isError" not in who()
            assert Client().get("/who/", headers=CREDENTIALS["clerk"]).status_code == 403
            other = Client("/other/", headers=CREDENTIALS["clerk"])
            assert other.call_tool("who_get")["isError"] is True


# The caller of a view


class FromMiddleware(BaseAuthentication):
    """Takes the caller that middleware has set."""

    def authenticate(self, request: Any) -> Any:
        return getattr(request._request, "user", None), getattr(request._request, "auth", None)


class Open(Who):
    permission_classes = [AllowAny]
    authentication_classes = [FromMiddleware]


def as_visitor(get_response: Any) -> Any:
    def middleware(request: Any) -> Any:
        if request.path == "/mcp/":
            request.user, request.auth = user("visitor"), "by middleware"
            request.is_mcp_request = False
        return get_response(request)

    return middleware


@pytest.mark.parametrize("view", [MCPView, ByToken])
def test_a_view_has_the_caller_of_middleware_and_not_that_of_the_endpoint(view: Any) -> None:
    patterns = path("who/", Open.as_view()), path("mcp/", endpoint(access=view))
    with serving(*patterns, MIDDLEWARE=[f"{__name__}.as_visitor"]):
        found = who("clerk")["structuredContent"]
    assert found == {"user": "visitor", "auth": "by middleware"}


def test_a_separate_process_does_not_give_a_view_the_caller_of_the_endpoint() -> None:
    class Session(Who):
        permission_classes = [IsAuthenticated]

    with serving(path("who/", Session.as_view()), path("mcp/", everything()), MIDDLEWARE=[]):
        refused = call(project.server(), "who_get", {}, Sender(CREDENTIALS["clerk"]))
    assert refused["meta"]["error"]["type"] == "authorization"
    with serving(path("who/", Session.as_view()), path("mcp/", everything()), bypass=True):
        allowed = call(project.server(), "who_get", {}, Sender(CREDENTIALS["clerk"]))
    assert allowed["data"] == {"user": "clerk", "auth": CLERKS_TOKEN}


def test_an_attribute_of_the_endpoints_request_does_not_hide_that_a_call_is_by_mcp() -> None:
    class Asks(Open):
        def get(self, request: Any) -> Response:
            return Response({"mcp": request.is_mcp_request})

    patterns = path("who/", Asks.as_view()), path("mcp/", endpoint())
    with serving(*patterns, MIDDLEWARE=[f"{__name__}.as_visitor"]):
        assert who()["structuredContent"] == {"mcp": True}


# Which viewsets are tools


def test_an_endpoint_of_a_router_does_not_have_viewsets_with_a_url_elsewhere() -> None:
    class Bare(viewsets.ViewSet):
        permission_classes = [AllowAny]

        def list(self, request: Any) -> Response:
            return Response([])

    routed, elsewhere, unrouted = (
        mcp_viewset(basename=name)(type(name.title(), (Bare,), {}))
        for name in ("routed", "elsewhere", "unrouted")
    )
    router, other = SimpleRouter(), SimpleRouter()
    router.register("routed", routed, basename="routed")
    other.register("elsewhere", elsewhere, basename="elsewhere")
    patterns = (
        path("api/", include(router.urls)),
        path("internal/", include(other.urls)),
        path("mcp/", endpoint(router, marked_only="actions")),
    )
    with serving(*patterns):
        assert set(project.server().tools) == {"routed_list", "unrouted_list"}
    assert issubclass(unrouted, Bare)


# Refusals


def test_a_refusal_with_a_status_that_http_does_not_have_is_a_refusal() -> None:
    class Calm(APIException):
        status_code = 420
        default_detail = "Enhance your calm."

    class Refusing(MCPView):
        def has_mcp_permission(self, request: Any) -> bool:
            raise Calm

    with serving(path("mcp/", Refusing.as_view())):
        response = Client("/mcp/").post_message("tools/list")
    assert response.status_code == 420
    assert response.json()["error"]["message"] == "Error: Enhance your calm."
