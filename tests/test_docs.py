"""The code in README.md and docs/ runs, and prints what the page shows.

Each page has a folder of its own, which its blocks share from top to bottom:

- A `python` block whose first line is `# name.py` is that file.
- Any other `python` block is run. If a `text` block follows at once, that is what it prints.
- In a `console` or `sh` block a line that begins with `$ ` is run by the shell; the lines up to the
  next one are what a terminal of 80 columns then shows, standard error included. `> ` continues a
  command.
- A `console` or `sh` block without such a line only tells, and is not run; but `accord` has to
  understand what it is told there, and `make` has to know the job.
- A `json` block is JSON.
"""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from accord.cli.main import VERBS, parser_of

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
TERMINAL = {
    "COLUMNS": "80",
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "PYTHONUNBUFFERED": "1",  # in a terminal standard output and error keep their order
}
BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S
)
FILE = re.compile(r"# (?P<name>[\w./-]+\.py)\n")


class Block(NamedTuple):
    """A fenced block, and the text that follows at once if that is what it prints."""

    language: str
    text: str
    line: int
    printed: str | None = None


class Command(NamedTuple):
    """A command in a console, and what it shows."""

    text: str
    shown: str


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page in their order."""
    found = [*BLOCK.finditer(page), None]
    return [
        Block(
            block["language"],
            textwrap.dedent(block["text"]),
            page.count("\n", 0, block.start()) + 1,
            _printed(page, block, following),
        )
        for block, following in pairwise(found)
        if block
    ]


def _printed(page: str, block: re.Match[str], following: re.Match[str] | None) -> str | None:
    if following is None or following["language"] != "text":
        return None
    between = page[block.end() : following.start()]
    return None if between.strip() else textwrap.dedent(following["text"])


def commands(console: str) -> list[Command]:
    """The commands of a console block, each with what it shows."""
    parts = re.split(r"^\$ (.*\n(?:> .*\n)*)", console, flags=re.M)
    typed = [re.sub(r"^> ", "", part, flags=re.M) for part in parts[1::2]]
    return [Command(text.strip(), shown) for text, shown in zip(typed, parts[2::2], strict=True)]


def check(page: str, folder: Path) -> int:
    """Run the blocks of a page in a folder; how many there were to run."""
    return sum(_check_block(block, folder) for block in blocks(page))


def _check_block(block: Block, folder: Path) -> int:
    place = f"line {block.line}"
    match block.language:
        case "python":
            _check_python(block, folder, place)
        case "console" | "sh":
            shown = commands(block.text)
            if not shown:
                _check_told(block.text, place)
            return sum(_check_command(command, folder, place) for command in shown)
        case "json":
            json.loads(block.text)
        case _:
            return 0
    return 1


def _check_python(block: Block, folder: Path, place: str) -> None:
    named = FILE.match(block.text)
    if named:
        path = folder / named["name"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text)
        compile(block.text, place, "exec")
        return
    done = _run([sys.executable, "-c", block.text], folder)
    assert done.returncode == 0, f"{place}: {done.stdout}"
    if block.printed is not None:
        assert done.stdout == block.printed, place


def _check_command(command: Command, folder: Path, place: str) -> int:
    done = _run(["sh", "-c", command.text], folder)
    assert done.stdout == command.shown, f"{place}: $ {command.text}"
    return 1


def _check_told(block: str, place: str) -> None:
    for line in block.replace("\\\n", " ").splitlines():
        split = shlex.shlex(line, posix=True, punctuation_chars=True)
        split.whitespace_split = True
        words = [*split]
        parts = [i for i, word in enumerate(words) if set(word) <= set("|><&;")]
        for begin, end in pairwise([-1, *parts, len(words)]):
            _check_words(words[begin + 1 : end], f"{place}: {line}")


def _check_words(words: list[str], place: str) -> None:
    match words:
        case [program, verb, *rest] if Path(program).name == "accord":
            assert verb in VERBS, place
            try:
                parser_of(verb).parse_args(rest)
            except SystemExit as error:
                raise AssertionError(place) from error
        case ["make", job, *_]:
            assert f"\n{job}:" in (ROOT / "Makefile").read_text(), place


def _run(command: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        cwd=folder,
        env=os.environ | TERMINAL,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=50,
    )


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


@pytest.mark.parametrize("page", WRONG.values(), ids=WRONG)
def test_a_page_that_is_wrong_fails(page: str, tmp_path: Path) -> None:
    assert page != SAMPLE
    with pytest.raises((AssertionError, ValueError, SyntaxError)):
        check(page, tmp_path)
