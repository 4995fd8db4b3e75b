"""The code in README.md and docs/ runs, and prints what the page shows.

Each page has a folder of its own, which its blocks share from top to bottom:

- A `python` block whose first line is `# name.py` is that file; so is a `toml` or `sql` block whose
  first line is a comment with its name.
- Any other `python` block is run. If a `text` block follows at once, that is what it prints.
- In a `console` or `sh` block a line that begins with `$ ` is run by the shell; the lines up to the
  next one are what a terminal of 80 columns then shows, standard error included. `> ` continues a
  command.
- A `console` or `sh` block without such a line only tells, and is not run; but `accord` has to
  understand what it is told there, and `make` has to know the job.
- A `json` block is JSON.

A comment `<!-- environment: langchain, fastmcp-4 -->` on the line above a block says that it needs a framework. Here it is
only compiled; tests/frameworks/suites/docs runs it in these environments, beside the files of all blocks.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doc_pages import PAGES, ROOT, blocks, check, check_in_environment


def _param(page: Path) -> Any:
    marks = () if page.name == "README.md" else pytest.mark.slow
    return pytest.param(page, id=str(page.relative_to(ROOT)), marks=marks)


@pytest.mark.parametrize("page", [_param(page) for page in PAGES])
def test_the_code_of_a_page_runs_and_prints_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    check(page.read_text(), tmp_path)


def test_the_readme_has_code_to_run() -> None:
    found = blocks((ROOT / "README.md").read_text())
    assert {"python", "console"} <= {block.language for block in found}


@pytest.mark.parametrize(("page", "example"), [("functions", "shop"), ("example", "coffee")])
def test_the_server_in_the_guide_is_the_one_in_examples(page: str, example: str) -> None:
    text = (ROOT / f"docs/{page}.md").read_text()
    shown = next(block.text for block in blocks(text) if block.language == "python")
    assert shown.startswith(f"# {example}.py\n")
    assert _code(shown) == _code((ROOT / f"examples/{example}.py").read_text())


def test_the_diffs_of_the_guide_are_of_the_servers_in_examples() -> None:
    folder = ROOT / "examples/from_fastmcp"
    pairs = [
        tuple((folder / f"{kind}{name}.py").read_text() for name in ("before", "after"))
        for kind in ("", "test_")
    ]
    page = blocks((ROOT / "docs/fastmcp.md").read_text())
    diffs = [block for block in page if block.language == "diff"]
    assert len(diffs) > 8
    for diff in diffs:
        old, new = (_side(diff.text, sign) for sign in "-+")
        assert any(old in before and new in after for before, after in pairs), f"line {diff.line}"


def _side(diff: str, sign: str) -> str:
    """Return the lines of a diff that are in one of the files."""
    lines = [line for line in diff.splitlines() if line[:1] in ("", " ", sign)]
    return "".join(f"{line[1:]}\n" for line in lines)


def _code(source: str) -> list[str]:
    """The statements, without comments and the module's docstring."""
    tree = ast.parse(source)
    return [ast.dump(node) for node in tree.body if not _is_docstring(node)]


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


# The check itself must be able to say no

SAMPLE = """\
A page.

```python
# greeting.py
def greet(name: str) -> str:
    return f"Hello {name}"
```

1. Inside a list:

   ```console
   $ python -c 'import greeting; print(greeting.greet("Ada"))'
   Hello Ada
   $ echo out; echo err >&2; exit 1
   out
   err
   $ echo one \\
   > two
   one two
   $ true
   ```

```python
import greeting

print(greeting.greet("Grace"))
```

```text
Hello Grace
```

```sh
rm -rf /no/dollar/no/run
make demo    # a job
some-command 'of theirs' | accord read - > reading.json
accord serve shop.py \\
    --http 127.0.0.1:8000
```

```json
{"a": 1}
```
"""


def test_a_page_that_is_right_passes_and_every_block_of_it_counts(tmp_path: Path) -> None:
    assert check(SAMPLE, tmp_path) == 7


def _wrong_pages() -> Iterator[tuple[str, str]]:
    yield "other output", SAMPLE.replace("Hello Ada\n", "Hello Bob\n")
    yield "output left out", SAMPLE.replace("   out\n   err\n", "   out\n")
    yield "output made up", SAMPLE.replace("$ true\n", "$ true\n   done\n")
    yield "another order", SAMPLE.replace("out\n   err\n", "err\n   out\n")
    yield "a command that is not there", SAMPLE.replace("$ true", "$ no-such-command")
    yield "code that raises", SAMPLE.replace("import greeting\n\n", "import grating\n\n")
    yield "code that prints something else", SAMPLE.replace("Hello Grace", "Hello Ada")
    yield "a file that is no Python", SAMPLE.replace("def greet(", "def greet[(")
    yield "a verb that is none", SAMPLE.replace("accord read", "accord dance")
    yield "an option that is none", SAMPLE.replace("--http", "--https")
    yield "a job that is none", SAMPLE.replace("make demo", "make tea")
    yield "no JSON", SAMPLE.replace('{"a": 1}', "{a: 1}")


WRONG = dict(_wrong_pages())

IN_ENVIRONMENT = """\
<!-- environment: one, two -->
```python
import greeting
import sys

print(greeting.greet("Ada"), "prefix" in dir(sys))
```

```text
Hello Ada True
```
"""


def test_a_block_of_an_environment_runs_there_only_beside_the_files(tmp_path: Path) -> None:
    page = SAMPLE + IN_ENVIRONMENT
    assert check_in_environment(page, tmp_path, "two") == 1
    assert check_in_environment(page, tmp_path, "three") == 0
    assert check(IN_ENVIRONMENT, tmp_path / "without-greeting") == 1
    with pytest.raises(AssertionError):
        check_in_environment(page.replace("Hello Ada True", "Hello"), tmp_path, "one")
    with pytest.raises(SyntaxError):
        check(IN_ENVIRONMENT.replace("import sys", "import"), tmp_path)


@pytest.mark.parametrize("page", WRONG.values(), ids=WRONG)
def test_a_page_that_is_wrong_fails(page: str, tmp_path: Path) -> None:
    assert page != SAMPLE
    with pytest.raises((AssertionError, ValueError, SyntaxError)):
        check(page, tmp_path)
