"""The API of the page: access, calls, and answers rendered again."""

import asyncio
import gzip
import json
import re
import socket
from contextlib import closing
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from accord import Server
from accord.inspector.page import Assets
from accord.serve.http import App
from accord.serve.http.exchange import Exchange
from cli.command import EXAMPLES
from http_peer import HttpPeer, HttpServer
from inspector.api_client import NEWEST, Api, reply_of, sample, serving
from serve.http.talk import eventually

PROFILES = ["plain", "envelope", "bare", "prose", "generic"]
REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", NEWEST]
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("painter", {"name": "ada"}),
    ("painter", {"name": "zoe"}),
    ("painter", {"name": 1}),
    ("paintings", {"limit": 2}),
    ("negative", {}),
]
VERBS = ["about", "tools", "check", "call", "answer", "validate", "render", "read", "stats"]


@pytest.fixture
def api(server: HttpServer) -> Api:
    return Api(server)


# Who is let in


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("token", [None, "", "x", "token of another start"])
def test_the_api_needs_the_token_of_this_start(api: Api, verb: str, token: str | None) -> None:
    headers = {"Content-Type": "application/json"}
    if token is not None:
        headers["X-Accord-Token"] = token
    got = api._send("POST", f"/inspector/api/{verb}", b"{}", headers)
    assert got.status == 403
    assert "token" in got.refusal


def test_every_start_has_a_token_of_its_own(api: Api) -> None:
    with sample() as other:
        assert Api(other).token != api.token


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.com"}, {"Origin": "http://evil.com"}, {"Origin": "null"}],
    ids=str,
)
@pytest.mark.parametrize("path", ["/", "/inspector/main.js", "/inspector/api/about"])
def test_neither_page_nor_api_are_for_strangers(
    api: Api, path: str, headers: dict[str, str]
) -> None:
    assert api.get(path, headers).status == 403
    assert api.post("about", headers=headers).status == 403


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
def test_a_body_that_a_form_of_another_site_could_send_is_refused(api: Api, kind: str) -> None:
    assert api.post("about", headers={"Content-Type": kind}).status == 415


def test_nothing_in_a_request_names_the_target(api: Api) -> None:
    body = {"tool": "painter", "arguments": {"name": "ada"}, "target": "http://evil.example/mcp"}
    got = api.post("call", body)
    assert got.status == 200
    assert got.said["reading"]["response"]["data"]["name"] == "Ada Lovelace"


@pytest.mark.parametrize(
    ("verb", "body", "status"),
    [
        ("call", b"", 400),
        ("call", b"[]", 400),
        ("call", b"{}", 400),
        ("call", b'{"tool": 1}', 400),
        ("call", b'{"tool": "painter", "arguments": []}', 400),
        ("call", b'{"tool": "painter", "render": {"profile": "loud"}}', 400),
        ("call", b'{"tool": "painter", "render": {"revision": "1999-01-01"}}', 400),
        ("call", b"\xff", 400),
        ("call", b"[" * 100_000, 400),
        ("render", b'{"call": "x"}', 400),
        ("answer", b'{"call": 1, "answers": []}', 400),
        ("validate", b'{"schema": 7, "value": {}}', 400),
        ("read", b'{"reply": 1}', 400),
        ("dance", b"{}", 404),
        ("call", b'{"tool": "painter", "arguments": {"name": "%s"}}' % (b"x" * (4 << 20)), 413),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(
    api: Api, verb: str, body: bytes, status: int
) -> None:
    got = api.post(verb, body)
    assert got.status == status
    assert got.refusal
    assert api.say("about")["kind"] == "local", "and the next request is served"


def test_the_api_is_posted_to(api: Api) -> None:
    got = api.get("/inspector/api/about", {"X-Accord-Token": api.token})
    assert (got.status, got.headers["Allow"]) == (405, "POST")


# The page itself


def test_the_page_keeps_to_itself(api: Api) -> None:
    policy = api.get("/").headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    for path in ("/", "/inspector/main.js", "/inspector/icon.svg"):
        headers = api.get(path).headers
        assert headers["Content-Security-Policy"] == policy
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in headers


def test_there_is_no_script_or_style_inside_and_nothing_from_elsewhere(api: Api) -> None:
    page = api.get("/").body.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=", page)
    for address in re.findall(r'(?:src|href)="([^"#]+)"', page):
        assert not re.match(r"\w+:|//", address), address
        assert api.get(f"/{address}").status == 200
    for name in ("style.css", "main.js"):
        assert "http" not in api.get(f"/inspector/{name}").body.decode()


def test_all_that_is_needed_at_first_is_small_even_unpacked() -> None:
    assets = Assets("x" * 32)
    needed = [*_needed(assets, "/")]
    assert "/inspector/tool.js" in needed
    assert "/inspector/reply_reader.js" not in needed
    assert sum(len(_body(assets, path)) for path in needed) < 110_000
    assert sum(len(_body(assets, path, gzipped=True)) for path in needed) < 40_000


def _needed(assets: Assets, first: str) -> dict[str, None]:
    """Return the files that a browser fetches before it can run a file."""
    found = {first: None}
    for path in (waiting := [first]):
        text = _body(assets, path).decode()
        for name in re.findall(r'(?:from "\./|(?:src|href)="inspector/)([\w.]+)"', text):
            if f"/inspector/{name}" not in found:
                found[f"/inspector/{name}"] = None
                waiting.append(f"/inspector/{name}")
    return found


def _body(assets: Assets, path: str, *, gzipped: bool = False) -> bytes:
    response = assets.find(path, gzipped=gzipped)
    assert response is not None
    return response.body


def test_it_is_packed_for_those_who_can_unpack(api: Api) -> None:
    gzipped = api.get("/inspector/style.css", {"Accept-Encoding": "br, gzip"})
    assert gzipped.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(gzipped.body) == api.get("/inspector/style.css").body


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("HEAD", "/", 200),
        ("POST", "/", 405),
        ("GET", "/inspector/", 404),
        ("GET", "/inspector/page.py", 404),
        ("GET", "/inspector/../page.py", 404),
        ("GET", "/inspector/%2e%2e/page.py", 404),
        ("GET", "/index.html", 404),
        ("GET", "/health", 200),
    ],
)
def test_nothing_but_its_own_files_is_given(api: Api, method: str, path: str, status: int) -> None:
    assert api.get(path, method=method).status == status


@pytest.mark.parametrize("path", ["/", "/nope"])
def test_a_post_elsewhere_names_the_path_of_mcp(api: Api, path: str) -> None:
    said = json.loads(api.get(path, method="POST").body)
    assert said["error"]["message"].endswith("; MCP is at /mcp")


def test_there_is_no_page_where_none_is_wanted() -> None:
    with sample("--no-page") as server, HttpPeer(server.port) as peer:
        api = Api(server, "x")
        assert api.get("/").status == 404
        assert api.post("about").status == 404
        assert peer.call("letter").startswith("Dear Grace")
        assert "page" not in server.said(re.compile(".*MCP at.*"))[0]


# Calls


def test_it_tells_what_it_looks_at(api: Api) -> None:
    about = api.say("about")
    assert about["server"] == {"name": "display", "version": "1.0", "title": "Display"}
    assert (about["revision"], about["profile"]) == (NEWEST, "plain")
    assert (about["revisions"], about["profiles"]) == (REVISIONS, PROFILES)
    tools = api.say("tools")["tools"]
    assert [tool["name"] for tool in tools][:2] == ["paintings", "everything"]
    assert tools[0]["inputSchema"]["properties"]["limit"]["default"] == 20


def test_tools_that_depend_on_the_caller_are_listed(tmp_path: Path) -> None:
    project = copytree(EXAMPLES / "drf_shop", tmp_path / "shop")
    with serving("django:storefront.settings", cwd=project) as server:
        names = [tool["name"] for tool in Api(server).say("tools")["tools"]]
    assert "products_list" in names
    assert "products_create" not in names, "which is for those who are signed in"


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_call_is_a_client_s_message_by_message(api: Api, revision: str) -> None:
    record = api.call("painter", {"revision": revision}, name="ada")
    sent = [json.loads(line["raw"]) for line in record["messages"] if line["direction"] == "sent"]
    methods = [message["method"] for message in sent]
    handshake = ["initialize", "notifications/initialized"] if revision != NEWEST else []
    assert methods == [*handshake, "tools/call"]
    assert [line["isHandshake"] for line in record["messages"]].count(True) == (
        3 if handshake else 0
    )
    assert sent[-1]["params"]["arguments"] == {"name": "ada"}
    for line in record["messages"]:
        assert line["size"] == len(line["raw"].encode())
    assert record["reading"]["response"]["data"]["id"] == 9007199254740993123
    assert record["ms"] >= 0


def test_arguments_reach_the_tool_as_they_were_typed(api: Api) -> None:
    body = b'{"tool": "discard", "arguments": {"id": 12345678901234567}}'
    assert api.post("call", body).said["reading"]["response"]["data"]["discarded"] == (
        12345678901234567
    )


def test_progress_is_part_of_what_was_said(api: Api) -> None:
    record = api.call("count", steps=3)
    said = [json.loads(line["raw"]) for line in record["messages"][1:]]
    assert [each.get("method") for each in said] == ["notifications/progress"] * 3 + [None]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("profile", PROFILES)
def test_an_answer_is_worded_again_as_a_call_would_have_it(
    api: Api, profile: str, revision: str
) -> None:
    options = {"profile": profile, "revision": revision}
    for tool, arguments in CALLS:
        first = api.call(tool, **arguments)
        again = api.say("render", call=first["call"], render=options)
        asked = api.call(tool, options, **arguments)
        assert reply_of(again) == reply_of(asked)
        assert again["reading"] == asked["reading"]
        assert again["ms"] == first["ms"]


def test_to_word_an_answer_again_calls_nothing(api: Api) -> None:
    given = {
        "title": "Moth",
        "size": {"width": 1, "height": 2},
        "finish": "matte",
        "due": "2026-12-01",
    }
    record = api.call("commission", **given)
    done = api.call("calls")["reading"]["response"]["data"]
    for profile in PROFILES:
        api.say("render", call=record["call"], render={"profile": profile})
    assert api.call("calls")["reading"]["response"]["data"] == done


def test_an_answer_that_is_no_longer_stored_is_expired(api: Api) -> None:
    assert api.say("render", call=10**6) == {"expired": True}
    first = api.call("letter")["call"]
    for _ in range(100):
        api.call("letter")
    assert api.say("render", call=first) == {"expired": True}


def test_every_wrong_argument_is_reported_before_anything_is_called(api: Api) -> None:
    given = {"title": "x", "size": {"width": 0}, "finish": "wet", "due": "soon", "copies": 99}
    fields = api.say("check", tool="commission", arguments=given)["fields"]
    assert {each["field"] for each in fields} == {
        *("title", "size.width", "size.height", "finish", "due", "copies")
    }
    assert api.say("check", tool="painter", arguments={"name": "ada"}) == {"fields": []}
    assert api.say("check", tool="nobody", arguments={}) == {"fields": []}


def test_the_way_to_the_next_page_is_reported(api: Api) -> None:
    record = api.call("paintings", limit=100)
    assert record["next"] == {"tool": "paintings", "arguments": {"limit": 100, "offset": 100}}
    last = api.call("paintings", limit=100, offset=200)
    assert last["next"] is None
    assert len(last["reading"]["response"]["data"]) == 40


def test_an_unknown_tool_is_an_answer_too(api: Api) -> None:
    record = api.call("nobody")
    assert reply_of(record)["error"]["code"] == -32602
    assert api.say("render", call=record["call"], render={"revision": "2024-11-05"})["reading"]


def test_the_rest_of_an_answer_is_worded_again(api: Api) -> None:
    first = api.call("inventory")
    assert first["next"]["tool"] == "inventory"
    rest = api.call("inventory", **first["next"]["arguments"])
    assert rest["reading"]["response"]["data"] != first["reading"]["response"]["data"]
    for profile in PROFILES:
        again = api.say("render", call=rest["call"], render={"profile": profile})
        asked = api.call("inventory", {"profile": profile}, **first["next"]["arguments"])
        third, there = (api.call("inventory", cursor=_cursor(record)) for record in (again, asked))
        for one, other in ((again, asked), (third, there)):
            assert one["reading"]["response"]["data"] == other["reading"]["response"]["data"]


def _cursor(record: Any) -> str:
    return str(record["reading"]["page"]["cursor"])


def test_a_call_ends_when_the_page_goes_away(server: HttpServer, api: Api) -> None:
    before = _cancelled(api)
    with closing(_begin(server, api, "wait")):
        assert not eventually(lambda: _cancelled(api) > before, 0.2)
    assert eventually(lambda: _cancelled(api) > before, 30)


def _cancelled(api: Api) -> int:
    done: list[str] = api.call("calls")["reading"]["response"]["data"]
    return done.count("cancelled")


def _begin(server: HttpServer, api: Api, tool: str) -> socket.socket:
    """Call a tool, and do not wait for its answer."""
    connection = socket.create_connection(("127.0.0.1", server.port))
    body = json.dumps({"tool": tool}).encode()
    head = (
        "POST /inspector/api/call HTTP/1.1\r\nHost: localhost\r\n"
        f"X-Accord-Token: {api.token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    connection.sendall(head.encode() + body)
    return connection


def test_a_tool_that_blocks_holds_up_nobody(server: HttpServer, api: Api) -> None:
    with closing(_begin(server, api, "block")) as connection:
        assert api.say("about")["kind"] == "local"
        connection.settimeout(0.05)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        api.call("unblock")
        connection.settimeout(30)
        assert connection.recv(12) == b"HTTP/1.1 200"


def test_a_client_s_call_never_meets_the_page() -> None:
    class OtherPage:
        def __call__(self, exchange: Exchange) -> None:
            asked.append(exchange.path)

        def close(self) -> None:
            """Nothing waits."""

    async def visit(method: str, path: str, body: bytes = b"") -> int:
        async def receive() -> Any:
            return {"type": "http.request", "body": body}

        async def send(message: Any) -> None:
            sent.append(message)

        sent: list[Any] = []
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": method, "path": path, "headers": headers}
        await app(scope, receive, send)
        return int(sent[0]["status"])

    asked: list[str] = []
    app = App(Server("none"), page=OtherPage())
    ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    assert asyncio.run(visit("POST", "/mcp", ping)) == 200
    assert asyncio.run(visit("GET", "/health")) == 200
    assert asked == []
    assert asyncio.run(visit("GET", "/")) == 404
    assert asked == ["/"]


# Reading, and counting


def test_any_reply_is_read_with_the_rules_that_fired(api: Api) -> None:
    reply = json.dumps({"content": [{"type": "text", "text": "Found 2 tables:\n- a\n- b"}]})
    read = api.say("read", reply=reply, tool="list_tables")
    assert read["response"]["data"] == ["a", "b"]
    assert read["rules"] == ["text", "itemised", "bullets"]
    assert api.say("read", reply="\ud800" * 3)["response"]["responseType"] == "single"
    assert api.say("read", reply="")["findings"]


def test_calls_are_counted_whoever_makes_them() -> None:
    with sample() as server, HttpPeer(server.port) as peer:
        api = Api(server)
        assert api.say("stats")["tools"] == []
        peer.call("letter")
        peer.post(peer.calling("painter", name="zoe"))
        api.call("letter")
        api.call("nobody")
        counted = api.say("stats")
        figures = {row["tool"]: (row["calls"], row["failures"]) for row in counted["tools"]}
        assert figures == {"letter": (2, 0), "painter": (1, 1), "?": (1, 1)}
        assert sum(each["calls"] for each in counted["recent"]) == 4
        assert sum(each["failures"] for each in counted["recent"]) == 2
        server.said(re.compile("letter success"), 2)  # and there is a line for each


def test_large_requests_count_only_until_they_are_answered() -> None:
    body = json.dumps({"padding": "x" * 3_000_000}).encode()
    with sample() as running:
        api = Api(running)
        assert {api.post("about", body).status for _ in range(30)} == {200}
