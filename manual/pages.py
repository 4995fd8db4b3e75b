"""The pages that have a made part, and how each part is made."""

from pathlib import Path

from manual import comparison, profiles, verbs
from manual.regions import replaced

ROOT = Path(__file__).parents[1]


def pages(folder: Path) -> dict[Path, str]:
    """The pages that have a made part, as they should be."""
    readme, contract, cli = (
        folder / name for name in ("README.md", "docs/contract.md", "docs/cli.md")
    )
    figures = (folder / "docs/benchmarks.md").read_text(encoding="utf-8")
    said = {page: page.read_text(encoding="utf-8") for page in (readme, contract, cli)}
    return {
        readme: replaced(said[readme], "comparison", comparison.made(figures)),
        contract: replaced(said[contract], "profiles", profiles.made(said[contract])),
        cli: replaced(said[cli], "verbs", verbs.made()),
    }


def outdated(folder: Path = ROOT) -> dict[Path, str]:
    """Those that are not as they should be."""
    return {
        page: text
        for page, text in pages(folder).items()
        if page.read_text(encoding="utf-8") != text
    }


def write(folder: Path = ROOT) -> list[Path]:
    """Make them so, and say which they were."""
    found = outdated(folder)
    for page, text in found.items():
        page.write_text(text, encoding="utf-8")
    return list(found)
