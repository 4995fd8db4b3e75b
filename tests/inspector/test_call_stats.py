"""Statistics of several processes as one report."""

from accord.inspector.call_stats import CallStats, merged


class Clock:
    """A time that goes on when told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_reports_of_two_processes_are_one() -> None:
    clock = Clock()
    one, two = CallStats(clock), CallStats(clock)
    one.add([("add", "success", 0.1, None), ("add", "internal", 0.3, None)])
    two.add([("add", "success", 0.2, None), ("echo", "success", 0.5, None)])
    clock.now += 10
    two.add([("echo", "not_found", 0.1, None)])
    report = merged([one.report(), two.report()])
    assert report["tools"] == [
        {"tool": "add", "calls": 3, "failures": 1, "meanMs": 200.0, "longestMs": 300.0},
        {"tool": "echo", "calls": 2, "failures": 1, "meanMs": 300.0, "longestMs": 500.0},
    ]
    assert report["recent"] == [
        {"ago": 10, "calls": 4, "failures": 1},
        {"ago": 0, "calls": 1, "failures": 1},
    ]


def test_one_report_stays_as_it_is() -> None:
    stats = CallStats()
    stats.add([("add", "success", 0.1, None), ("echo", "internal", 0.3, None)])
    report = stats.report()
    assert merged([report]) == report
    assert merged([CallStats().report(), CallStats().report()]) == CallStats().report()
