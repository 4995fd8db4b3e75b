"""Lists of several pages, and pages that are cut: the rest can be called for."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.core.paginator import Paginator
from django.test import override_settings
from django.urls import include, path
from rest_framework import pagination, viewsets
from rest_framework.decorators import action
from rest_framework.permissions import AllowAny
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter

from accord import read_all
from accord.django import endpoint
from drf.mcp_clients import Client, text_of
from storefront.models import Customer
from storefront.serializers import CustomerSerializer

COUNT = 100
WIDE = "w" * 60


@pytest.fixture(autouse=True)
def customers() -> None:
    Customer.objects.all().delete()
    Customer.objects.bulk_create(
        Customer(name=f"{n:03} {WIDE}", email=f"{n}@example.com") for n in range(COUNT)
    )


class Numbers(pagination.PageNumberPagination):
    page_size = 40
    page_query_param = "nr"
    page_size_query_param = "per"


class Fixed(pagination.PageNumberPagination):
    page_size = 40


class Offsets(pagination.LimitOffsetPagination):
    default_limit = 40
    offset_query_param = "from"


class Plain(pagination.LimitOffsetPagination):
    default_limit = 40


class Cursors(pagination.CursorPagination):
    page_size = 40
    ordering = "name"
    cursor_query_param = "at"


class Framed(Numbers):
    def get_paginated_response(self, data: Any) -> Response:
        return Response({"next": self.get_next_link(), "data": {"items": data}})


class Narrow(Numbers):
    max_page_size = 25


class Steps(Numbers):
    def get_page_size(self, request: Any) -> int | None:
        size = super().get_page_size(request)
        return size if size in (10, 20, 40) else 40


class Joined(Numbers):
    """The last page takes what would be a page of three or less."""

    django_paginator_class = type(
        "Joining", (Paginator,), {"__init__": lambda *given: Paginator.__init__(*given, orphans=3)}
    )


class Backwards(viewsets.ReadOnlyModelViewSet):
    def list(self, request: Any) -> Response:
        response = super().list(request)
        response.data["results"].reverse()
        return response


def serving(paginator: Any, max_bytes: int = 4096, kind: Any = None, **options: Any) -> Any:
    class Customers(kind or viewsets.ReadOnlyModelViewSet):  # type: ignore[misc]
        queryset = Customer.objects.order_by("name")
        serializer_class = CustomerSerializer
        permission_classes = [AllowAny]
        pagination_class = paginator

        @action(detail=False, pagination_class=None)
        def names(self, request: Any) -> Response:
            return Response([each.name for each in self.get_queryset()])

    router = SimpleRouter()
    router.register("customers", Customers, basename="customer")
    view = endpoint(max_bytes=max_bytes, **options)
    patterns = [path("", include(router.urls)), path("mcp/", view)]
    return override_settings(ROOT_URLCONF=type("Urls", (), {"urlpatterns": patterns}))


def answer_of(result: Any) -> Any:
    return result["_meta"]["dev.accord-mcp/answer"]


def names_in(result: Any) -> list[str]:
    data = json.loads(text_of(result))
    data = data.get("result", data) if isinstance(data, dict) else data
    if isinstance(data, dict):
        data = data.get("results") or data["data"]["items"]
    return [each["name"] if isinstance(each, dict) else each for each in data]


Follow = Callable[[Any, Any], Any]
HINT = re.compile(r"; call it again with (\{.*\}) for the rest$")


def by_hint(result: Any, arguments: Any) -> Any:
    """Return the arguments that the warning of a cut answer has."""
    (warning,) = [each["message"] for each in answer_of(result).get("warnings", ())]
    found = HINT.search(warning)
    assert found is not None, warning
    return json.loads(found[1])


def by_cursor(result: Any, arguments: Any) -> Any:
    """Return the arguments with the cursor of the answer's page."""
    return {**arguments, "cursor": answer_of(result)["page"]["cursor"]}


def next_page(result: Any, arguments: Any) -> Any:
    """Return the arguments of the link that the data has, or None."""
    link = json.loads(text_of(result))["next"]
    query = re.findall(r"[?&](\w+)=([^&]+)", link or "")
    return {"query": dict(query)} if link else None


def walk(follow: Follow, arguments: Any = None) -> list[str]:
    """Return the names in all answers."""
    client, found = Client("/mcp/"), list[str]()
    given: Any = arguments or {}
    for _ in range(COUNT):
        result = client.call_tool("customers_list", given)
        assert "isError" not in result, text_of(result)
        found += names_in(result)
        if answer_of(result).get("truncated"):
            given = follow(result, given)
        elif (given := next_page(result, given)) is None:
            return found
    raise AssertionError("it has no end")


EVERYBODY = [f"{n:03} {WIDE}" for n in range(COUNT)]


@pytest.mark.parametrize("paginator", [Numbers, Offsets, Narrow])
@pytest.mark.parametrize("max_bytes", [1500, 4096, 5000])
def test_the_rest_of_a_cut_page_is_got_with_the_arguments_it_names(
    paginator: Any, max_bytes: int
) -> None:
    with serving(paginator, max_bytes):
        found = walk(by_hint)
    assert found == EVERYBODY


@pytest.mark.parametrize("paginator", [Numbers, Fixed, Offsets, Cursors, Framed, Joined, Steps])
@pytest.mark.parametrize("max_bytes", [1500, 4096])
def test_the_rest_of_a_cut_page_is_got_with_its_cursor(paginator: Any, max_bytes: int) -> None:
    with serving(paginator, max_bytes):
        assert walk(by_cursor) == EVERYBODY


@pytest.mark.parametrize(
    ("paginator", "query", "names"),
    [
        (Numbers, {}, {"nr", "per"}),
        (Numbers, {"nr": 2, "search": "x"}, {"nr", "per", "search"}),
        (Offsets, {}, {"from"}),
        (Offsets, {"from": 30, "limit": 50}, {"from", "limit"}),
    ],
)
def test_the_hint_has_the_names_of_the_paginator_and_the_other_arguments(
    paginator: Any, query: Any, names: set[str]
) -> None:
    with serving(paginator):
        result = Client("/mcp/").call_tool("customers_list", {"query": query})
        following = by_hint(result, {})
        after = Client("/mcp/").call_tool("customers_list", following)
    assert (following.keys(), following["query"].keys()) == ({"query"}, names)
    kept = {name: query[name] for name in ("search", "limit") if name in query}
    assert kept.items() <= following["query"].items()
    begun, passed = names_in(result)[0], len(names_in(result))
    assert int(names_in(after)[0][:3]) == int(begun[:3]) + passed


@pytest.mark.parametrize(
    ("paginator", "kind"),
    [
        (Fixed, None),
        (Cursors, None),
        (Framed, None),
        (Joined, None),
        (Steps, None),
        (Numbers, Backwards),
    ],
)
def test_without_such_arguments_the_hint_is_the_cursor(paginator: Any, kind: Any) -> None:
    with serving(paginator, kind=kind):
        result = Client("/mcp/").call_tool("customers_list")
    (warning,) = answer_of(result)["warnings"]
    assert warning["message"].endswith(
        "; call it again with the same arguments and this cursor for the rest"
    )


def test_a_list_without_pages_is_continued_by_its_cursor() -> None:
    client, found, arguments = Client("/mcp/"), list[str](), dict[str, Any]()
    with serving(None):
        while True:
            result = client.call_tool("customers_names", arguments)
            found += names_in(result)
            if not answer_of(result)["page"]["hasMore"]:
                break
            arguments = by_cursor(result, arguments)
    assert found == EVERYBODY


def test_the_cursor_of_a_paginator_may_be_given_as_the_tools_own() -> None:
    with serving(Cursors, 256 * 1024):
        client = Client("/mcp/")
        first = client.call_tool("customers_list")
        second = client.call_tool("customers_list", by_cursor(first, {}))
    assert names_in(first) + names_in(second) == EVERYBODY[:80]


@pytest.mark.parametrize("cursor", ["abc", "rest.abc", ""])
def test_a_cursor_of_another_origin_is_an_error(cursor: str) -> None:
    with serving(Numbers):
        result = Client("/mcp/").call_tool("customers_list", {"cursor": cursor})
    assert result["isError"] is True
    assert answer_of(result)["problem"]["fields"][0]["field"] == "cursor"


def test_a_page_that_is_whole_says_nothing_beside_the_data() -> None:
    with serving(Numbers, 256 * 1024):
        result = Client("/mcp/").call_tool("customers_list")
    assert json.loads(text_of(result)).keys() == {"count", "next", "previous", "results"}
    assert answer_of(result).keys() == {"page"}


@pytest.mark.parametrize("paginator", [Fixed, Plain, Numbers, Offsets, Framed, Cursors, None])
def test_a_client_reads_all_items_of_a_list_whose_pages_are_cut(paginator: Any) -> None:
    async def read_everything() -> list[Any]:
        client = Client("/mcp/")
        tools = await sync_to_async(client.list_tools)()
        (tool,) = [each for each in tools if each["name"] == "customers_list"]

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            return await sync_to_async(client.call_tool)(name, arguments)

        pages = read_all(call, "customers_list", schema=tool["inputSchema"])
        return [each async for each in pages]

    with serving(paginator):
        items = async_to_sync(read_everything)()
    assert [each["name"] for each in items] == EVERYBODY
