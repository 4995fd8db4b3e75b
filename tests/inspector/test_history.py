"""The history and statistics of the page; both are bounded."""

from itertools import count

from accord.inspector.call_stats import CallStats
from accord.inspector.history import History


def test_the_oldest_make_room_and_the_newest_always_stays() -> None:
    kept = History[str](max_entries=3, max_bytes=100)
    numbers = [kept.add(word, 10) for word in "abcd"]
    assert [kept.get(number) for number in numbers] == [None, "b", "c", "d"]
    huge = kept.add("huge", 1_000)
    assert [kept.get(number) for number in numbers] == [None] * 4
    assert kept.get(huge) == "huge"


def test_calls_are_counted_by_tool() -> None:
    tally = CallStats(clock=lambda: 0.0)
    tally.add(
        [("a", "success", 0.1, None), ("a", "not_found", 0.3, None), ("b", "cancelled", 0.5, None)]
    )
    assert tally.report()["tools"] == [
        {"tool": "a", "calls": 2, "failures": 1, "meanMs": 200.0, "longestMs": 300.0},
        {"tool": "b", "calls": 1, "failures": 0, "meanMs": 500.0, "longestMs": 500.0},
    ]


def test_the_last_five_minutes_are_counted_by_time() -> None:
    clock = iter([0.0, 1.0, 4.0, 7.0, 299.0]).__next__
    tally = CallStats(clock)
    for _ in range(3):
        tally.add([("a", "success", 0.1, None)])
    recent = tally.report()["recent"]
    assert recent == [
        {"ago": 295, "calls": 2, "failures": 0},
        {"ago": 290, "calls": 1, "failures": 0},
    ]


def test_what_is_kept_does_not_grow_with_names_or_time() -> None:
    ticks = count()
    tally = CallStats(clock=lambda: next(ticks) * 5.0)
    for number in range(3_000):
        tally.add([(f"tool{number}", "success", 0.1, None)])
    report = tally.report()
    assert len(report["tools"]) == 1_000
    assert len(report["recent"]) < 60
