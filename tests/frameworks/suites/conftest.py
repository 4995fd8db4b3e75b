"""Servers that run for a whole suite."""

from collections.abc import Iterator

import pytest
from serving import foreign_over_http, serving, shop_over_http


@pytest.fixture(scope="session")
def shop_url() -> Iterator[str]:
    """The URL of the shop, an Accord server."""
    with serving(shop_over_http()) as url:
        yield url


@pytest.fixture(scope="session")
def foreign_url() -> Iterator[str]:
    """The URL of a server that is not Accord, whose tools fail without saying so."""
    with serving(foreign_over_http()) as url:
        yield url
