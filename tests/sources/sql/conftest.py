"""Settings of the worker pool for the tests of this folder."""

import pytest

from accord.sources.sql import worker_pool


@pytest.fixture(autouse=True)
def one_worker_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no second worker start because the first is slow on a busy machine."""
    monkeypatch.setattr(worker_pool, "_SLOW_START", 60)
