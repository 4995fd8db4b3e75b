"""Every relative link in our Markdown leads to a file that is there."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("[!.]*/**/*.md")]
CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`", re.M | re.S)
CODE_BLOCK = re.compile(r"^ *```.*?^ *```$", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)[^)]*\)|^ *\[[^\]]+\]:\s*<?([^\s>]+)", re.M)


def links(page: str) -> list[str]:
    """Return the links of a page, as they are written."""
    return [inline or reference for inline, reference in LINK.findall(CODE.sub("", page))]


def is_relative(link: str) -> bool:
    return not re.match(r"[a-z][a-z0-9+.-]*:|#|//", link, re.I)


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_relative_links_lead_to_files(page: Path) -> None:
    targets = [link.partition("#")[0] for link in links(page.read_text()) if is_relative(link)]
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_to_a_part_of_a_page_lead_to_a_heading(page: Path) -> None:
    parts = [link.partition("#") for link in links(page.read_text()) if is_relative(link)]
    targets = [
        (page.parent / file, part) for file, _, part in parts if file.endswith(".md") and part
    ]
    assert [(file, part) for file, part in targets if part not in anchors(file.read_text())] == []


def anchors(page: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", CODE_BLOCK.sub("", page), re.M)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_modules_that_a_page_names_exist(page: str) -> None:
    named = re.findall(r"\b(?:[a-z_]+/)+\w+\.py\b", (ROOT / page).read_text())
    folders = (ROOT, ROOT / "src/accord", ROOT / "tests")
    assert len(named) > 3
    assert [name for name in named if not any((each / name).is_file() for each in folders)] == []


def test_every_page_of_the_docs_is_in_the_navigation_once() -> None:
    project = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    pages = [str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md")]
    assert sorted(in_navigation(project["nav"])) == sorted(pages)


def in_navigation(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for target in entry.values() if isinstance(entry, dict) else [entry]:
            if isinstance(target, str):
                yield target
            else:
                yield from in_navigation(target)


def test_links_are_found_however_they_are_written() -> None:
    page = """
[a](a.md), [`b`](b.md#part "title") and ![c](<c.png>), not `[d](d.md)` or [e][e].

```python
f = [0](f)
```

[e]: ../e.md
"""
    assert links(page) == ["a.md", "b.md#part", "c.png", "../e.md"]


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("docs/a.md", True),
        ("../LICENSE", True),
        ("https://example.org/a.md", False),
        ("mailto:a@example.org", False),
        ("#part", False),
    ],
)
def test_only_what_stands_in_the_repository_is_looked_for(link: str, expected: bool) -> None:
    assert is_relative(link) == expected


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/**/*.md")), ids=str)
def test_a_page_begins_with_when_one_needs_it(page: Path) -> None:
    _, _, begin = page.read_text().partition("\n\n")
    assert page.name == "index.md" or begin.startswith("Read this page ")
