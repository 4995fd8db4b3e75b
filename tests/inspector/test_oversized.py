"""`accord inspect` of a server that answers as none should, where there is no browser."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from accord.reader import read
from accord.reader.reading import report, to_json
from commands import PEERS
from http_peer import HttpServer
from inspector.api_client import Api, inspecting
from peers import oversized_server
from processes import children

pytestmark = pytest.mark.timeout(120)
COMMAND = f"{sys.executable} {PEERS / 'oversized_server.py'} stdio"


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with inspecting(COMMAND, "--timeout", "10") as running:
        yield Api.linked(running)
    assert "Traceback" not in running.stderr


def called(api: Api, tool: str) -> Any:
    got = api.post("call", {"tool": tool})
    assert got.status == 200, got.body
    return got.said


def test_a_reply_of_too_many_values_is_text_and_cut(api: Api) -> None:
    record = called(api, "large_nothing")
    assert "the reply has more than 250000 values" in record["reading"]["findings"][0]
    assert record["reading"]["warnings"][0]["message"] == record["reading"]["findings"][0]
    reply = record["messages"][-1]
    assert reply["isTruncated"]
    assert reply["size"] > 10_000_000
    assert len(reply["raw"]) <= 65_536


def test_a_large_reply_of_few_values_is_whole(api: Api) -> None:
    record = called(api, "large_text")
    raw = record["messages"][-1]["raw"]
    text = json.loads(raw)["result"]["content"][0]["text"]
    assert record["reading"]["response"]["data"] == {"text": text}
    assert len(text) > 10_000_000


def test_a_large_reply_in_another_profile_is_rendered_from_what_was_read(api: Api) -> None:
    record = called(api, "large_text")
    worded = api.post("render", {"call": record["call"], "render": {"profile": "envelope"}}).said
    reply = json.loads(worded["messages"][-1]["raw"])
    envelope = json.loads(reply["result"]["content"][0]["text"])
    assert envelope["success"] is True
    assert worded["reading"]["response"]["data"] == record["reading"]["response"]["data"]


def test_a_flood_does_not_wash_the_reply_away(api: Api) -> None:
    wire = called(api, "flood")["messages"]
    assert "after the flood" in wire[-1]["raw"]


def test_few_questions_are_put_to_a_person_and_few_messages_shown(api: Api) -> None:
    record = called(api, "questions")
    assert len(record["inputRequests"]) <= 20
    assert len(record["messages"]) <= 201
    assert sum(len(line["raw"]) for line in record["messages"]) < 1_100_000


def test_messages_that_are_left_out_are_counted(api: Api) -> None:
    record = called(api, "steps")
    sent, *rest = record["messages"]
    assert (sent["direction"], len(rest)) == ("sent", 200)
    assert record["omitted"] == oversized_server.STEPS + 1 - 200


def test_a_server_that_hangs_is_left_and_reached_anew(api: Api) -> None:
    assert api.post("call", {"tool": "endless"}).status == 502
    assert api.post("reconnect").status == 200
    assert called(api, "fine")["reading"]["response"]["data"] == {"text": "all is well"}


def test_tools_on_pages_without_end_are_refused() -> None:
    with inspecting(f"{COMMAND} more_and_more") as running:
        got = Api.linked(running).post("tools")
    assert (got.status, got.refusal) == (502, "tools/list has more than 16777216 bytes")


@pytest.mark.parametrize(
    "reply",
    ["x" * 100_000, json.dumps({"rows": [{"id": n} for n in range(9_000)]}), "\ud800" * 40_000],
    ids=["text", "rows", "halves of characters"],
)
def test_a_large_reply_that_is_pasted_reads_as_it_would_in_this_process(
    server: HttpServer, reply: str
) -> None:
    read_here = read(reply, "list_rows")
    got = Api(server).post("read", {"reply": reply, "tool": "list_rows"})
    expected = {**report(read_here), "page": read_here.page, "warnings": read_here.warnings}
    assert got.body == to_json(expected)
    assert len(children(server.process.pid)) == 1
