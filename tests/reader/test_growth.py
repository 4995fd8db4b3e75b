"""What a huge reply costs: CPU time grows with its bytes and no faster, memory stays bounded."""

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from accord.reader import read

pytestmark = pytest.mark.slow

FEW, MANY = 80_000, 640_000
MOST = 4  # times what the growth in bytes explains; a quadratic scan comes to eight
LOOKS = 6  # at a cost that seems to grow too fast: another process may have had the caches
MOMENT = 0.001

Shape = Callable[[int], str]
SHAPES: dict[str, Shape] = {
    "prose": lambda n: "The quick brown fox jumps. It was not found there.\n" * (n // 50),
    "a line": lambda n: "word " * (n // 5),
    "a word": lambda n: "w" * n,
    "bullets": lambda n: "Found:\n" + "- an item of the list\n" * (n // 22),
    "bullets with labels": lambda n: "Found:\n" + "- an item\n  Name: x\n" * (n // 20),
    "numbers": lambda n: "\n".join(f"{i}. item" for i in range(n // 10)),
    "numbers in brackets": lambda n: "\n".join(f"[{i}] item\nx" for i in range(1, n // 12)),
    "brackets that open": lambda n: "[" * n,
    "braces that open": lambda n: "{" * n,
    "braces on lines": lambda n: "{\n" * (n // 2),
    "braces after words": lambda n: "a: {b\n" * (n // 6),
    "brackets in brackets": lambda n: "[" * (n // 2) + "]" * (n // 2),
    "objects in objects": lambda n: '{"a":' * (n // 6) + "1" + "}" * (n // 6),
    "fences that open": lambda n: "[\n" + "```js\n" * (n // 6),
    "fences": lambda n: "[\n" + "```\nx\n```\n" * (n // 10),
    "blank lines": lambda n: "\n" * n + "x",
    "blanks": lambda n: "x" + " " * n + "x",
    "colons and blanks": lambda n: "a:  " * (n // 4) + "]",
    "lines with a colon": lambda n: "a: b\n" * (n // 5),
    "records": lambda n: "Name: x\nAge: 5\n\n" * (n // 16),
    "a record that goes on": lambda n: "Name: x\nAge: 3\n" * 2 + "more\n" * (n // 5),
    "a table": lambda n: "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * (n // 10),
    "rules of tables": lambda n: "|---|---|\n" * (n // 10),
    "a rule that is none": lambda n: "| a |\n" + "|--" * (n // 3) + "x",
    "csv": lambda n: "a,b,c\n" + "1,2,3\n" * (n // 6),
    "csv with quotes": lambda n: "a,b,c\n" + '1,"2,3\n' * (n // 7),
    "csv with an open quote": lambda n: 'a,b,c\n1,2,"' + "3\n" * (n // 2),
    "columns": lambda n: "NAME  AGE  SIZE\n" + "a  1  2\n" * (n // 8),
    "elements": lambda n: "<r>x</r>" * (n // 8),
    "tags of JSON that open": lambda n: "[\n" + "<json>\n" * (n // 7) + "</",
    "elements that open": lambda n: "<r>" * (n // 3) + "</r>",
    "elements within one": lambda n: "<a><b>" + "<r>x</r>" * (n // 8) + "</b></a>",
    "elements of two names": lambda n: "<a>" + "<r>x</r><s/>" * (n // 12) + "</a>",
    "a drawn table": lambda n: "│ a │ b │\n├───┼───┤\n" + "│ 1 │ 2 │\n" * (n // 10),
    "many tables": lambda n: "| a |\n|---|\n| 1 |\n\n" * (n // 19),
    "dashes over columns": lambda n: "a    b\n---  ---\n" + "1    2\n" * (n // 7),
    "dashes again and again": lambda n: "--- ---\n" * (n // 8),
    "names over one run of dashes": lambda n: (
        "ab  " * (n // 8) + "\n----------\n" + "x\n" * (n // 4)
    ),
    "members with numbers": lambda n: json.dumps({f"item_{i}": {} for i in range(1, n // 14)}),
    "YAML": lambda n: "ok: true\nitems:\n" + "- id: 1\n  a: b\n" * (n // 15),
    "tabs": lambda n: "a\tb\tc\n" + "1\t2\t\n" * (n // 5),
    "a data frame": lambda n: "   a  b\n" + "1  2  3\n" * (n // 8),
    "TOON": lambda n: f"x[{n // 6}]{{a,b}}:\n" + "  1,2\n" * (n // 6),
    "TOON of items": lambda n: f"x[{n // 6}]:\n" + "  - 1\n" * (n // 6),
    "TOON with quotes": lambda n: "x[1]: " + '"a,' * (n // 3),
    "pairs": lambda n: "a='b', " * (n // 7) + "x",
    "pairs without quotes": lambda n: "a=b, " * (n // 5) + "x",
    "names that are too long": lambda n: "a" * (n // 2) + "1\tb\n" + "a b" * (n // 6) + "\tc",
    "titles and fields": lambda n: "A\nAge: 1\nCity: x\n\n" * (n // 18),
    "as many as are said": lambda n: (
        f"Found {n // 20} things\n\n" + "Thing 1\nmore of it\n\n" * (n // 20)
    ),
    "sections": lambda n: "# All\n" + "## One\n\ntext\n\n" * (n // 14),
    "a name in what Python shows": lambda n: "['a', <" + "a" * n + "]",
    "what Python shows, cut": lambda n: "Here:\n" + "[{'a': 1},\n" * (n // 11) + "]",
    "calls in what Python shows": lambda n: "[" + "f(g(1)), " * (n // 9) + "f(]",
    "a tree": lambda n: ".\n" + "│   ├── a.txt\n" * (n // 14),
    "a record a line": lambda n: "PID: 1, Name: a\n" * (n // 16),
    "a command's output": lambda n: json.dumps({"status": "success", "output": "[" * n + "]"}),
    "paths": lambda n: "/tmp/a/b.txt\n" * (n // 13),
    "a path": lambda n: "a/" * (n // 2),
    "branches": lambda n: "* main\n" + "  dev\n" * (n // 6),
    "tags": lambda n: "[FILE] a.txt\n" * (n // 13),
    "marks": lambda n: "→ x\n" * (n // 4),
    "headings": lambda n: "## 1. a\ntext\n" * (n // 13),
    "a list of Python's": lambda n: "[" + "'a', " * (n // 5) + "'b']",
    "dicts of Python's": lambda n: "[" + "{'a': None}, " * (n // 13) + "{}]",
    "a string of Python's": lambda n: "['" + "x" * n + "']",
    "escapes of Python's": lambda n: "['" + "\\n" * (n // 2) + "']",
    "a call of Python's": lambda n: "[A(" + "x" * n + ")]",
    "a call that does not end": lambda n: "[A(" + "x" * n + "]",
    "quotes": lambda n: "[" + "'" * n + "]",
    "backslashes": lambda n: "['" + "\\" * n + "']",
    "commas and blanks": lambda n: "(" + ",   " * (n // 4) + ",)",
    "JSON": lambda n: "[" + '{"id": 1, "name": "abc"}, ' * (n // 26) + "{}]",
    "JSON that was cut": lambda n: "[" + '{"id": 1, "name": "abc"}, ' * (n // 26),
    "JSON that is broken": lambda n: "[" + '{"id": 1, "name": "abc"}, ' * (n // 26) + "{]",
    "JSON after prose": lambda n: "Rows:\n[" + '{"id": 1, "name": "abc"}, ' * (n // 26) + "{}]",
    "JSON after many starts": lambda n: "\n".join(["["] * 12) + "1," * (n // 2) + "]",
    "JSON Lines": lambda n: '{"a": 1}\n' * (n // 9),
    "members": lambda n: "{" + ",".join(f'"k{i}": 1' for i in range(n // 12)) + "}",
    "members that are lists": lambda n: "{" + ",".join(f'"k{i}": []' for i in range(n // 12)) + "}",
    "an error": lambda n: "Error: " + "x " * (n // 2),
    "executing": lambda n: "Error executing " * (n // 16),
    "showing": lambda n: "showing " * (n // 8) + "1 of 2",
    "digits": lambda n: "Found:\n- a\n- b\nshowing " + "1" * n,
    "carriage returns": lambda n: "a\r" * (n // 2),
}


@pytest.fixture(autouse=True)
def untraced() -> Iterator[None]:
    """Switch tracing off, so that coverage is not measured."""
    tracer = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(tracer)


def cpu(text: str, tool: str) -> float:
    reply = {"content": [{"type": "text", "text": text}]}
    begun = time.thread_time()  # threads that other tests left do not count
    read(reply, tool)
    return time.thread_time() - begun


def is_linear(shape: Shape, few: int, many: int, tool: str = "list_things") -> bool:
    """True if the CPU time of a reply grows linearly, at one of several attempts."""
    return any(growth(shape, few, many, tool) < MOST for _ in range(LOOKS))


def growth(shape: Shape, few: int, many: int, tool: str) -> float:
    """Return the growth of CPU time divided by that of bytes: 1 is linear."""
    small, large = shape(few), shape(many)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000)  # the usual one: a test may have left another
    gc.disable()  # it would look at all that the tests have made
    try:
        rounds = [(cpu(small, tool), cpu(large, tool)) for _ in range(2)]
    finally:
        gc.enable()
        sys.setrecursionlimit(limit)
    before, after = (min(figures) for figures in zip(*rounds, strict=True))
    return after / max(before, MOMENT) / (many / few)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_cost_is_linear_in_the_bytes(shape: Shape) -> None:
    assert is_linear(shape, FEW, MANY)


@pytest.mark.parametrize("name", ["prose", "bullets", "braces after words", "fences that open"])
def test_the_cost_of_ten_megabytes_is_linear_in_the_bytes(name: str) -> None:
    assert is_linear(SHAPES[name], 1_250_000, 10_000_000)


def test_a_hundred_thousand_lines_cost_what_their_bytes_do() -> None:
    assert is_linear(lambda n: "a line\n" * n, 12_500, 100_000)


LARGE = """
from accord.reader import read
def megabytes():  # not ru_maxrss, in which the process that has started this one counts
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) // 1024
raw = ({raw})
assert len(raw) > 90_000_000
before = megabytes()
reading = read(raw, "get_report")
print(megabytes() - before, reading.response.response_type, *reading.findings, sep="|")
"""
TOO_MUCH = "the JSON has too many values to be decoded"
HUGE = {
    "prose": ('b"The quick brown fox jumps. " * 4_000_000', "single", ""),
    "a text in a result": (
        """b'{"content": [{"type": "text", "text": "' + b"word " * 20_000_000 + b'"}]}'""",
        "single",
        "",
    ),
    "rows in a text": (
        r"""b'{"content": [{"type": "text", "text": "['
            + b'{\\"id\\": 1, \\"name\\": \\"%s\\"}, ' % (b"n" * 70) * 1_000_000 + b'{}]"}]}'""",
        "list",
        "",
    ),
    "rows of next to nothing": (
        """b"[" + b'{"a":1},' * 12_000_000 + b"{}]" """,
        "single",
        TOO_MUCH,
    ),
    "lists of nothing": ('b"[" + b"[]," * 33_000_000 + b"[]]"', "single", TOO_MUCH),
    "numbers": ('b"[" + b"1," * 50_000_000 + b"1]"', "single", TOO_MUCH),
    "brackets": ('b"[" * 50_000_000 + b"]" * 50_000_000', "single", TOO_MUCH),
    "line ends": (r'b"{" + b"\x0b" * 100_000_000 + b"x"', "single", "begins like JSON"),
    "bytes": ("bytes(range(256)) * 400_000", "single", "binary"),
}


@pytest.mark.parametrize(("raw", "kind", "finding"), HUGE.values(), ids=HUGE)
def test_a_hundred_megabytes_are_read_within_a_gigabyte(raw: str, kind: str, finding: str) -> None:
    command = [sys.executable, "-c", LARGE.format(raw=raw)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    megabytes, said, *findings = done.stdout.strip().split("|")
    assert int(megabytes) < 1_000
    assert said == kind
    assert finding in "|".join(findings)
