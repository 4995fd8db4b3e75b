"""Two replicas behind a balancer that never sticks, with one Redis: each test has its number.

The replicas are processes of their own, as on two machines: they share a key and Redis, no sockets.
"""

import asyncio
import http.client
import itertools
import json
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import monotonic, perf_counter, sleep
from types import SimpleNamespace
from typing import Any

import mcp
import pytest
from mcp import types as mcp_types

from accord import Client
from balancer import Balancer, Forwarder
from commands import ACCORD, ENVIRONMENT, SAMPLES, TESTS
from http_peer import HttpPeer, HttpServer, Response
from redis_server import RedisServer, needs_redis
from serve.http.talk import HANDSHAKE, eventually
from tasks.replica import FINAL
from tasks.stores import until
from tasks.test_serve import begin, end_of, exchange, get, post, require_one_end

pytestmark = needs_redis

ELICITING: dict[str, Any] = {"elicitation": {"form": {}}}
MODERN = "2026-07-28"
LATEST = "2025-11-25"


@dataclass
class Pair:
    """Two replicas, their balancer and their Redis."""

    redis: RedisServer
    key: Path
    a: HttpServer
    b: HttpServer
    balancer: Balancer

    @property
    def both(self) -> tuple[HttpServer, HttpServer]:
        """The replicas."""
        return self.a, self.b


def replica(redis: Any, *keys: Path, words: tuple[str, ...] = (), **env: str) -> HttpServer:
    """Start a replica."""
    options = [word for key in keys for word in ("--key-file", str(key))]
    command = [ACCORD, "serve", "replicated:server", "--http", "127.0.0.1:0", "--no-page"]
    command += ["--store", redis.url, "--grace", "5", *options, *words]
    return HttpServer(command, cwd=SAMPLES, env={**ENVIRONMENT, **env})


@contextmanager
def pair_of(folder: Path, *words: str) -> Iterator[Pair]:
    """Start two replicas, a balancer and Redis."""
    with ExitStack() as stack:
        redis = stack.enter_context(RedisServer())
        key = folder / "key"
        a, b = (stack.enter_context(replica(redis, key, words=words)) for _ in "ab")
        balancer = stack.enter_context(Balancer([a.port, b.port]))
        yield Pair(redis, key, a, b, balancer)
    for server in (a, b):
        assert "Traceback" not in server.stderr, server.stderr


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with pair_of(tmp_path_factory.mktemp("replicas")) as found:
        yield found


def at(client: HttpPeer, server: HttpServer) -> HttpPeer:
    """The client, with its session, at another replica."""
    other = HttpPeer(
        server.port,
        client.revision,
        begin=False,
        capabilities=client.capabilities,
        headers=client._usual,
    )
    other.session = client.session
    return other


def modern(
    server: HttpServer, token: str | None = None, capabilities: dict[str, Any] = ELICITING
) -> HttpPeer:
    """A client of 2026-07-28, with a token perhaps."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return HttpPeer(server.port, MODERN, headers=headers, capabilities=capabilities)


def once(client: HttpPeer, server: HttpServer, method: str) -> Response:
    """The response to one request of a session, at a replica."""
    with at(client, server) as other:
        return other.ask(method)


def question_of(response: Any) -> tuple[str, Any]:
    """The id of the request that a stream asks, and its params."""
    for event in response.events:
        if "method" in event.message and "id" in event.message:
            return event.message["id"], event.message["params"]
    raise AssertionError("nothing is asked")


# 4. Sessions of the handshake era


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_04_a_session_is_used_at_both_in_turn(pair: Pair, revision: str) -> None:
    with HttpPeer(pair.a.port, revision) as client, at(client, pair.b) as other:
        for _ in range(3):
            assert int(other.call("pid")) == pair.b.process.pid
            assert int(client.call("pid")) == pair.a.process.pid


def test_04_a_question_from_one_is_answered_at_the_other(pair: Pair) -> None:
    with HttpPeer(pair.a.port, LATEST, capabilities=ELICITING) as client, at(client, pair.b) as b:
        client.send(client.calling("ask", question="Which?"))
        stream = client.receive()
        asked, _ = question_of(stream)
        answer = {"action": "accept", "content": {"word": "lamp"}}
        response = b.post({"jsonrpc": "2.0", "id": asked, "result": answer})
        assert response.status == 202
        assert stream.rest()[-1].message["result"]["content"][0]["text"] == (
            f"{pair.a.process.pid} heard lamp"
        )


def test_04_a_cancellation_at_one_stops_the_call_at_the_other(pair: Pair, tmp_path: Path) -> None:
    with HttpPeer(pair.a.port, LATEST) as client, at(client, pair.b) as other:
        client.send(client.calling("forever", id="long", folder=str(tmp_path)))
        assert eventually((tmp_path / "began").exists)
        assert other.notify("notifications/cancelled", {"requestId": "long"}).status == 202
        assert eventually((tmp_path / "ended").exists, 2)


def test_04_a_level_that_is_set_at_one_acts_at_the_other(pair: Pair) -> None:
    with HttpPeer(pair.a.port, LATEST) as client, at(client, pair.b) as other:
        client.call("pid")
        for level, is_sent in (("error", False), ("debug", True)):
            assert other.ask("logging/setLevel", {"level": level}).status == 200
            response = client.post(client.calling("say", level="info"))
            events = response.rest() if response.is_stream else []
            assert any("level" in e.message.get("params", {}) for e in events) == is_sent


def test_04_a_level_is_known_to_a_replica_that_comes_later(pair: Pair) -> None:
    with HttpPeer(pair.a.port, LATEST) as client, at(client, pair.b) as other:
        assert client.ask("logging/setLevel", {"level": "error"}).status == 200
        assert not other.post(other.calling("say", level="info")).is_stream


def test_04_a_session_that_is_deleted_at_one_has_ended_everywhere(pair: Pair) -> None:
    with ExitStack() as stack:
        client = stack.enter_context(HttpPeer(pair.a.port, LATEST))
        other = stack.enter_context(at(client, pair.b))
        client.call("pid")
        assert other.visit("DELETE").status == 204
        for each in (client, other):
            assert each.post(each.calling("pid")).status == 404
        third = stack.enter_context(replica(pair.redis, pair.key))
        assert once(client, third, "ping").status == 404


def test_04_a_replica_that_has_hung_learns_what_it_has_missed(pair: Pair) -> None:
    with ExitStack() as stack:
        hung = stack.enter_context(replica(pair.redis, pair.key))
        client, other = (stack.enter_context(HttpPeer(hung.port, LATEST)) for _ in "ab")
        os.kill(hung.process.pid, signal.SIGSTOP)
        try:
            with at(client, pair.b) as moved, at(other, pair.b) as kept:
                assert moved.visit("DELETE").status == 204
                assert kept.ask("logging/setLevel", {"level": "error"}).status == 200
                sleep(7)  # until the others take it for dead
        finally:
            os.kill(hung.process.pid, signal.SIGCONT)
        assert eventually(lambda: once(client, hung, "ping").status == 404, 10)

        def is_quiet() -> bool:
            with at(other, hung) as back:
                response = back.post(back.calling("say", level="info"))
                return not (response.is_stream and response.rest())

        assert eventually(is_quiet, 10)


def test_04_a_change_at_one_is_told_to_a_session_that_listens_at_the_other(pair: Pair) -> None:
    with HttpPeer(pair.a.port, LATEST) as client, at(client, pair.b) as other:
        assert other.ask("resources/subscribe", {"uri": "shared://watched"}).status == 200
        with at(client, pair.a) as listener:
            stream = listener.listen()
            assert int(other.call("touch")) == pair.b.process.pid
            assert stream.next().message["method"] == "notifications/resources/updated"


# 5. Streams


def test_05_a_stream_of_one_is_resumed_at_the_other(pair: Pair, tmp_path: Path) -> None:
    file = tmp_path / "file"
    with HttpPeer(pair.a.port, LATEST) as client, at(client, pair.b) as other:
        stream = client.post(client.watching("until", file=str(file)))
        first = next(event for event in stream.events if "params" in event.message)
        client.close()
        resumed = other.listen(first.id)
        assert resumed.status == 200
        file.touch()
        events = resumed.rest()
        assert [each.message.get("method") for each in events] == ["notifications/progress", None]
        assert events[-1].message["result"]["content"][0]["text"] == "found"


def test_05_a_stream_of_one_that_was_killed_is_resumed_at_the_other(
    pair: Pair, tmp_path: Path
) -> None:
    with (
        replica(pair.redis, pair.key) as third,
        HttpPeer(third.port, LATEST) as client,
        at(client, pair.b) as other,
    ):
        other.call("pid")
        assert other.ask("resources/subscribe", {"uri": "shared://watched"}).status == 200
        with at(client, third) as listener:
            stream = listener.listen()
            client.call("touch")
            first = stream.next()
            client.call("touch")
            second = stream.next()
            sleep(0.3)  # for the second to be in Redis: nothing tells of that
            third.process.kill()
            third.process.wait()

            def resumed() -> bool:
                with at(client, pair.b) as late:
                    response = late.listen(first.id)
                    return response.status == 200 and response.next().id == second.id

            assert eventually(resumed, 8)


def test_05_an_event_of_another_session_is_refused(pair: Pair, tmp_path: Path) -> None:
    with (
        HttpPeer(pair.a.port, LATEST) as client,
        HttpPeer(pair.a.port, LATEST) as stranger,
        at(stranger, pair.b) as other,
    ):
        stream = client.post(client.watching("until", file=str(tmp_path / "never")))
        event = stream.next().id
        assert stranger.listen(event).status == 400
        assert other.listen(event).status == 400


# 1. Stateless calls


def calls_at(port: int, count: int) -> int:
    """Make calls on one connection; return how many have the right result."""
    right = 0
    with HttpPeer(port, MODERN) as client:
        message = client.calling("add", a=20, b=22)
        body, headers = json.dumps(message).encode(), client.headers_for(message)
        connection = client._connection
        for _ in range(count):
            connection.request("POST", "/mcp", body, {k: str(v) for k, v in headers.items() if v})
            reply = json.loads(connection.getresponse().read())
            right += reply["result"]["content"][0]["text"] == "42"
    return right


def test_01_ten_thousand_calls_alternate_without_a_command(pair: Pair) -> None:
    pair.redis.command("CONFIG", "RESETSTAT")
    began = monotonic()
    with ThreadPoolExecutor(4) as threads:
        ports = [server.port for server in pair.both] * 20
        assert sum(threads.map(calls_at, ports, [245] * 40)) == 9_800
        assert sum(threads.map(lambda _: calls_at(pair.balancer.port, 1), range(200))) == 200
    seconds = monotonic() - began
    counted = pair.redis.calls()
    # Both processes look for each other once a second, and for leases three times a second.
    assert sum(counted.values()) < 60 * (seconds + 3), (seconds, counted)


# 2. Input that is required


def round_of(client: HttpPeer, **more: Any) -> Any:
    """The result of one round of a call that asks."""
    params = {"name": "ask", "arguments": {"question": "Which?"}, **more}
    return client.post(client.request("tools/call", params))


def answered(result: Any, **changes: Any) -> dict[str, Any]:
    """The members that bring an answer."""
    (key,) = result["inputRequests"]
    responses = {key: {"action": "accept", "content": {"word": "lamp"}}}
    return {"inputResponses": responses, "requestState": result["requestState"], **changes}


def test_02_input_that_one_requires_is_given_to_the_other(pair: Pair) -> None:
    with modern(pair.a) as client, modern(pair.b) as other:
        result = round_of(client).message["result"]
        assert result["resultType"] == "input_required"
        assert round_of(other, **answered(result)).text == f"{pair.b.process.pid} heard lamp"


@pytest.mark.parametrize("at_b", [False, True], ids=["at the same", "at the other"])
def test_02_a_state_that_is_not_ours_is_refused_at_both(pair: Pair, at_b: bool) -> None:
    with (
        modern(pair.a, token="one") as client,
        modern(pair.both[at_b], token="one") as same,
        modern(pair.both[at_b], token="two") as stranger,
    ):
        result = round_of(client).message["result"]
        state = result["requestState"]
        changed = state[:-2] + ("AA" if state[-2:] != "AA" else "BB")
        assert round_of(same, **answered(result, requestState=changed)).code == -32602
        assert round_of(stranger, **answered(result)).code == -32602
        assert round_of(same, **answered(result)).status == 200


def test_02_a_state_of_another_server_is_refused(pair: Pair) -> None:
    other = [ACCORD, "serve", "shared:server", "--http", "127.0.0.1:0", "--no-page"]
    command = [*other, "--key-file", str(pair.key)]
    with ExitStack() as stack:
        foreign = stack.enter_context(HttpServer(command, cwd=SAMPLES, env=ENVIRONMENT))
        client, stranger = (stack.enter_context(modern(each)) for each in (pair.a, foreign))
        result = round_of(stranger).message["result"]
        assert round_of(client, **answered(result)).code == -32602
        assert round_of(stranger, **answered(result)).status == 200


# 3. Subscriptions


def listen(client: HttpPeer, **notifications: Any) -> Any:
    """Open a subscription; return its stream once it is acknowledged."""
    stream = client.post(client.request("subscriptions/listen", {"notifications": notifications}))
    assert stream.next().message["method"] == "notifications/subscriptions/acknowledged"
    return stream


def test_03_a_change_at_one_is_told_once_at_the_other_within_100_ms(pair: Pair) -> None:
    with modern(pair.a) as client, modern(pair.b) as other:
        stream = listen(client, resourceSubscriptions=["shared://watched"])
        times = []
        for _ in range(10):
            began = perf_counter()
            other.call("touch")
            event = stream.next().message
            times.append(perf_counter() - began)
            assert event["method"] == "notifications/resources/updated"
        assert median(times) < 0.1, times
        other.call("touch")
        assert stream.next().message["method"] == "notifications/resources/updated", "and no more"


def test_03_what_is_disabled_at_one_is_disabled_at_the_other_before_it_is_told(pair: Pair) -> None:
    with modern(pair.a) as client, modern(pair.a) as lister, modern(pair.b) as other:
        stream = listen(client, toolsListChanged=True)
        for tool, is_shown in (("hide", False), ("show", True)):
            assert int(other.call(tool, name="say")) == pair.b.process.pid
            assert stream.next().message["method"] == "notifications/tools/list_changed"
            listed = lister.ask("tools/list", {}).message["result"]["tools"]
            assert ("say" in {each["name"] for each in listed}) == is_shown


def test_03_a_replica_that_comes_later_has_the_same_list(pair: Pair) -> None:
    with modern(pair.b) as client:
        client.call("hide", name="leave")
        try:
            with replica(pair.redis, pair.key) as third, modern(third) as late:
                listed = late.ask("tools/list", {}).message["result"]["tools"]
                assert "leave" not in {each["name"] for each in listed}
        finally:
            client.call("show", name="leave")


def test_03_a_subscription_survives_the_other_and_ends_gracefully(pair: Pair) -> None:
    with ExitStack() as stack:
        own, third = (stack.enter_context(replica(pair.redis, pair.key)) for _ in "ab")
        client, other = (stack.enter_context(modern(each)) for each in (own, pair.b))
        stream = listen(client, resourceSubscriptions=["shared://watched"])
        third.process.kill()
        third.wait()
        other.call("touch")
        assert stream.next().message["method"] == "notifications/resources/updated"
        own.process.terminate()
        assert "result" in stream.rest()[-1].message


# 6. Tasks


def test_06_a_task_of_one_is_everywhere_at_once(pair: Pair) -> None:
    for _ in range(20):
        task_id = begin(pair.a, "report", seconds=0.05)
        assert get(pair.b, task_id)["taskId"] == task_id
    assert end_of(pair.b, task_id)["status"] == "completed"


def test_06_a_task_is_cancelled_and_answered_at_the_other(pair: Pair) -> None:
    task_id = begin(pair.a, "report", seconds=60)
    began = perf_counter()
    assert post(pair.b, "tasks/cancel", {"taskId": task_id})["result"]["resultType"] == "complete"
    assert end_of(pair.b, task_id)["status"] == "cancelled"
    assert perf_counter() - began < 2
    task_id = begin(pair.a, "greet")
    assert eventually(lambda: get(pair.b, task_id)["status"] == "input_required", 5)
    (key,) = get(pair.b, task_id)["inputRequests"]
    answer = {key: {"action": "accept", "content": {"name": "Ada"}}}
    post(pair.b, "tasks/update", {"taskId": task_id, "inputResponses": answer})
    assert end_of(pair.a, task_id)["result"]["content"][0]["text"] == "Hello Ada"


def test_06_tasks_of_a_replica_that_is_killed_fail_and_survive_both(tmp_path: Path) -> None:
    with RedisServer() as redis, ExitStack() as stack:
        key = tmp_path / "key"
        a, b = (stack.enter_context(replica(redis, key)) for _ in "ab")
        done = begin(a, "report", seconds=0)
        assert end_of(a, done)["status"] == "completed"
        lost = begin(a, "report", seconds=60)
        a.process.kill()
        began = monotonic()
        task = end_of(b, lost)
        assert monotonic() - began < 5, "the lease has one second"
        assert (task["status"], task["error"]["code"]) == ("failed", -32603)
        b.process.terminate()
        b.wait()
        for _ in "ab":
            with replica(redis, key) as after:
                assert get(after, done)["status"] == "completed"
                assert get(after, lost) == task


# 9. Redis that is away


def test_09_redis_is_away_for_a_while_and_flushed(tmp_path: Path) -> None:
    with pair_of(tmp_path) as pair, ExitStack() as stack:
        mine, other = (stack.enter_context(HttpPeer(pair.a.port, LATEST)) for _ in "ab")
        theirs = stack.enter_context(at(mine, pair.b))
        assert theirs.ask("logging/setLevel", {"level": "error"}).status == 200
        task_id = begin(pair.a, "report", seconds=1)
        pair.redis.stop()
        for _ in range(5):
            mine.call("pid")  # what is known here goes on
            theirs.call("pid")
            with modern(pair.a) as client:
                client.call("pid")
        for away in (
            lambda: _of(once(other, pair.b, "ping")),  # not known there yet
            lambda: _of(mine.ask("logging/setLevel", {"level": "info"})),
            lambda: exchange(pair.b, "tasks/get", {"taskId": task_id}),
            lambda: exchange(pair.b, "tools/call", {"name": "report", "arguments": {"seconds": 1}}),
        ):
            began = perf_counter()
            status, body, headers = away()
            assert status == 503, body
            assert int(headers["Retry-After"]) >= 1
            assert perf_counter() - began < 1.5
        pair.redis.start()  # empty: it was flushed, too
        ready = eventually(lambda: once(other, pair.b, "ping").status == 200, 10)
        assert ready, "it recovers without a restart"
        assert eventually(
            lambda: theirs.ask("logging/setLevel", {"level": "debug"}).status == 200, 10
        )
        said = mine.post(mine.calling("say", level="info"))
        assert said.is_stream, "and the two are linked"
        said.rest()
        assert post(pair.a, "tasks/get", {"taskId": task_id})["error"]["code"] == -32602
        task_id = begin(pair.a, "report", seconds=0)
        assert end_of(pair.b, task_id)["status"] == "completed"


def _of(response: Response) -> tuple[int, Any, http.client.HTTPMessage]:
    return response.status, response.body, response.headers


# 10. Two principals


def test_10_nothing_of_one_principal_is_usable_by_another(pair: Pair, tmp_path: Path) -> None:
    for server in pair.both:
        call = {"name": "report", "arguments": {"seconds": 0}}
        reply = post(server, "tools/call", call, token="one")
        params = {"taskId": reply["result"]["taskId"], "inputResponses": {}}
        for other in pair.both:
            for method in ("tasks/get", "tasks/cancel", "tasks/update"):
                for token in ("two", None):
                    refused = post(other, method, params, token=token)
                    assert refused["error"]["code"] == -32602
            assert "result" in post(other, "tasks/get", params, token="one")
    one = {"Authorization": "Bearer one"}
    with HttpPeer(pair.a.port, LATEST, headers=one) as client:
        stream = client.post(client.watching("until", file=str(tmp_path / "never")))
        event = next(each for each in stream.events if "params" in each.message).id
        for server in pair.both:
            for headers in ({"Authorization": "Bearer two"}, {}):
                stranger = HttpPeer(server.port, LATEST, begin=False, headers=headers)
                stranger.session = client.session
                assert stranger.ask("ping").status == 404
                assert stranger.listen(event).status == 404
                assert stranger.visit("DELETE").status == 404
                stranger.close()
        with at(client, pair.b) as same:
            assert same.ask("ping").status == 200


# 11. Rotation of keys


def test_11_an_old_key_opens_until_it_is_removed(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    with RedisServer() as redis, ExitStack() as stack:
        before = stack.enter_context(replica(redis, old))
        rotated = stack.enter_context(replica(redis, new, old))
        after = stack.enter_context(replica(redis, new))
        client = stack.enter_context(HttpPeer(before.port, LATEST))
        task_id = begin(before, "report", seconds=0)
        end_of(before, task_id)
        with modern(before) as asking, modern(rotated) as asked, modern(after) as stranger:
            result = round_of(asking).message["result"]
            assert round_of(asked, **answered(result)).status == 200
            assert round_of(stranger, **answered(result)).code == -32602
            result = round_of(asked).message["result"]
            assert round_of(stranger, **answered(result)).status == 200, "the new key seals"
        assert once(client, rotated, "ping").status == 200
        assert get(rotated, task_id)["status"] == "completed"
        assert once(client, after, "ping").status == 404
        assert post(after, "tasks/get", {"taskId": task_id})["error"]["code"] == -32602


# 12. Clocks


def test_12_a_clock_that_is_a_minute_ahead_does_no_harm(tmp_path: Path) -> None:
    with RedisServer() as redis, ExitStack() as stack:
        key = tmp_path / "key"
        a = stack.enter_context(replica(redis, key))
        b = stack.enter_context(replica(redis, key, PYTHONPATH=str(TESTS / "clock_ahead")))
        for one, other in ((a, b), (b, a)):
            with HttpPeer(one.port, LATEST) as client, at(client, other) as moved:
                assert moved.ask("ping").status == 200
            with modern(one) as asking, modern(other) as asked:
                result = round_of(asking).message["result"]
                assert round_of(asked, **answered(result)).status == 200
            task_id = begin(one, "report", seconds=2.5)  # longer than a lease
            assert end_of(other, task_id)["status"] == "completed"


# 7. Rolling restarts


def test_07_no_call_fails_while_both_are_restarted(tmp_path: Path) -> None:
    with pair_of(tmp_path) as pair, ExitStack() as stack:
        failures: list[str] = []
        is_over = threading.Event()
        counts = [0] * 20

        def load(number: int) -> None:
            while not is_over.is_set():
                try:
                    with HttpPeer(pair.balancer.port, MODERN) as client:
                        assert client.call("add", a=number, b=1) == str(number + 1)
                    counts[number] += 1
                except Exception as error:  # noqa: BLE001 - whatever it is, it is a failed call
                    failures.append(repr(error))

        with ThreadPoolExecutor(20) as threads:
            for number in range(20):
                threads.submit(load, number)
            for old in pair.both:
                new = stack.enter_context(replica(pair.redis, pair.key))
                before = sum(counts)
                pair.balancer.ports.append(new.port)
                # First out of rotation: Linux resets what connects at the moment a listener closes.
                pair.balancer.ports.remove(old.port)
                old.process.terminate()
                old.wait()
                assert eventually(lambda before=before: sum(counts) > before + 50)  # type: ignore[misc]
            is_over.set()
        assert failures == []


# 14. Clients through the balancer


@pytest.mark.parametrize("revision", [MODERN, LATEST])
def test_14_our_client_works_through_the_balancer(pair: Pair, revision: str) -> None:
    async def main() -> None:
        url = f"http://127.0.0.1:{pair.balancer.port}/mcp"
        async with Client(url, revision=revision) as client:
            pids = {(await client.call_tool("pid", {})).value for _ in range(10)}
            assert len(pids) == 2

    asyncio.run(main())


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy", MODERN])
def test_14_the_sdk_client_works_through_the_balancer(
    pair: Pair, mode: str, tmp_path: Path
) -> None:
    heard: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async def answer(context: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        return mcp_types.ElicitResult(action="accept", content={"word": params.message})

    async def main() -> None:
        url = f"http://127.0.0.1:{pair.balancer.port}/mcp"
        async with (
            asyncio.timeout(60),
            mcp.Client(url, mode=mode, elicitation_callback=answer) as client,
        ):
            assert client.protocol_version == (LATEST if mode == "legacy" else MODERN)
            listed = await client.list_tools()
            assert {"pid", "ask", "report"} <= {tool.name for tool in listed.tools}
            pids = await asyncio.gather(*(client.call_tool("pid", {}) for _ in range(20)))
            assert len({text_of(each) for each in pids}) == 2
            for number in range(6):  # the answer goes to either replica
                asked = await client.call_tool("ask", {"question": f"word {number}"})
                assert text_of(asked).endswith(f" heard word {number}")
            (tmp_path / "file").touch()
            wanted = {"file": str(tmp_path / "file")}
            found = await client.call_tool("until", wanted, progress_callback=hear)
            assert (text_of(found), heard) == ("found", ["one", "two"])
            report = await client.call_tool("report", {"seconds": 0})
            assert text_of(report).startswith("report of")
            waiting = asyncio.create_task(client.call_tool("forever", {"folder": str(tmp_path)}))
            await until((tmp_path / "began").exists)
            waiting.cancel()
            await until((tmp_path / "ended").exists)

    asyncio.run(main())


def text_of(result: mcp_types.CallToolResult) -> str:
    """The text of a result."""
    (block,) = result.content
    assert isinstance(block, mcp_types.TextContent)
    return block.text


# Faults of Redis


def answers_of(pair: Pair, session: HttpPeer, task_id: str) -> list[tuple[int, float]]:
    """The statuses and seconds of requests that need Redis."""
    found = []
    for away in (
        lambda: _of(session.ask("logging/setLevel", {"level": "info"})),
        lambda: exchange(pair.b, "tasks/get", {"taskId": task_id}),
        lambda: exchange(pair.b, "tools/call", {"name": "report", "arguments": {"seconds": 0}}),
    ):
        began = perf_counter()
        status, _, _ = away()
        found.append((status, perf_counter() - began))
    return found


def test_a_slow_redis_holds_no_call_for_long_and_loses_nothing(tmp_path: Path) -> None:
    with pair_of(tmp_path) as pair, HttpPeer(pair.a.port, LATEST) as client:
        task_id = begin(pair.a, "report", seconds=0.5)
        pair.redis.command("CLIENT", "PAUSE", "4000")
        found = answers_of(pair, client, task_id)
        assert [status for status, _ in found] == [503, 503, 503]
        assert all(seconds < 1.5 for _, seconds in found), found
        with modern(pair.b) as other:
            assert int(client.call("pid")) == pair.a.process.pid
            assert int(other.call("pid")) == pair.b.process.pid
        settled = eventually(lambda: "result" in post(pair.b, "tasks/get", {"taskId": task_id}), 10)
        assert settled
        assert end_of(pair.b, task_id)["status"] == "completed"
        assert eventually(lambda: pair_is_linked(pair), 10)


def test_a_full_redis_takes_no_tasks_and_keeps_those_it_has(tmp_path: Path) -> None:
    with pair_of(tmp_path) as pair, HttpPeer(pair.a.port, LATEST) as client:
        done = begin(pair.a, "report", seconds=0)
        assert end_of(pair.b, done)["status"] == "completed"
        running = begin(pair.a, "report", seconds=1)
        pair.redis.command("CONFIG", "SET", "maxmemory", "1")
        statuses = [status for status, _ in answers_of(pair, client, done)]
        assert statuses == [503, 200, 503], "what is there can be read"
        assert int(client.call("pid")) == pair.a.process.pid
        sleep(1.2)  # the task ends meanwhile, and its result waits
        assert get(pair.b, running)["status"] == "working"
        pair.redis.command("CONFIG", "SET", "maxmemory", "0")
        ended = end_of(pair.b, running)
        assert ended["status"] == "completed", ended


def test_a_redis_that_fails_over_keeps_sessions_and_tasks(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with ExitStack() as stack:
        first = stack.enter_context(RedisServer())
        second = stack.enter_context(RedisServer("--replicaof", "127.0.0.1", str(first.port)))
        front = stack.enter_context(Forwarder(first.port))
        redis = SimpleNamespace(url=f"redis://127.0.0.1:{front.port}/0")
        a, b = (stack.enter_context(replica(redis, tmp_path / "key")) for _ in "ab")
        client = stack.enter_context(HttpPeer(a.port, LATEST))
        assert client.ask("logging/setLevel", {"level": "error"}).status == 200
        done, running = (begin(a, "report", seconds=s, log=str(log)) for s in (0, 3))
        assert end_of(b, done)["status"] == "completed"
        assert eventually(lambda: b"master_link_status:up" in second.command("INFO", "replication"))
        assert eventually(
            lambda: second.command("EXISTS", f"accord:replicated:task:{{{running}}}")[:2] == b":1"
        )
        first.stop()
        second.command("REPLICAOF", "NO", "ONE")
        front.target = second.port
        assert eventually(lambda: exchange(b, "tasks/get", {"taskId": done})[0] == 200, 10)
        assert end_of(b, running)["status"] == "completed"
        assert len(log.read_text().splitlines()) == 2, "each ran once"
        with at(client, b) as moved:
            assert not moved.post(moved.calling("say", level="info")).is_stream


def pair_is_linked(pair: Pair) -> bool:
    """True if a change of a session at one replica acts at the other."""
    with HttpPeer(pair.a.port, LATEST) as client, at(client, pair.b) as other:
        other.ask("ping")
        if client.ask("logging/setLevel", {"level": "error"}).status != 200:
            return False
        return not other.post(other.calling("say", level="info")).is_stream


# Replicas that are killed


@pytest.mark.slow
@pytest.mark.timeout(500)
def test_however_often_replicas_are_killed_under_load_each_task_ends_once(tmp_path: Path) -> None:
    with ExitStack() as stack:
        redis = stack.enter_context(RedisServer())
        key, is_over = tmp_path / "key", threading.Event()
        replicas = [stack.enter_context(replica(redis, key, LEASE="0.5")) for _ in "ab"]
        balancer = stack.enter_context(Balancer([each.port for each in replicas]))
        behind: Any = SimpleNamespace(port=balancer.port)
        tasks: list[tuple[str, Path]] = []
        finals: dict[str, Any] = {}
        changed: list[str] = []

        def load(number: int) -> None:
            for count in itertools.count():
                if is_over.is_set():
                    return
                name = ("report", "again")[count % 2]
                log = tmp_path / f"{name}-{number}-{count}"
                with suppress(OSError, ValueError, KeyError, http.client.HTTPException):
                    task_id = begin(behind, name, seconds=0.2, log=str(log))
                    tasks.append((task_id, log))
                    for _ in range(3):
                        task = get(behind, task_id)
                        if task["status"] in FINAL and finals.setdefault(task_id, task) != task:
                            changed.append(task_id)

        with ThreadPoolExecutor(4) as threads:
            loads = [threads.submit(load, number) for number in range(4)]
            for _ in range(50):
                new = stack.enter_context(replica(redis, key, LEASE="0.5"))
                replicas.append(new)
                balancer.ports.append(new.port)
                victim = replicas.pop(0)
                victim.process.kill()
                victim.wait()
                balancer.ports.remove(victim.port)
            is_over.set()
            for each in loads:
                each.result()
        ends = [require_one_end(replicas, *each) for each in tasks]
        assert changed == []
        assert len(ends) > 200
        assert {"completed", "failed"} == set(ends)
