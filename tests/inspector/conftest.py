"""One server with a page, for all tests of this folder that a process runs."""

from collections.abc import Iterator

import pytest

from http_peer import HttpServer
from inspector.api_client import sample


@pytest.fixture(scope="session")
def server() -> Iterator[HttpServer]:
    with sample() as running:
        yield running
    assert "Traceback" not in running.stderr
