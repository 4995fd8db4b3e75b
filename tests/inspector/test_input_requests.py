"""Input requests behind the page: a call waits for the responses and continues with them."""

import asyncio
import json
from typing import Any

import pytest

from accord.inspector.running_calls import InspectorCall, WaitingCalls
from accord.inspector.target import CallRequest
from http_peer import HttpServer
from inspector.api_client import COMMAND, NEWEST, Api, inspecting, reply_of

REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", NEWEST]
ASKING = [each for each in REVISIONS if each >= "2025-06-18"]
GLOSS = {"result": {"action": "accept", "content": {"finish": "gloss"}}}


@pytest.fixture
def api(server: HttpServer) -> Api:
    return Api(server)


def _methods(record: Any) -> list[str | None]:
    return [
        json.loads(line["raw"]).get("method")
        for line in record["messages"]
        if not line["isHandshake"]
    ]


def _data(record: Any) -> Any:
    return record["reading"]["response"]["data"]


@pytest.mark.parametrize("revision", ASKING)
def test_a_question_is_answered_and_the_call_goes_on(api: Api, revision: str) -> None:
    asking = api.call("varnish", {"revision": revision})
    (asked,) = asking["inputRequests"]
    assert (asked["method"], asked["params"]["message"]) == (
        "elicitation/create",
        "Which <i>finish</i>?",
    )
    done = api.say("answer", call=asking["call"], answers={asked["key"]: GLOSS})
    assert (_data(done), done["inputRequests"]) == ({"text": "gloss varnish"}, [])
    assert _methods(done) == (
        ["tools/call", None, "tools/call", None]
        if revision == NEWEST
        else ["tools/call", "elicitation/create", None, None]
    )
    again = api.say("render", call=done["call"], render={"profile": "envelope"})
    assert reply_of(again)["result"]["structuredContent"]["success"] is True
    assert api.say("answer", call=asking["call"], answers={}) == {"expired": True}


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_question_is_worded_for_every_revision(api: Api, revision: str) -> None:
    options = {"revision": revision}
    first = api.call("varnish")
    again = api.say("render", call=first["call"], render=options)
    asked_then = api.call("varnish", options)
    assert _methods(again) == _methods(asked_then)
    assert again["reading"] == asked_then["reading"]
    if revision in ASKING:
        assert asked_then["inputRequests"]
        back = api.say("render", call=asked_then["call"])
        assert reply_of(back)["result"]["inputRequests"].values()
    else:
        assert "elicitation" in str(reply_of(again))
    for record in (first, asked_then):
        assert api.say("answer", call=record["call"]) == {"expired": True}


def test_a_refusal_reaches_the_tool(api: Api) -> None:
    asking = api.call("varnish", {"revision": "2025-11-25"})
    (asked,) = asking["inputRequests"]
    refusal = {"error": {"code": -1, "message": "not now"}}
    done = api.say("answer", call=asking["call"], answers={asked["key"]: refusal})
    assert "not now" in done["reading"]["response"]["error"]["message"]


@pytest.mark.parametrize("revision", ASKING)
def test_an_answer_that_does_not_fit_is_not_taken(api: Api, revision: str) -> None:
    asking = api.call("varnish", {"revision": revision})
    (asked,) = asking["inputRequests"]
    wrong = {"result": {"action": "accept", "content": {"finish": "wet"}}}
    done = api.say("answer", call=asking["call"], answers={asked["key"]: wrong, "other": GLOSS})
    assert "finish" in json.dumps(reply_of(done))
    assert "wet varnish" not in json.dumps(reply_of(done))


def test_a_form_is_checked_before_it_is_sent(api: Api) -> None:
    (asked,) = api.call("varnish")["inputRequests"]
    schema = asked["params"]["requestedSchema"]
    fields = api.say("validate", schema=schema, value={"finish": "wet"})["fields"]
    assert [each["field"] for each in fields] == ["finish"]
    assert api.say("validate", schema=schema, value={"finish": "matte"}) == {"fields": []}
    assert api.say("validate", schema={"type": "nonsense"}, value={}) == {"fields": []}


def test_a_question_counts_as_no_failure(api: Api) -> None:
    before = _failures(api)
    api.call("varnish")
    assert _failures(api) == before


def _failures(api: Api) -> int:
    rows = api.say("stats")["tools"]
    return int(sum(row["failures"] for row in rows if row["tool"] == "varnish"))


@pytest.mark.parametrize("revision", ["2025-11-25", NEWEST])
def test_somebody_else_s_server_is_answered(revision: str) -> None:
    with inspecting(COMMAND, "--revision", revision) as page:
        api = Api.linked(page)
        asking = api.call("varnish")
        (asked,) = asking["inputRequests"]
        assert _data(api.call("calls")) is not None, "others are served meanwhile"
        done = api.say("answer", call=asking["call"], answers={asked["key"]: GLOSS})
        assert _data(done) == {"text": "gloss varnish"}
        assert "varnish" in done["messages"][0]["raw"]
        assert len(done["messages"]) == 4
        assert not any('"calls"' in line["raw"] for line in done["messages"])
        left = api.call("varnish")
        assert api.say("answer", call=left["call"]) == {"expired": True}
        assert _data(api.call("letter"))


class FakeCall:
    """A call that records its cancellation."""

    def __init__(self) -> None:
        self.over = asyncio.Event()

    def cancel(self) -> None:
        self.over.set()


def test_few_calls_wait_and_none_for_ever() -> None:
    async def wait() -> None:
        waiting = WaitingCalls[FakeCall](max_calls=2, timeout=0.01)
        calls = [FakeCall() for _ in range(4)]
        for number, call in enumerate(calls[:3]):
            waiting.add(number, call)
        assert [call.over.is_set() for call in calls] == [True, False, False, False]
        assert waiting.take(1) is calls[1]
        await asyncio.wait_for(calls[2].over.wait(), 30)
        assert not calls[1].over.is_set()
        assert waiting.take(2) is None

    asyncio.run(wait())


def test_whoever_stops_waiting_stops_the_call() -> None:
    async def stop() -> bool:
        running: InspectorCall[None] = InspectorCall(CallRequest("x"))
        work = asyncio.Event()

        async def never() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                work.set()

        running.begin(never())
        waiter = asyncio.ensure_future(running.wait())
        await asyncio.sleep(0)
        waiter.cancel()
        await asyncio.wait([waiter])
        await asyncio.wait_for(work.wait(), 30)
        return waiter.cancelled()

    assert asyncio.run(stop())


def test_a_question_that_is_taken_back_is_open_no_longer() -> None:
    async def hear() -> list[str]:
        running: InspectorCall[None] = InspectorCall(CallRequest("x"))
        running.receive(b'{"jsonrpc":"2.0","id":7,"method":"roots/list"}')
        running.receive(b'{"jsonrpc":"2.0","id":"7","method":"roots/list"}')
        running.receive(b'{"method":"notifications/cancelled","params":{"requestId":7}}')
        running.receive(b"no message")
        return [*running.input_requests]

    assert asyncio.run(hear()) == ['"7"']
