"""A saved query as a file defines it, and the checks that need no database."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any, Final, NamedTuple

from accord.errors import ContractError
from accord.model.arguments import Checker
from accord.sources.sql.query_params import TYPES, QueryParam
from accord.sources.sql.row_format import DEFAULT_FORMAT, RowForm
from accord.sources.sql.tokenizer import is_blank
from accord.sources.sql.toml_lines import line_of

RESERVED: Final = ("limit", "cursor")
"""Arguments of every saved query, which its parameters cannot be called."""
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_MAX_INTEGER: Final = 1 << 63
_PARAM_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_QUERY_KEYS: Final = ("description", "sql", "limit", "rows", "parameters")
_PARAM_KEYS: Final = (
    "type",
    "description",
    "default",
    "optional",
    "enum",
    "minimum",
    "maximum",
)


class Source(NamedTuple):
    """The place of one query in a file, for messages."""

    path: Path
    query: str
    text: str = ""
    lines: Mapping[tuple[str, ...], int] | None = None
    """Lines of the settings; None in TOML, whose text has them."""

    def line(self, *keys: str) -> int | None:
        """Return the line of a setting, or of what it is in."""
        if self.lines is None:
            return line_of(self.text, (self.query, *keys))
        found = (self.lines.get(keys[:end]) for end in range(len(keys), -1, -1))
        return next((line for line in found if line is not None), None)

    def sql_line(self, within: int | None) -> int | None:
        """Return the line of the file that has a line of the SQL, counted from 1."""
        first = self.line("sql")
        if first is None or within is None:
            return first
        if self.lines is not None:
            return first + within - 1
        opening = self.text.split("\n")[first - 1].rstrip()
        return first + within - (not opening.endswith(('"""', "'''")))

    def declaration(self, name: str) -> str:
        """Return how to declare a parameter in this file."""
        if self.lines is None:
            return f'add [{self.query}.parameters.{name}], and below it type = "text"'
        return f"add a line: -- param {name}: text"

    def fault(self, message: str, *keys: str) -> ContractError:
        """Return the error of a setting: file, line, query and what to do."""
        return self.fault_at(self.line(*keys), message)

    def fault_at(self, line: int | None, message: str) -> ContractError:
        """Return the error of a line."""
        where = str(self.path) if line is None else f"{self.path}:{line}"
        return ContractError(f"{where}: query {self.query}: {message}")


class SavedQuery(NamedTuple):
    """A query that is a tool."""

    name: str
    description: str
    sql: str
    limit: int | None
    rows: RowForm | None
    params: Sequence[QueryParam]
    source: Source


def define(source: Source, table: Mapping[str, Any]) -> SavedQuery:
    """Return the query of a table of settings; raise ContractError on the first fault."""
    name = source.query
    if _NAME.fullmatch(name) is None:
        raise source.fault(
            "the name must be a letter, then letters, digits, _ and -, at most 64; rename it"
        )
    _require_known(source, table, _QUERY_KEYS)
    limit, rows = table.get("limit"), table.get("rows")
    if limit is not None and (type(limit) is not int or limit < 1):
        raise source.fault("limit must be a whole number of rows from 1", "limit")
    if rows is not None and rows not in tuple(DEFAULT_FORMAT):
        raise source.fault(f"rows must be {' or '.join(DEFAULT_FORMAT)}", "rows")
    parameters = table.get("parameters", {})
    if not isinstance(parameters, dict):
        raise source.fault(f"parameters must be tables: [{name}.parameters.city]", "parameters")
    return SavedQuery(
        name,
        _text(source, table, "description", "tell a model when to call it"),
        _sql(source, table),
        limit,
        rows,
        [_param(source, each, settings) for each, settings in parameters.items()],
        source,
    )


def _require_known(
    source: Source, table: Mapping[str, Any], known: Sequence[str], *keys: str
) -> None:
    for key in table:
        if key not in known:
            where = f"parameter {keys[-1]}: " if keys else ""
            raise source.fault(where + unknown_key(key, known), *keys, key)


def unknown_key(key: str, known: Sequence[str]) -> str:
    """Return the message for an unknown setting, with the known one that is most like it."""
    close = get_close_matches(key, known, 1)
    guess = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
    return f"unknown key {key!r}; {guess}"


def _text(source: Source, table: Mapping[str, Any], key: str, purpose: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        raise source.fault(f"{key} must be a text that is not empty; {purpose}", key)
    return " ".join(value.split())


def _sql(source: Source, table: Mapping[str, Any]) -> str:
    sql = table.get("sql")
    if not isinstance(sql, str) or is_blank(sql):
        raise source.fault("sql must be a SELECT, and is empty; write it", "sql")
    return sql.rstrip()


def _param(source: Source, name: str, settings: Any) -> QueryParam:
    keys = ("parameters", name)
    if _PARAM_NAME.fullmatch(name) is None:
        raise source.fault(
            f"parameter {name!r} must be a letter or _, then letters, digits and _; rename it",
            *keys,
        )
    if name.lower() in RESERVED:
        raise source.fault(
            f"parameter {name} is an argument of every saved query already; rename it", *keys
        )
    if not isinstance(settings, dict):
        raise source.fault(f'parameter {name} must be a table, such as {{ type = "text" }}', *keys)
    _require_known(source, settings, _PARAM_KEYS, *keys)
    found = {key: _without_dates(value) for key, value in settings.items()}
    for fault, key in _param_faults(found):
        raise source.fault(f"parameter {name}: {fault}", *keys, key)
    param = QueryParam(
        name=name,
        type=found["type"],
        description=found.get("description"),
        default=found.get("default"),
        is_required="default" not in found and not found.get("optional", False),
        enum=tuple(found.get("enum", ())),
        minimum=found.get("minimum"),
        maximum=found.get("maximum"),
    )
    for fault, key in _value_faults(param):
        raise source.fault(f"parameter {name}: {fault}", *keys, key)
    return param


def _without_dates(value: Any) -> Any:
    """Return a value of TOML as JSON has it."""
    if isinstance(value, list):
        return [_without_dates(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value


def _param_faults(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the settings of a parameter, each with its key."""
    kind = settings.get("type")
    if kind not in TYPES:
        close = get_close_matches(str(kind), TYPES, 1)
        guess = f"did you mean {close[0]}? " if close else ""
        yield f"type must be one of {', '.join(TYPES)}; {guess}text fits most", "type"
    if not isinstance(settings.get("description", ""), str):
        yield "description must be a text", "description"
    if not isinstance(settings.get("optional", False), bool):
        yield "optional must be true or false", "optional"
    if "default" in settings and settings.get("optional"):
        yield "optional is for a parameter without a default; leave one of them out", "optional"
    if not isinstance(settings.get("enum", []), list) or settings.get("enum") == []:
        yield "enum must be a list of values to choose from", "enum"
    for key in ("minimum", "maximum"):
        if type(settings.get(key, 0)) not in (int, float):
            yield f"{key} must be a number", key
        elif not _fits_integer(settings.get(key, 0)):
            yield f"{key} must fit into 64 bits", key
    for key, value in settings.items():
        if isinstance(value, float) and not isfinite(value):
            yield f"{key} must be a finite number", key


def _fits_integer(value: Any) -> bool:
    """True unless a value is an integer that no database can hold."""
    return not isinstance(value, int) or -_MAX_INTEGER <= value < _MAX_INTEGER


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else (value,)


def _value_faults(param: QueryParam) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the values in the settings of a parameter, each with its key."""
    if param.enum and not param.can_choose:
        yield "enum is for text and integer only; leave it out", "enum"
    for key in ("minimum", "maximum"):
        if getattr(param, key) is not None and not param.is_number:
            yield f"{key} is for integer and number only; leave it out", key
    low, high = param.minimum, param.maximum
    if low is not None and high is not None and low > high:
        yield "minimum must not be more than maximum", "minimum"
    schema = param.value_schema()
    plain = Checker({name: each for name, each in schema.items() if name != "enum"})
    for key, values in (("enum", param.enum), ("default", _items(param.default))):
        if not all(map(_fits_integer, values)):
            yield f"{key} must fit into 64 bits", key
    for value in param.enum:
        for error in plain.errors(value):
            yield f"enum {error.error}", "enum"
    if param.default is not None:
        for error in Checker(schema).errors(param.default):
            yield f"default{error.field} {error.error}", "default"
