"""The endpoint as a Django view: revisions, origins, permissions and visible tools."""

import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Any

import pytest
from django.contrib.sessions.models import Session
from django.core.signals import request_finished
from django.db import connection
from django.test import RequestFactory, override_settings
from django.urls import path

import wire
from accord import Context, Depends, Header, Server
from accord.django import endpoint, project
from accord.django.views import Endpoint
from accord.serve.http.sync import SyncApp
from accord.serve.loop_thread import loop_thread
from accord.testing import MCPError
from drf.mcp_clients import Client, text_of
from drf.users import CREDENTIALS, user
from storefront.models import Customer
from storefront.urls import router

HANDSHAKE = [date for date in wire.REVISIONS if date != wire.STATELESS]
BOB = {"name": "Bob", "email": "bob@example.com"}


def post(body: Any, content_type: str = "application/json", **headers: str) -> Any:
    sent = body if isinstance(body, str | bytes) else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Client().generic("POST", "/mcp/", sent, content_type, headers=named)


def rpc(method: str, params: Any = None, id: Any = 1) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else message | {"params": params}


# The protocol


def test_a_notification_is_accepted_and_not_answered() -> None:
    response = post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (response.status_code, response.content) == (202, b"")
    assert "Content-Type" not in response.headers


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_other_methods_than_post_are_rejected(method: str) -> None:
    response = Client().generic(method, "/mcp/")
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("body", "content_type", "headers", "status", "code"),
    [
        ("{", "application/json", {}, 400, -32700),
        ("[]", "application/json", {}, 400, -32600),
        ("", "application/json", {}, 400, -32700),
        (rpc("ping"), "text/plain", {}, 415, -32600),
        (rpc("ping"), "application/json", {"Accept": "text/html"}, 406, -32600),
        (rpc("ping"), "application/json", {"MCP_Protocol_Version": "1999-01-01"}, 400, -32022),
        (rpc("nothing"), "application/json", {}, 200, -32601),
    ],
)
def test_unusable_requests_are_rejected(
    body: Any, content_type: str, headers: dict[str, str], status: int, code: int
) -> None:
    response = post(body, content_type, **headers)
    assert response.status_code == status
    assert json.loads(response.content)["error"]["code"] == code


def test_a_message_that_is_too_large_is_refused() -> None:
    small = endpoint(router, max_request=100)
    assert small(RequestFactory().post("/", b"x" * 101, "application/json")).status_code == 413
    with override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=10):
        assert post(rpc("ping")).status_code == 413


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_the_handshake_works_without_a_session(revision: str) -> None:
    client = Client(revision=revision)
    response = client.post_message(
        "initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": {}}
    )
    assert "Mcp-Session-Id" not in response.headers
    assert client.send_request("ping") == {}
    assert json.loads(text_of(client.call_tool("customers_list")))[0]["name"] == "Alice"


def test_the_calls_of_a_batch_are_answered_together() -> None:
    calls = [rpc("tools/call", {"name": "customers_list"}, id=n) for n in (1, 2)]
    response = post([*calls, {"jsonrpc": "2.0", "method": "notifications/initialized"}])
    replies = wire.check(response.content, revision="2025-03-26", method="tools/call")
    assert [reply["id"] for reply in replies] == [1, 2]


def test_a_header_that_differs_from_the_body_is_a_mismatch() -> None:
    client = Client()
    with pytest.raises(MCPError) as caught:
        client.send_request(
            "tools/call", {"name": "customers_list", "_meta": {}} | {"name": "ping"}
        )
    assert caught.value.code == -32602
    response = Client().generic(
        "POST",
        "/mcp/",
        json.dumps(rpc("tools/list", {"_meta": client_meta()})),
        "application/json",
        headers={"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call"},
    )
    assert json.loads(response.content)["error"]["code"] == -32020


def client_meta() -> dict[str, Any]:
    prefix = "io.modelcontextprotocol"
    return {f"{prefix}/protocolVersion": "2026-07-28", f"{prefix}/clientCapabilities": {}}


def test_protocol_errors_raise_and_tool_errors_return() -> None:
    client = Client()
    with pytest.raises(MCPError, match="Unknown tool: nothing") as caught:
        client.call_tool("nothing")
    assert (caught.value.code, caught.value.data) == (-32602, None)
    assert client.call_tool("orders_list")["isError"] is True


# Arguments

MISFITS: list[tuple[str, Any, list[tuple[str, str]]]] = [
    ("customers_retrieve", {}, [("kwargs", "is required")]),
    ("customers_retrieve", {"kwargs": {}}, [("kwargs.pk", "is required")]),
    (
        "customers_retrieve",
        {"kwargs": {"id": 1}},
        [("kwargs.id", "is not a known field"), ("kwargs.pk", "is required")],
    ),
    (
        "customers_retrieve",
        {"kwargs": {"pk": [1]}},
        [("kwargs.pk", "must be an integer or a string, not an array")],
    ),
    ("customers_list", {"toolCallId": "x"}, [("toolCallId", "is not a known field")]),
    ("customers_list", {"query": "search"}, [("query", "must be an object, not a string")]),
    ("customers_list", {"body": {}}, [("body", "is not a known field")]),
]


@pytest.mark.parametrize(
    ("tool", "arguments", "fields"), MISFITS, ids=[f"{m[0]}-{i}" for i, m in enumerate(MISFITS)]
)
def test_arguments_of_another_shape_are_named(
    tool: str, arguments: Any, fields: list[tuple[str, str]]
) -> None:
    result = Client(revision="2025-11-25").call_tool(tool, arguments)
    assert result["isError"] is True
    named = "; ".join(f"{field} {error}" for field, error in sorted(fields))
    assert text_of(result).startswith(f"Error executing tool: Invalid arguments for {tool}: ")
    said = text_of(result).partition(f"for {tool}: ")[2]
    assert "; ".join(sorted(said.split("; "))) == named
    with pytest.raises(MCPError) as caught:
        Client(revision="2025-06-18").call_tool(tool, arguments)
    assert caught.value.code == -32602
    errors = caught.value.data["validation_errors"]
    assert sorted((each["field"], each["error"]) for each in errors) == sorted(fields)


def test_the_view_validates_the_body_in_every_revision() -> None:
    for revision in wire.REVISIONS:
        client = Client(revision=revision, headers=CREDENTIALS["clerk"])
        result = client.call_tool("customers_create", {"body": {"name": 1, "extra": True}})
        said = "ViewSet returned error: {'email': ['This field is required.']}"
        assert text_of(result) == f"Error executing tool: {said}"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("Bob", "Expected a dictionary, but got str."),
        ([BOB], "Expected a dictionary, but got list."),
        (None, "This field is required."),
    ],
)
def test_a_body_of_another_type_gets_the_reply_of_the_view(body: Any, words: str) -> None:
    for revision in ("2025-06-18", "2025-11-25"):
        client = Client(revision=revision, headers=CREDENTIALS["clerk"])
        result = client.call_tool("customers_create", {"body": body})
        assert result["isError"] is True
        assert words in text_of(result)


@pytest.mark.parametrize("value", ['{"a": 1e999}', "[" * 2_000 + "]" * 2_000])
def test_arguments_that_cannot_be_decoded_are_rejected(value: str) -> None:
    body = json.dumps(rpc("tools/call", {"name": "customers_list", "arguments": {"query": "N"}}))
    response = post(body.replace('"N"', value), MCP_Protocol_Version="2025-11-25")
    reply = json.loads(response.content)
    assert "error" in reply or reply["result"]["isError"] is True


# Who is let in


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200),
        ("http://testserver", 200),
        ("https://partner.example", 200),
        ("https://a.shops.example", 200),
        ("https://evil.example", 403),
        ("http://testserver.evil.example", 403),
        ("http://testserver:8000", 403),
        ("https://shops.example.evil.example", 403),
        ("http://a.shops.example", 403),
        ("null", 403),
        ("", 403),
    ],
)
def test_only_trusted_origins_are_allowed(origin: str | None, status: int) -> None:
    trusted = ["https://partner.example", "https://*.shops.example"]
    headers = {} if origin is None else {"Origin": origin}
    with override_settings(CSRF_TRUSTED_ORIGINS=trusted):
        assert post(rpc("ping"), **headers).status_code == status


def test_an_endpoint_can_allow_more_origins() -> None:
    open_to = endpoint(router, allow_origins=["https://inspector.example"])
    for origin, status in (("https://inspector.example", 405), ("https://other.example", 403)):
        assert open_to(RequestFactory().get("/", headers={"Origin": origin})).status_code == status


def test_only_allowed_hosts_are_answered() -> None:
    assert post(rpc("ping"), Host="evil.example").status_code == 400


def test_a_session_cookie_needs_the_csrf_token() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(user("clerk"))
    assert "isError" not in client.call_tool("orders_list")
    refused = client.call_tool("customers_create", {"body": BOB})
    assert "CSRF Failed" in text_of(refused)
    token = "a" * 32
    client.cookies["csrftoken"] = token
    client.credentials(HTTP_X_CSRFTOKEN=token)
    assert "isError" not in client.call_tool("customers_create", {"body": BOB})
    assert Session.objects.count() == 1


def test_the_language_of_the_caller_is_that_of_the_answer() -> None:
    german = Client(headers={"Accept-Language": "de"})
    assert "Anmeldedaten fehlen" in text_of(german.call_tool("orders_list"))
    assert "not provided" in text_of(Client().call_tool("orders_list"))


# Who sees what


def names(who: str) -> set[str]:
    return {tool["name"] for tool in Client(headers=CREDENTIALS[who]).list_tools()}


def test_each_caller_sees_the_tools_it_may_use() -> None:
    every = names("clerk")
    assert "orders_refund" in every
    reading = {"customers_list", "customers_retrieve", "products_list", "products_retrieve"}
    public = {"contact_list", "contact_create", "api_health_get"}
    assert names("anonymous") == reading | public
    mine = names("visitor")
    assert {"customers_create", "orders_items_list", "orders_list"} <= mine
    assert not {"products_create", "orders_create", "orders_destroy"} & mine
    assert names("stranger") == names("fired") == set()


def test_a_list_of_tools_is_not_cached_across_callers() -> None:
    result = Client().send_request("tools/list")
    assert result["cacheScope"] == "private"


def test_a_hidden_tool_is_denied_as_by_the_api() -> None:
    result = Client(headers=CREDENTIALS["visitor"]).call_tool("products_create", {"body": {}})
    assert "You do not have permission to perform this action." in text_of(result)


def test_callers_are_looked_up_once_for_a_list(django_queries: Any) -> None:
    client = Client(headers=CREDENTIALS["clerk"])
    client.list_tools()
    with django_queries as queries:
        client.list_tools()
    assert len(queries) <= 4


@pytest.fixture
def django_queries() -> Any:
    from django.test.utils import CaptureQueriesContext

    return CaptureQueriesContext(connection)


# Inside Django


def test_a_request_ends_once_however_many_calls_there_are() -> None:
    ended: list[Any] = []

    def note(**_: Any) -> None:
        ended.append(1)

    client = Client()
    client.call_tool("customers_list")
    request_finished.connect(note)
    try:
        client.call_tool("customers_list").copy()
    finally:
        request_finished.disconnect(note)
    assert len(ended) <= 1


def test_each_call_has_its_own_transaction() -> None:
    connection.settings_dict["ATOMIC_REQUESTS"] = True
    (view,) = project.endpoints().values()
    view.rebuild()
    try:
        good = {"name": "customers_create", "arguments": {"body": BOB}}
        bad = {"name": "customers_create", "arguments": {"body": {}}}
        response = Client(headers=CREDENTIALS["clerk"]).generic(
            "POST",
            "/mcp/",
            json.dumps([rpc("tools/call", good, 1), rpc("tools/call", bad, 2)]),
            "application/json",
        )
    finally:
        connection.settings_dict["ATOMIC_REQUESTS"] = False
        view.rebuild()
    first, second = json.loads(response.content)
    assert "isError" not in first["result"]
    assert second["result"]["isError"] is True
    assert Customer.objects.filter(name="Bob").exists()


def test_attributes_set_by_middleware_reach_the_view() -> None:
    client = Client()
    client.force_authenticate(user("clerk"))
    assert "isError" not in client.call_tool("orders_list")


def mounted(view: Endpoint) -> Any:
    class Urls:
        urlpatterns = [path("mcp/", view)]

    return override_settings(ROOT_URLCONF=Urls)


def test_an_unmounted_router_is_served() -> None:
    with mounted(endpoint(router)):
        client = Client("/mcp/", headers=CREDENTIALS["clerk"])
        assert len(client.list_tools()) == 25
        assert "isError" not in client.call_tool("customers_retrieve", {"kwargs": {"pk": 1}})
        failed = client.call_tool("customers_retrieve", {"kwargs": {"pk": 2}})
        assert text_of(failed).endswith("{'detail': 'Not found.'}")


def test_an_endpoint_has_the_given_name_and_title() -> None:
    named = endpoint(router, name="shop", version="9", title="The shop", profile="envelope")
    with mounted(named):
        client = Client("/mcp/", revision="2025-06-18")
        said = client.initialize()["serverInfo"]
        assert said == {"name": "shop", "version": "9", "title": "The shop"}
        assert json.loads(text_of(client.call_tool("customers_list")))["success"] is True


def test_a_paginated_list_has_its_page() -> None:
    result = Client().call_tool("products_list", {"query": {"page_size": 1, "page": 2}})
    assert json.loads(text_of(result))["count"] == 3
    page = result["_meta"]["dev.accord-mcp/answer"]["page"]
    assert page == {"offset": 1, "limit": 1, "total": 3, "hasMore": True, "nextOffset": 2}
    last = Client(headers=CREDENTIALS["clerk"]).call_tool("orders_list", {"query": {"offset": 1}})
    assert last["_meta"]["dev.accord-mcp/answer"]["page"] == {
        "offset": 1,
        "limit": 10,
        "total": 2,
        "hasMore": False,
    }


# Tools of another kind behind the same view


def desk() -> Server:
    server = Server("desk")

    @server.tool
    async def greet(context: Context) -> str:
        """ViewCall for a name."""
        return f"Hello, {(await context.elicit('Your name?', str)).data}"

    @server.tool
    def find(region: Annotated[str, Header("Region")]) -> str:
        """Look there."""
        return region

    return server


def ask_desk(view: Endpoint, tool: str, params: Any, **headers: str) -> Any:
    meta = {
        "io.modelcontextprotocol/protocolVersion": wire.STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    }
    message = rpc("tools/call", {"name": tool, **params, "_meta": meta})
    request = RequestFactory().post(
        "/mcp/",
        json.dumps(message),
        content_type="application/json",
        headers={
            "MCP-Protocol-Version": wire.STATELESS,
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
            **{name.replace("_", "-"): value for name, value in headers.items()},
        },
    )
    response = view(request)
    wire.check(response.content, revision=wire.STATELESS, method="tools/call")
    return json.loads(response.content)


@pytest.mark.parametrize("ada", [{"Authorization": "Token ada"}, {"Cookie": "sessionid=ada"}])
def test_an_elicitation_is_answered_by_the_same_caller_only(ada: dict[str, str]) -> None:
    view = endpoint(router)
    view.app = SyncApp(desk())
    asked = ask_desk(view, "greet", {}, **ada)["result"]
    accepted = {"action": "accept", "content": {"value": "Ada"}}
    answer = {"inputResponses": {"elicit": accepted}, "requestState": asked["requestState"]}
    strangers: list[dict[str, str]] = [
        {},
        {"Authorization": "Token eve"},
        {"Cookie": "sessionid=eve"},
    ]
    for stranger in strangers:
        error = ask_desk(view, "greet", answer, **stranger)["error"]
        assert error["message"] == "params.requestState belongs to another request"
    again = ada | ({"Cookie": ada["Cookie"] + "; seen=1"} if "Cookie" in ada else {})
    assert text_of(ask_desk(view, "greet", answer, **again)["result"]) == "Hello, Ada"


def test_header_params_must_match_the_arguments() -> None:
    view = endpoint(router)
    view.app = SyncApp(desk())
    there = {"arguments": {"region": "north"}}
    assert text_of(ask_desk(view, "find", there, Mcp_Param_Region="north")["result"]) == "north"
    assert ask_desk(view, "find", there, Mcp_Param_Region="south")["error"]["code"] == -32020
    assert ask_desk(view, "find", there)["error"]["code"] == -32020


# The lifespan


def test_the_lifespan_of_an_endpoint_runs_once_and_may_add_tools() -> None:
    events: list[str] = []

    @asynccontextmanager
    async def open_shop(server: Server) -> AsyncIterator[str]:
        events.append("enter")

        @server.tool
        async def state(ctx: Context[str]) -> str:
            """Return the state."""
            return ctx.state

        @server.tool
        def counted(ctx: Context[str]) -> int:
            """Count the customers, in the thread of the request, whose connection has them."""
            events.append(threading.current_thread().name)
            return Customer.objects.count()

        yield "open"
        events.append("exit")

    with mounted(endpoint(router, lifespan=open_shop)):
        client = Client("/mcp/", headers=CREDENTIALS["clerk"])
        assert {"state", "counted"} <= {tool["name"] for tool in client.list_tools()}
        assert text_of(client.call_tool("state")) == "open"
        assert text_of(client.call_tool("counted")) == str(Customer.objects.count())
        assert "isError" not in client.call_tool("customers_retrieve", {"kwargs": {"pk": 1}})
    loop_thread().stop()
    assert events == ["enter", threading.current_thread().name, "exit"]


def test_a_blocking_tool_with_an_async_dependency_runs_in_the_thread_of_the_request() -> None:
    server = Server("desk")

    async def word() -> AsyncIterator[str]:
        yield "counted"

    @server.tool
    def count(word: Annotated[str, Depends(word)]) -> str:
        """Count the customers, in the thread of the request, whose connection has them."""
        return f"{word} {Customer.objects.count()} in {threading.current_thread().name}"

    view = endpoint(router)
    view.app = SyncApp(server)
    others = set(threading.enumerate())
    found = text_of(ask_desk(view, "count", {})["result"])
    assert found == f"counted {Customer.objects.count()} in {threading.current_thread().name}"
    assert set(threading.enumerate()) <= others


def test_a_lifespan_that_fails_is_a_503_that_tells_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @contextmanager
    def fail(server: Server) -> Iterator[None]:
        raise RuntimeError("no database")
        yield

    with mounted(endpoint(router, lifespan=fail)):
        for _ in range(2):
            response = post(rpc("ping"))
            assert response.status_code == 503
            assert b"no database" not in response.content
    loop_thread().stop()
    records = [record.getMessage() for record in caplog.records if record.name == "accord"]
    assert len(records) == 2
    assert all("failed: RuntimeError: no database (" in record for record in records)
