"""Counters: the calls that are counted, and those that are not."""

import re
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from accord.errors import INVALID_PARAMS, Reject
from accord.model.answer import KINDS, Answer, Encoded, InputRequired, Problem, Value
from accord.model.content import Image
from accord.telemetry import (
    DURATION_BOUNDS,
    OUTCOMES,
    OutcomeLabel,
    Telemetry,
    ToolStats,
    counts,
    outcome_label,
)

ROW = Encoded(b'[{"id":1}]')
IMAGE = Image(b"\x89PNG", "image/png")

ENDINGS: list[tuple[Answer[Value] | Problem | Reject | InputRequired, str]] = [
    (Answer("text"), "success"),
    (Answer(" "), "success"),
    (Answer(ROW), "success"),
    (Answer(Encoded(b"0")), "success"),
    (Answer(Encoded(b"false")), "success"),
    (Answer(Encoded(b"[null]")), "success"),
    (Answer(Encoded(b"null"), blocks=[IMAGE]), "success"),
    (Answer(""), "empty"),
    (Answer(Encoded(b"null")), "empty"),
    (Answer(Encoded(b"[]")), "empty"),
    (Answer(Encoded(b"{}")), "empty"),
    (Answer(Encoded(b'""')), "empty"),
    (Answer(Encoded(b"[]"), message="Found 0 rows"), "empty"),
    (Answer(ROW, partial=True), "partial"),
    (Answer(Encoded(b"[]"), partial=True), "partial"),
    *((Problem("no", kind=kind), kind) for kind in KINDS),
    (Reject(INVALID_PARAMS, "no"), "rejected"),
    (InputRequired({}), "asking"),
]


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(counts, "perf_counter", clock)
    return clock


def test_counters_of_two_processes_are_added() -> None:
    buckets = tuple(range(len(DURATION_BOUNDS) + 1))
    one = ToolStats(dict.fromkeys(OUTCOMES, 1), buckets, 0.5, 10)
    two = ToolStats(dict.fromkeys(OUTCOMES, 2), buckets, 0.25, 5)
    both = one + two
    assert both.calls == one.calls + two.calls
    assert both.durations == tuple(2 * number for number in buckets)
    assert (both.seconds, both.sent_bytes) == (0.75, 15)


@pytest.mark.parametrize(("outcome", "ending"), ENDINGS)
def test_an_outcome_has_one_word(
    outcome: Answer[Value] | Problem | Reject | InputRequired, ending: str
) -> None:
    assert outcome_label(outcome) == ending


def test_outcomes_are_all_that_can_be_said_and_cancelled() -> None:
    assert {*(ending for _, ending in ENDINGS), "cancelled"} == set(OUTCOMES)
    assert len(set(OUTCOMES)) == len(OUTCOMES)


@pytest.mark.parametrize("ending", OUTCOMES)
def test_a_call_is_counted_once_under_its_outcome(ending: OutcomeLabel) -> None:
    telemetry = Telemetry()
    telemetry.begin("orders").end(ending, 12)
    stats = telemetry.snapshot()["orders"]
    assert stats.outcomes == {name: int(name == ending) for name in OUTCOMES}
    assert (stats.calls, stats.sent_bytes) == (1, 12)
    assert stats.failures == int(ending in KINDS)


def test_tools_are_counted_apart() -> None:
    telemetry = Telemetry()
    telemetry.begin("add").end("success", 1)
    telemetry.begin("orders").end("not_found", 20)
    telemetry.begin("orders").end("success", 300)
    stats = telemetry.snapshot()
    assert [(tool, f.calls, f.failures, f.sent_bytes) for tool, f in stats.items()] == [
        ("add", 1, 0, 1),
        ("orders", 2, 1, 320),
    ]


def test_a_second_end_changes_nothing() -> None:
    telemetry = Telemetry()
    watch = telemetry.begin("orders")
    watch.end("success", 10)
    before = telemetry.snapshot()
    watch.end("internal", 99)
    assert telemetry.snapshot() == before


def test_a_watch_that_never_ends_counts_nothing() -> None:
    telemetry = Telemetry()
    telemetry.begin("orders")
    stats = telemetry.snapshot()["orders"]
    assert (stats.calls, sum(stats.durations), stats.sent_bytes) == (0, 0, 0)


def test_threads_lose_no_call_and_ends_of_one_watch_count_once() -> None:
    telemetry = Telemetry()
    shared = [telemetry.begin("shared") for _ in range(1_000)]

    def work(number: int) -> None:
        for watch in shared:
            telemetry.begin("orders").end("success" if number % 2 else "timeout", 3)
            watch.end("success", 1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    orders, ended_often = telemetry.snapshot()["orders"], telemetry.snapshot()["shared"]
    assert (orders.outcomes["success"], orders.outcomes["timeout"]) == (4_000, 4_000)
    assert (orders.sent_bytes, sum(orders.durations)) == (24_000, 8_000)
    assert (ended_often.calls, ended_often.sent_bytes) == (1_000, 1_000)


@pytest.mark.parametrize(
    ("seconds", "bucket"),
    [
        (0.0, 0),
        (0.5, DURATION_BOUNDS.index(0.5)),
        (0.75, DURATION_BOUNDS.index(1.0)),
        (301.0, len(DURATION_BOUNDS)),
    ],
)
def test_a_duration_counts_up_to_the_bound_it_reaches(
    clock: Clock, seconds: float, bucket: int
) -> None:
    telemetry = Telemetry()
    watch = telemetry.begin("orders")
    clock.now += seconds
    watch.end("success", 0)
    stats = telemetry.snapshot()["orders"]
    assert stats.durations == tuple(int(i == bucket) for i in range(len(DURATION_BOUNDS) + 1))
    assert stats.seconds == seconds


def test_a_snapshot_stays_as_it_was() -> None:
    telemetry = Telemetry()
    telemetry.begin("orders").end("success", 1)
    snapshot = telemetry.snapshot()
    telemetry.begin("orders").end("success", 1)
    telemetry.begin("add").end("success", 1)
    assert (list(snapshot), snapshot["orders"].calls) == (["orders"], 1)
    with pytest.raises(TypeError):
        snapshot["orders"].outcomes["success"] = 9  # type: ignore[index]


def test_a_call_says_how_long_it_took_and_how_many_there_were(clock: Clock) -> None:
    telemetry = Telemetry()
    telemetry.begin("orders").end("success", 1)
    telemetry.begin("orders").end("timeout", 1)
    telemetry.begin("orders").end("rejected", 1)
    telemetry.begin("add").end("internal", 1)
    watch = telemetry.begin("orders")
    clock.now += 0.0012344
    observed = watch.observed()
    assert observed.telemetry == {"duration_ms": 1.234, "calls": 4, "failures": 1}
    assert msgspec.json.decode(msgspec.json.encode(observed.telemetry)) == observed.telemetry


@pytest.mark.parametrize(("ending", "failures"), [("success", 0), ("internal", 1), (None, 0)])
def test_a_failure_that_is_known_counts_itself(ending: OutcomeLabel | None, failures: int) -> None:
    watch = Telemetry().begin("orders")
    assert watch.observed(ending).telemetry["failures"] == failures


def test_a_request_id_is_short_and_of_one_call() -> None:
    telemetry = Telemetry()
    watches = [telemetry.begin("orders") for _ in range(1_000)]
    ids = {watch.observed().request_id for watch in watches}
    assert len(ids) == 1_000
    assert all(re.fullmatch(r"req_[0-9a-f]{16}", request_id) for request_id in ids)
    assert {watch.request_id for watch in watches} == ids
