"""A long run of anything is read in CPU time that its length explains, whatever stands above it."""

from collections.abc import Callable
from typing import Any

import pytest

from accord.reader import read
from growth import TOKENS, cpu, grows, slowness

SIZE = 16_000  # characters, and half as many
FLOOR = 0.008
LARGE = 120_000
MOST = 0.5
"""Seconds of CPU time for a large reply on an idle machine."""

HEADS = (
    *("", "Found 2 tables:\n", "# T\n", "```\n", "Error: ", "{", "[", "['", "<a>", "No results\n"),
    *("| a | b |\n|---|---|\n", "a: b\n", "1. x\n", "- x\n", "x[3]:\n", "a,b,c\n", "A  B  C\n"),
)
TAILS = ("", "\nx", "]", "Note: x", "\n```", "1", ":", "---", "Next steps:\nx", "}")
CALLS: tuple[tuple[str | None, dict[str, Any]], ...] = (
    ("list_things", {}),
    (None, {}),
    ("search_things", {"query": "Found"}),
    ("get_thing", {"id": "a"}),
    ("create_thing", {"name": "error"}),
    ("run_command", {"command": "ls -l"}),
    ("read_file", {"path": "a"}),
    ("query", {"sql": "select a from b"}),
    ("get_log", {}),
)


RUNS = list(enumerate(TOKENS))


def reads(tool: str | None, arguments: dict[str, Any]) -> Callable[[str], Any]:
    return lambda text: read({"content": [{"type": "text", "text": text}]}, tool, arguments)


def cases(at: int) -> list[tuple[str, str, str | None, dict[str, Any]]]:
    """Every head, each with a tail and with a call that lists or with another one, in turn."""
    found = []
    for number, head in enumerate(HEADS, start=at):
        call = CALLS[0] if number % 2 else CALLS[1 + number // 2 % (len(CALLS) - 1)]
        found.append((head, TAILS[number % len(TAILS)], *call))
    return found


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("at", "token"), RUNS, ids=map(ascii, TOKENS))
def test_the_cpu_time_of_a_run_is_linear_in_its_length(at: int, token: str) -> None:
    wrong = [
        f"{tool}: {found}"
        for head, tail, tool, arguments in cases(at)
        if (found := grows(reads(tool, arguments), head, token, tail, SIZE, FLOOR))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("at", "token"), RUNS, ids=map(ascii, TOKENS))
def test_a_large_run_takes_no_half_second(at: int, token: str) -> None:
    for head in ("", HEADS[at % len(HEADS)]):
        tool, arguments = CALLS[at % len(CALLS)] if head else CALLS[0]
        text = f"{head}{token * (LARGE // len(token))}"
        act = reads(tool, arguments)
        taken = cpu(act, text)
        assert taken < MOST or cpu(act, text, 3) < MOST * slowness(), f"{tool}: {head!r}"


def test_a_very_long_line_is_not_an_item() -> None:
    for length, expected in ((10_000, "list"), (200_000, "single")):
        text = "- a\n- " + "x" * length
        assert read(text, "list_things").response.response_type == expected


def test_words_that_count_things_do_not_freeze_the_reader() -> None:
    text = "Found 2 tables:\n" + "Found " * 15_000
    assert cpu(reads("list_things", {}), text, 3) < MOST * slowness()
