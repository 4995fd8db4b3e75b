"""The message log, and the messages in received data."""

import json

import pytest

from accord.connect.dispatcher import Dispatcher, MessageLog
from accord.connect.messages import parse_messages


def test_the_log_forgets_the_oldest_when_there_are_too_many() -> None:
    log = MessageLog(max_messages=2)
    for raw in (b"a", b"b", b"c"):
        log.add("sent", raw)
    assert [each.raw for each in log.messages] == [b"b", b"c"]


def test_the_log_forgets_the_oldest_when_they_are_too_large() -> None:
    log = MessageLog(max_bytes=10)
    for raw in (b"a" * 6, b"b" * 4, b"c", b"d" * 20, b"e"):
        log.add("received", raw)
    assert [each.raw for each in log.messages] == [b"e"]


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
