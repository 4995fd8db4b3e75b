"""docs/reference/: made from docstrings when the site is built."""

import re
from pathlib import Path

import accord

PAGES = Path(__file__).parents[1] / "docs/reference"
ENTRY = re.compile(r"^::: (\S+)$", re.M)


def entries() -> list[str]:
    return [entry for page in PAGES.glob("*.md") for entry in ENTRY.findall(page.read_text())]


def test_every_public_name_has_one_entry() -> None:
    found = [name.removeprefix("accord.") for name in entries() if name.count(".") == 1]
    assert sorted(found) == sorted(accord.__all__)


def test_everything_in_the_reference_has_a_docstring() -> None:
    assert [
        name for name in accord.__all__ if not (getattr(accord, name).__doc__ or "").strip()
    ] == []
