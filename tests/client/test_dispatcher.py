"""The message log, and the messages in received data."""

import asyncio
import json

import pytest

from accord.client.dispatcher import Dispatcher, MessageLog
from accord.client.messages import parse_messages


@pytest.mark.parametrize(
    ("log", "added", "kept"),
    [
        (MessageLog(max_messages=2), [b"a", b"b", b"c"], [b"b", b"c"]),
        (MessageLog(max_bytes=10), [b"a" * 6, b"b" * 4, b"c", b"d" * 20, b"e"], [b"e"]),
    ],
    ids=["too many", "too large"],
)
def test_the_log_forgets_the_oldest(log: MessageLog, added: list[bytes], kept: list[bytes]) -> None:
    for raw in added:
        log.add("sent", raw)
    assert [each.raw for each in log.messages] == kept


def test_notifications_are_bounded_by_the_bytes_of_the_log() -> None:
    async def main() -> list[int]:
        dispatcher = Dispatcher()
        dispatcher.log = MessageLog(max_bytes=100_000)
        for number in range(100):
            params = {"number": number, "words": "x" * 30_000}
            dispatcher.receive(json.dumps({"method": "notifications/n", "params": params}).encode())
        dispatcher.receive(b'{"id": 1, "result": {}}')
        dispatcher.receive(b'{"id": 2, "method": "ping"}')
        dispatcher.log.add("sent", b'{"method": "notifications/initialized"}')
        return [each["params"]["number"] for each in dispatcher.log.notifications]

    assert asyncio.run(main()) == [97, 98, 99]


def test_the_log_keeps_the_newest_however_large_it_is() -> None:
    log = MessageLog(max_bytes=10)
    log.add("received", b"x" * 100)
    assert len(log.messages) == 1


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"words",
        b"7",
        b"null",
        b"{}",
        b'{"id": 1}',
        b"[]",
        b"[1, [], {}]",
        b'{"result": 1',
        b"\xff",
        b"[" * 100_000,
        b'{"result": ' + b"1" * 5_000 + b"}" * 2,
    ],
    ids=lambda raw: raw[:13].decode(errors="replace"),
)
def test_what_is_not_a_message_is_noise(raw: bytes) -> None:
    dispatcher = Dispatcher()
    assert dispatcher.receive(raw) == []
    assert [(each.direction, each.raw) for each in dispatcher.log.messages] == [("noise", raw)]


def test_the_messages_of_a_batch_are_kept_as_they_came() -> None:
    parts = [b'{"id":1,  "result":{}}', b'{"method":"x"}']
    assert [raw for raw, _ in parse_messages(b"[%b ,\n%b]" % (*parts,))] == parts


def test_a_batch_that_is_not_quite_json_is_read_all_the_same() -> None:
    ((raw, message),) = parse_messages(b'[{"id": 1, "result": NaN}]')
    assert message["id"] == json.loads(raw)["id"] == 1
