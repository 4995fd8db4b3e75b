"""A tool does for everybody exactly what its URL does: same status, same data."""

import json
from typing import Any, NamedTuple

import pytest
from django.test import override_settings
from rest_framework.test import APIClient

import wire
from accord.answer import KINDS
from accord.django import project
from accord.protocol import Call
from accord.serve import blocking
from accord.testing import MCPClient
from drf.people import CREDENTIALS
from stdio_peer import modern_params

Arguments = dict[str, Any]
ENVELOPE = {"extensions": {"dev.accord-mcp/profile": {"name": "envelope"}}}
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
    Case("orders_items_create", "POST", "orders/1/items/", {"order_pk": 1}, body={"product": "PC-2"}),
    Case("orders_items_create", "POST", "orders/9/items/", {"order_pk": 9}, body={"product": "PC-2"}),
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


class Sender:
    """What our own HTTP server knows of a request."""

    address = "127.0.0.1"

    def __init__(self, headers: dict[str, str]) -> None:
        self.fields = {name.lower().encode(): value.encode() for name, value in headers.items()}


def over_http(case: Case, headers: dict[str, str]) -> Any:
    """What the API itself says."""
    path = f"/api/{case.path}"
    if case.query:
        from urllib.parse import urlencode

        path = f"{path}?{urlencode(case.query)}"
    body = "" if case.body is None else json.dumps(case.body)
    return APIClient().generic(case.method, path, body, "application/json", headers=headers)


def rolled_back(make: Any) -> Any:
    """What something gives, without what it changes."""
    from django.core.cache import cache
    from django.db import transaction

    with transaction.atomic():
        made = make()
        transaction.set_rollback(True)
    cache.clear()
    return made


def by_endpoint(case: Case, headers: dict[str, str]) -> Any:
    """What the endpoint inside the project says."""
    client = MCPClient(headers=headers)
    return client.call_tool(case.tool, case.arguments)


def by_itself(case: Case, headers: dict[str, str]) -> Any:
    """What a process of its own says, in an envelope, which tells kinds."""
    params = modern_params({"name": case.tool, "arguments": case.arguments}, capabilities=ENVELOPE)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    server = project.server()
    connection = server.connect()
    (call,) = connection.receive(json.dumps(message).encode(), None, Sender(headers))
    assert isinstance(call, Call)
    reply = connection.finish(call, blocking.run(server, call).reply)
    assert reply is not None
    checked = wire.check(reply, revision=wire.STATELESS, method="tools/call", profile="envelope")
    return json.loads(checked["result"]["content"][0]["text"])


def data_of(response: Any) -> Any:
    return json.loads(response.content) if response.content else None


@each_person
@each_case
def test_the_endpoint_says_what_the_api_says(case: Case, who: str) -> None:
    headers = CREDENTIALS[who]
    expected = rolled_back(lambda: over_http(case, headers))
    result = by_endpoint(case, headers)
    text = result["content"][0]["text"]
    data = data_of(expected)
    if expected.status_code < 400:
        assert "isError" not in result
        assert json.loads(text) == data
        assert result.get("structuredContent") == data
    else:
        assert result["isError"] is True
        assert text == f"Error executing tool: ViewSet returned error: {data}"


@each_person
@each_case
def test_a_process_of_its_own_says_what_the_api_says(case: Case, who: str) -> None:
    headers = CREDENTIALS[who]
    expected = rolled_back(lambda: over_http(case, headers))
    envelope = by_itself(case, headers)
    data = data_of(expected)
    if expected.status_code < 400:
        assert envelope["success"] is True
        wanted = data if isinstance(data, dict) else {"items": data} if data is not None else {}
        assert envelope["data"] == json.loads(
            json.dumps(wanted).replace("http://testserver/", "http://localhost/")
        )
    else:
        assert envelope["error"] == f"ViewSet returned error: {data}"
        assert envelope["meta"]["error"]["type"] == KIND_OF[expected.status_code]
        assert envelope["meta"]["error"]["type"] in KINDS
