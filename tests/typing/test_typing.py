"""The types that users see: right code passes `mypy --strict`, and mistakes are found where they are."""

import re
from pathlib import Path

import pytest
from mypy import api

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
ERROR = re.compile(r":(?P<line>\d+): error: .*\[(?P<code>[\w-]+)\]$")
EXPECTED = re.compile(r"  # E: (?P<codes>[\w, -]+)$")

Errors = set[tuple[int, str]]
"""Of each its line and its code."""


def errors(path: Path) -> Errors:
    """Return mypy's errors in a module, with the settings of this repository."""
    command = ["--strict", "--cache-dir", ".mypy_cache/typing", "--no-error-summary", str(path)]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)  # where the settings are
        found, trouble, _ = api.run(command)
    assert trouble == ""
    lines = [line for line in found.splitlines() if ": note: " not in line]
    matches = [ERROR.search(line) for line in lines]
    assert None not in matches, found
    return {(int(match["line"]), match["code"]) for match in matches if match}


def expected(source: str) -> Errors:
    return {
        (number, code)
        for number, line in enumerate(source.splitlines(), 1)
        if (match := EXPECTED.search(line))
        for code in match["codes"].split(", ")
    }


def test_what_users_write_is_accepted() -> None:
    assert errors(HERE / "accepted.py") == set()


@pytest.mark.parametrize("example", ["shop", "coffee", "from_fastmcp/after"])
def test_the_examples_have_types(example: str) -> None:
    assert errors(ROOT / f"examples/{example}.py") == set()


def test_what_users_mistake_is_found(tmp_path: Path) -> None:
    source = (HERE / "refused.py").read_text().replace("# mypy: ignore-errors", "")
    module = tmp_path / "refused.py"
    module.write_text(source)
    assert errors(module) == expected(source)
