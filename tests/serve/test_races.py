"""Calls, cancellations, answers and departures in every order: each is answered once, or not at all.

What was not taken back is answered; what was may be; nothing is answered twice, crossed or left behind.
"""

import json
import random
from collections import Counter
from typing import Any

import pytest

import wire
from http_peer import HttpPeer
from serve.http.talk import eventually
from serve.talk import failure, text
from serve.test_questions import http, http_census, is_back, stdio
from stdio_peer import modern_params

CALLS = 10_000
AT_ONCE = 200


def call(id: Any, tool: str, revision: str, **arguments: Any) -> dict[str, Any]:
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    if revision == wire.STATELESS:
        params = modern_params(params)
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def taking_back(id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}


@pytest.mark.slow
@pytest.mark.requirement("mcp.cancellation.races")
@pytest.mark.parametrize("revision", ["2025-11-25", wire.STATELESS])
def test_ten_thousand_cancellations_race_with_their_calls(revision: str) -> None:
    chance = random.Random(4711)
    with stdio() as peer:
        if revision != wire.STATELESS:
            peer.initialize(revision)
        answered: Counter[Any] = Counter()
        wanted, asked = set(), 0
        while asked < CALLS:
            batch = [*range(asked, min(asked + AT_ONCE, CALLS))]
            asked += len(batch)
            for id in batch:
                rounds = chance.choice([0, 0, 1, 2, 5])
                peer.send(call(id, "echo", revision, word=str(id), rounds=rounds))
                if chance.random() < 0.5:
                    late = id - chance.choice([0, 0, 0, 1, 3])
                    peer.send(taking_back(late))
                    wanted.discard(late)
                    if late == id:
                        continue
                wanted.add(id)
            peer.send(call(f"end {asked}", "echo", revision, word="end", rounds=9))
            while not answered[f"end {asked}"]:
                (reply,) = peer.replies(1)
                answered[reply["id"]] += 1
                if isinstance(reply["id"], int):
                    assert text(reply) == str(reply["id"]), "nobody's answer is another's"
        assert set(answered.values()) == {1}
        assert wanted <= answered.keys(), "what was not taken back is answered"
        assert eventually(lambda: json.loads(text(_ask(peer, revision, "census")))["tasks"] <= 3)


def _ask(peer: Any, revision: str, tool: str) -> Any:
    params = {"name": tool}
    if revision == wire.STATELESS:
        return peer.modern("tools/call", params)
    return peer.request("tools/call", params)


def test_answers_and_cancellations_race() -> None:
    """Every call asks something; it is answered, refused, taken back, or several of these."""
    chance = random.Random(17)
    with stdio() as peer:
        peer.initialize("2025-11-25", {"elicitation": {}})
        ended: Counter[Any] = Counter()
        taken_back: set[Any] = set()
        for first in range(0, 1_000, 50):
            for id in range(first, first + 50):
                peer.send(call(id, "ask", "2025-11-25", question=str(id)))
            questions: list[dict[str, Any]] = []
            while len(questions) < 50:
                message = peer.receive()
                if message.get("method") == "elicitation/create":
                    questions.append(message)
                elif "id" in message:
                    ended[message["id"]] += 1
            for question in chance.sample(questions, 50):
                id = int(question["params"]["message"])
                accept = {"action": "accept", "content": {"word": str(id)}}
                steps = [
                    {"jsonrpc": "2.0", "id": question["id"], "result": accept},
                    {"jsonrpc": "2.0", "id": question["id"], "error": {"code": 1, "message": "no"}},
                    taking_back(id),
                ]
                chosen = chance.sample(steps, chance.randint(1, 3))
                if steps[2] in chosen:
                    taken_back.add(id)
                for step in chosen:
                    peer.send(step)
            while len(ended.keys() | taken_back) < first + 50:
                message = peer.receive()
                if "method" in message:
                    assert message["method"] == "notifications/cancelled"
                    continue
                ended[message["id"]] += 1
                if "isError" in message["result"]:
                    assert "no" in failure(message)
                else:
                    assert text(message) == f"{message['id']}: {message['id']}"
        assert set(ended.values()) == {1}
        assert ended.keys() | taken_back == set(range(1_000))
        assert eventually(
            lambda: json.loads(text(_ask(peer, "2025-11-25", "census")))["tasks"] <= 3
        )


@pytest.mark.requirement("mcp.base.own-answer")
@pytest.mark.parametrize("revision", ["2025-11-25", wire.STATELESS])
def test_calls_under_one_id_each_get_an_answer(revision: str) -> None:
    with stdio() as peer:
        if revision != wire.STATELESS:
            peer.initialize(revision)
        for n in range(500):
            peer.send(call("same", "echo", revision, word=str(n), rounds=n % 7))
        words = sorted(int(text(reply)) for reply in peer.replies(500))
        assert words == list(range(500))


@pytest.mark.requirement("mcp.http.disconnect-cancels")
def test_connections_that_drop_leave_no_task_and_no_descriptor() -> None:
    """In the middle of subscriptions, questions, streams and calls, and before the first byte."""
    chance = random.Random(23)
    able: dict[str, Any] = {"elicitation": {}}
    with http(session_seconds=60) as server, HttpPeer(server.port) as watcher:
        before = http_census(watcher)
        for n in range(300):
            revision = chance.choice(["2025-11-25", wire.STATELESS])
            with HttpPeer(server.port, revision, capabilities=able) as peer:
                session, other = peer.session, peer.again()
                if revision == wire.STATELESS and n % 2:
                    wanted = {"notifications": {"toolsListChanged": True}}
                    peer.send(peer.request("subscriptions/listen", wanted))
                else:
                    peer.send(peer.calling("ask", question=str(n)))
                if chance.random() < 0.5:
                    peer.receive()
            with other:
                if session is not None:
                    assert other.visit("DELETE").status == 204
        assert eventually(lambda: is_back(http_census(watcher), before)), http_census(watcher)
