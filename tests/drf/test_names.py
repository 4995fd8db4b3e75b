"""Which views are tools, their names, and errors at startup."""

import re
from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.core import checks
from django.test import override_settings
from django.urls import include, path
from django.utils import translation
from rest_framework import viewsets
from rest_framework.decorators import action
from rest_framework.permissions import AllowAny
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.views import APIView

from accord import Server
from accord.django import endpoint, mcp_tool, mcp_viewset, project
from accord.errors import ContractError
from drf.mcp_clients import Client, call


class Things(viewsets.ViewSet):
    permission_classes = [AllowAny]

    def list(self, request: Any) -> Response:
        return Response([request.path])

    def retrieve(self, request: Any, pk: str) -> Response:
        return Response({"pk": pk})


class Others(Things):
    """Things of another kind."""


@mcp_viewset(actions=["retrieve"])
class Some(Things): ...


class Picked(Things):
    @mcp_tool(name="pick")
    @action(detail=False)
    def pick(self, request: Any) -> Response:
        return Response({})


class Here(APIView):
    def get(self, request: Any) -> Response:
        return Response({})


def routed(**views: Any) -> SimpleRouter:
    router = SimpleRouter()
    for name, view in views.items():
        router.register(name.replace("_", "-"), view, basename=name)
    return router


def urls(*patterns: Any) -> Any:
    return override_settings(ROOT_URLCONF=type("Urls", (), {"urlpatterns": list(patterns)}))


def tools(*patterns: Any) -> list[str]:
    with urls(*patterns):
        return sorted(project.server().tools)


def test_names_are_the_prefix_and_the_action() -> None:
    router = routed(things=Things, other_things=Others)
    assert tools(path("api/", include(router.urls))) == [
        "other_things_list",
        "other_things_retrieve",
        "things_list",
        "things_retrieve",
    ]


def test_a_long_name_is_cut_and_stays_unique() -> None:
    long, longer = "a" * 70, "a" * 71
    names = tools(path("", include(routed(**{long: Things, longer: Others}).urls)))
    assert len(names) == len(set(names)) == 4
    assert all(len(name) == 64 for name in names)
    assert all(re.fullmatch(r"a{55}_[0-9a-f]{8}", name) for name in names)


def test_versions_in_the_url_before_the_view_begin_its_names() -> None:
    router = routed(things=Things)
    names = tools(path("v1/", include(router.urls)), path("api/v2/", include(router.urls)))
    assert names == ["v1_things_list", "v1_things_retrieve", "v2_things_list", "v2_things_retrieve"]


@pytest.mark.parametrize(
    ("mount", "name"),
    [
        ("api/", "things_list"),
        ("v1/", "v1_things_list"),
        ("api/v1/", "v1_things_list"),
        ("api/V2.1/shop/", "V2_1_things_list"),
        ("v1beta2/", "v1beta2_things_list"),
        ("v2-rc1/", "v2_rc1_things_list"),
        ("vans/", "things_list"),
        ("v1ew/", "things_list"),
        ("<str:version>/", "things_list"),
        ("", "things_list"),
    ],
)
def test_a_mount_is_in_names_if_it_is_a_version(mount: str, name: str) -> None:
    assert name in tools(path(mount, include(routed(things=Things).urls)))


def test_a_view_without_words_in_its_url_is_root() -> None:
    assert tools(path("", Here.as_view())) == ["root_get"]
    assert tools(path("v1/", include([path("", Here.as_view())]))) == ["v1_root_get"]
    router = SimpleRouter()
    router.register("", Things, basename="thing")
    assert tools(path("", include(router.urls))) == ["root_list", "root_retrieve"]


ROUTES: list[Any] = [
    path("api/v1/", include(routed(things=Things).urls)),
    path("api/v2/", include(routed(things=Others).urls)),
    path("v3/", include(routed(other_things=Things).urls)),
    path("api/", include(routed(things=Others).urls)),
    path("here/", Here.as_view()),
    path("here/<int:pk>/", Here.as_view()),
    path("there/<int:pk>/here/", Here.as_view()),
    path("", Here.as_view()),
]


@pytest.mark.parametrize("count", range(len(ROUTES)))
def test_a_new_route_never_renames_a_tool(count: int) -> None:
    """Whichever route is added to the others, before or after them."""
    others = ROUTES[:count] + ROUTES[count + 1 :]
    before = set(tools(*others))
    assert before < set(tools(ROUTES[count], *others))
    assert before < set(tools(*others, ROUTES[count]))


def test_prefixes_of_urls_begin_the_names_in_place_of_a_version() -> None:
    router, greeting = routed(things=Things), routed(picked=Picked)
    patterns = [
        path("api/v1/", include(router.urls)),
        path("blog/", include(router.urls)),
        path("blog/", include(greeting.urls)),
        path("blog/v2/", include(router.urls)),
        path("blog/v20/", include(routed(others=Others).urls)),
    ]
    prefixes = {"api/v1/": "", "/blog/": "blog", "blog/v2": "new"}
    names = tools(*patterns, path("mcp/", endpoint(prefixes=prefixes)))
    assert names == [
        *("blog_others_list", "blog_others_retrieve"),
        *("blog_pick", "blog_picked_list", "blog_picked_retrieve"),
        *("blog_things_list", "blog_things_retrieve", "new_things_list", "new_things_retrieve"),
        *("things_list", "things_retrieve"),
    ]


def test_a_name_of_a_decorator_has_no_version() -> None:
    @mcp_viewset(name="people")
    class Named(Things): ...

    patterns = path("v1/", include(routed(persons=Named, picked=Picked).urls))
    assert tools(patterns)[:3] == ["people_list", "people_retrieve", "pick"]


def test_two_mounts_that_give_the_same_names_are_an_error_with_the_prefix_to_add() -> None:
    router = routed(things=Things)
    wanted = r"at /a/things/ and .* at /api/b/things/; name one .*prefixes=\{'api/b/': 'b'\}"
    with pytest.raises(ContractError, match=wanted):
        tools(path("a/", include(router.urls)), path("api/b/", include(router.urls)))


def test_two_tools_with_one_name_are_an_error_that_names_both() -> None:
    class Rival(Things):
        @mcp_tool(name="things_list")
        def retrieve(self, request: Any, pk: str) -> Response:
            return Response({})

    patterns = [path("", include(routed(things=Things, rivals=Rival).urls))]
    wanted = (
        r"two tools are named 'things_list': .*Things\.list at /things/ and "
        r".*Rival\.retrieve at /rivals/\{pk\}/; name one of them with "
        r"@mcp_viewset\(name=…\) or @mcp_tool\(name=…\)"
    )
    with pytest.raises(ContractError, match=wanted):
        tools(*patterns)
    with urls(*patterns, path("mcp/", endpoint())):
        (error,) = checks.run_checks(tags=["urls"])
        assert (error.id, error.level) == ("accord.E001", checks.ERROR)
        assert re.fullmatch(wanted, error.msg)


def test_the_system_check_lists_skipped_views() -> None:
    with override_settings(ROOT_URLCONF="drf.sample_views"):
        said = [each.msg for each in checks.run_checks(tags=["urls"]) if each.id == "accord.W001"]
    assert "drf.sample_views.Unnamed is skipped: its URL has unnamed groups" in said
    assert checks.run_checks(tags=["urls"]) == []


def test_decorators_select_actions() -> None:
    router = routed(things=Things, some=Some, picked=Picked)
    every = tools(path("", include(router.urls)))
    assert every == [
        *("pick", "picked_list", "picked_retrieve", "some_retrieve"),
        *("things_list", "things_retrieve"),
    ]
    chosen = tools(path("", include(router.urls)), path("mcp/", endpoint(marked_only=True)))
    assert chosen == ["pick", "some_retrieve"]


def test_a_decorator_with_an_unknown_action_is_an_error() -> None:
    with pytest.raises(ContractError, match="Things has no action 'destroy'"):
        mcp_viewset(actions=["destroy"])(Things)
    with pytest.raises(ContractError, match="actions must be a list"):
        mcp_viewset(actions="list")


def test_an_endpoint_of_a_router_has_the_tools_of_that_router() -> None:
    mine, other = routed(things=Things), routed(others=Others)
    names = tools(
        path("a/", include(mine.urls)),
        path("b/", include(other.urls)),
        path("mcp/", endpoint(mine)),
    )
    assert names == ["things_list", "things_retrieve"]


def test_several_endpoints_are_one_server_outside_of_django() -> None:
    mine, other = routed(things=Things), routed(others=Others)
    with urls(path("one/", endpoint(mine)), path("two/", endpoint(other))):
        server = project.server()
        assert sorted(server.tools)[:2] == ["others_list", "others_retrieve"]
        assert call(server, "things_list", {})["data"] == {"items": ["/things/"]}
        with pytest.raises(ContractError, match="path must be given: the project has 2 endpoints"):
            Client().list_tools()
    with (
        urls(path("one/", endpoint(mine)), path("two/", endpoint(mine))),
        pytest.raises(ContractError, match="both /one/ and /two/ have a tool 'things_list'"),
    ):
        project.server()


def test_urls_with_a_language_prefix_use_the_active_language() -> None:
    with urls(*i18n_patterns(path("", include(routed(things=Things).urls)))):
        server = project.server()
        assert call(server, "things_list", {})["data"] == {"items": ["/en/things/"]}
        with translation.override("de"):
            assert call(server, "things_list", {})["data"] == {"items": ["/de/things/"]}


def test_a_view_at_the_root_of_a_mount_is_named_by_the_mount() -> None:
    assert tools(path("here/", include([path("", Here.as_view())]))) == ["here_get"]


def test_a_project_without_an_api_has_no_tools() -> None:
    with urls():
        server: Server = project.server()
        assert server.tools == {}
