"""Replies of servers that others wrote, as they were recorded, and of the documents: how each reads."""

import json
from pathlib import Path
from typing import Any

import pytest

from accord.reader import read
from corpus.readings import DEFECTS, expected, paragraph, replies
from corpus.written import Written

HERE = Path(__file__).parents[1] / "corpus"
REPLIES = {
    (name, written.case): written for name, written_there in replies().items() for written in written_there
}  # fmt: skip
EXPECTED = {name: expected(name) for name in replies()}


def labelled() -> dict[tuple[str, str], dict[str, Any]]:
    """The records that somebody has labelled by hand, without the reader."""
    found = {}
    for path in sorted(HERE.glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            record = json.loads(line)
            if "reading" in record:
                found[path.stem, record["case"]] = record
    return found


def cases(keys: Any) -> list[Any]:
    """The cases with their names; what the reader is known to get wrong has to fail."""
    wrong = {(name, case) for name, cases in DEFECTS.items() for case in cases}
    return [
        pytest.param(
            *key,
            id=": ".join(key),
            marks=[pytest.mark.xfail(strict=True, reason="a known defect")] if key in wrong else [],
        )
        for key in keys
    ]


LABELLED = labelled()


def test_at_least_150_recorded_replies_have_a_label() -> None:
    assert len(LABELLED) >= 150


@pytest.mark.parametrize("name", EXPECTED)
def test_every_reply_has_its_reading_in_order(name: str) -> None:
    assert list(EXPECTED[name]) == [written.case for written in replies()[name]]


@pytest.mark.parametrize(("name", "case"), cases(REPLIES))
def test_a_reply_reads_as_it_is_written_down(name: str, case: str) -> None:
    assert paragraph(REPLIES[name, case]) == EXPECTED[name][case]


@pytest.mark.parametrize(("name", "case"), LABELLED, ids=map(": ".join, LABELLED))
def test_what_is_written_down_agrees_with_the_label(name: str, case: str) -> None:
    label = LABELLED[name, case]["reading"]
    lines = EXPECTED[name][case].splitlines()
    assert f'responseType: "{label["type"]}"' in lines
    if "items" in label:
        assert any(line.startswith(f"data: {label['items']} items [") for line in lines)


@pytest.mark.parametrize("written", REPLIES.values(), ids=map(": ".join, REPLIES))
def test_bytes_text_and_object_give_the_same_reading(written: Written) -> None:
    raw = json.dumps(written.reply)
    readings = [read(form, written.tool) for form in (written.reply, raw, raw.encode())]
    assert len({json.dumps(each.response.to_dict(), sort_keys=True) for each in readings}) == 1
