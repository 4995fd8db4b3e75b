"""Errors with the place in the user's code."""

import functools
import pickle
from collections.abc import Callable
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

import pytest

from accord.errors import ContractError, located, location_of


def plain() -> None: ...


def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper() -> Any:
        return function()

    return wrapper


@decorate
@decorate
def decorated() -> None: ...


class Owner:
    def method(self) -> None: ...

    @classmethod
    def of_class(cls) -> None: ...

    @staticmethod
    def alone() -> None: ...

    def __call__(self) -> None: ...


class CountedOwner:
    @decorate
    def __call__(self) -> None: ...


def line_of(text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip().startswith(text))


LINES = {
    "a function": (plain, "def plain"),
    "decorators": (decorated, "@decorate"),
    "a method": (Owner().method, "def method"),
    "a class method": (Owner.of_class, "@classmethod"),
    "a static method": (Owner.alone, "@staticmethod"),
    "a callable object": (Owner(), "def __call__"),
    "a partial": (functools.partial(plain), "def plain"),
    "a partial of a partial": (functools.partial(functools.partial(Owner().method)), "def method"),
    "a partial of decorators": (functools.partial(decorated), "@decorate"),
    "a decorated partial": (decorate(functools.partial(plain)), "def plain"),
    "a class": (Owner, "class Owner"),
}


@pytest.mark.parametrize("case", LINES)
def test_the_location_is_the_first_line_of(case: str) -> None:
    source, text = LINES[case]
    file, _, line = location_of(source).rpartition(":")
    assert Path(file).resolve() == Path(__file__)
    assert int(line) == line_of(text)


def test_the_decorated_call_of_an_object_is_found() -> None:
    line = int(location_of(CountedOwner()).rpartition(":")[2])
    assert line == line_of("class CountedOwner") + 1


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (len, "builtins.len"),
        (functools.partial(len), "builtins.len"),
        (int, "builtins.int"),
        (make_dataclass("Made", ["a"], namespace={"__module__": "nowhere"}), "nowhere.Made"),
        (7, "builtins.int"),
    ],
)
def test_what_has_no_source_has_its_full_name(source: Any, name: str) -> None:
    assert location_of(source) == name


def test_a_file_below_the_current_folder_is_relative(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Path(__file__)
    monkeypatch.chdir(here.parent)
    assert location_of(plain) == f"test_errors.py:{line_of('def plain')}"
    monkeypatch.chdir(here.parents[1])
    assert location_of(plain) == f"tests/test_errors.py:{line_of('def plain')}"
    monkeypatch.chdir(here.anchor)
    assert location_of(plain) == f"{here.relative_to('/')}:{line_of('def plain')}"


def test_a_deleted_current_folder_leaves_the_full_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(FileNotFoundError):
        Path.cwd()
    assert location_of(plain).startswith(f"{__file__}:")


def test_an_error_ends_with_the_innermost_location() -> None:
    with pytest.raises(ContractError) as caught, located(plain), located(Owner().method):
        raise ContractError("wrong")
    assert str(caught.value) == f"wrong ({location_of(Owner().method)})"
    assert caught.value.location == location_of(Owner().method)


def test_an_error_keeps_its_location_in_another_process() -> None:
    error = ContractError("wrong", at=plain)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.location) == (str(error), error.location)
    assert str(copy) == f"wrong ({location_of(plain)})"


def test_an_error_without_a_place_has_only_its_message() -> None:
    assert str(ContractError("wrong")) == "wrong"
    assert ContractError("wrong").location is None


def test_what_is_not_a_function_has_no_place() -> None:
    assert str(ContractError("wrong", at="name")) == "wrong"
