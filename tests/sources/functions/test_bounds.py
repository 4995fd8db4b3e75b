"""Arguments at their limits: large numbers, many items, default values."""

import subprocess
import sys
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from accord.sources.functions import function_tool
from serve.talk import UNWATCHED
from sources.functions.sample_types import arguments, fields, json_of, received, refused, taking

DIGITS = "0.1234567890123456789"


def test_no_digit_is_lost_beside_a_whole_number_with_a_point() -> None:
    def price(a: int, d: Decimal): ...

    bound = function_tool(price).bind(b'{"a": 1.0, "d": %s}' % DIGITS.encode())
    assert msgspec.structs.astuple(bound.arguments) == (1, Decimal(DIGITS))


@pytest.mark.parametrize(
    ("hint", "raw", "expected"),
    [
        (tuple[int, Decimal], f"[1.0, {DIGITS}]", (1, Decimal(DIGITS))),
        (dict[str, int | Decimal], f'{{"d": {DIGITS}}}', {"d": Decimal(DIGITS)}),
        (list[Decimal], f"[1.0, {DIGITS}]", [Decimal("1.0"), Decimal(DIGITS)]),
    ],
    ids=["tuple", "dict", "list"],
)
def test_no_digit_is_lost_inside_a_field(hint: Any, raw: str, expected: Any) -> None:
    assert received(taking(hint), f'{{"x": {raw}}}'.encode()) == expected


@pytest.mark.parametrize("number", ["1e308", "-1e308", "1E+22"])
@pytest.mark.parametrize("beside", ["", ', "a": 1.0'], ids=["alone", "beside a whole number"])
def test_numbers_out_of_the_range_of_integers_are_kept(number: str, beside: str) -> None:
    def take(x: Any, f: float, d: Decimal, many: list[float], a: int = 1): ...

    raw = f'{{"x": {number}, "f": {number}, "d": {number}, "many": [{number}]{beside}}}'
    bound = function_tool(take).bind(raw.encode())
    large = float(number)
    assert msgspec.structs.astuple(bound.arguments) == (large, large, Decimal(number), [large], 1)


@pytest.mark.parametrize("hint", [int, int | None, int | str], ids=str)
@pytest.mark.parametrize("number", ["1e308", "-1e308"])
def test_an_integer_that_is_not_exact_is_rejected(hint: Any, number: str) -> None:
    problem = refused(taking(hint), f'{{"x": {number}}}'.encode())
    assert list(fields(problem)) == ["x"]
    assert number not in problem.message


REFUSE_MANY = """
import resource, sys
from accord import Problem
from accord.sources.functions import function_tool

def take(x: list[int]): ...

item = sys.argv[1]
raw = '{"x":[' + ",".join([item] * (3_900_000 // (len(item) + 1))) + "]}"
resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
try:
    function_tool(take).bind(raw.encode())
except Problem as problem:
    print(len(problem.message), len(problem.fields))
# Not ru_maxrss: that of the process which has started this one counts there.
status = open("/proc/self/status").read()
print(status.partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux", reason="a limit on CPU time, and kilobytes, are Linux's"
)
@pytest.mark.parametrize("item", ["[]", "1.5"])
def test_a_million_wrong_items_take_little_time_and_memory(item: str) -> None:
    command = [sys.executable, "-c", REFUSE_MANY, item]
    done = subprocess.run(command, env=UNWATCHED, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, f"ended by {-done.returncode}: it took too long\n{done.stderr}"
    length, named, kilobytes = map(int, done.stdout.split())
    assert length < 10_000
    assert 0 < named <= 1_000
    assert kilobytes < 600_000


@dataclass(frozen=True)
class Filter:
    city: str
    limit: int = 10
    tag: str | None = None


@dataclass
class Search:
    filters: list[Filter]
    first: Filter = Filter("rome")


def test_a_dataclass_that_was_an_argument_is_returned_with_all_its_fields() -> None:
    tool = taking(Search)
    search = received(tool, arguments({"filters": [{"city": "oslo"}]}))
    assert vars(search.filters[0]) == {"city": "oslo", "limit": 10, "tag": None}
    assert json_of(search) == {
        "filters": [{"city": "oslo", "limit": 10, "tag": None}],
        "first": {"city": "rome", "limit": 10, "tag": None},
    }


def test_parameter_names_that_msgspec_reserves_are_distinct() -> None:
    namespace: dict[str, Any] = {}
    exec("def echo(__x: int, arg__x: int = 1): return (__x, arg__x)", namespace)
    assert received(function_tool(namespace["echo"]), b'{"__x": 5, "arg__x": 6}') == (5, 6)
