"""Servers on stdio that answer oddly: every request gets its own reply or an error in time."""

import asyncio
import json
from typing import Any

import pytest

from accord.client import stdio
from accord.client.peer import Peer
from accord.errors import ContractError, PeerError
from client.connections import text, with_misbehaving


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "_GRACE", 0.3)


async def call(peer: Peer) -> str:
    return text(await peer.call("hello"))


@pytest.mark.parametrize("fault", ["decent", "prints_noise", "answers_twice", "floods_stderr"])
def test_a_call_is_answered(fault: str) -> None:
    assert with_misbehaving(fault, call) == "hello"


def test_noise_is_kept_apart() -> None:
    async def noise(peer: Peer) -> set[bytes]:
        await call(peer)
        return {each.raw for each in peer.messages if each.direction == "noise"}

    assert with_misbehaving("prints_noise", noise) == {
        b"starting up...",
        b'{"level": "info"}',
        b"[1, 2]",
        b'"words"',
        b"\xff\xfe",
        b'{"broken',
    }


def test_each_call_gets_its_own_answer_whatever_the_order() -> None:
    async def say(peer: Peer) -> list[str]:
        replies = await asyncio.gather(*(peer.call(name) for name in "abc"))
        return [text(reply) for reply in replies]

    assert with_misbehaving("answers_in_reverse", say) == ["a", "b", "c"]


def test_a_second_answer_goes_to_nobody() -> None:
    async def say(peer: Peer) -> list[str]:
        return [text(await peer.call(name)) for name in "abc"]

    assert with_misbehaving("answers_twice", say) == ["a", "b", "c"]


def test_answers_with_other_ids_go_to_nobody() -> None:
    async def say(peer: Peer) -> str:
        return text(await peer.call("late"))

    assert with_misbehaving("answers_with_other_ids", say) == "late"


def test_a_call_that_only_others_were_answered_for_says_so() -> None:
    async def say(peer: Peer) -> None:
        await peer.call("hello", within=2)

    with pytest.raises(
        PeerError, match=r"not answered within 2 s; received replies .*: id None, id"
    ):
        with_misbehaving("answers_with_other_ids", say)


def test_an_error_without_an_id_is_for_the_only_one_who_waits() -> None:
    async def say(peer: Peer) -> Any:
        return (await peer.call("hello")).error

    assert with_misbehaving("has_no_ids_in_errors", say) == {
        "code": -32700,
        "message": "Parse error",
    }


def test_an_error_without_an_id_is_for_nobody_if_several_wait() -> None:
    async def say(peer: Peer) -> list[Any]:
        calls = [peer.call("hello", within=1) for _ in range(2)]
        return list(await asyncio.gather(*calls, return_exceptions=True))

    found = with_misbehaving("has_no_ids_in_errors", say)
    assert [type(each).__name__ for each in found] == ["TimedOut", "TimedOut"]


def test_a_batch_is_taken_apart() -> None:
    async def say(peer: Peer) -> tuple[str, bytes, list[Any]]:
        reply = await peer.call("hello")
        return text(reply), reply.raw, list(peer.notifications)

    words, raw, notes = with_misbehaving("answers_in_batches", say, revision="2025-03-26")
    assert words == "batched"
    assert json.loads(raw)["result"]["content"][0]["text"] == "batched"
    assert [note["params"] for note in notes] == [{"data": "hi"}]


def test_what_is_not_quite_json_is_read_all_the_same() -> None:
    async def say(peer: Peer) -> tuple[Any, bytes]:
        reply = await peer.call("hello")
        return reply.result, reply.raw

    result, raw = with_misbehaving("sends_what_is_not_json", say)
    assert result["nan"] != result["nan"]
    assert result["lone"] == "\ud800"
    assert b"NaN" in raw


def test_an_answer_with_neither_result_nor_error_is_given_as_it_is() -> None:
    async def say(peer: Peer) -> tuple[Any, Any]:
        reply = await peer.call("hello")
        return reply.result, reply.error

    assert with_misbehaving("answers_with_neither", say) == (None, None)


def test_a_line_beyond_the_limit_ends_the_wait_and_the_next_call_works() -> None:
    async def say(peer: Peer) -> str:
        with pytest.raises(PeerError, match="a line longer than 100000 bytes"):
            await peer.call("huge")
        (noise,) = [each for each in peer.messages if each.direction == "noise"]
        assert len(noise.raw) == 1_024
        return await call(peer)

    assert with_misbehaving("sends_a_huge_line", say, max_bytes=100_000) == "hello"


def test_a_line_within_the_limit_may_be_long() -> None:
    async def say(peer: Peer) -> int:
        return len(text(await peer.call("huge")))

    assert with_misbehaving("sends_a_huge_line", say) == 300_000


# Death


def test_a_server_that_dies_in_a_call_tells_its_exit_code_and_last_words() -> None:
    async def say(peer: Peer) -> None:
        await peer.call("hello")

    with pytest.raises(PeerError) as caught:
        with_misbehaving("dies_in_a_call", say)
    first, *words = str(caught.value).split("\n")
    assert first == "the server exited with code 3; its stderr ends:"
    assert words == [*(f"line {number}" for number in range(91, 100)), "out of owls"]


def test_all_pending_requests_fail_when_the_server_dies() -> None:
    async def say(peer: Peer) -> list[Any]:
        calls = [peer.call("hello") for _ in range(3)]
        found = await asyncio.gather(*calls, return_exceptions=True)
        with pytest.raises(PeerError, match="exited with code 3"):
            await peer.call("afterwards")
        with pytest.raises(PeerError, match="exited with code 3"):
            await peer.notify("notifications/afterwards")
        return list(found)

    found = with_misbehaving("dies_in_a_call", say)
    assert [str(each).startswith("the server exited with code 3") for each in found] == [True] * 3


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("is_killed_in_a_call", "the server was killed by SIGKILL"),
        ("closes_its_output", "the server has closed its output"),
    ],
)
def test_how_it_ended_is_reported(fault: str, sentence: str) -> None:
    with pytest.raises(PeerError, match=sentence):
        with_misbehaving(fault, call)


def test_a_server_that_closes_its_input_is_found_out() -> None:
    closed = asyncio.Event()

    async def say(peer: Peer) -> None:
        await closed.wait()
        await peer.call("hello")

    with pytest.raises(PeerError, match="the server has closed its input"):
        with_misbehaving("closes_its_input", say, on_notification=lambda _: closed.set())


# Time


def test_a_call_that_takes_too_long_is_taken_back_and_the_next_works() -> None:
    async def say(peer: Peer) -> str:
        with pytest.raises(PeerError, match=r"^tools/call was not answered within 0.2 s$"):
            await peer.call("wait", within=0.2)
        return text(await peer.call("what"))

    assert with_misbehaving("tells_of_cancellations", say) == "True"


def test_a_call_that_its_caller_gives_up_is_taken_back() -> None:
    async def say(peer: Peer) -> str:
        waiting = asyncio.create_task(peer.call("wait"))
        await peer.request("ping")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return text(await peer.call("what"))

    assert with_misbehaving("tells_of_cancellations", say) == "True"


def test_a_server_that_reads_no_more_holds_nobody_up() -> None:
    async def say(peer: Peer) -> None:
        await peer.call("hello", {"much": "x" * 1_000_000}, within=0.2)

    with pytest.raises(PeerError, match=r"not answered within 0.2 s"):
        with_misbehaving("never_reads_on", say)


def test_a_notification_that_is_not_read_is_late_too() -> None:
    async def say(peer: Peer) -> None:
        await peer.notify("notifications/message", {"much": "x" * 1_000_000})

    with pytest.raises(PeerError, match="notifications/message was not accepted within 1 s"):
        with_misbehaving("never_reads_on", say, era="handshake", timeout=1)


# Requests of the server


def test_a_ping_is_answered_and_other_requests_are_refused() -> None:
    async def say(peer: Peer) -> Any:
        return (await peer.call("hello")).result["said"]

    pong, roots, sampling = with_misbehaving("asks_back", say)
    assert (pong["id"], pong["result"]) == ("ping", {})
    assert (roots["id"], roots["error"]["code"]) == ("roots/list", -32601)
    assert (sampling["id"], sampling["error"]["code"]) == ("sampling/createMessage", -32601)


def test_in_the_stateless_era_nothing_is_answered_and_questions_come_back_as_they_are() -> None:
    async def say(peer: Peer) -> tuple[Any, Any]:
        asked = await peer.call("hello")
        return asked.result, (await peer.call("hello")).result["heard"]

    result, heard = with_misbehaving("asks_in_the_stateless_era", say)
    assert result == {"resultType": "input_required", "inputRequests": {}}
    assert heard is False


def test_a_flood_of_requests_does_not_stop_the_call() -> None:
    assert with_misbehaving("keeps_pinging", call) == "hello"


# Lists, and what we send


def test_tools_are_listed_to_the_last_page() -> None:
    async def say(peer: Peer) -> list[str]:
        return [tool["name"] for tool in await peer.tools()]

    assert with_misbehaving("lists_two_pages", say) == ["first", "second"]


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("lists_in_a_circle", "tools/list repeats the cursor 'a'"),
        ("lists_nonsense", "tools/list did not return a list of tools"),
        ("decent", r"tools/list failed: Method not found \(-32601\)"),
    ],
)
def test_a_list_that_is_none_is_the_peers_fault(fault: str, sentence: str) -> None:
    async def say(peer: Peer) -> None:
        await peer.tools()

    with pytest.raises(PeerError, match=sentence):
        with_misbehaving(fault, say)


@pytest.mark.parametrize(
    "value", [object(), "\ud800", {1, object()}], ids=["object", "text", "set"]
)
def test_what_json_cannot_hold_is_our_own_fault_and_the_next_call_works(value: Any) -> None:
    async def say(peer: Peer) -> str:
        with pytest.raises(
            ContractError, match="the params of tools/call cannot be encoded as JSON"
        ):
            await peer.call("hello", {"value": value})
        return await call(peer)

    assert with_misbehaving("decent", say) == "hello"


def test_a_listener_that_fails_harms_nobody() -> None:
    complaints: list[Any] = []

    def fail(note: dict[str, Any]) -> None:
        raise RuntimeError("not listening")

    async def say(peer: Peer) -> str:
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: complaints.append(context)
        )
        return text(await peer.call("hello"))

    assert with_misbehaving("answers_in_batches", say, on_notification=fail) == "batched"
    assert [type(each["exception"]) for each in complaints] == [RuntimeError]
