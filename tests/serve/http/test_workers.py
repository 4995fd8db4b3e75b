"""Several workers on one port: any of them serves any session, and they act as one server."""

import asyncio
import json
import os
import re
import signal
import socket
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from accord import Client, read
from commands import ACCORD, ENVIRONMENT, SAMPLES, run
from http_peer import HttpPeer, HttpServer
from processes import children, is_gone
from serve.http.handshakes import visit
from serve.http.talk import ERAS, HANDSHAKE, eventually

WORKERS = 2
CLIENTS = 200
MANY = 1_000
ELICITING: dict[str, Any] = {"elicitation": {"form": {}}}
ENDED = re.compile(r"worker (\d+) (.*?); another one starts")


def workers(
    *words: str,
    target: str = "shared:server",
    cwd: Path = SAMPLES,
    grace: float = 0.5,
    count: int = WORKERS,
) -> HttpServer:
    """Start a sample server with several workers."""
    options = ["--http", "127.0.0.1:0", "--grace", str(grace), "--workers", str(count)]
    return HttpServer([ACCORD, "serve", target, *options, *words], cwd=cwd, env=ENVIRONMENT)


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    with workers() as running:
        yield running
    assert "Traceback" not in running.stderr, running.stderr


@contextmanager
def at_each_worker(client: HttpPeer, count: int = WORKERS) -> Iterator[list[HttpPeer]]:
    """Give the client on one connection to each worker."""
    with ExitStack() as stack:
        found: dict[str, HttpPeer] = {}
        end = monotonic() + 30
        while len(found) < count:
            assert monotonic() < end, f"only {len(found)} of {count} workers answer"
            peer = stack.enter_context(client.again())
            found.setdefault(peer.call("pid"), peer)
        yield list(found.values())


def pids_of(server: HttpServer) -> list[int]:
    return sorted(children(server.process.pid))


# Sessions


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_every_worker_serves_a_session_of_another(server: HttpServer, revision: str) -> None:
    with (
        HttpPeer(server.port, revision, capabilities=ELICITING) as client,
        at_each_worker(client) as peers,
    ):
        for peer in peers:
            assert peer.notify("notifications/initialized").status == 202
            assert peer.ask("tools/list").message["result"]["tools"]
        known = {peer.call("caller") for peer in peers}
        assert len(known) == 1, "all know the same of the client"
        assert json.loads(known.pop())["can"] == ELICITING


def test_handshake_clients_without_stickiness_meet_no_failure(server: HttpServer) -> None:
    assert asyncio.run(visit(server.port, CLIENTS)) == dict.fromkeys(pids_of(server), True)


@pytest.mark.slow
def test_a_thousand_handshake_clients_without_stickiness_meet_no_failure() -> None:
    with workers() as server:
        assert len(asyncio.run(visit(server.port, MANY))) == WORKERS


def test_a_session_that_is_ended_is_ended_in_every_worker(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25") as client, at_each_worker(client) as peers:
        assert peers[0].visit("DELETE").status == 204
        for peer in peers:
            assert peer.ask("ping").status == 404
            assert peer.visit("DELETE").status == 404
        with client.again() as fresh:
            assert fresh.ask("ping").status == 404


def test_a_session_is_its_owners_alone_in_every_worker(server: HttpServer) -> None:
    owner = {"Authorization": "Bearer a"}
    with (
        HttpPeer(server.port, "2025-11-25", headers=owner) as client,
        at_each_worker(client) as peers,
    ):
        for peer in peers:
            for other in ("Bearer b", None, "bearer a"):
                theirs = {"Authorization": other}
                assert peer.post(peer.request("ping"), theirs).status == 404
                assert peer.visit("DELETE", theirs).status == 404
            assert peer.ask("ping").status == 200


def test_a_level_that_is_set_at_one_worker_holds_at_the_others(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25") as client, at_each_worker(client) as peers:
        for level, is_said in (("error", False), ("debug", True), ("error", False)):
            assert peers[0].ask("logging/setLevel", {"level": level}).status == 200
            for peer in peers:
                response = peer.post(peer.calling("say", level="info"))
                assert response.is_stream is is_said, (level, response.body)
                if response.is_stream:
                    assert len(response.rest()) == 2
            peers.reverse()


# Calls that are open in another worker


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_an_answer_reaches_the_worker_that_has_asked(server: HttpServer, revision: str) -> None:
    with (
        HttpPeer(server.port, revision, capabilities=ELICITING) as client,
        at_each_worker(client) as peers,
    ):
        for asking, answering in (peers, peers[::-1]):
            pid = asking.call("pid")
            stream = asking.post(asking.calling("ask", question="Who?"))
            question = stream.next().message
            result = {"action": "accept", "content": {"word": "me"}}
            answer = {"jsonrpc": "2.0", "id": question["id"], "result": result}
            assert answering.post(answer).status == 202
            assert answering.post(answer).status == 202, "once more has no effect"
            found = stream.rest()[-1].message
            assert found["result"]["content"][0]["text"] == f"{pid} heard me"


def test_questions_of_two_workers_have_different_ids(server: HttpServer) -> None:
    with (
        HttpPeer(server.port, "2025-11-25", capabilities=ELICITING) as client,
        at_each_worker(client) as peers,
    ):
        streams = [peer.post(peer.calling("ask", question="Who?")) for peer in peers]
        asked = [stream.next().message["id"] for stream in streams]
        assert len(set(asked)) == WORKERS
        with client.again() as other:
            for id, word in zip(asked, "ab", strict=True):
                result = {"action": "accept", "content": {"word": word}}
                assert other.post({"jsonrpc": "2.0", "id": id, "result": result}).status == 202
        texts = [s.rest()[-1].message["result"]["content"][0]["text"] for s in streams]
        assert [text[-1] for text in texts] == ["a", "b"]


def test_an_answer_in_another_session_is_not_taken(server: HttpServer) -> None:
    with ExitStack() as stack:
        client, stranger = (
            stack.enter_context(HttpPeer(server.port, "2025-11-25", capabilities=ELICITING))
            for _ in range(2)
        )
        stream = stack.enter_context(client.again()).post(client.calling("ask", question="Who?"))
        question = stream.next().message
        for theirs in stack.enter_context(at_each_worker(stranger)):
            result = {"action": "accept", "content": {"word": "a stranger"}}
            theirs.post({"jsonrpc": "2.0", "id": question["id"], "result": result})
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
        assert client.post(answer).status == 202
        assert stream.rest()[-1].message["result"]["content"][0]["text"] == "decline"


def test_a_cancellation_reaches_the_worker_of_the_call(server: HttpServer, tmp_path: Path) -> None:
    with HttpPeer(server.port, "2025-11-25") as client, at_each_worker(client) as peers:
        for number in range(4):
            folder = tmp_path / str(number)
            folder.mkdir()
            with client.again() as caller:
                caller.send(caller.calling("forever", id=77, folder=str(folder)))
                assert eventually((folder / "began").exists)
                pid = (folder / "began").read_text()
                other = next(peer for peer in peers if peer.call("pid") != pid)
                cancelled = {"requestId": 77, "reason": "enough"}
                assert other.notify("notifications/cancelled", cancelled).status == 202
                assert eventually((folder / "ended").exists)
                assert not caller.receive().messages


def test_a_cancellation_in_another_session_is_not_taken(server: HttpServer, tmp_path: Path) -> None:
    with (
        HttpPeer(server.port, "2025-11-25") as client,
        HttpPeer(server.port, "2025-11-25") as stranger,
        at_each_worker(stranger) as theirs,
        client.again() as caller,
    ):
        caller.send(caller.calling("until", id=77, file=str(tmp_path / "go")))
        for each in theirs:
            each.notify("notifications/cancelled", {"requestId": 77})
        (tmp_path / "go").write_text("")
        assert caller.receive().text == "found"


def test_the_end_of_a_session_at_one_worker_ends_its_calls_at_another(
    server: HttpServer, tmp_path: Path
) -> None:
    with (
        HttpPeer(server.port, "2025-11-25") as client,
        at_each_worker(client) as peers,
        client.again() as caller,
    ):
        caller.send(caller.calling("forever", folder=str(tmp_path)))
        assert eventually((tmp_path / "began").exists)
        pid = (tmp_path / "began").read_text()
        other = next(peer for peer in peers if peer.call("pid") != pid)
        assert other.visit("DELETE").status == 204
        assert eventually((tmp_path / "ended").exists)


def test_a_stream_is_resumed_at_another_worker(server: HttpServer, tmp_path: Path) -> None:
    with HttpPeer(server.port, "2025-11-25") as client, at_each_worker(client) as peers:
        for number, calling in enumerate(peers):
            file = tmp_path / str(number)
            stream = calling.post(calling.watching("until", file=str(file)))
            first = stream.next()
            with client.again() as same, client.again() as resuming:
                resumed = same.listen(first.id)
                assert resumed.status == 200
                file.write_text("")
                events = resumed.rest()
                assert stream.rest() == [], "the latest follower takes over"
                messages = [event.message for event in events]
                assert [message.get("method") for message in messages] == [
                    "notifications/progress",
                    None,
                ]
                assert messages[-1]["result"]["content"][0]["text"] == "found"
                again = resuming.listen(first.id).rest()
                assert [event.id for event in again] == [event.id for event in events]
                assert resuming.call("pid"), "the connection serves further requests"
            for other in peers:
                if other is not calling:
                    assert [e.id for e in other.listen(first.id).rest()] == [e.id for e in events]


def test_a_call_that_detaches_is_resumed_at_any_worker(server: HttpServer, tmp_path: Path) -> None:
    with HttpPeer(server.port, "2025-11-25") as client, at_each_worker(client) as peers:
        for peer in peers:
            file = tmp_path / peer.call("pid")
            stream = peer.post(peer.watching("leave", file=str(file)))
            raw = [line for line in stream._raw.read().splitlines() if line.startswith(b"id: ")]
            last = raw[-1].removeprefix(b"id: ").decode()
            file.write_text("")
            for other in peers:
                assert other.listen(last).rest()[-1].message["result"]["content"][0]["text"] == (
                    "found after all"
                )


def test_clients_that_leave_relayed_streams_leave_nothing_behind(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25") as client, at_each_worker(client) as peers:
        opened = [peer.again() for peer in peers]
        quiet = [each.listen() for each in opened]
        priming = [stream._raw.readline().removeprefix(b"id: ").strip() for stream in quiet]
        before = {pid: _descriptors(pid) for pid in pids_of(server)}
        for _ in range(10):
            with ExitStack() as stack:
                for event in priming:
                    follower = stack.enter_context(client.again())
                    assert follower.listen(event.decode()).status == 200
        assert eventually(lambda: all(_descriptors(pid) <= count for pid, count in before.items()))
        for each in opened:
            each.close()


def _descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def test_an_event_of_another_session_is_refused_by_every_worker(server: HttpServer) -> None:
    with ExitStack() as stack:
        client = stack.enter_context(HttpPeer(server.port, "2025-11-25"))
        stranger = stack.enter_context(HttpPeer(server.port, "2025-11-25"))
        events = client.post(client.calling("say", level="error")).rest()
        for peer in stack.enter_context(at_each_worker(stranger)):
            response = peer.visit(
                "GET", {"Accept": "text/event-stream", "Last-Event-ID": events[0].id}
            )
            assert response.status == 400


# Changes


def test_a_change_in_any_worker_is_told_once(server: HttpServer) -> None:
    with (
        HttpPeer(server.port, "2025-11-25") as client,
        at_each_worker(client) as peers,
        client.again() as listener,
    ):
        stream = listener.listen()
        assert peers[0].ask("resources/subscribe", {"uri": "shared://watched"}).status == 200
        for peer in (*peers, *peers):
            peer.call("touch")
            told = stream.next().message
            assert told["method"] == "notifications/resources/updated"
            assert told["params"] == {"uri": "shared://watched"}
        peers[-1].ask("resources/unsubscribe", {"uri": "shared://watched"})
        for peer in peers:
            peer.call("touch")
        assert peers[0].visit("DELETE").status == 204
        assert stream.rest() == [], "nothing twice, and nothing after the end"


def test_with_two_listeners_a_change_is_told_to_one(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25") as client, at_each_worker(client) as peers:
        peers[0].ask("resources/subscribe", {"uri": "shared://watched"})
        with at_each_worker(client) as listeners, client.again() as caller:
            streams = [listener.listen() for listener in listeners]
            assert all(stream.status == 200 for stream in streams)
            for _ in range(5):
                caller.call("touch")
                caller.call("grow")
            assert caller.visit("DELETE").status == 204
            told = [[event.message["method"] for event in stream.rest()] for stream in streams]
            assert sorted(map(bool, told)) == [False, True], told


def test_a_change_before_the_client_listens_is_told_when_it_does(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25") as client, at_each_worker(client) as peers:
        peers[0].ask("resources/subscribe", {"uri": "shared://watched"})
        peers[1].call("touch")
        with client.again() as listener:
            assert listener.listen().next().message["params"] == {"uri": "shared://watched"}
        with at_each_worker(client) as listeners, ExitStack():
            streams = [listener.listen() for listener in listeners]
            peers[0].visit("DELETE")
            assert [stream.rest() for stream in streams] == [[], []], "not once more elsewhere"


def test_a_subscription_of_the_stateless_era_hears_of_changes_in_any_worker(
    server: HttpServer,
) -> None:
    with (
        HttpPeer(server.port) as client,
        at_each_worker(client) as peers,
        client.again() as listener,
    ):
        wanted = {"resourceSubscriptions": ["shared://watched"], "toolsListChanged": True}
        stream = listener.post(listener.request("subscriptions/listen", {"notifications": wanted}))
        stream.next()
        for peer in peers:
            peer.call("touch")
            assert stream.next().message["method"] == "notifications/resources/updated"
            peer.call("grow")
            assert stream.next().message["method"] == "notifications/tools/list_changed"


def test_input_that_one_worker_requires_is_taken_by_another(server: HttpServer) -> None:
    with (
        HttpPeer(server.port, capabilities=ELICITING) as client,
        at_each_worker(client) as peers,
    ):
        for asking, answering in (peers, peers[::-1]):
            required = asking.post(asking.calling("ask", question="Who?")).message["result"]
            (key,) = required["inputRequests"]
            params = {
                "name": "ask",
                "arguments": {"question": "Who?"},
                "inputResponses": {key: {"action": "accept", "content": {"word": "me"}}},
                "requestState": required["requestState"],
            }
            found = answering.ask("tools/call", params)
            assert found.text == f"{answering.call('pid')} heard me"


# Other clients and endpoints


@pytest.mark.parametrize("revision", ERAS)
def test_our_own_client_meets_one_server(server: HttpServer, revision: str) -> None:
    async def talk() -> set[str]:
        found = set()
        for _ in range(20):
            async with Client(server.url, revision=revision) as client:
                found.add(str((await client.call_tool("pid")).value))
                assert [tool async for tool in client.list_tools()]
        return found

    assert asyncio.run(talk()) <= set(map(str, pids_of(server)))


def test_the_page_is_one_whichever_worker_answers(server: HttpServer) -> None:
    with HttpPeer(server.port) as client, at_each_worker(client) as peers:
        index = peers[0].visit("GET", path="/").body
        token = re.search(rb'name="accord-token" content="([^"]+)"', index)
        assert token
        headers = {"X-Accord-Token": token[1].decode()}

        def ask(peer: HttpPeer, method: str, **body: Any) -> Any:
            sent = {**headers, "Content-Type": "application/json"}
            text = json.dumps(body).encode()
            peer._put(
                "POST",
                {"Host": "localhost", "Content-Length": str(len(text)), **sent},
                text,
                f"/inspector/api/{method}",
            )
            response = peer._connection.getresponse()
            found = json.loads(response.read())
            assert response.status == 200, found
            return found

        calls = [ask(peer, "call", tool="pid", arguments={})["call"] for peer in peers * 2]
        assert calls == sorted(set(calls)), "one history"
        for peer in peers:
            for call in calls:
                assert "reading" in ask(peer, "render", call=call, render={"profile": "envelope"})
        for peer in peers:
            peer.call("pid")
        assert eventually(
            lambda: (
                len(
                    {
                        json.dumps([tool["calls"] for tool in ask(peer, "stats")["tools"]])
                        for peer in peers
                    }
                )
                == 1
            )
        )


def test_metrics_are_the_sum_of_all_workers() -> None:
    with (
        workers("--telemetry") as server,
        HttpPeer(server.port) as client,
        at_each_worker(client) as peers,
    ):
        for peer in peers:
            for _ in range(5):
                peer.call("caller")

        def counted(peer: HttpPeer) -> bool:
            body = peer.visit("GET", path="/metrics").body
            return b'accord_calls_total{outcome="success",tool="caller"} 10.0' in body

        for peer in peers:
            assert eventually(lambda peer=peer: counted(peer))  # type: ignore[misc]


# Processes


def test_connections_that_stay_open_are_shared_evenly() -> None:
    with workers() as server, HttpPeer(server.port) as client, ExitStack() as stack:
        kept = [stack.enter_context(client.again()) for _ in range(40)]
        found = Counter(peer.call("pid") for peer in kept)
        assert min(found[str(pid)] for pid in pids_of(server)) >= 10, found


def test_one_line_says_that_all_workers_serve() -> None:
    with workers(count=3) as server:
        assert len(pids_of(server)) == 3
        with HttpPeer(server.port) as client, at_each_worker(client, 3):
            pass
    assert server.wait() == 0
    lines = server.stderr.splitlines()
    assert all(re.fullmatch(r"pid success [\d.]+ ms", line) for line in lines), lines


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_calls_of_all_workers_finish(number: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "go"
    with workers(grace=30) as server, HttpPeer(server.port) as client:
        pids = pids_of(server)
        with at_each_worker(client) as peers:
            for peer in peers:
                peer.send(peer.calling("until", file=str(file)))
            assert eventually(lambda: _connections(server.port) >= WORKERS)
            for pid in (server.process.pid, *pids):  # as a terminal and systemd do
                os.kill(pid, number)
            server.process.send_signal(0)
            file.write_text("")
            assert [peer.receive().text for peer in peers] == ["found"] * WORKERS
        assert server.wait() == 0
        assert all(map(is_gone, pids))


def _connections(port: int) -> int:
    """Return the number of connections that a port has accepted."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(
        line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "01" for line in lines
    )


def test_a_stream_that_is_relayed_is_complete_when_its_worker_ends(tmp_path: Path) -> None:
    file = tmp_path / "go"
    with (
        workers(grace=20) as server,
        HttpPeer(server.port, "2025-11-25") as client,
        at_each_worker(client) as peers,
    ):
        calling, other = peers
        pid = int(calling.call("pid"))
        stream = calling.post(calling.watching("until", file=str(file)))
        resumed = other.listen(stream.next().id)
        assert resumed.status == 200
        os.kill(pid, signal.SIGTERM)
        assert stream.rest() == [], "the latest follower takes over"
        file.write_text("")
        assert resumed.rest()[-1].message["result"]["content"][0]["text"] == "found"
        assert eventually(lambda: is_gone(pid))


def test_a_second_signal_ends_all_workers_at_once(tmp_path: Path) -> None:
    with workers(grace=60) as server, HttpPeer(server.port) as client:
        pids = pids_of(server)
        with at_each_worker(client) as peers:
            for number, peer in enumerate(peers):
                (tmp_path / str(number)).mkdir()
                peer.send(peer.calling("forever", folder=str(tmp_path / str(number))))
            for number in range(WORKERS):
                assert eventually((tmp_path / str(number) / "began").exists)
            server.process.terminate()
            assert eventually(lambda: _is_refused(server.port))
            assert server.process.poll() is None
            server.process.terminate()
            assert server.wait() == 0
        assert all(map(is_gone, pids))


def _is_refused(port: int) -> bool:
    try:
        with HttpPeer(port) as peer:
            return peer.ask("tools/list").status == 503
    except OSError:
        return True


def test_workers_end_when_the_supervisor_is_killed() -> None:
    with workers() as server:
        pids = pids_of(server)
        folder = _folder(server)
        assert folder.stat().st_mode & 0o777 == 0o700
        server.process.kill()
        assert all(eventually(lambda pid=pid: is_gone(pid)) for pid in pids)  # type: ignore[misc]
        server.wait()
    with workers() as server:
        assert not folder.exists(), "the next one removes what was left"
        folder = _folder(server)
    assert not folder.exists()


def _folder(server: HttpServer) -> Path:
    (folder,) = Path(tempfile.gettempdir()).glob(f"accord-workers-{server.process.pid}-*")
    return folder


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_that_ends_is_replaced_and_its_sessions_go_on(number: signal.Signals) -> None:
    with workers() as server, HttpPeer(server.port, "2025-11-25") as client:
        before = pids_of(server)
        with client.again() as other, at_each_worker(client):
            assert other.ask("logging/setLevel", {"level": "error"}).status == 200
            with HttpPeer(server.port, "2025-11-25") as ended:
                assert ended.visit("DELETE").status == 204
        for pid in before:  # one after another, so that all are replaced
            os.kill(pid, number)
            assert eventually(lambda pid=pid: is_gone(pid))  # type: ignore[misc]
            assert eventually(lambda: len(pids_of(server)) == WORKERS)
            with client.again() as patient, at_each_worker(patient) as peers:
                for peer in peers:
                    assert not peer.post(peer.calling("say", level="info")).is_stream
                    peer.session, kept = ended.session, peer.session
                    assert peer.ask("ping").status == 404, "what has ended stays so"
                    peer.session = kept
        assert set(before).isdisjoint(pids_of(server))
        server.said(ENDED, WORKERS)


def _is_replaced(server: HttpServer, pid: int) -> None:
    assert eventually(lambda: is_gone(pid) and len(pids_of(server)) == WORKERS)


def test_no_request_fails_while_workers_are_replaced_one_by_one() -> None:
    with workers(grace=10) as server:

        async def load() -> None:
            visits = asyncio.create_task(visit(server.port, CLIENTS))
            for pid in pids_of(server):
                os.kill(pid, signal.SIGTERM)
                await asyncio.to_thread(_is_replaced, server, pid)
            await visits

        asyncio.run(load())


BROKEN = "raise RuntimeError('no such luck')\n"
NO_KEY = "import os\nfrom accord import Server\nserver = Server('s', key=os.urandom(32))\n"
WITH_KEY = "from accord import Server\nserver = Server('s', key=b'k' * 32)\n"
ONCE = """
from pathlib import Path
from accord import Server
file = Path(__file__).with_name("started")
if file.exists() and not Path(__file__).with_name("again").exists():
    raise RuntimeError("not twice")
file.write_text("")
server = Server("once")
"""


def test_an_error_at_start_is_shown_once(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    command = [ACCORD, "serve", "broken:server", "--http", "127.0.0.1:0", "--workers", "4"]
    done = run(command, cwd=tmp_path)
    assert done.code == 2
    assert done.err.count("no such luck") == 1
    assert len(done.err.splitlines()) == 1


FAILING = """
import atexit
import os
from accord import Server

server = Server("failing")
atexit.register(lambda: os._exit(7))
"""


def test_the_exit_code_of_a_worker_that_fails_at_its_end_is_kept(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(FAILING)
    with workers(target="failing:server", cwd=tmp_path) as server:
        server.process.terminate()
        assert server.wait() == 7


def test_workers_that_never_start_are_given_up(tmp_path: Path) -> None:
    (tmp_path / "once.py").write_text(ONCE)
    command = [ACCORD, "serve", "once:server", "--http", "127.0.0.1:0", "--workers", "2"]
    done = run(command, cwd=tmp_path, timeout=50)
    assert done.code == 1
    assert "5 workers in a row could not start; the server ends" in done.err


def test_different_keys_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "unkeyed.py").write_text(NO_KEY)
    command = [ACCORD, "serve", "unkeyed:server", "--http", "127.0.0.1:0", "--workers", "2"]
    done = run(command, cwd=tmp_path)
    assert done.code == 2
    assert "give Server the same key" in done.err


def test_the_key_of_the_author_is_kept(tmp_path: Path) -> None:
    (tmp_path / "keyed.py").write_text(WITH_KEY)
    with (
        workers(target="keyed:server", cwd=tmp_path) as server,
        HttpPeer(server.port, "2025-11-25") as client,
    ):
        kept = client.session
    with (
        workers(target="keyed:server", cwd=tmp_path) as server,
        HttpPeer(server.port, "2025-11-25", begin=False) as client,
    ):
        client.session = kept
        assert client.ask("ping").status == 200


MISUSE = [
    (["--workers", "2"], "--workers requires HTTP"),
    (["--stateless"], "--stateless requires HTTP"),
    (["--http", "127.0.0.1:0", "--workers", "0"], "from 1 to 1,000, not '0'"),
    (["--http", "127.0.0.1:0", "--workers", "-1"], "--workers"),
    (["--http", "127.0.0.1:0", "--workers", "many"], "from 1 to 1,000, not 'many'"),
    (["--http", "0.0.0.0:0", "--workers", "2"], "--allow-host"),
]


@pytest.mark.parametrize(("words", "error"), MISUSE, ids=range(len(MISUSE)))
def test_misuse_is_one_line(words: list[str], error: str) -> None:
    done = run([ACCORD, "serve", "shared:server", *words], cwd=SAMPLES)
    assert done.code == 2
    assert error in done.err
    assert len(done.err.splitlines()) == 1


def test_one_worker_is_the_server_itself() -> None:
    with workers(count=1) as server, HttpPeer(server.port) as client:
        assert client.call("pid") == str(server.process.pid)


def test_the_port_that_is_taken_is_one_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run([ACCORD, "serve", "shared:server", "--http", address, "--workers", "2"])
    assert done.code == 2
    assert "cannot listen" in done.err


def test_lines_of_the_access_log_are_whole() -> None:
    with workers("--log-format", "json") as server:
        asyncio.run(visit(server.port, CLIENTS))
    lines = server.stderr.splitlines()
    assert len(lines) == CLIENTS
    assert {json.loads(line)["tool"] for line in lines} == {"pid"}


# Lifespans

LIVING = """
import os
from contextlib import contextmanager
from pathlib import Path
from accord import Server

here = Path(__file__).parent


@contextmanager
def life(server):
    (here / f"began {os.getpid()}").write_text("")
    if (here / "fail").exists():
        raise RuntimeError("no database")
    yield os.getpid()
    (here / f"ended {os.getpid()}").write_text("")


server = Server("living", lifespan=life)


@server.tool
async def pid() -> int:
    \"\"\"Return the id of the process.\"\"\"
    return os.getpid()
"""


def test_every_worker_runs_the_lifespan(tmp_path: Path) -> None:
    (tmp_path / "living.py").write_text(LIVING)
    with workers(target="living:server", cwd=tmp_path, grace=10) as server:
        pids = pids_of(server)
        assert {path.name for path in tmp_path.glob("began *")} == {f"began {p}" for p in pids}
        assert not list(tmp_path.glob("ended *"))
        with HttpPeer(server.port, "2025-11-25") as client, at_each_worker(client):
            pass
    assert server.wait() == 0
    assert {path.name for path in tmp_path.glob("ended *")} == {f"ended {p}" for p in pids}


def test_a_lifespan_that_fails_at_start_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "living.py").write_text(LIVING)
    (tmp_path / "fail").write_text("")
    command = [ACCORD, "serve", "living:server", "--http", "127.0.0.1:0", "--workers", "3"]
    done = run(command, cwd=tmp_path)
    assert done.code != 0
    assert done.err.count("accord serve:") == 1, done.err
    assert "no database" in done.err
    assert len(list(tmp_path.glob("began *"))) == 1


# Other targets


def test_a_cursor_of_one_worker_is_continued_by_another(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT)")
        rows = [(number, f"item {number}") for number in range(50)]
        database.executemany("INSERT INTO orders VALUES (?, ?)", rows)
    database.close()
    with workers("--max-rows", "10", target="shop.db", cwd=tmp_path) as server:
        found: list[int] = []
        cursor: dict[str, str] = {}
        with ExitStack() as stack:
            for _ in range(5):  # connections that stay open are shared evenly
                client = stack.enter_context(HttpPeer(server.port))
                arguments = {"query": "SELECT id FROM orders ORDER BY id", **cursor}
                params = {"name": "run_query", "arguments": arguments}
                result = client.ask("tools/call", params).message["result"]
                reading = read(result, "run_query", arguments)
                found += [row["id"] for row in reading.value]
                page = reading.page
                cursor = {"cursor": page.cursor} if page and page.cursor else {}
        assert found == list(range(50))


@pytest.mark.parametrize("words", [["reader"], ["sheets", "--out", "."]], ids=["reader", "sheets"])
def test_any_target_has_workers(words: list[str], tmp_path: Path) -> None:
    target, *others = words
    with workers(*others, target=target, cwd=tmp_path) as server:
        assert len(pids_of(server)) == WORKERS
        with HttpPeer(server.port, "2025-11-25") as client:
            assert client.ask("ping").status == 200


def test_a_file_of_targets_may_name_the_number_of_workers(tmp_path: Path) -> None:
    (tmp_path / "keyed.py").write_text(WITH_KEY)
    text = 'http = "127.0.0.1:0"\nworkers = 2\nstateless = true\n[shop]\ntarget = "keyed.py"\n'
    (tmp_path / "accord.toml").write_text(text)
    command = [ACCORD, "serve", "accord.toml"]
    with HttpServer(command, cwd=tmp_path, env=ENVIRONMENT) as server:
        assert len(pids_of(server)) == WORKERS
        with HttpPeer(server.port, "2025-11-25", begin=False) as client:
            assert client.initialize().headers["Mcp-Session-Id"] is None


@pytest.mark.parametrize("value", ["0", '"two"', "1.5", "true"])
def test_a_wrong_number_of_workers_in_a_file_is_an_error(value: str, tmp_path: Path) -> None:
    text = f'http = "127.0.0.1:0"\nworkers = {value}\n[shop]\ntarget = "shop.db"\n'
    (tmp_path / "accord.toml").write_text(text)
    done = run([ACCORD, "serve", "accord.toml"], cwd=tmp_path)
    assert done.code == 2
    assert "workers" in done.err
