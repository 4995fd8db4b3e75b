"""Fixtures for the tests of the HTTP client."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from accord.http1.tls import system_trust
from http1.raw_server import Authority


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def _fresh_trust() -> Iterator[None]:
    """Certificates are loaded anew in this test, and again after it."""
    system_trust.cache_clear()
    yield
    system_trust.cache_clear()
