"""How many labelled replies are read right: `make score`, or `python -m reader.score` in tests/.

`--split` scores one split; `--wrong` lists the cases that are read wrong, except those of `proof`,
which is only scored.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, get_args

from accord import read

from .case_files import SPLITS, Case, Label, Located, items_of, load

LEVELS: Final = ("certain", "likely", "guess")
ROWS: Final = (
    *get_args(Label),
    "all",
    "error precision",
    "error recall",
    "silent failures recall",
    "tool_catalog recall",
    "items exact",
    *LEVELS,
)
ABOUT: Final = """
A type in `also` counts as right, except for recall: read as the label itself. Silent failures have no
isError and are not JSON-RPC errors. Items are of lists that are read as lists."""
SHOWN: Final = 160


class Judged(NamedTuple):
    """A case, and what was read: the type, the number of items and the confidence."""

    place: str
    case: Case
    found: str
    items: int | None
    confidence: str

    @property
    def is_right(self) -> bool:
        """True if the type is the label or one that is right too."""
        return self.found in (self.case.label, *self.case.also)

    @property
    def has_items(self) -> bool:
        """True for a list that was read as a list, with a known number of items."""
        return self.case.label == self.found == "list" and self.case.items is not None

    @property
    def is_wrong(self) -> bool:
        """True if the type or the number of items is wrong."""
        return not self.is_right or (self.has_items and self.items != self.case.items)


class Tally(NamedTuple):
    """Number of cases that are right, and of all."""

    right: int = 0
    total: int = 0

    def __str__(self) -> str:
        if not self.total:
            return "-"
        return f"{self.right / self.total:7.1%} {self.right:>5}/{self.total}"


def judge(cases: Iterable[Located]) -> list[Judged]:
    """Read the cases that have a label."""
    judged = []
    for place, case in cases:
        if case.label is not None:
            reading = read(case.reply, case.tool, case.arguments)
            found = reading.response.response_type
            judged.append(Judged(place, case, found, items_of(reading), reading.confidence))
    return judged


def tallies(judged: Iterable[Judged]) -> dict[str, Tally]:
    """Return the tally of each of ROWS."""
    answers: defaultdict[str, list[bool]] = defaultdict(list)
    for each in judged:
        case, found = each.case, each.found
        for row in (str(case.label), "all", each.confidence):
            answers[row].append(each.is_right)
        if found == "error":
            answers["error precision"].append(each.is_right)
        if case.label == "error":
            answers["error recall"].append(found == "error")
            if not reports_failure(case.reply):
                answers["silent failures recall"].append(found == "error")
        if case.label == "tool_catalog":
            answers["tool_catalog recall"].append(found == "tool_catalog")
        if each.has_items:
            answers["items exact"].append(each.items == case.items)
    return {row: Tally(sum(answers[row]), len(answers[row])) for row in ROWS}


def reports_failure(reply: Any) -> bool:
    """True for a result with `isError`, and for a JSON-RPC error."""
    if not isinstance(reply, dict):
        return False
    result = reply.get("result") if "jsonrpc" in reply else reply
    has_flag = isinstance(result, dict) and result.get("isError") is True
    return has_flag or ("jsonrpc" in reply and "error" in reply)


def table(scores: Mapping[str, Mapping[str, Tally]]) -> str:
    """Return the tallies as text, with a column for each split."""
    first, width = max(map(len, ROWS)), 21
    lines = [" " * first + "".join(f"{split:>{width}}" for split in scores)]
    for row in ROWS:
        cells = "".join(f"{scores[split][row]!s:>{width}}" for split in scores)
        lines.append(f"{row:<{first}}{cells}")
        if row in ("all", "items exact"):
            lines.append("")
    return "\n".join(lines)


def describe(split: str, each: Judged) -> str:
    """Return a case that is read wrong, with its expected and its actual type, in two lines."""
    case = each.case
    expected = case.label if case.items is None else f"{case.label} of {case.items}"
    found = each.found if each.items is None else f"{each.found} of {each.items}"
    also = f" (or {', '.join(case.also)})" if case.also else ""
    call = f"{case.tool} {json.dumps(case.arguments, ensure_ascii=False)}"
    reply = json.dumps(case.reply, ensure_ascii=False)
    return (
        f"{split}/{each.place}: expected {expected}{also}, read {found} ({each.confidence})\n"
        f"    {call[:SHOWN]} -> {reply[:SHOWN]}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m reader.score", description=__doc__)
    parser.add_argument("--split", choices=SPLITS)
    parser.add_argument("--wrong", action="store_true", help="list the cases that are read wrong")
    options = parser.parse_args(arguments)
    if options.wrong and options.split == "proof":
        parser.error("proof is only scored: its cases are not listed")
    scores = {}
    for split in [options.split] if options.split else SPLITS:
        cases = load(split)
        judged = judge(cases)
        scores[split] = tallies(judged)
        if unlabelled := len(cases) - len(judged):
            print(f"{split}: {unlabelled} cases have no label yet")
        if options.wrong and split != "proof":
            print("".join(f"{describe(split, each)}\n" for each in judged if each.is_wrong), end="")
    print(table(scores))
    print(ABOUT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
