"""What the five documents, MCP and a gateway require, by id, and which tests say that they hold.

`seed_<number>.toml` lists the requirements of one document: a table for each of its parts, and in it
the sentence that each requirement states. Its id is its place: `000.rpc.success.no-error`. One that
only a later part of the project can fulfil also says which, with `waits_for`.

`mcp.toml` lists what MCP's specification says that a server MUST do, in the same way, each with a
`link` to the page that says so: `mcp.http.origin`. `gateway.toml` lists the behaviours of a gateway
by their numbers: `gateway.7.may-have-run`.

A test names what it shows with `@pytest.mark.requirement("000.rpc.success.no-error")`, or as
`marks=` of a row. The ids are found in the source, so they are written out there, and a run of a few
tests knows of all.
"""

import ast
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

TESTS = Path(__file__).parents[1]
MARKER = "requirement"


class Requirement(NamedTuple):
    """One thing that a document requires."""

    says: str
    waits_for: str | None = None
    link: str | None = None


def requirements() -> dict[str, Requirement]:
    """All of them, by id."""
    found: dict[str, Requirement] = {}
    for file in sorted(Path(__file__).parent.glob("*.toml")):
        name = file.stem.removeprefix("seed_")
        found.update(_leaves(tomllib.loads(file.read_text()), name))
    return found


def _leaves(table: dict[str, Any], path: str) -> Iterator[tuple[str, Requirement]]:
    for name, value in table.items():
        here = f"{path}.{name}"
        if isinstance(value, str):
            yield here, Requirement(value)
        elif "says" in value:
            yield here, Requirement(**value)
        else:
            yield from _leaves(value, here)


class Marks(NamedTuple):
    """The requirements that tests name: where each is named, and what is wrong with a mark."""

    places: dict[str, list[str]]
    faults: list[str]


def marks_in(sources: Iterable[tuple[str, str]]) -> Marks:
    """The marks of some sources, each given by its name and its text."""
    places: dict[str, list[str]] = defaultdict(list)
    faults: list[str] = []
    for name, text in sources:
        if MARKER not in text:
            continue
        for call in _marks(ast.parse(text)):
            here = f"{name}:{call.lineno}"
            ids = [node.value for node in call.args if isinstance(node, ast.Constant)]
            if not ids or len(ids) < len(call.args) or call.keywords:
                faults.append(f"{here}: ids are written out, one or more")
            for each in ids:
                places[str(each)].append(here)
    return Marks(dict(places), faults)


def marks() -> Marks:
    """The marks of all tests."""
    files = sorted(TESTS.rglob("test_*.py"))
    return marks_in((str(file.relative_to(TESTS)), file.read_text()) for file in files)


def _marks(tree: ast.Module) -> Iterator[ast.Call]:
    """Marks that pytest sees: decorators of tests, `marks=` of rows, and a module's `pytestmark`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("test_"):
                yield from _calls(node.decorator_list)
        elif isinstance(node, ast.keyword | ast.Assign) and _name(node) in ("marks", "pytestmark"):
            yield from _calls([node.value])


def _calls(nodes: Iterable[ast.AST]) -> Iterator[ast.Call]:
    for node in nodes:
        if isinstance(node, ast.Call) and _called(node) == MARKER:
            yield node
        elif isinstance(node, ast.List | ast.Tuple):
            yield from _calls(node.elts)


def _called(call: ast.Call) -> str | None:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None


def _name(node: ast.keyword | ast.Assign) -> str | None:
    if isinstance(node, ast.keyword):
        return node.arg
    return next((target.id for target in node.targets if isinstance(target, ast.Name)), None)
