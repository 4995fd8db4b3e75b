"""What the models of other clients see is what docs/clients.md says."""

import json

import pytest

from frameworks.clients.runs import DATA, PROBES, run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

RECORDED = json.loads(DATA.read_text())


@pytest.mark.parametrize("client", PROBES)
def test_a_client_shows_its_model_what_the_table_says(client: str) -> None:
    assert run(PROBES[client]) == RECORDED[client], "run `make clients`"


def test_the_table_has_a_row_for_each_client() -> None:
    assert list(RECORDED) == list(PROBES)
