"""The recorded replies: all there, in the form the README says, and from no particular machine."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from corpus.cases import CONVERSATIONS
from corpus.record import PACKAGES, describe

HERE = Path(__file__).parent
MEMBERS = {"server", "version", "revision", "case", "method", "reply"}
PRIVATE = re.compile(rb"accord-corpus-|/home/|/root/|/Users/|127\.0\.0\.1:(?!8000/|9/)")


def records(server: str) -> list[dict[str, Any]]:
    lines = (HERE / f"{server}.jsonl").read_bytes().splitlines()
    return [json.loads(line) for line in lines]


def test_there_are_at_least_150_of_eight_servers() -> None:
    assert len(CONVERSATIONS) == 8
    assert sum(len(records(server)) for server in CONVERSATIONS) >= 150


def test_every_file_belongs_to_a_server() -> None:
    assert {path.stem for path in HERE.glob("*.jsonl")} == set(CONVERSATIONS) == set(PACKAGES)


@pytest.mark.parametrize("server", CONVERSATIONS)
def test_every_request_has_its_reply_in_order(server: str) -> None:
    asked = [case for conversation in CONVERSATIONS[server] for case in conversation.cases]
    kept = records(server)
    expected = [
        describe(server, record["revision"], case) for record, case in zip(kept, asked, strict=True)
    ]
    assert [
        {name: record[name] for name in about} for record, about in zip(kept, expected, strict=True)
    ] == expected


@pytest.mark.parametrize("server", CONVERSATIONS)
def test_no_two_records_are_called_the_same(server: str) -> None:
    names = Counter(record["case"] for record in records(server))
    assert set(names.values()) == {1}


@pytest.mark.parametrize("server", CONVERSATIONS)
def test_every_record_holds_one_jsonrpc_reply(server: str) -> None:
    for record in records(server):
        assert record.keys() >= MEMBERS
        assert _is_reply(record["reply"]), record


def _is_reply(message: Mapping[str, Any]) -> bool:
    return message["jsonrpc"] == "2.0" and ("result" in message) != ("error" in message)


@pytest.mark.parametrize("server", CONVERSATIONS)
def test_nothing_tells_of_the_machine_it_was_recorded_on(server: str) -> None:
    assert PRIVATE.findall((HERE / f"{server}.jsonl").read_bytes()) == []
