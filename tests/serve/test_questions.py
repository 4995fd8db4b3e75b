"""Questions of the handshake era: each finds its call, none waits for ever, nothing is left behind."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from commands import ACCORD, ENVIRONMENT, SAMPLES, TESTS, launch_command
from http_peer import HttpPeer, HttpServer, Response
from serve.http.talk import eventually
from serve.talk import failure, text
from stdio_peer import StdioPeer

ABLE: dict[str, Any] = {"elicitation": {}}
REVISION = "2025-11-25"


def stdio(**settings: Any) -> StdioPeer:
    command = launch_command("stdio", "features:interactive", **settings)
    return StdioPeer(command, cwd=TESTS, env=ENVIRONMENT)


def http(**settings: Any) -> HttpServer:
    command = launch_command("http", "features:interactive", **{"grace": 0.2, **settings})
    return HttpServer(command, cwd=TESTS, env=ENVIRONMENT)


@contextmanager
def asked(peer: StdioPeer, *questions: str) -> Iterator[list[dict[str, Any]]]:
    """Calls that each ask something, and the requests that came of it."""
    peer.initialize(REVISION, ABLE)
    for question in questions:
        send(peer, question, "ask", question=question)
    yield [peer.receive() for _ in questions]


def send(peer: StdioPeer, id: str, tool: str, **arguments: Any) -> None:
    params = {"name": tool, "arguments": arguments}
    peer.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})


def answer(question: dict[str, Any], **result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": question["id"], "result": result}


def word(question: dict[str, Any], said: str) -> dict[str, Any]:
    return answer(question, action="accept", content={"word": said})


def census(peer: StdioPeer) -> dict[str, int]:
    reply = peer.request("tools/call", {"name": "census"})
    counted: dict[str, int] = json.loads(text(reply))
    return counted


# Over stdio


@pytest.mark.requirement("mcp.questions.own-call")
def test_answers_find_their_own_calls_in_any_order() -> None:
    names = [f"q{n}" for n in range(20)]
    with stdio() as peer, asked(peer, *names) as questions:
        assert {q["params"]["message"] for q in questions} == set(names)
        assert len({q["id"] for q in questions}) == 20
        for question in reversed(questions):
            peer.send(word(question, question["params"]["message"] * 2))
        said = {reply["id"]: text(reply) for reply in peer.replies(20)}
        assert said == {name: f"{name}: {name * 2}" for name in names}


def test_two_questions_go_out_at_once() -> None:
    with stdio() as peer:
        peer.initialize(REVISION, ABLE)
        send(peer, "c", "ask_both")
        a, b = peer.receive(), peer.receive()
        peer.send(word(b, "world"))
        peer.send(word(a, "hello"))
        assert text(peer.receive()) == "hello world"


def test_answers_may_come_in_a_batch_where_there_are_some() -> None:
    """Elicitation is younger than batches: so this asks a model."""
    command = [ACCORD, "serve", "features:interactive"]
    with StdioPeer(command, cwd=SAMPLES, env=ENVIRONMENT) as peer:
        peer.initialize("2025-03-26", {"sampling": {}})
        send(peer, "c", "sample")
        question = peer.receive()
        said = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}}
        peer.send([answer(question, **said), {"jsonrpc": "2.0", "id": "p", "method": "ping"}])
        batch, reply = peer.receive_batch(), peer.receive()
        assert [each["id"] for each in batch] == ["p"]
        assert text(reply) == "hi"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"error": {"code": -1, "message": "User rejected"}}, "User rejected"),
        ({"error": 5}, "it gave no reason"),
        ({"result": 5}, "does not fit"),
        ({"result": {"action": "accept", "content": {}}}, "word is required"),
        ({"result": {"action": "accept", "content": {"word": 5}}}, "word must be a string"),
    ],
)
def test_an_answer_that_is_none_fails_the_call(reply: dict[str, Any], words: str) -> None:
    with stdio() as peer, asked(peer, "q") as (question,):
        peer.send({"jsonrpc": "2.0", "id": question["id"], **reply})
        assert words in failure(peer.receive())


def test_nobody_has_to_answer() -> None:
    with stdio() as peer, asked(peer, "q") as (question,):
        peer.send(answer(question, action="decline"))
        assert text(peer.receive()) == "decline"


def test_answers_that_nobody_waits_for_are_dropped() -> None:
    with stdio() as peer, asked(peer, "q") as (question,):
        for id in ("question-99", "q", 1, question["id"] + "x"):
            peer.send({"jsonrpc": "2.0", "id": id, "result": {"action": "decline"}})
        peer.send(word(question, "first"))
        peer.send(word(question, "second"))
        assert text(peer.receive()) == "q: first"
        assert (
            text(peer.request("tools/call", {"name": "echo", "arguments": {"word": "next"}}))
            == "next"
        )


@pytest.mark.requirement("mcp.questions.timeout")
def test_a_client_that_does_not_answer_is_told_that_nobody_waits_any_longer() -> None:
    with stdio(answer_seconds=0.05) as peer, asked(peer, "q") as (question,):
        withdrawn, reply = peer.receive(), peer.receive()
        assert withdrawn["method"] == "notifications/cancelled"
        assert withdrawn["params"]["requestId"] == question["id"]
        assert "has not answered in time" in failure(reply)
        peer.send(word(question, "late"))
        assert eventually(lambda: census(peer)["tasks"] <= 2)


def test_a_call_that_is_taken_back_takes_back_its_question() -> None:
    with stdio() as peer, asked(peer, "q") as (question,):
        peer.notify("notifications/cancelled", {"requestId": "q"})
        withdrawn = peer.receive()
        assert withdrawn["params"]["requestId"] == question["id"]
        peer.send(word(question, "late"))
        assert eventually(lambda: census(peer)["tasks"] <= 2)
        peer.close_input()
        assert peer.rest() == []


def test_the_end_of_input_does_not_wait_for_answers_longer_than_its_grace() -> None:
    with stdio(grace=0.1) as peer, asked(peer, "q"):
        peer.close_input()
        assert peer.wait() == 0


@pytest.mark.requirement("mcp.stdio.no-requests")
def test_the_stateless_era_is_asked_in_a_result() -> None:
    with stdio() as peer:
        params = {"name": "ask", "arguments": {"question": "q"}}
        asked = peer.modern("tools/call", params, capabilities=ABLE)["result"]
        answers = {"elicit": {"action": "accept", "content": {"word": "yes"}}}
        again = {**params, "inputResponses": answers, "requestState": asked["requestState"]}
        assert text(peer.modern("tools/call", again, capabilities=ABLE)) == "q: yes"
        peer.close_input()
        assert peer.rest() == []


# Over HTTP


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    with http() as running:
        yield running
    assert "Traceback" not in running.stderr


def client(server: HttpServer) -> HttpPeer:
    return HttpPeer(server.port, REVISION, capabilities=ABLE)


def wait_for(peer: HttpPeer, stream: Response) -> dict[str, Any]:
    question: dict[str, Any] = stream.next().message
    assert question["method"] == "elicitation/create"
    return question


def http_census(peer: HttpPeer) -> dict[str, int]:
    counted: dict[str, int] = json.loads(peer.call("census"))
    return counted


def is_back(now: dict[str, int], before: dict[str, int]) -> bool:
    """True if no more tasks and descriptors are open than before."""
    return all(now[name] <= before[name] for name in before)


def test_a_question_goes_into_the_stream_of_its_call(server: HttpServer) -> None:
    with client(server) as peer, peer.again() as other:
        stream = peer.post(peer.calling("ask", question="q"))
        question = wait_for(peer, stream)
        answered = other.post(word(question, "yes"))
        assert (answered.status, answered.body) == (202, b"")
        (result,) = stream.rest()
        assert text(result.message) == "q: yes"


@pytest.mark.requirement("mcp.questions.own-call")
def test_another_session_cannot_answer(server: HttpServer) -> None:
    with client(server) as peer, peer.again() as other, client(server) as stranger:
        stream = peer.post(peer.calling("ask", question="q"))
        question = wait_for(peer, stream)
        assert stranger.post(word(question, "stolen")).status == 202
        other.post(word(question, "own"))
        assert text(stream.rest()[0].message) == "q: own"


def test_a_question_outlives_its_connection(server: HttpServer) -> None:
    with client(server) as peer, peer.again() as other, peer.again() as third:
        stream = peer.post(peer.calling("ask", question="q"))
        event = stream.next()
        peer.close()
        resumed = third.listen(event.id)
        other.post(word(event.message, "yes"))
        assert text(resumed.rest()[0].message) == "q: yes"


@pytest.mark.parametrize("times", [30])
def test_sessions_that_end_and_clients_that_leave_leave_nothing_behind(
    server: HttpServer, times: int
) -> None:
    with client(server) as watcher:
        before = http_census(watcher)
        for n in range(times):
            with client(server) as peer, peer.again() as other:
                stream = peer.post(peer.calling("ask", question="q"))
                wait_for(peer, stream)
                if n % 2:
                    peer.close()
                assert other.visit("DELETE").status == 204
        assert eventually(lambda: is_back(http_census(watcher), before)), http_census(watcher)


def test_without_a_session_nobody_can_be_asked(server: HttpServer) -> None:
    with HttpPeer(server.port, REVISION, begin=False) as peer:
        reply = peer.post(peer.calling("ask", question="q")).message
        assert "lacks a capability" in failure(reply)


# Letting go of a connection


def test_a_caller_that_is_let_go_comes_back_for_the_rest(server: HttpServer) -> None:
    with client(server) as peer, peer.again() as other:
        stream = peer.post(peer.watching("detach", seconds=0.25))
        first, *nothing = stream.rest()
        assert first.message["params"]["progress"] == 1
        assert nothing == []
        second, result = other.listen(first.id).rest()
        assert second.message["params"]["progress"] == 2
        assert text(result.message) == "detached"


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18", REVISION])
def test_it_is_told_when_to_come_back(server: HttpServer, revision: str) -> None:
    with HttpPeer(server.port, revision) as peer:
        stream = peer.post(peer.watching("detach", seconds=0.25))
        lines = stream._raw.read().split(b"\n\n")
        assert lines[-2:] == [b"retry: 250", b""]
        assert (lines[0].endswith(b"data: ")) is (revision == REVISION), "and primed"


def test_where_nobody_could_come_back_nobody_is_let_go(server: HttpServer) -> None:
    for revision in (REVISION, "2026-07-28"):
        with HttpPeer(server.port, revision, begin=False) as peer:
            *_, result = peer.post(peer.watching("detach", seconds=0.25)).rest()
            assert text(result.message) == "detached"
    with stdio() as pipe:
        pipe.initialize(REVISION)
        assert (
            text(pipe.request("tools/call", {"name": "detach", "arguments": {"seconds": 1}}))
            == "detached"
        )
