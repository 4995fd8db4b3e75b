"""Sessions of the handshake era: whose they are, how long they live, and how many there can be."""

import asyncio
import json
from contextlib import ExitStack
from typing import Any

import pytest

import wire
from accord import Server
from accord.model.context import ClientInfo
from accord.revisions import REVISIONS
from accord.serve.http.session_id import SessionIds
from accord.serve.http.sessions import UNVERIFIED, Session, Sessions
from http_peer import HttpPeer, HttpServer
from serve.http.talk import HANDSHAKE, STATELESS, census, limited, serving

SESSIONS = 1_000
CALLS = 10
LIFETIME = 10_000
MOST_MEGABYTES = 400


# Over the wire


@pytest.mark.requirement("mcp.http.session-id")
def test_an_id_is_long_visible_and_never_the_same(server: HttpServer) -> None:
    ids = set()
    for _ in range(20):
        with HttpPeer(server.port, "2025-11-25") as client:
            assert client.session is not None
            ids.add(client.session)
            assert len(client.session) >= 32
            assert all("\x21" <= character <= "\x7e" for character in client.session)
    assert len(ids) == 20
    assert len({id[:8] for id in ids}) == 20, "no part is the same for all"


def test_only_the_reply_to_initialize_names_the_session(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25") as client:
        for message in (
            client.calling("echo", word="hi"),
            client.request("ping"),
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
        ):
            assert client.post(message).headers["Mcp-Session-Id"] is None


UNKNOWN = ["", "x", "../..", "0", "null", "A" * 32, "A" * 8_000]


@pytest.mark.requirement("mcp.http.session-ended")
@pytest.mark.parametrize("id", UNKNOWN, ids=range(len(UNKNOWN)))
@pytest.mark.parametrize("revision", HANDSHAKE)
def test_an_unknown_session_is_a_404(server: HttpServer, revision: str, id: str) -> None:
    with HttpPeer(server.port, revision, begin=False) as client:
        client.session = id
        assert client.ask("ping").status == 404
        assert client.listen().status == 404
        assert client.visit("DELETE").status == 404


@pytest.mark.parametrize(
    ("owner", "other"),
    [
        ("Bearer a", None),
        ("Bearer a", "Bearer b"),
        ("Bearer a", "bearer a"),
        (None, "Bearer a"),
        ("Bearer a", ""),
    ],
)
def test_a_session_is_its_owners_alone(
    server: HttpServer, owner: str | None, other: str | None
) -> None:
    with HttpPeer(server.port, "2025-11-25", headers={"Authorization": owner}) as client:
        theirs = {"Authorization": other}
        message = client.calling("echo", word="hi")
        assert client.post(message, theirs).status == 404
        assert client.visit("GET", {**theirs, "Accept": "text/event-stream"}).status == 404
        assert client.visit("DELETE", theirs).status == 404
        assert client.call("echo", word="still mine") == "still mine"


def test_a_session_can_be_ended(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25") as client:
        assert client.call("echo", word="hi") == "hi"
        assert client.visit("DELETE").status in (200, 202, 204)
        assert client.ask("ping").status == 404
        assert client.visit("DELETE").status == 404


def test_the_end_of_a_session_ends_its_calls_and_streams(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25") as client, ExitStack() as stack:
        listener = stack.enter_context(client.again()).listen()
        callers = [stack.enter_context(client.again()) for _ in range(2)]
        callers[0].send(client.calling("wait", name="session end", until="never"))
        client.call("when", name="session end began")
        callers[1].send(client.calling("block", name="session end 2", until="session end ended"))
        client.call("when", name="session end 2 began")
        assert client.visit("DELETE").status in (200, 202, 204)
        assert listener.rest() == []
        with HttpPeer(server.port) as other:
            assert other.call("when", name="session end ended") == "CancelledError"
            assert other.call("when", name="session end 2 ended") == "cancelled"
        for caller in callers:
            response = caller.receive()
            assert (response.status // 100, response.messages) in ((2, []), (4, []))


def test_listening_needs_a_session_and_an_accept(server: HttpServer) -> None:
    with HttpPeer(server.port, "2025-11-25") as client:
        assert client.visit("GET", {"Accept": "application/json"}).status == 406
        assert (
            client.visit("GET", {"Accept": "text/event-stream", "Mcp-Session-Id": None}).status
            == 400
        )
        assert client.visit("DELETE", {"Mcp-Session-Id": None}).status == 400


def test_a_session_past_the_bound_is_refused_while_all_are_in_use() -> None:
    with limited(max_sessions=2) as server, ExitStack() as stack:
        peers = [stack.enter_context(HttpPeer(server.port, "2025-11-25")) for _ in range(2)]
        streams = [stack.enter_context(peer.again()).listen() for peer in peers]
        assert [stream.status for stream in streams] == [200, 200]
        late = stack.enter_context(HttpPeer(server.port, "2025-11-25", begin=False))
        response = late.initialize()
        assert (response.status, response.headers["Mcp-Session-Id"]) == (503, None)
        assert [peer.call("echo", word="hi") for peer in peers] == ["hi", "hi"]


def test_a_session_past_the_bound_takes_the_place_of_the_one_idle_longest_which_can_return() -> (
    None
):
    with limited(max_sessions=2) as server, ExitStack() as stack:
        first, second, third = (
            stack.enter_context(HttpPeer(server.port, "2025-11-25", begin=False)) for _ in range(3)
        )
        first.initialize()
        second.initialize()
        first.call("echo", word="hi")
        assert third.initialize().status == 200
        assert [peer.ask("ping").status for peer in (first, second, third)] == [200, 200, 200]


def test_a_session_past_the_bound_ends_the_one_idle_longest_if_it_was_changed() -> None:
    with limited(max_sessions=2) as server, ExitStack() as stack:
        first, second, third = (
            stack.enter_context(HttpPeer(server.port, "2025-11-25", begin=False)) for _ in range(3)
        )
        first.initialize()
        first.ask("logging/setLevel", {"level": "error"})
        second.initialize()
        assert third.initialize().status == 200
        assert [peer.ask("ping").status for peer in (first, second, third)] == [404, 200, 200]


# With a clock of our own


class Clock:
    """A time that goes on when told to."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Fleet:
    """Sessions, and connections to put into them."""

    def __init__(self, limit: int = 3, idle_seconds: float = 60) -> None:
        self.clock = Clock()
        self.ids = SessionIds(b"k" * 32, "fleet", seconds=LIFETIME, clock=self.clock)
        self.sessions = Sessions(self.ids, limit, idle_seconds, self.clock)
        self._server = Server("fleet")

        @self._server.tool
        async def sail() -> str:
            """Sail."""
            return "sailed"

    def session(self, principal: bytes | None = None) -> Session:
        revision = REVISIONS["2025-11-25"]
        seal = self.ids.issue(ClientInfo(revision), principal)
        return Session(seal, self._server.dispatcher.connect(revision=revision), principal)

    def added(self) -> Session:
        session = self.session()
        assert self.sessions.add(session)
        return session

    def busy(self) -> Session:
        session = self.added()
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sail"}}
        assert len(session.connection.receive(json.dumps(call).encode())) == 1
        return session

    def listening(self) -> Session:
        session = self.added()
        session.listen()
        return session

    def lives(self, session: Session) -> bool:
        return self.sessions.find(session.id, session.principal) is session

    def can_return(self, session: Session) -> bool:
        return self.sessions.read(session.id, session.principal) is not None


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


def test_a_session_that_nobody_uses_expires(fleet: Fleet) -> None:
    session = fleet.added()
    fleet.clock.now += 59
    assert fleet.lives(session)
    fleet.clock.now += 59
    assert fleet.lives(session), "to be asked for is to be used"
    fleet.clock.now += 61
    assert not fleet.lives(session)
    assert len(fleet.sessions) == 0
    assert fleet.can_return(session), "its id is all that it takes"


def test_a_changed_session_that_nobody_uses_ends(fleet: Fleet) -> None:
    session = fleet.added()
    session.connection.is_changed = True
    fleet.clock.now += 61
    assert not fleet.lives(session)
    assert not fleet.can_return(session)


def test_a_session_ends_when_its_id_expires_though_it_is_in_use(fleet: Fleet) -> None:
    session = fleet.listening()
    for _ in range(LIFETIME // 50):
        assert fleet.lives(session)
        fleet.clock.now += 50
    fleet.clock.now += 100
    assert not fleet.lives(session)
    assert not fleet.can_return(session)


def test_a_session_that_was_ended_cannot_return(fleet: Fleet) -> None:
    session, other = fleet.added(), fleet.added()
    fleet.sessions.end(session)
    assert [fleet.can_return(each) for each in (session, other)] == [False, True]
    fleet.sessions.refuse(other.id)
    assert [fleet.can_return(each) for each in (session, other)] == [False, False]
    assert not fleet.lives(other)
    third = fleet.added()
    fleet.sessions.refuse_all({third.seal.nonce: third.seal.until})
    assert not fleet.lives(third)
    assert not fleet.can_return(third)
    fleet.sessions.refuse("never issued")
    assert len(fleet.sessions.ended) == 3
    fleet.clock.now += LIFETIME + 100
    fleet.sessions.refuse_all({})
    assert fleet.sessions.ended == {}, "an id that has expired need not be refused"


def test_a_session_of_another_worker_belongs_to_the_principal_of_its_id(fleet: Fleet) -> None:
    session = fleet.session(b"Bearer a")
    session.principal = UNVERIFIED
    assert fleet.sessions.add(session)
    assert fleet.sessions.find(session.id, b"Bearer b") is None
    assert fleet.sessions.find(session.id, None) is None
    assert fleet.sessions.find(session.id, b"Bearer a") is session
    assert fleet.sessions.find(session.id, b"Bearer b") is None


@pytest.mark.parametrize("kind", ["busy", "listening"])
def test_a_session_in_use_does_not_expire(fleet: Fleet, kind: str) -> None:
    session, idle = getattr(fleet, kind)(), fleet.added()
    fleet.clock.now += 1_000
    assert not fleet.lives(idle)
    fleet.clock.now += 1_000
    assert fleet.lives(session)


def test_there_are_never_more_sessions_than_the_bound(fleet: Fleet) -> None:
    sessions = [fleet.added() for _ in range(100)]
    assert len(fleet.sessions) == 3
    assert [fleet.lives(session) for session in sessions] == [False] * 97 + [True] * 3


@pytest.mark.parametrize("kind", ["busy", "listening"])
def test_a_session_in_use_is_never_pushed_out(fleet: Fleet, kind: str) -> None:
    sessions = [getattr(fleet, kind)() for _ in range(3)]
    assert not fleet.sessions.add(fleet.session())
    assert [fleet.lives(session) for session in sessions] == [True] * 3


@pytest.mark.parametrize("kind", ["busy", "listening"])
def test_an_idle_session_makes_room_though_an_older_one_is_in_use(fleet: Fleet, kind: str) -> None:
    in_use, idle, younger = getattr(fleet, kind)(), fleet.added(), fleet.added()
    latest = fleet.added()
    assert [fleet.lives(s) for s in (in_use, idle, younger, latest)] == [True, False, True, True]


def test_a_session_answers_to_its_principal_alone(fleet: Fleet) -> None:
    session = fleet.session(b"Bearer a")
    assert fleet.sessions.add(session)
    assert fleet.sessions.find(session.id, b"Bearer b") is None
    assert fleet.sessions.find(session.id, None) is None
    assert fleet.sessions.find(session.id, b"Bearer a") is session


# Many at once


def test_every_answer_goes_to_its_own_caller_though_all_ids_are_equal() -> None:
    with serving() as server:
        answers = asyncio.run(_many_sessions(server.port))
        with HttpPeer(server.port, STATELESS) as peer:
            megabytes = census(peer)["kilobytes"] / 1_024
        print(f"{SESSIONS} sessions with {CALLS} calls each: {megabytes:.0f} MB")
    expected = {(s, c): f"{s}/{c}" for s in range(SESSIONS) for c in range(CALLS)}
    assert answers == expected
    assert megabytes < MOST_MEGABYTES


async def _many_sessions(port: int) -> dict[tuple[int, int], str]:
    """Each session on a connection of its own, all open at once; each sends its calls together."""
    ready = asyncio.Barrier(SESSIONS)
    gate = asyncio.Semaphore(100)
    found = await asyncio.gather(*(_one_session(port, s, ready, gate) for s in range(SESSIONS)))
    return {key: text for part in found for key, text in part.items()}


async def _one_session(
    port: int, number: int, ready: asyncio.Barrier, gate: asyncio.Semaphore
) -> dict[tuple[int, int], str]:
    async with gate:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
        writer.write(_post("initialize", hello, {}))
        headers, reply = await _receive(reader)
        wire.check(reply, revision="2025-11-25", method="initialize")
    await ready.wait()
    session = {"Mcp-Session-Id": headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
    calls = [
        _post("tools/call", {"name": "echo_later", "arguments": {"word": f"{number}/{n}"}}, session)
        for n in range(CALLS)
    ]
    writer.write(b"".join(calls))
    answers = {}
    for n in range(CALLS):
        _, reply = await _receive(reader)
        message = wire.check(reply, revision="2025-11-25", method="tools/call")
        assert message["id"] == 1
        answers[number, n] = message["result"]["content"][0]["text"]
    writer.close()
    await writer.wait_closed()
    return answers


def _post(method: str, params: dict[str, Any], headers: dict[str, str]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    lines = [
        "POST /mcp HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", body]).encode()


async def _receive(reader: asyncio.StreamReader) -> tuple[dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
    assert head[0].startswith("HTTP/1.1 200 "), head
    headers = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in head[1:] if line)}
    return headers, await reader.readexactly(int(headers["content-length"]))
