"""Descriptions of tools: docstrings, their sections, and sentences made of models and URLs."""

from typing import Any

import pytest
from django.db import models
from django.test import override_settings
from django.urls import include, path
from rest_framework import filters, generics, viewsets
from rest_framework.decorators import action
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.views import APIView

from accord.django import mcp_tool, mcp_viewset, project
from accord.model.tool import Tool
from storefront.models import Customer
from storefront.serializers import CustomerSerializer


def tools_of(**views: Any) -> dict[str, Tool]:
    router = SimpleRouter()
    for name, view in views.items():
        router.register(name.replace("_", "-"), view, basename=name)
    return tools_at(path("", include(router.urls)))


def tools_at(*patterns: Any) -> dict[str, Tool]:
    with override_settings(ROOT_URLCONF=type("U", (), {"urlpatterns": list(patterns)})):
        return dict(project.server().tools)


class Sections(viewsets.ModelViewSet):
    """
    Customers of the shop.

    Note: they have no orders here.

    list:
        All of them, a page at a time.

        Newest first.

    retrieve: One of them.
    publish:
    Make one of them public.

    destroy:
    """

    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer

    @action(detail=True, methods=["post"])
    def publish(self, request: Any, pk: str) -> Response:
        return Response()

    def update(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Replace it.

        Like this:
            an example
        """
        return super().update(request, *args, **kwargs)


GENERAL = "Customers of the shop.\n\nNote: they have no orders here."


@pytest.mark.parametrize(
    ("action", "description"),
    [
        ("list", "All of them, a page at a time.\n\nNewest first."),
        ("retrieve", "One of them."),
        ("publish", "Make one of them public."),
        ("update", "Replace it.\n\nLike this:\n    an example"),
        ("create", f"Create a new customer.\n\n{GENERAL}"),
        ("destroy", f"Delete one customer.\n\n{GENERAL}"),
    ],
)
def test_a_section_of_the_docstring_describes_its_action(action: str, description: str) -> None:
    assert tools_of(customers=Sections)[f"customers_{action}"].description == description


def test_the_sections_of_a_plain_view_are_its_methods() -> None:
    class Report(APIView):
        """
        get: What was sold.

        post: Sell more.
        Much more.
        """

        def get(self, request: Any) -> Response:
            return Response()

        def post(self, request: Any) -> Response:
            return Response()

    tools = tools_at(path("reports/", Report.as_view()))
    assert tools["reports_get"].description == "What was sold."
    assert tools["reports_post"].description == "Sell more.\nMuch more."


def test_the_sections_of_a_generic_view_are_its_methods_or_actions() -> None:
    class Everybody(generics.ListCreateAPIView):
        """
        list: All.
        post: A new one.
        """

        queryset = Customer.objects.all()
        serializer_class = CustomerSerializer

    tools = tools_at(path("everybody/", Everybody.as_view()))
    assert tools["everybody_list"].description == "All."
    assert tools["everybody_create"].description == "A new one."


def test_descriptions_of_decorators_are_dedented() -> None:
    class Things(viewsets.ViewSet):
        @mcp_tool(
            description="""
            Count them.

                One by one.
            """
        )
        def list(self, request: Any) -> Response:
            return Response()

    assert tools_of(things=Things)["things_list"].description == "Count them.\n\n    One by one."


def model(name: str, **meta: Any) -> Any:
    members = {"app_label": "storefront", **meta}
    options = {"Meta": type("Meta", (), members), "__module__": __name__}
    return type(name, (models.Model,), options)


@pytest.mark.parametrize(
    ("prefix", "name", "meta", "listed"),
    [
        ("categories", "PluralCategory", {"verbose_name": "category"}, "List categories."),
        ("children", "PluralChild", {"verbose_name": "child"}, "List children."),
        ("people", "PluralPerson", {"verbose_name": "person"}, "List people."),
        ("order-lines", "PluralLine", {"verbose_name": "order line"}, "List order lines."),
        ("persons", "PluralMan", {"verbose_name": "man"}, "List every man."),
        ("news", "PluralNews", {"verbose_name": "news"}, "List every news."),
        ("category", "PluralKind", {"verbose_name": "category"}, "List every category."),
        (
            "mice",
            "PluralMouse",
            {"verbose_name": "mouse", "verbose_name_plural": "small mice"},
            "List small mice.",
        ),
    ],
)
def test_a_plural_is_one_that_the_project_has_written(
    prefix: str, name: str, meta: Any, listed: str
) -> None:
    kind = model(name, **meta)
    view: Any = type("V", (viewsets.ModelViewSet,), {"queryset": kind.objects.all()})
    view.serializer_class = CustomerSerializer
    tools = tools_of(**{prefix.replace("-", "_"): view})
    begun = prefix.replace("-", "_")
    assert tools[f"{begun}_list"].description == listed
    assert tools[f"{begun}_retrieve"].description == f"Retrieve one {meta['verbose_name']}."


def test_without_a_model_the_words_are_those_of_the_url() -> None:
    class Bare(viewsets.ViewSet):
        def list(self, request: Any) -> Response:
            return Response()

        def retrieve(self, request: Any, pk: str) -> Response:
            return Response()

        def destroy(self, request: Any, pk: str) -> Response:
            return Response()

    nested = r"orders/(?P<order_pk>[0-9]+)/open_items"
    router = SimpleRouter()
    router.register(nested, Bare, basename="items")
    router.register("", mcp_viewset(name="front_page")(type("Front", (Bare,), {})), basename="f")
    tools = tools_at(path("api/v1/", include(router.urls)))
    said = {name: tool.description for name, tool in tools.items()}
    assert said["v1_orders_open_items_list"] == "List open items."
    assert said["v1_orders_open_items_retrieve"] == "Retrieve one entry of open items."
    assert said["v1_orders_open_items_destroy"] == "Delete one entry of open items."
    assert said["front_page_list"] == "List front page."


# Search and ordering


class Found(viewsets.ReadOnlyModelViewSet):
    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer
    filter_backends = [filters.SearchFilter, filters.OrderingFilter]


def query_of(view: Any) -> Any:
    query = tools_of(found=view)["found_list"].input_schema["properties"]["query"]
    return {
        name: schema["description"].partition(", ")[2]
        for name, schema in query.get("properties", {}).items()
    }


@pytest.mark.parametrize("is_documented", [False, True], ids=["serializers", "spectacular"])
@pytest.mark.parametrize(
    ("members", "fields"),
    [
        ({}, {"ordering": "comma-separated, descending with a minus: id, name, email"}),
        ({"ordering_fields": []}, {}),
        (
            {"ordering_fields": [], "search_fields": ["^name", "=email"]},
            {"search": "in name, email"},
        ),
        (
            {"ordering_fields": "__all__", "search_fields": ["name"]},
            {
                "search": "in name",
                "ordering": "comma-separated, descending with a minus: id, name, email",
            },
        ),
        ({"filter_backends": []}, {}),
        (
            {"filter_backends": [filters.SearchFilter], "search_fields": ["@name", "$name"]},
            {"search": "in name"},
        ),
    ],
)
def test_search_and_ordering_are_there_if_the_view_has_fields_for_them(
    members: Any, fields: Any, is_documented: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_documented:
        from drf_spectacular.openapi import AutoSchema

        from accord.sources.drf import spectacular

        monkeypatch.setattr(spectacular, "_is_installed", lambda: True)
        members = {**members, "schema": AutoSchema()}
    assert query_of(type("View", (Found,), members)) == fields


def test_search_and_ordering_have_the_names_of_their_backends() -> None:
    class Search(filters.SearchFilter):
        search_param = "q"

    class Ordering(filters.OrderingFilter):
        ordering_param = "sort"

    class Own(Found):
        filter_backends = [Search, Ordering]
        search_fields = ["name"]
        ordering_fields = ["name"]

    assert query_of(Own).keys() == {"q", "sort"}


def test_a_generic_list_has_the_parameters_of_its_filters() -> None:
    class Everybody(generics.ListAPIView):
        queryset = Customer.objects.all()
        serializer_class = CustomerSerializer
        filter_backends = [filters.SearchFilter]
        search_fields = ["name"]

        def get(self, request: Any, *args: Any, **kwargs: Any) -> Any:
            return super().get(request, *args, **kwargs)

    (tool,) = tools_at(path("everybody/", Everybody.as_view())).values()
    assert tool.input_schema["properties"]["query"]["properties"].keys() == {"search"}
