"""A tool call has the same status and data as an HTTP request to its URL."""

import json
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
from rest_framework.throttling import BaseThrottle

from accord import Server
from accord.django import project
from drf.mcp_clients import Client, Sender, call, over_http, rolled_back, text_of
from drf.users import CREDENTIALS
from storefront import views

Arguments = dict[str, Any]
CUSTOMER = {"name": "Bob", "email": "bob@example.com"}
PRODUCT = {"sku": "AB-9", "name": "Abacus", "price": "3.50", "category": "lab"}
ORDER = {"customer": 1, "items": [{"product": "EN-1", "quantity": 2}]}


class Case(NamedTuple):
    """One call of a tool, and the request that is the same."""

    tool: str
    method: str
    path: str
    kwargs: Arguments = {}
    query: Arguments = {}
    body: Any = None

    @property
    def arguments(self) -> Arguments:
        given = {"kwargs": self.kwargs, "query": self.query}
        sent = {name: value for name, value in given.items() if value}
        return sent if self.body is None else sent | {"body": self.body}


def at(pk: Any) -> Arguments:
    return {"pk": pk}


CASES = [
    Case("customers_list", "GET", "customers/"),
    Case("customers_list", "GET", "customers/", query={"search": "ali"}),
    Case("customers_list", "GET", "customers/", query={"search": "zoe"}),
    Case("customers_list", "GET", "customers/", query={"email": "alice@example.com"}),
    Case("customers_list", "GET", "customers/", query={"name__istartswith": "B"}),
    Case("customers_list", "GET", "customers/", query={"ordering": "-name"}),
    Case("customers_retrieve", "GET", "customers/1/", at(1)),
    Case("customers_retrieve", "GET", "customers/1/", at("1")),
    Case("customers_retrieve", "GET", "customers/999999/", at("999999")),
    Case("customers_retrieve", "GET", "customers/one/", at("one")),
    Case("customers_create", "POST", "customers/", body=CUSTOMER),
    Case("customers_create", "POST", "customers/", body={}),
    Case("customers_create", "POST", "customers/", body=CUSTOMER | {"email": "alice@example.com"}),
    Case("customers_create", "POST", "customers/", body={"name": "x" * 101, "email": "no"}),
    Case("customers_create", "POST", "customers/", body={"name": None, "email": ["a"]}),
    Case("customers_update", "PUT", "customers/1/", at(1), body=CUSTOMER),
    Case("customers_update", "PUT", "customers/1/", at(1), body={"name": "Bob"}),
    Case("customers_update", "PUT", "customers/7/", at(7), body=CUSTOMER),
    Case("customers_partial_update", "PATCH", "customers/1/", at(1), body={"name": "Bob"}),
    Case("customers_partial_update", "PATCH", "customers/1/", at(1), body={"email": ""}),
    Case("customers_destroy", "DELETE", "customers/1/", at(1)),
    Case("customers_destroy", "DELETE", "customers/7/", at(7)),
    Case("products_list", "GET", "products/"),
    Case("products_list", "GET", "products/", query={"page": 2}),
    Case("products_list", "GET", "products/", query={"page": 9}),
    Case("products_list", "GET", "products/", query={"page_size": 1, "category": "home"}),
    Case("products_list", "GET", "products/", query={"category": "garden"}),
    Case("products_retrieve", "GET", "products/EN-1/", {"sku": "EN-1"}),
    Case("products_retrieve", "GET", "products/ZZ-1/", {"sku": "ZZ-1"}),
    Case("products_create", "POST", "products/", body=PRODUCT),
    Case("products_create", "POST", "products/", body=PRODUCT | {"sku": "nine", "price": -1}),
    Case("products_create", "POST", "products/", body=PRODUCT | {"category": "garden"}),
    Case("products_create", "POST", "products/", body=PRODUCT | {"price": "much"}),
    Case("products_update", "PUT", "products/PC-2/", {"sku": "PC-2"}, body=PRODUCT),
    Case("products_partial_update", "PATCH", "products/PC-2/", {"sku": "PC-2"}, body={"price": 5}),
    Case("products_destroy", "DELETE", "products/PC-2/", {"sku": "PC-2"}),
    Case("orders_list", "GET", "orders/"),
    Case("orders_list", "GET", "orders/", query={"limit": 1}),
    Case("orders_list", "GET", "orders/", query={"limit": 1, "offset": 1}),
    Case("orders_list", "GET", "orders/", query={"status": "paid", "customer": 1}),
    Case("orders_list", "GET", "orders/", query={"customer": 77}),
    Case("orders_retrieve", "GET", "orders/1/", at(1)),
    Case("orders_retrieve", "GET", "orders/9/", at(9)),
    Case("orders_create", "POST", "orders/", body=ORDER),
    Case("orders_create", "POST", "orders/", body=ORDER | {"customer": 9}),
    Case("orders_create", "POST", "orders/", body=ORDER | {"items": [{"quantity": 0}, {}]}),
    Case("orders_create", "POST", "orders/", body=ORDER | {"items": "none"}),
    Case("orders_update", "PUT", "orders/1/", at(1), body=ORDER),
    Case("orders_partial_update", "PATCH", "orders/1/", at(1), body={"note": "x"}),
    Case("orders_destroy", "DELETE", "orders/2/", at(2)),
    Case("orders_summary", "GET", "orders/summary/"),
    Case("orders_refund", "POST", "orders/1/refund/", at(1), body={"reason": "broken"}),
    Case("orders_refund", "POST", "orders/2/refund/", at(2), body={"reason": "broken"}),
    Case("orders_refund", "POST", "orders/1/refund/", at(1), body={}),
    Case("orders_items_list", "GET", "orders/1/items/", {"order_pk": 1}),
    Case(
        "orders_items_create", "POST", "orders/1/items/", {"order_pk": 1}, body={"product": "PC-2"}
    ),
    Case(
        "orders_items_create", "POST", "orders/9/items/", {"order_pk": 9}, body={"product": "PC-2"}
    ),
    Case("orders_items_create", "POST", "orders/1/items/", {"order_pk": 1}, body={"product": "no"}),
    Case("orders_items_destroy", "DELETE", "orders/1/items/1/", {"order_pk": 1, "pk": 1}),
    Case("orders_items_destroy", "DELETE", "orders/2/items/1/", {"order_pk": 2, "pk": 1}),
    Case("contact_list", "GET", "contact/"),
    Case("contact_create", "POST", "contact/", body={"email": "a@b.co", "text": "Hello"}),
    Case("contact_create", "POST", "contact/", body={"email": "a", "text": "?"}),
    Case("api_health_get", "GET", "health/"),
]
IDS = [f"{case.tool}-{index}" for index, case in enumerate(CASES)]
KIND_OF = {
    400: "validation",
    401: "authentication",
    403: "authorization",
    404: "not_found",
    405: "validation",
    409: "conflict",
    429: "rate_limit",
}

each_case = pytest.mark.parametrize("case", CASES, ids=IDS)
each_person = pytest.mark.parametrize("who", CREDENTIALS)


@pytest.fixture(scope="module")
def server(tables: None) -> Server:
    return project.server()


def url(case: Case) -> str:
    query = f"?{urlencode(case.query)}" if case.query else ""
    return f"/api/{case.path}{query}"


def expected_of(case: Case, headers: dict[str, str]) -> Any:
    return rolled_back(lambda: over_http(case.method, url(case), case.body, headers))


def data_of(response: Any) -> Any:
    return json.loads(response.content) if response.content else None


def assert_same(result: Any, expected: Any) -> None:
    """Assert that a result in `plain` is the API's response."""
    data, text = data_of(expected), text_of(result)
    if expected.status_code < 400:
        assert "isError" not in result
        assert json.loads(text) == data
        assert result.get("structuredContent") == data
    else:
        assert result["isError"] is True
        assert text == f"Error executing tool: ViewSet returned error: {data}"


def assert_same_kind(envelope: Any, expected: Any) -> None:
    """Assert that an envelope has the API's response and its kind."""
    data = data_of(expected)
    if expected.status_code < 400:
        assert envelope["success"] is True
        wanted = data if isinstance(data, dict) else {"items": data} if data is not None else {}
        here = json.dumps(wanted).replace("http://testserver/", "http://localhost/")
        assert envelope["data"] == json.loads(here)
    else:
        assert envelope["error"] == f"ViewSet returned error: {data}"
        assert envelope["meta"]["error"]["type"] == KIND_OF[expected.status_code]


def test_every_tool_is_compared(server: Server) -> None:
    assert {case.tool for case in CASES} == server.tools.keys()
    assert len(CASES) * len(CREDENTIALS) >= 300


@each_person
@each_case
def test_the_endpoint_replies_as_the_api(case: Case, who: str) -> None:
    headers = CREDENTIALS[who]
    expected = expected_of(case, headers)
    assert_same(Client(headers=headers).call_tool(case.tool, case.arguments), expected)


@each_person
@each_case
def test_a_separate_process_replies_as_the_api(case: Case, who: str, server: Server) -> None:
    headers = CREDENTIALS[who]
    expected = expected_of(case, headers)
    envelope = call(server, case.tool, case.arguments, Sender(headers))
    assert_same_kind(envelope, expected)


class Closed(BaseThrottle):
    """Denies every request for a while."""

    def allow_request(self, request: Any, view: Any) -> bool:
        return False

    def wait(self) -> float:
        return 41.5


ONCE = {case.tool: case for case in CASES}


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> None:
    for view in vars(views).values():
        if isinstance(view, type) and issubclass(view, views.APIView):
            monkeypatch.setattr(view, "throttle_classes", [Closed])


@pytest.mark.parametrize("case", ONCE.values(), ids=ONCE)
def test_a_throttled_caller_gets_retry_after(case: Case, server: Server, closed: None) -> None:
    headers = CREDENTIALS["clerk"]
    expected = expected_of(case, headers)
    assert expected.status_code == 429
    assert_same(Client(headers=headers).call_tool(case.tool, case.arguments), expected)
    envelope = call(server, case.tool, case.arguments, Sender(headers))
    assert_same_kind(envelope, expected)
    assert envelope["meta"]["error"]["retryable"] is True
    assert envelope["meta"]["error"]["retry_after"] == 42


@pytest.mark.parametrize("way", ["the API", "the endpoint", "a process of its own"])
def test_throttles_count_calls_as_they_count_requests(way: str, server: Server) -> None:
    headers = CREDENTIALS["clerk"]
    for turn in range(4):
        expected = over_http("GET", "/api/contact/", None, headers) if way == "the API" else None
        if way == "the endpoint":
            result = Client(headers=headers).call_tool("contact_list")
            assert ("isError" in result) == (turn == 3)
        elif expected is not None:
            assert (expected.status_code == 429) == (turn == 3)
        else:
            envelope = call(server, "contact_list", {}, Sender(headers))
            assert envelope["success"] == (turn < 3)


def test_callers_are_throttled_by_address(server: Server) -> None:
    for _ in range(3):
        assert call(server, "contact_list", {}, Sender({}, "10.0.0.1"))["success"]
    assert not call(server, "contact_list", {}, Sender({}, "10.0.0.1"))["success"]
    assert call(server, "contact_list", {}, Sender({}, "10.0.0.2"))["success"]
