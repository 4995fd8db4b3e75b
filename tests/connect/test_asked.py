"""What a server asks of its client: answered at once, later, or with regret."""

import asyncio
from typing import Any

import pytest

from accord.connect import connect
from connect.talk import ACCORD, UNWATCHED, run, text
from http_peer import HttpServer
from inspector.talk import HERE as STUDIO

CAN: dict[str, Any] = {"elicitation": {"form": {}}}
GLOSS = {"result": {"action": "accept", "content": {"finish": "gloss"}}}
COMMAND = [ACCORD, "serve", str(STUDIO / "studio.py")]


async def ask(target: Any, **options: Any) -> str:
    """What comes of a tool that asks something."""
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
def test_a_question_may_take_longer_than_an_answer(way: str) -> None:
    async def main(target: Any, **options: Any) -> str:
        asked: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        settings = {"revision": "2025-11-25", "capabilities": CAN, **options}
        async with connect(target, **settings, on_request=asked.put_nowait) as peer:
            calling = asyncio.create_task(peer.call("varnish", within=0.3))
            identity = (await asked.get())["id"]
            done, _ = await asyncio.wait([calling], timeout=1)
            assert not done
            await peer.answer(identity, GLOSS)
            await peer.answer(identity, GLOSS)  # which is once too often, and not sent
            return text(await calling)

    if way == "a command line":
        assert run(main(COMMAND, env=UNWATCHED)) == "gloss varnish"
        return
    with HttpServer([*COMMAND, "--http", "127.0.0.1:0"], env=UNWATCHED, timeout=30) as server:
        assert run(main(server.url)) == "gloss varnish"


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
