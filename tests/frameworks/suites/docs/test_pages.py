"""The code of the documentation that needs the framework of this environment."""

import sys
from pathlib import Path

import pytest

from doc_pages import PAGES, blocks, check_in_environment

ENVIRONMENT = Path(sys.prefix).name
CONCERNED = [
    page
    for page in PAGES
    if any(ENVIRONMENT in block.environments for block in blocks(page.read_text()))
]


@pytest.mark.parametrize("page", CONCERNED, ids=lambda page: page.name)
def test_the_code_of_a_page_runs_and_prints_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    assert check_in_environment(page.read_text(), tmp_path, ENVIRONMENT) > 0
