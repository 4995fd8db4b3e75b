"""What is kept of a conversation, and what is read out of what came."""

import json

import pytest

from accord.connect.inbox import Inbox, Record
from accord.connect.messages import read


def test_the_record_forgets_the_oldest_when_there_are_too_many() -> None:
    record = Record(most=2)
    for raw in (b"a", b"b", b"c"):
        record.add("sent", raw)
    assert [each.raw for each in record.messages] == [b"b", b"c"]


def test_the_record_forgets_the_oldest_when_they_are_too_large() -> None:
    record = Record(most_bytes=10)
    for raw in (b"a" * 6, b"b" * 4, b"c", b"d" * 20, b"e"):
        record.add("received", raw)
    assert [each.raw for each in record.messages] == [b"e"]


def test_the_record_keeps_the_newest_however_large_it_is() -> None:
    record = Record(most_bytes=10)
    record.add("received", b"x" * 100)
    assert len(record.messages) == 1


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
def test_what_is_no_message_is_noise(raw: bytes) -> None:
    inbox = Inbox()
    assert inbox.receive(raw) == []
    assert [(each.direction, each.raw) for each in inbox.record.messages] == [("noise", raw)]


def test_the_messages_of_a_batch_are_kept_as_they_came() -> None:
    parts = [b'{"id":1,  "result":{}}', b'{"method":"x"}']
    assert [raw for raw, _ in read(b"[%b ,\n%b]" % (*parts,))] == parts


def test_a_batch_that_is_not_quite_json_is_read_all_the_same() -> None:
    ((raw, message),) = read(b'[{"id": 1, "result": NaN}]')
    assert message["id"] == json.loads(raw)["id"] == 1
