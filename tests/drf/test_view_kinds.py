"""Views of every kind as tools: names, arguments and answers."""

import json
import warnings
from base64 import b64encode
from typing import Any

import pytest
from django.test import override_settings

from accord import Server
from accord.django import project
from accord.sources.drf import SkippedWarning
from drf import sample_views
from drf.mcp_clients import Client, Sender, ask, call, text_of
from drf.users import user

odd_urls = override_settings(ROOT_URLCONF="drf.sample_views")


@pytest.fixture(scope="module")
def said() -> list[str]:
    return []


@pytest.fixture(scope="module")
def server(tables: None, said: list[str]) -> Server:
    urls = override_settings(ROOT_URLCONF="drf.sample_views")
    with urls, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SkippedWarning)
        server = project.server()
        said += [str(warning.message) for warning in caught]
    return server


NAMES = """
products_list products_retrieve
clients_list clients_create clients_retrieve clients_update clients_partial_update clients_destroy
clients_star clients_star_post clients_star_delete clients_count clients_recount
chosen_list chosen_retrieve pick.one
faults_bug faults_meant faults_busy faults_gone faults_wait faults_deep faults_listed faults_refused
shapes_text shapes_picture shapes_sound shapes_file shapes_stream shapes_elsewhere shapes_nothing
shapes_query shapes_headers
uploads_create forms_create
unready_list unready_create unready_retrieve unready_update unready_partial_update unready_destroy
own_page_list
clients_orders_list clients_orders_retrieve
things_list things_retrieve
reports_year_month_get everybody_list everybody_create greet_get greet_post async_get
""".split()


def test_every_kind_of_view_has_its_tools(server: Server) -> None:
    assert sorted(server.tools) == sorted(NAMES)


def test_skipped_views_and_unknown_schemas_are_reported(server: Server, said: list[str]) -> None:
    assert [each for each in said if each.startswith("drf.sample_views.Unnamed")] == [
        "drf.sample_views.Unnamed is skipped: its URL has unnamed groups"
    ]
    unready = [each for each in said if "Unready" in each]
    assert len(unready) == 1
    assert "unready_create (drf.sample_views.Unready.create at /api/unready/): " in unready[0]
    assert unready[0].endswith(
        "the schema of its body is unknown: RuntimeError: ask me in a request"
    )
    assert len(said) == 2


CALLS: list[tuple[str, Any, Any]] = [
    ("clients_count", {}, 1),
    ("clients_recount", {"body": {"a": [1, None]}}, {"a": [1, None]}),
    (
        "clients_star",
        {"kwargs": {"pk": 7, "colour": "red"}},
        {"pk": "7", "colour": "red", "method": "GET"},
    ),
    (
        "clients_star_post",
        {"kwargs": {"pk": "7", "colour": "red"}, "body": {}},
        {"pk": "7", "colour": "red", "method": "POST"},
    ),
    (
        "clients_star_delete",
        {"kwargs": {"pk": 7, "colour": "red"}},
        {"pk": "7", "colour": "red", "method": "DELETE"},
    ),
    ("pick.one", {"body": {"who": "Alice"}}, {"picked": {"who": "Alice"}}),
    ("shapes_text", {}, "Zoë"),
    ("shapes_stream", {}, [1, 2]),
    ("shapes_elsewhere", {}, {"location": "/there/"}),
    ("shapes_nothing", {}, None),
    (
        "shapes_query",
        {"query": {"a": 1, "b": True, "c": ["x", "y"], "d": None, "e": "ä&="}},
        {"a": ["1"], "b": ["true"], "c": ["x", "y"], "e": ["ä&="]},
    ),
    ("forms_create", {"body": {"a": "x", "b": 2, "c": None}}, {"a": "x", "b": "2", "c": ""}),
    ("unready_list", {}, []),
    ("own_page_list", {}, {"mine": True}),
    ("things_list", {}, {"version": "v1"}),
    ("things_list", {"kwargs": {"version": "v2"}}, {"version": "v2"}),
    ("reports_year_month_get", {"kwargs": {"year": 2026}}, {"year": "2026", "month": None}),
    (
        "reports_year_month_get",
        {"kwargs": {"year": 2026, "month": 5}},
        {"year": "2026", "month": "5"},
    ),
    ("greet_get", {}, {"hello": "GET"}),
    ("greet_post", {"body": {}}, {"hello": "POST"}),
    ("async_get", {}, {"async": True}),
]


@odd_urls
@pytest.mark.parametrize("way", ["inside", "by itself"])
@pytest.mark.parametrize(
    ("tool", "arguments", "data"), CALLS, ids=[f"{c[0]}-{i}" for i, c in enumerate(CALLS)]
)
def test_a_call_returns_the_response_of_the_view(
    server: Server, way: str, tool: str, arguments: Any, data: Any
) -> None:
    headers = {"Authorization": "Token clerks-token"}
    if way == "inside":
        result = inside(headers).call_tool(tool, arguments)
    else:
        params = {"name": tool, "arguments": arguments}
        result = ask(server, "tools/call", params, Sender(headers))
    assert "isError" not in result
    assert json.loads(text_of(result)) == data


def inside(headers: dict[str, str] | None = None) -> Client:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkippedWarning)
        for endpoint in project.endpoints().values():
            _ = endpoint.app
    return Client("/mcp/", headers=headers or {})


PROBLEMS: list[tuple[str, Any, str, str, list[tuple[str, str]]]] = [
    ("faults_bug", {}, "internal", "Internal error", []),
    ("faults_meant", {}, "internal", "{'detail': 'The printer is on fire'}", []),
    ("faults_busy", {}, "unavailable", "{'detail': 'Later'}", []),
    ("faults_gone", {}, "not_found", "{'detail': 'Gone.'}", []),
    (
        "faults_wait",
        {},
        "rate_limit",
        "{'detail': 'Request was throttled. Expected available in 3 seconds.'}",
        [],
    ),
    (
        "faults_deep",
        {"body": {}},
        "validation",
        "{'a': [{}, {'b': ['no', 'never']}], 'non_field_errors': ['at all'], 'c': 'plain'}",
        [
            ("body.a[1].b", "no"),
            ("body.a[1].b", "never"),
            ("body", "at all"),
            ("body.c", "plain"),
        ],
    ),
    (
        "faults_listed",
        {},
        "validation",
        "{'size': ['Enter a number.']}",
        [("query.size", "Enter a number.")],
    ),
    ("faults_refused", {}, "validation", "{'detail': 'Method \"GET\" not allowed.'}", []),
    ("clients_retrieve", {"kwargs": {"pk": "a/b"}}, "not_found", "{'detail': 'Not found.'}", []),
    ("clients_retrieve", {"kwargs": {"pk": "count"}}, "not_found", "{'detail': 'Not found.'}", []),
    ("clients_retrieve", {"kwargs": {"pk": ""}}, "not_found", "{'detail': 'Not found.'}", []),
    (
        "reports_year_month_get",
        {"kwargs": {"year": "x"}},
        "not_found",
        "{'detail': 'Not found.'}",
        [],
    ),
    ("things_list", {"kwargs": {"version": "v9"}}, "not_found", "Invalid version", []),
    (
        "uploads_create",
        {"body": {"title": "a", "scan": {"name": "x", "content": "?"}}},
        "validation",
        "body.scan.content must be Base64",
        [("body.scan.content", "must be Base64")],
    ),
]


@odd_urls
@pytest.mark.parametrize(
    ("tool", "arguments", "kind", "words", "fields"),
    PROBLEMS,
    ids=[f"{p[0]}-{i}" for i, p in enumerate(PROBLEMS)],
)
def test_a_problem_has_its_kind_and_field_errors(
    server: Server, tool: str, arguments: Any, kind: str, words: str, fields: Any
) -> None:
    sender = Sender({"Authorization": "Token clerks-token"})
    envelope = call(server, tool, arguments, sender)
    error = envelope["meta"]["error"]
    assert (envelope["success"], error["type"]) == (False, kind)
    assert words in envelope["error"]
    assert [(each["field"], each["error"]) for each in error.get("fields", ())] == fields


@odd_urls
@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("way", ["inside", "by itself"])
def test_no_exception_leaks(server: Server, debug: bool, way: str) -> None:
    with override_settings(DEBUG=debug, DEBUG_PROPAGATE_EXCEPTIONS=False):
        if way == "inside":
            client = inside()
            client.raise_request_exception = False
            result = client.call_tool("faults_bug")
        else:
            result = ask(server, "tools/call", {"name": "faults_bug", "arguments": {}})
    assert result["isError"] is True
    assert text_of(result) == "Error executing tool: Internal error"
    assert sample_views.SECRET not in json.dumps(result)


@odd_urls
def test_retry_after_is_passed_on(server: Server) -> None:
    assert call(server, "faults_busy", {})["meta"]["error"]["retry_after"] == 7
    assert call(server, "faults_wait", {})["meta"]["error"]["retry_after"] == 3
    assert call(server, "faults_refused", {})["meta"]["error"]["code"] == "METHOD_NOT_ALLOWED"


@odd_urls
@pytest.mark.parametrize(
    ("tool", "kind", "content"),
    [
        ("shapes_picture", "image", b"\x89PNG"),
        ("shapes_sound", "audio", b"RIFF"),
        ("shapes_file", "resource", b"%PDF"),
    ],
)
def test_binary_content_is_a_content_block(
    server: Server, tool: str, kind: str, content: bytes
) -> None:
    result = ask(server, "tools/call", {"name": tool, "arguments": {}})
    (block,) = [block for block in result["content"] if block["type"] != "text"]
    assert block["type"] == kind
    data = block["resource"]["blob"] if kind == "resource" else block["data"]
    assert data == b64encode(content).decode()


@odd_urls
def test_a_file_is_sent_as_base64_with_a_name(server: Server) -> None:
    scan = {"name": 'a "b"\r\n.txt', "content": b64encode(b"hello").decode()}
    body = {"title": "Zoë", "scan": scan, "tags": ["x", "y"]}
    envelope = call(server, "uploads_create", {"body": body})
    assert envelope["data"] == {
        "title": "Zoë",
        "tags": ["x", "y"],
        "name": envelope["data"]["name"],
        "type": "application/octet-stream",
        "content": "hello",
    }
    assert "\r" not in envelope["data"]["name"]
    schema = server.tools["uploads_create"].input_schema["properties"]["body"]["properties"]
    assert schema["scan"]["required"] == ["name", "content"]
    assert schema["scan"]["properties"]["content"]["contentEncoding"] == "base64"


@odd_urls
def test_the_cursor_of_the_paginator_is_in_the_page(server: Server) -> None:
    first = call(server, "products_list", {})
    page = first["meta"]["pagination"]
    assert page["has_more"] is True
    second = call(server, "products_list", {"query": {"cursor": page["cursor"]}})
    assert [each["sku"] for each in second["data"]["results"]] == ["MT-3"]
    assert second["meta"]["pagination"]["has_more"] is False


@odd_urls
def test_headers_of_the_caller_reach_the_view_and_those_of_the_message_do_not(
    server: Server,
) -> None:
    sent = {
        "Accept-Language": "de",
        "X-Request-Id": "7",
        "Cookie": "a=b",
        "User-Agent": "somebody",
        "Accept": "text/event-stream",
        "Content-Length": "999",
        "If-None-Match": "*",
        "Mcp-Method": "tools/call",
        "Mcp-Session-Id": "secret",
        "Host": "127.0.0.1:8000",
    }
    got = call(server, "shapes_headers", {}, Sender(sent))["data"]
    assert {name: got[name] for name in ("Accept-Language", "X-Request-Id", "Cookie")} == {
        "Accept-Language": "de",
        "X-Request-Id": "7",
        "Cookie": "a=b",
    }
    assert got["Accept"] == "application/json"
    assert got["Host"] == "127.0.0.1:8000"
    assert not {name for name in got if name.startswith(("Mcp", "If-", "Content-"))}


@odd_urls
@pytest.mark.parametrize(
    ("allowed", "host"),
    [
        (["*"], "evil.example"),
        (["shop.example"], "shop.example"),
        ([".shop.example"], "shop.example"),
    ],
)
def test_a_host_outside_of_allowed_hosts_is_not_passed_on(
    server: Server, allowed: list[str], host: str
) -> None:
    with override_settings(ALLOWED_HOSTS=allowed):
        got = call(server, "shapes_headers", {}, Sender({"Host": "evil.example"}))["data"]
    assert got["Host"] == host


@odd_urls
def test_a_project_with_ssl_redirect_gets_https_requests(server: Server) -> None:
    with override_settings(SECURE_SSL_REDIRECT=True):
        secured = with_all_warnings_ignored(project.server)
        assert call(secured, "greet_get", {}, Sender({}))["data"] == {"hello": "GET"}


def with_all_warnings_ignored(make: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkippedWarning)
        return make()


@odd_urls
def test_without_a_request_a_tool_acts_for_the_named_user() -> None:
    mine = with_all_warnings_ignored(lambda: project.server(user("visitor")))
    assert call(mine, "reports_year_month_get", {"kwargs": {"year": 2026}})["success"] is True
    anonymous_request = with_all_warnings_ignored(project.server)
    refused = call(anonymous_request, "reports_year_month_get", {"kwargs": {"year": 2026}})
    assert refused["meta"]["error"]["type"] == "authentication"


def session_of(name: str) -> dict[str, str]:
    browser = Client()
    browser.force_login(user(name))
    return {"Cookie": f"sessionid={browser.cookies['sessionid'].value}"}


def test_cookies_and_language_reach_a_separate_process() -> None:
    server = project.server()
    clerk = Sender(session_of("clerk"))
    assert call(server, "orders_list", {}, clerk)["success"] is True
    assert len(ask(server, "tools/list", {}, clerk)["tools"]) == 26
    assert len(ask(server, "tools/list", {}, Sender({"Cookie": "sessionid=x"}))["tools"]) == 7
    refused = call(server, "orders_list", {}, Sender({"Accept-Language": "de"}))
    assert "Anmeldedaten fehlen" in refused["error"]
    unproved = call(server, "customers_destroy", {"kwargs": {"pk": 1}}, clerk)
    assert "CSRF Failed" in unproved["error"]
