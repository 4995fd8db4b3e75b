"""The arithmetic of `score.py`, and that the files of cases are valid."""

import json
from typing import Any

import pytest

from corpus.record_cases import packages
from reader import score
from reader.case_files import ATTRIBUTES, CASES, RECORDED, WRITTEN, Case, Label, Located, load
from reader.score import Judged, Tally, describe, judge, main, reports_failure, table, tallies

TEXT = {"content": [{"type": "text", "text": "no"}]}


def case(label: Label | None, also: list[Label] | None = None, **members: Any) -> Case:
    known = {"server": "written", "source": "written", "tool": "t", "arguments": {}, "why": ""}
    return Case(**{**known, "reply": TEXT, "items": None, **members}, label=label, also=also or [])


JUDGED = [
    Judged("a:1", case("list", items=2), "list", 2, "certain"),
    Judged("a:2", case("list", items=2), "list", 3, "certain"),
    Judged("a:3", case("list", items=2), "single", None, "guess"),
    Judged("a:4", case("list"), "list", 9, "certain"),
    Judged("a:5", case("single"), "error", None, "likely"),
    Judged("a:6", case("single", ["error"]), "error", None, "certain"),
    Judged("a:7", case("error", ["single"]), "single", None, "likely"),
    Judged("a:8", case("error"), "error", None, "certain"),
    Judged("a:9", case("error", reply=TEXT | {"isError": True}), "error", None, "certain"),
    Judged("a:10", case("error", reply={"jsonrpc": "2.0", "error": {}}), "action", None, "guess"),
    Judged("a:11", case("tool_catalog", ["list"], items=1), "list", 1, "likely"),
    Judged("a:12", case("tool_catalog"), "tool_catalog", 1, "certain"),
]
EXPECTED = {
    "list": Tally(3, 4),
    "single": Tally(1, 2),
    "action": Tally(0, 0),
    "tool_catalog": Tally(2, 2),
    "error": Tally(3, 4),
    "all": Tally(9, 12),
    "error precision": Tally(3, 4),
    "error recall": Tally(2, 4),
    "silent failures recall": Tally(1, 2),
    "tool_catalog recall": Tally(1, 2),
    "items exact": Tally(1, 2),
    "certain": Tally(7, 7),
    "likely": Tally(2, 3),
    "guess": Tally(0, 2),
}


def test_each_row_has_its_tally() -> None:
    assert tallies(JUDGED) == EXPECTED


def test_a_wrong_number_of_items_is_wrong() -> None:
    wrong = [each.place for each in JUDGED if each.is_wrong]
    assert wrong == ["a:2", "a:3", "a:5", "a:10"]
    assert describe("work", JUDGED[1]).startswith("work/a:2: expected list of 2, read list of 3")


def test_the_table_is_aligned() -> None:
    lines = table({"work": EXPECTED, "proof": tallies([])}).splitlines()
    assert len({len(line) for line in lines if line}) == 1
    assert lines[1].split() == ["list", "75.0%", "3/4", "-"]
    assert lines[0].split() == ["work", "proof"]


def test_cases_without_a_label_are_not_scored() -> None:
    reply = {"content": [{"type": "text", "text": "[1, 2]"}]}
    located = [Located("a:1", case(None)), Located("a:2", case("list", reply=reply, items=2))]
    judged = judge(located)
    assert [(each.place, each.found, each.items) for each in judged] == [("a:2", "list", 2)]


@pytest.mark.parametrize(
    ("reply", "is_reported"),
    [
        (TEXT, False),
        ("Error: no", False),
        ({"error": {"message": "no"}}, False),
        (TEXT | {"isError": True}, True),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}}, True),
        ({"jsonrpc": "2.0", "id": 1, "result": TEXT | {"isError": True}}, True),
        ({"jsonrpc": "2.0", "id": 1, "result": TEXT}, False),
    ],
)
def test_a_failure_is_silent_without_is_error_and_outside_json_rpc(
    reply: Any, is_reported: bool
) -> None:
    assert reports_failure(reply) is is_reported


def test_the_cases_of_proof_are_not_listed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit):
        main(["--split", "proof", "--wrong"])
    assert "only scored" in capsys.readouterr().err
    monkeypatch.setattr(score, "load", lambda split: [Located(f"{split}.jsonl:1", case("action"))])
    main(["--wrong"])
    printed = capsys.readouterr().out
    assert "work/work.jsonl:1: expected action, read" in printed
    assert "proof.jsonl" not in printed


# The files


@pytest.mark.parametrize("split", [*RECORDED, WRITTEN])
def test_every_case_is_valid(split: str) -> None:
    for place, found in load(split):
        assert found.label is not None or split in RECORDED, place
        assert found.label not in found.also, place
        counts = found.label in ("list", "tool_catalog")
        assert found.items is None or (counts and found.items >= 0), place
        assert found.expect.keys() <= ATTRIBUTES.keys(), place


@pytest.mark.parametrize("split", RECORDED)
def test_a_recorded_server_belongs_to_its_split(split: str) -> None:
    known = packages()
    for place, found in load(split):
        assert place.startswith(f"{found.server}.jsonl:"), place
        assert known[found.server].split == split, place


def test_no_case_is_written_twice() -> None:
    seen: dict[str, str] = {}
    for place, found in load(WRITTEN):
        key = json.dumps([found.tool, found.arguments, found.reply], sort_keys=True)
        assert key not in seen, f"{place} repeats {seen.get(key)}"
        seen[key] = place


def test_the_folders_of_cases_are_the_splits() -> None:
    folders = {each.name for each in CASES.iterdir() if each.is_dir()}
    assert folders <= {*RECORDED, WRITTEN}


def test_there_are_at_least_3400_written_cases() -> None:
    assert len(load(WRITTEN)) >= 3_400


@pytest.mark.parametrize(("split", "least"), [("work", 0.98), ("proof", 0.95), ("reference", 1.0)])
def test_recorded_replies_are_read_right(split: str, least: float) -> None:
    scores = tallies(judge(load(split)))
    right, total = scores["all"]
    assert right >= least * total, str(scores["all"])
    right, total = scores["error precision"]
    assert right >= 0.995 * total, str(scores["error precision"])
