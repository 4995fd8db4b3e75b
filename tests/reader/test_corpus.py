"""Replies of servers that others wrote, as they were recorded, each with what it is."""

import json
from pathlib import Path
from typing import Any

import pytest

from accord.reader import read

HERE = Path(__file__).parents[1] / "corpus"


def recorded() -> dict[str, dict[str, Any]]:
    found = {}
    for path in sorted(HERE.glob("*.jsonl")):
        for line in path.read_bytes().split(b"\n"):
            record = json.loads(line) if line.strip() else {}
            if "reading" in record:
                found[f"{record['server']}: {record['case']}"] = record
    return found


RECORDS = recorded()


def test_at_least_150_replies_have_a_reading() -> None:
    assert len(RECORDS) >= 150


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_a_recorded_reply_is_read_for_what_it_is(record: dict[str, Any]) -> None:
    reading = read(record["reply"], record.get("tool"), record.get("arguments"))
    expected = record["reading"]
    assert reading.response.response_type == expected["type"], reading.rules
    if "items" in expected:
        assert len(reading.response.data) == expected["items"], reading.rules


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_bytes_text_and_object_give_the_same_reading(record: dict[str, Any]) -> None:
    raw = json.dumps(record["reply"])
    readings = [read(form, record.get("tool")) for form in (record["reply"], raw, raw.encode())]
    assert len({json.dumps(each.response.to_dict(), sort_keys=True) for each in readings}) == 1
