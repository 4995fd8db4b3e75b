"""`accord inspect`: the page for a remote server."""

import asyncio
import json
import re
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cli.command import ACCORD, ENVIRONMENT, accord_each, assert_one_line_of_misuse
from client.connections import run
from http_peer import HttpServer
from inspector.api_client import COMMAND, MANY, SHOP, Api, inspecting, reply_of, sample
from peers.scripted_server import replying, scripted_server
from processes import children, free_port, is_gone
from serve.http.talk import eventually

REMOTE = """
import json, os, sys
answers = {}
asked = {7: "aside", 1: "roots/list", "1": "elicitation/create", "x": "sampling/createMessage"}
for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message:
        answers[asked[message["id"]]] = message.get("result", message.get("error"))
        continue
    if message["method"] == "notifications/initialized" and not os.path.exists(__file__ + ".asked"):
        open(__file__ + ".asked", "w").close()
        for name, method in [*asked.items()][1:]:
            print(json.dumps({"jsonrpc": "2.0", "id": name, "method": method, "params": {}}), flush=True)
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "<b>remote</b>"}}
    elif message["method"] == "tools/list":
        result = {"tools": [
            {"name": "end", "inputSchema": {"type": "object"}},
            {"name": "odd", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 3}}}},
            {"name": "broken", "inputSchema": {"type": "nonsense"}},
            {"name": "pid", "inputSchema": 7},
            {"name": "unbidden", "inputSchema": {}},
            {"name": "aside", "inputSchema": {}},
        ]}
    elif "id" not in message:
        continue
    elif message["method"] != "tools/call":
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    elif message["params"]["name"] == "end":
        sys.exit("that was too much")
    elif message["params"]["name"] == "pid":
        result = {"content": [{"type": "text", "text": str(os.getpid())}]}
    elif message["params"]["name"] == "aside":
        question = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "roots/list"})
        result = {"content": [{"type": "text", "text": "done"}]}
        print(question, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), sep="\\n", flush=True)
        continue
    elif message["params"]["name"] == "unbidden":
        result = {"content": [{"type": "text", "text": json.dumps(answers)}]}
    else:
        print("noise", flush=True)
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}), flush=True)
        result = {"content": [{"type": "text", "text": '{"total": 2, "rows": [{"id": 1}, {"id": 2}]}'}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    path = tmp_path_factory.mktemp("remote") / "remote.py"
    path.write_text(REMOTE)
    with inspecting(f"{sys.executable} {path}") as running:
        Api.linked(running).say("tools")  # by then it has asked what it has to ask
        yield running
    assert "Traceback" not in running.stderr


@pytest.fixture
def api(remote: HttpServer) -> Api:
    return Api.linked(remote)


def test_it_looks_at_somebody_else_s_server_by_its_command_line() -> None:
    with inspecting(COMMAND) as page:
        _look(Api.linked(page))


def test_it_shows_the_name_of_the_target() -> None:
    with inspecting(f"far={COMMAND}") as page:
        assert Api.linked(page).say("about")["target"] == f"far={COMMAND}"


def test_it_looks_at_a_url_and_tells_when_nobody_is_there_any_longer() -> None:
    with sample() as served, inspecting(served.url, "--timeout", "5") as page:
        api = Api.linked(page)
        _look(api)
        served.process.terminate()
        served.wait()
        got = api.post("call", {"tool": "letter"})
        assert got.status == 502
        assert "127.0.0.1" in got.refusal


def _look(api: Api) -> None:
    about = api.say("about")
    assert (about["kind"], about["server"]["name"]) == ("remote", "display")
    assert len(api.say("tools")["tools"]) == MANY
    record = api.call("painter", name="ada")
    assert [line["direction"] for line in record["messages"]] == ["sent", "received"]
    assert record["reading"]["response"]["data"]["id"] == 9007199254740993123
    assert api.call("paintings", limit=5)["next"]["arguments"] == {"limit": 5, "offset": 5}
    assert api.say("stats")["tools"][0]["tool"] == "painter"
    assert api.get("/mcp").status == 404
    failed = api.call("painter", name="zoe")["call"]
    ours = api.say("render", call=failed, render={"profile": "generic"})
    assert reply_of(ours)["result"]["isError"] is True
    assert ours["reading"]["response"]["error"]["message"] == "No painter 'zoe'"


def test_the_link_alone_has_the_token(remote: HttpServer) -> None:
    page = Api(remote, "")
    assert '<meta name="accord-token" content="">' in page.get("/").body.decode()
    assert page.post("about").status == 403
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/#token=[\w-]{32}", remote.url)


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.com"}, {"Host": "127.0.0.1.evil.com"}, {"Origin": "http://evil.com"}],
    ids=str,
)
def test_neither_page_nor_api_are_for_strangers(api: Api, headers: dict[str, str]) -> None:
    assert api.get("/", headers).status == 403
    assert api.post("about", headers=headers).status == 403
    assert api.post("call", {"tool": "pid"}, headers).status == 403


def test_what_is_asked_unbidden_is_answered_by_default(api: Api) -> None:
    said = api.call("unbidden")["reading"]["response"]["data"]
    assert said["roots/list"] == {"roots": []}
    assert said["elicitation/create"] == {"action": "cancel"}
    assert "No user is available" in said["sampling/createMessage"]["message"]


def test_a_question_does_not_hold_up_a_call_that_does_not_wait_for_it(api: Api) -> None:
    record = api.call("aside")
    assert record["inputRequests"] == []
    assert record["reading"]["response"]["data"] == {"text": "done"}
    assert api.call("unbidden")["reading"]["response"]["data"]["aside"] == {"roots": []}


def test_what_was_on_the_wire_is_shown_as_it_was(api: Api) -> None:
    record = api.call("odd", n=1)
    said = [json.loads(line["raw"]) for line in record["messages"]]
    assert [each.get("method") for each in said] == ["tools/call", "notifications/message", None]
    assert record["reading"]["response"]["data"] == [{"id": 1}, {"id": 2}]


def test_its_answer_can_be_seen_in_our_words(api: Api) -> None:
    number = api.call("odd", n=1)["call"]
    sent = api.say("render", call=number)
    assert not sent["isRendered"]
    ours = api.say("render", call=number, render={"profile": "envelope", "revision": "2025-06-18"})
    assert ours["isRendered"]
    assert reply_of(ours)["result"]["structuredContent"]["success"] is True
    assert ours["reading"]["response"]["data"] == [{"id": 1}, {"id": 2}]


def test_arguments_are_checked_by_its_schema(api: Api) -> None:
    api.say("tools")
    fields = api.say("check", tool="odd", arguments={"n": 7})["fields"]
    assert [each["field"] for each in fields] == ["n"]
    for tool in ("broken", "pid", "nobody"):
        assert api.say("check", tool=tool, arguments={"n": 7}) == {"fields": []}


def test_a_server_that_ended_is_reported_and_started_again(api: Api) -> None:
    before = api.call("pid")["reading"]["response"]["data"]
    got = api.post("call", {"tool": "end"})
    assert got.status == 502
    assert "exited with code 1" in got.refusal
    assert "that was too much" in got.refusal
    assert api.call("pid")["reading"]["response"]["data"] != before


def test_headers_go_along_to_a_url() -> None:
    async def ask() -> tuple[int, set[str | None]]:
        async with scripted_server(replying(401, b"{}")) as server:
            words = ("inspect", server.url, "--http", "127.0.0.1:0", "--header", "X-Key: s3cret")
            child = await asyncio.create_subprocess_exec(
                ACCORD, *words, env=ENVIRONMENT, stderr=asyncio.subprocess.DEVNULL
            )
            return await child.wait(), {
                each.headers.get("x-key") for each in server.requests if each.path == "/mcp"
            }

    assert run(ask()) == (2, {"s3cret"})


def test_what_cannot_be_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        table = {
            "a port in use": ["inspect", SHOP, "--http", f"127.0.0.1:{port}"],
            "no such program": ["inspect", "no-such-program here", "--http", "127.0.0.1:0"],
            "nobody there": [
                "inspect",
                f"http://127.0.0.1:{free_port()}/mcp",
                "--http",
                "127.0.0.1:0",
            ],
            "a server of ours": ["inspect", "shop:server"],
            "everybody's": ["inspect", SHOP, "--http", "0.0.0.0:0"],
            "no target": ["inspect"],
        }
        done = accord_each(table)
    assert_one_line_of_misuse(done["a port in use"], str(port), "try another port")
    assert_one_line_of_misuse(done["no such program"], "no-such-program")
    assert_one_line_of_misuse(done["nobody there"], "127.0.0.1")
    assert_one_line_of_misuse(done["a server of ours"], "accord serve shop:server --http")
    assert_one_line_of_misuse(done["everybody's"], "127.0.0.1")
    assert_one_line_of_misuse(done["no target"], "TARGET")


def test_the_server_ends_with_the_page() -> None:
    with inspecting(COMMAND) as one, inspecting(COMMAND) as other:
        for page, number in ((one, signal.SIGINT), (other, signal.SIGTERM)):
            child = children(page.process.pid)
            assert len(child) == 1
            page.process.send_signal(number)
            page.wait(30)
            assert eventually(lambda: is_gone(child[0]))  # noqa: B023
            assert "Traceback" not in page.stderr
