"""Requests of a server to its client: answered at once, later, or refused."""

import asyncio
from typing import Any

import pytest

from accord.client.dispatcher import Dispatcher
from accord.client.messages import Outgoing, Reply
from accord.client.peer import connect
from accord.client.session import Session
from accord.errors import PeerError
from accord.revisions import REVISIONS
from client.connections import UNWATCHED, run, text
from commands import ACCORD, SAMPLES
from http_peer import HttpServer

CAN: dict[str, Any] = {"elicitation": {"form": {}}}
GLOSS = {"result": {"action": "accept", "content": {"finish": "gloss"}}}
COMMAND = [ACCORD, "serve", f"{SAMPLES / 'features.py'}:display"]


async def ask(target: Any, **options: Any) -> str:
    """Return the text of a tool that asks for input."""
    async with connect(target, revision="2025-11-25", **options) as peer:
        return text(await peer.call("varnish"))


def test_a_question_is_answered_at_once() -> None:
    asked: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        asked.append(request)
        return GLOSS

    said = run(ask(COMMAND, env=UNWATCHED, capabilities=CAN, on_request=answer))
    assert said == "gloss varnish"
    assert [each["params"]["message"] for each in asked] == ["Which <i>finish</i>?"]


@pytest.mark.parametrize("way", ["a command line", "a URL"])
def test_a_question_is_answered_later(way: str) -> None:
    async def main(target: Any, **options: Any) -> str:
        asked: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        settings = {"revision": "2025-11-25", "capabilities": CAN, **options}
        async with connect(target, **settings, on_request=asked.put_nowait) as peer:
            calling = asyncio.create_task(peer.call("varnish"))
            identity = (await asked.get())["id"]
            await peer.answer(identity, GLOSS)
            await peer.answer(identity, GLOSS)  # which is once too often, and not sent
            return text(await calling)

    if way == "a command line":
        assert run(main(COMMAND, env=UNWATCHED)) == "gloss varnish"
        return
    with HttpServer([*COMMAND, "--http", "127.0.0.1:0"], env=UNWATCHED, timeout=30) as server:
        assert run(main(server.url)) == "gloss varnish"


class SilentTransport:
    """A transport that never delivers a reply."""

    has_headers = in_session = False

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    async def exchange(self, request: Outgoing, reply: "asyncio.Future[Reply]") -> None:
        await asyncio.Event().wait()

    async def send(self, message: Outgoing) -> None:
        self.sent.append(message.raw)

    async def listening(self) -> None:
        pass

    def cancel(self, request: Outgoing, notification: Outgoing) -> None:
        self.sent.append(notification.raw)

    def diagnostics(self) -> str:
        return ""

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("ending", ["answered", "taken back"])
def test_no_time_runs_out_while_the_server_waits_for_us(ending: str) -> None:
    async def main() -> list[bytes]:
        transport = SilentTransport()
        dispatcher = Dispatcher(on_request=lambda request: None)
        dispatcher.accepts_requests = True
        session = Session(lambda: asyncio.sleep(0, transport), dispatcher, 30)
        await session.open()
        asking = asyncio.create_task(session.request("tools/call", {}, within=0.05))
        await asyncio.sleep(0)
        dispatcher.receive(b'{"jsonrpc":"2.0","id":[9],"method":"roots/list"}')
        done, _ = await asyncio.wait([asking], timeout=0.3)
        assert not done
        if ending == "answered":
            await session.respond([9], {"result": {}}, REVISIONS["2025-11-25"])
        else:
            params = b'{"requestId":[9]}'
            dispatcher.receive(
                b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":%b}' % params
            )
        with pytest.raises(PeerError, match="not answered within"):
            await asking
        await session.close()
        return transport.sent

    sent = run(main())
    assert len(sent) == (2 if ending == "answered" else 1)
    assert b"notifications/cancelled" in sent[-1]


def test_a_client_that_says_nothing_of_it_is_not_asked() -> None:
    async def main() -> Any:
        async with connect(COMMAND, revision="2025-11-25", env=UNWATCHED) as peer:
            return (await peer.call("varnish")).result

    assert run(main())["isError"] is True


def test_in_the_stateless_era_answers_go_along_with_the_call() -> None:
    async def main() -> str:
        settings: Any = {"revision": "2026-07-28", "env": UNWATCHED, "capabilities": CAN}
        async with connect(COMMAND, **settings) as peer:
            asking = (await peer.call("varnish")).result
            assert asking["resultType"] == "input_required"
            answers = {
                "inputResponses": dict.fromkeys(asking["inputRequests"], GLOSS["result"]),
                "requestState": asking["requestState"],
            }
            return text(await peer.call("varnish", answers=answers))

    assert run(main()) == "gloss varnish"
