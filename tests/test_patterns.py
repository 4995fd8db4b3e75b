"""Patterns are linear: no text makes a pattern of the package take more than its length explains.

Every pattern is fed long runs of words, signs and line forms, of examples made from the pattern
itself and of the parts of these. It is used as the source uses it: searched, matched, split by.
"""

import ast
import importlib
import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple, TypeGuard

import pytest

import accord
from accord.reader.lexicon import phrases, sections
from accord.reader.lexicon.phrases import Pattern
from growth import TOKENS, grows

SOURCE = Path(accord.__file__).parent
SIZE = 16_000  # characters, and half as many
FLOOR = 0.001
TAIL = "\x7f"  # which hardly any pattern takes: all that can be tried is tried
MOST_OWN = 120
LAZY = "Pattern"
"""What makes a pattern that is compiled when it is first used."""
USING = frozenset("match fullmatch search sub subn split findall finditer".split())
PASSED = "match"
"""What is called of a pattern that is an argument."""
GIVEN = {
    ("accord.reader.lexicon.phrases", "Pattern"): "what it is made of",
    ("accord.reader.lexicon.phrases", "_pattern_of"): "the sections of phrases.txt",
    ("accord.model.resource", "Template"): "the template of a resource",
    ("accord.sources.drf.routes", "ViewRoute"): "a route of the project",
    ("accord.sources.sql.sqlite.functions", "_compiled"): "a query, in a process with a time limit",
}
"""Where patterns are made as a program runs, and from what."""


class Written(NamedTuple):
    """A pattern that a module assigns to a name."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


class Module(NamedTuple):
    """The patterns in the source of a module."""

    name: str
    patterns: set[str]
    loose: list[tuple[str, int]]
    """Calls that make or use a pattern without a name: the class or function, and the line."""
    uses: set[tuple[str, str]]
    """The names of patterns, here or imported, and the methods called of them."""
    imports: dict[str, Written]

    def named(self, name: str) -> Written:
        """Return the pattern that a name here stands for, also that of an imported module."""
        holder, _, member = name.rpartition(".")
        if holder in self.imports:
            return Written(str(self.imports[holder]), member)
        return self.imports.get(name, Written(self.name, name))


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def makes_pattern(node: ast.AST, *, has_other: bool) -> TypeGuard[ast.Call]:
    """True if a call compiles a pattern, or uses one without compiling it first.

    `has_other`: the module has a class of its own that is called Pattern.
    """
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
        return called.value.id == "re" and called.attr in {"compile"} | USING
    return isinstance(called, ast.Name) and called.id == LAZY and not has_other


@cache
def modules() -> tuple[Module, ...]:
    return tuple(scan(path) for path in sorted(SOURCE.rglob("*.py")))


def scan(path: Path) -> Module:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    module = Module(module_of(path), set(), [], set(), {})
    names = {each.name for each in tree.body if isinstance(each, ast.ClassDef)}
    has_other = LAZY in names and module.name != phrases.__name__
    for top in tree.body:
        made = [each for each in ast.walk(top) if makes_pattern(each, has_other=has_other)]
        if made and isinstance(top, ast.AnnAssign) and isinstance(top.target, ast.Name):
            module.patterns.add(top.target.id)
        else:
            module.loose.extend((getattr(top, "name", ""), each.lineno) for each in made)
        for node in ast.walk(top):
            module.imports.update(imports_of(node))
            module.uses.update(uses_of(node))
    return module


def imports_of(node: ast.AST) -> Iterator[tuple[str, Written]]:
    if isinstance(node, ast.ImportFrom) and node.module:
        for each in node.names:
            yield each.asname or each.name, Written(node.module, each.name)


def uses_of(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the uses of patterns: a method of its name or of one of several, or as an argument."""
    if isinstance(node, ast.Attribute):
        for part in ast.walk(node.value):
            if name := name_of(part):
                yield name, node.attr
    values: list[ast.expr] = []
    if isinstance(node, ast.Call):
        values = [*node.args, *(keyword.value for keyword in node.keywords)]
    elif isinstance(node, ast.arguments):
        values = [*node.defaults, *(each for each in node.kw_defaults if each)]
    for value in values:
        if name := name_of(value):
            yield name, PASSED


def name_of(node: ast.AST) -> str | None:
    """Return a name, also that of a module's member: `phrases.SAVED`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return None


@cache
def written() -> list[Written]:
    """Return the patterns of all modules, and the sections of phrases that any module uses."""
    own = [Written(each.name, name) for each in modules() for name in sorted(each.patterns)]
    named = {each.named(name) for each in modules() for name, _ in each.uses}
    known = [Written(phrases.__name__, name.replace("-", "_")) for name in sections("phrases")]
    return own + [each for each in known if each in named]


@cache
def methods() -> dict[Written, set[str]]:
    """Return the uses of each pattern, anywhere in the source."""
    found: dict[Written, set[str]] = {each: set() for each in written()}
    for module in modules():
        for name, method in module.uses:
            pattern = module.named(name)
            if pattern in found and method in USING:
                found[pattern].add(method)
    return found


def load(module: str) -> Any:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "storefront.settings")
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("accord"):
            raise
        pytest.skip(f"{error.name} is not installed")


def patterns_of(each: Written) -> list["re.Pattern[Any]"]:
    """The pattern that a name stands for, or several, compiled."""
    value = getattr(load(each.module), each.name)
    several = list(value.values()) if isinstance(value, dict) else [value]
    return [re.compile(p.source, p.flags) if isinstance(p, Pattern) else p for p in several]


def test_every_pattern_has_a_name_in_its_module() -> None:
    loose = {(module.name, where) for module in modules() for where, _ in module.loose}
    assert loose == GIVEN.keys(), "assign the pattern to a name of its module, so that it is tested"


def test_every_pattern_is_used() -> None:
    assert not [str(each) for each, used in methods().items() if not used]


def test_no_module_has_a_pattern_that_the_scan_misses() -> None:
    known = {id(getattr(load(each.module), each.name)) for each in written()}
    known |= {id(getattr(phrases, name.replace("-", "_"))) for name in sections("phrases")}
    for module in modules():
        if not module.name.endswith("__main__"):
            for name, value in vars(load(module.name)).items():
                if isinstance(value, re.Pattern | Pattern):
                    assert id(value) in known, f"{module.name}.{name}"


# Examples of a pattern, and runs of their parts

CANDIDATES = "a A1-.:_,/'\"\n(x[<#*|=\t"
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
_CATEGORIES = {
    _constants.CATEGORY_DIGIT: r"\d",
    _constants.CATEGORY_NOT_DIGIT: r"\D",
    _constants.CATEGORY_WORD: r"\w",
    _constants.CATEGORY_NOT_WORD: r"\W",
    _constants.CATEGORY_SPACE: r"\s",
    _constants.CATEGORY_NOT_SPACE: r"\S",
}


def is_in(char: str, members: list[tuple[Any, Any]]) -> bool:
    """True if a set of characters contains one."""
    is_found = False
    for op, value in members:
        if op is _constants.LITERAL:
            is_found |= ord(char) == value
        elif op is _constants.RANGE:
            is_found |= value[0] <= ord(char) <= value[1]
        elif op is _constants.CATEGORY:
            is_found |= re.match(_CATEGORIES[value], char) is not None
    return is_found != (members[0][0] is _constants.NEGATE)


def of_set(members: list[tuple[Any, Any]]) -> list[str]:
    """Some characters of a set."""
    found = [char for char in CANDIDATES if is_in(char, members)]
    for op, value in members:
        if op is _constants.LITERAL and members[0][0] is not _constants.NEGATE:
            found.append(chr(value))
        elif op is _constants.RANGE and members[0][0] is not _constants.NEGATE:
            found.append(chr(value[0]))
    return found or ["\x7f"]


def example(tree: Any) -> str:
    """A text that the parts of a pattern take, as far as these can be taken one by one."""
    return "".join(example_of(op, value) for op, value in tree)


def example_of(op: Any, value: Any) -> str:
    if op is _constants.LITERAL:
        return chr(value)
    if op is _constants.NOT_LITERAL:
        return "a" if value != ord("a") else "x"
    if op is _constants.ANY:
        return "a"
    if op is _constants.IN:
        return of_set(value)[0]
    if op is _constants.BRANCH:
        return example(value[1][0])
    if op is _constants.SUBPATTERN:
        return example(value[-1])
    if op is _constants.ATOMIC_GROUP:
        return example(value)
    if op in _REPEATS:
        return example(value[2]) * max(value[0], 1)
    return ""


def own_runs(tree: Any, head: str = "") -> Iterator[tuple[str, str]]:
    """Yield texts to repeat, and texts before them, that make a pattern backtrack."""
    for op, value in tree:
        if op is _constants.BRANCH:
            for branch in value[1]:
                yield from own_runs(branch, head)
                yield head, example(branch)
        elif op is _constants.SUBPATTERN:
            yield from own_runs(value[-1], head)
        elif op is _constants.ATOMIC_GROUP:
            yield from own_runs(value, head)
        elif op in (_constants.ASSERT, _constants.ASSERT_NOT):
            yield from own_runs(value[1], head)
        elif op in _REPEATS:
            yield from own_runs(value[2], head)
            yield head, example(value[2])
            yield "", head + example(value[2])
            if len(value[2]) == 1 and value[2][0][0] is _constants.IN:
                for char in of_set(value[2][0][1]):
                    yield head, char
        head += example_of(op, value)
    yield "", head
    yield "", f"{head} "
    yield "", f"{head}\n"


def runs(pattern: "re.Pattern[Any]") -> list[tuple[str, str]]:
    source = pattern.pattern
    text = source if isinstance(source, str) else source.decode("latin-1")
    flags = pattern.flags if isinstance(source, str) else pattern.flags | re.ASCII
    own = dict.fromkeys(
        own_runs(_parser.parse(text, flags & ~re.UNICODE if flags & re.ASCII else flags))
    )
    step = max(1, len(own) // MOST_OWN)
    return [*(("", token) for token in TOKENS), *[each for each in own if each[1]][::step]]


def used(pattern: "re.Pattern[Any]", method: str) -> Callable[[str], Any]:
    """The method of a pattern, used until there is nothing left."""
    use = getattr(pattern, method)
    if method in ("sub", "subn"):
        use = lambda text: getattr(pattern, method)(text[:0], text)  # noqa: E731
    elif method == "finditer":
        use = lambda text: deque(pattern.finditer(text), maxlen=0)  # noqa: E731
    if isinstance(pattern.pattern, str):
        return use
    return lambda text: use(text.encode("utf-8", "surrogatepass"))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("each", written(), ids=str)
def test_the_cpu_time_of_a_pattern_is_linear_in_the_text(each: Written) -> None:
    wrong = (
        f"{pattern.pattern!r}: {method}: {found}"
        for pattern in patterns_of(each)
        for method in sorted(methods()[each])
        for head, token in runs(pattern)
        if grows(used(pattern, method), head, token, TAIL, SIZE, FLOOR)
        # A busy machine slows one measurement; a slow pattern is slow again.
        if (found := grows(used(pattern, method), head, token, TAIL, SIZE, FLOOR))
    )
    first = list(islice(wrong, 3))
    assert not first, "\n".join(first)
