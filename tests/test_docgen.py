"""The generated parts of README and docs match the code and the benchmarks."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FIGURE = re.compile(r"[\d,.]+")


def docgen(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tools.docgen", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the pages that a test may change."""
    shutil.copy(ROOT / "README.md", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("*.png"))
    return tmp_path


def test_every_generated_part_is_up_to_date() -> None:
    done = docgen("--check")
    assert (done.returncode, done.stderr) == (0, "")


CHANGES = {
    "README.md": ("| start to first reply, ms |", "| start, ms |"),
    "docs/contract.md": ('"isError": true', '"isError": false'),
    "docs/character_data.md": ("| `race` | text |", "| `folk` | text |"),
    "docs/cli.md": ("| `--no-page` |", "| `--no-pages` |"),
}


@pytest.mark.slow
@pytest.mark.parametrize("page", CHANGES)
def test_a_changed_part_is_named_and_regenerated(page: str, copy: Path) -> None:
    before = (copy / page).read_text()
    (copy / page).write_text(before.replace(*CHANGES[page]))
    assert (copy / page).read_text() != before
    done = docgen("--check", "--folder", str(copy))
    assert (done.returncode, done.stderr) == (1, f"{page} is out of date; run make docs\n")
    assert docgen("--folder", str(copy)).stderr == f"wrote {page}\n"
    assert (copy / page).read_text() == before


def test_other_figures_give_another_table(copy: Path) -> None:
    page = copy / "docs/benchmarks.md"
    page.write_text(re.sub(r"\| 2026-07-28 \| [\d.,]+", "| 2026-07-28 | 12.3", page.read_text()))
    assert docgen("--folder", str(copy)).stderr == "wrote README.md\n"
    assert "| 12.3 | 12.3 | 12.3 | 12.3 |" in (copy / "README.md").read_text()


def test_the_readme_compares_calls_made_one_at_a_time() -> None:
    page = (ROOT / "docs/benchmarks.md").read_text()
    table = page.partition("one at a time\n\n|")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")] for line in table.splitlines()]
    cpu, p50 = next(row[3:5] for row in rows if row[1:3] == ["Accord", "2026-07-28"])
    readme = (ROOT / "README.md").read_text()
    assert f"one call at a time: CPU, µs | {cpu.split()[0]} |" in readme
    assert f"one call at a time: median latency, µs | {p50} |" in readme


def test_every_figure_of_the_readme_is_one_of_the_benchmarks() -> None:
    readme = (ROOT / "README.md").read_text()
    table = readme.partition("<!-- comparison")[2].partition("<!-- end of comparison")[0]
    rows = [line.split("|")[2:-1] for line in table.splitlines() if line.startswith("|")]
    figures = [cell.strip() for row in rows for cell in row if FIGURE.fullmatch(cell.strip())]
    assert len(figures) >= 20
    published = set(FIGURE.findall((ROOT / "docs/benchmarks.md").read_text()))
    assert [figure for figure in figures if figure not in published] == []


def test_a_target_whose_figure_looks_like_its_limit_says_by_how_much_it_is_missed() -> None:
    page = (ROOT / "docs/benchmarks.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")] for line in page.splitlines()]
    missed = [row for row in rows if "**missed**" in row]
    assert [row for row in missed if row[-3] == row[-4]] == []


def test_the_map_of_contributing_names_every_part_of_the_package() -> None:
    parts = {path.name for path in (ROOT / "src/accord").iterdir() if path.suffix == ".py"}
    parts |= {f"{path.parent.name}/" for path in (ROOT / "src/accord").glob("*/__init__.py")}
    page = (ROOT / "CONTRIBUTING.md").read_text().partition("    src/accord/")[2]
    table = page.partition("    tools/")[0]
    named = {
        name for line in table.splitlines() for name in re.findall(r"[\w.]+(?:\.py|/)", line[:33])
    }
    assert named == parts - {"__init__.py", "__main__.py"}
