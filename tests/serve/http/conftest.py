"""One server for all tests of this folder that leave it as it was."""

from collections.abc import Iterator

import pytest

from http_peer import HttpServer
from serve.http.talk import serving


@pytest.fixture(scope="session")
def server() -> Iterator[HttpServer]:
    with serving("--grace", "0.2") as running:
        yield running
    assert "Traceback" not in running.stderr
