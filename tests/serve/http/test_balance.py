"""The number of connections of each worker, in memory that they share."""

from pathlib import Path

from accord.serve.http.balance import ConnectionCounts


def test_processes_see_each_others_numbers(tmp_path: Path) -> None:
    supervisor, one, two = (ConnectionCounts(tmp_path / "counts", 3) for _ in range(3))
    assert not one.has_more_than_others(0, 1_000), "no other worker runs"
    two.set(1, 5)
    assert one.has_more_than_others(0, 6)
    assert not one.has_more_than_others(0, 5)
    assert not two.has_more_than_others(1, 5), "itself does not count"
    supervisor.clear(1)
    assert not one.has_more_than_others(0, 6), "it has ended"
    assert (tmp_path / "counts").stat().st_mode & 0o777 == 0o600
