"""Reads `accord.toml`: options of `accord serve` at the top, then one table a target.

    name = "shops"

    [chinook]
    target = "chinook.db"
    read-only = true

The name of a table is the name of its target. Options are named as on the command line; relative
paths are relative to the file.
"""

import argparse
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from accord.cli import databases, targets
from accord.cli.main import parser_of
from accord.cli.options import FORM_OPTIONS
from accord.cli.targets import Target
from accord.cli.values import count, seconds, size
from accord.errors import ContractError, did_you_mean

_TARGET: Final = "target"
_SHEETS: Final = ("out", *FORM_OPTIONS)
_CONFIGURATION: Final = ("profile", "max_bytes")
_OF_A_TARGET: Final[tuple[str, ...]] = (*databases.OPTIONS, *_SHEETS, *_CONFIGURATION)
_NOT_IN_A_FILE: Final = frozenset({"help", "targets", "reload", "contract"})
_NAME: Final = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
_TEXT: Final = ("a string", (str,))
_NUMBER: Final = ("a number", (int, float))
_ANY: Final = ("a number or a string", (int, float, str))
_WANTED: Final[Mapping[Any, tuple[str, tuple[type, ...]]]] = {
    None: _TEXT,
    Path: _TEXT,
    databases.table_names: _TEXT,
    size: ("a whole number", (int,)),
    seconds: _NUMBER,
    count: ("a whole number", (int,)),
}
"""The types of an option's value, by the function that reads it on the command line."""
_HEADER: Final = re.compile(r"\s*+\[{1,2}+\s*+[\"']?+([^\[\]\"'\n]*+)")


class Config(NamedTuple):
    """The content of a file: options of `accord serve`, and targets."""

    options: Mapping[str, Any]
    targets: Sequence[Target]
    defaults: Mapping[str, Any]

    def apply(self, options: argparse.Namespace) -> None:
        """Set the options that the command line does not have."""
        for name, value in self.options.items():
            if getattr(options, name) == self.defaults[name]:
                setattr(options, name, value)


def read_config(path: Path) -> Config:
    """Read a file; raise ContractError, with the line where it can be found, if it is not valid."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors write a byte order mark
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ContractError(f"{path} is not valid TOML: {error}") from error
    except RecursionError as error:
        raise ContractError(f"{path} is not valid TOML: it is nested too deeply") from error
    except OSError as error:
        raise ContractError(f"could not read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ContractError(f"{path} is not valid TOML: it must be UTF-8 ({error})") from error
    return _Reader(path, text).read(content)


class _Reader:
    """Checks the content of a file."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text
        self._folder = path.absolute().parent
        actions = parser_of("serve")._actions
        self._actions = {each.dest: each for each in actions if each.dest not in _NOT_IN_A_FILE}

    def read(self, content: Mapping[str, Any]) -> Config:
        tables = {name: each for name, each in content.items() if isinstance(each, dict)}
        top = {name: each for name, each in content.items() if name not in tables}
        options = self._options(None, top, list(self._actions))
        if not tables:
            raise ContractError(
                f'{self._path} has no targets; add one: [shop], and below it target = "shop.db"'
            )
        shared = {name: options.pop(name) for name in _OF_A_TARGET if name in options}
        found = [self._target(name, table, shared) for name, table in tables.items()]
        self._require_use(shared, found)
        defaults = {name: each.default for name, each in self._actions.items()}
        return Config(options, found, defaults)

    def _require_use(self, shared: Mapping[str, Any], found: Sequence[Target]) -> None:
        """Raise on an option at the top that has no effect on any target."""
        used = {name for each in found for name in (*each.database, *each.sheets)}
        for name in shared.keys() - used - set(_CONFIGURATION):
            what = "a database" if name in databases.OPTIONS else "the target sheets"
            raise self._fault(None, name, f"{_dashed(name)} is only for {what}; there is none")

    def _target(self, name: str, table: Mapping[str, Any], shared: Mapping[str, Any]) -> Target:
        """Return the target of a table; `shared` are the options at the top of the file."""
        if _NAME.fullmatch(name) is None:
            raise self._fault(name, None, "a name is a letter, then letters, digits, _ and -")
        given = dict(table)
        target = given.pop(_TARGET, None)
        if not isinstance(target, str) or not target:
            raise self._fault(name, _TARGET, 'needs a target, such as target = "shop.db"')
        options = self._options(name, given, _OF_A_TARGET)
        self._require_kind(name, target, options)
        options = {**shared, **options}
        is_database, is_sheets = (
            databases.is_database(target, self._folder),
            targets.is_sheets(target),
        )
        word = f"{name}={target}"
        target = targets.below(self._folder, target)
        return Target(
            target,
            name,
            word,
            self._folder,
            {key: options[key] for key in databases.OPTIONS if is_database and key in options},
            {key: options[key] for key in _SHEETS if is_sheets and key in options},
            {key: options[key] for key in _CONFIGURATION if key in options},
        )

    def _require_kind(self, name: str, target: str, options: Mapping[str, Any]) -> None:
        """Raise on an option that has no effect on a target."""
        for key in options:
            shown = _dashed(key)
            if key in databases.OPTIONS and not databases.is_database(target, self._folder):
                raise self._fault(name, key, f"{shown} is only for a database; {target} is not one")
            if key in _SHEETS and not targets.is_sheets(target):
                raise self._fault(name, key, f"{shown} is only for the target sheets")

    def _options(
        self, table: str | None, given: Mapping[str, Any], known: Collection[str]
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in given.items():
            name = key.replace("-", "_")
            if name not in known:
                raise self._fault(table, key, _unknown(key, known, in_table=table is not None))
            if name in found:
                raise self._fault(table, key, f"{key} is there twice, with - and with _")
            try:
                found[name] = _converted(self._actions[name], value, self._folder)
            except argparse.ArgumentTypeError as error:
                raise self._fault(table, key, f"{key}: {error}") from error
            except (ValueError, TypeError) as error:
                raise self._fault(table, key, f"{key} must be {error}") from error
        return found

    def _fault(self, table: str | None, key: str | None, fault: str) -> ContractError:
        line = _line(self._text, table, key)
        where = f"{self._path}:{line}" if line else str(self._path)
        return ContractError(f"{where}: {'' if table is None else f'[{table}] '}{fault}")


def _dashed(name: str) -> str:
    """Return the name of an option as the command line has it."""
    return name.replace("_", "-")


def _unknown(key: str, known: Collection[str], *, in_table: bool) -> str:
    names = sorted(map(_dashed, (*known, *([_TARGET] if in_table else ()))))
    guess = did_you_mean(_dashed(key), names) or ";"
    return f"there is no option {key!r}{guess} options: {', '.join(names)}"


def _converted(action: argparse.Action, value: Any, folder: Path) -> Any:
    """Return a value as the command line would have it; raise with what it must be."""
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise ValueError("true or false")
        return value
    if isinstance(action, argparse._AppendAction):
        several = value if isinstance(value, list) else [value]
        return [_single(action, each, folder) for each in several]
    if action.type is databases.table_names and isinstance(value, list):
        value = ",".join(_single(_PLAIN, each, folder) for each in value)
    return _single(action, value, folder)


_PLAIN: Final = argparse.Action([], "plain")


def _single(action: argparse.Action, value: Any, folder: Path) -> Any:
    kind, types = _WANTED.get(action.type, _ANY)
    if isinstance(value, bool) or not isinstance(value, types):
        raise TypeError(kind)
    try:
        found = action.type(str(value)) if callable(action.type) else value
    except ValueError as error:
        raise ValueError(f"valid, not {value!r}") from error
    if action.choices is not None and found not in action.choices:
        raise ValueError(f"one of {', '.join(map(str, action.choices))}")
    return folder / found.expanduser() if isinstance(found, Path) else found


def _line(text: str, table: str | None, key: str | None) -> int | None:
    """Return the line of a key, or of its table; None if it is written in another way."""
    found, current = None, None
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if header is not None:
            current = header[1].rstrip()
            if current == table:
                found = number
        elif key is not None and current == table:
            start = line.strip().partition("=")[0].strip().strip("\"'")
            if start == key or start.replace("-", "_") == key:
                return number
    return found
