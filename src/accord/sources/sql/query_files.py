"""Reads files of saved queries: TOML with several, SQL with one, or a folder of both.

    [orders_in_city]                          # the name of the tool
    description = "Orders of one city, newest first"
    sql = "SELECT * FROM orders WHERE city = :city ORDER BY day DESC"
    limit = 20

    [orders_in_city.parameters.city]
    type = "text"
    default = "Berlin"

An SQL file has the same settings in comments above the query, and the file's name is the tool's:

    -- description: Orders of one city, newest first
    -- limit: 20
    -- param city: text = 'Berlin' -- the city, in English
    SELECT * FROM orders WHERE city = :city ORDER BY day DESC
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from accord.errors import ContractError
from accord.sources.sql.query_definition import SavedQuery, Source, define, unknown_key

_SUFFIXES: Final = (".toml", ".sql")
_KEYS: Final = ("description", "limit", "rows")
_SETTING: Final = re.compile(
    r"--\s*+(?P<key>[A-Za-z][\w-]*+)(?:\s++(?P<name>[^\s:]++))?\s*+:(?P<rest>.*)"
)
_CONTINUED: Final = re.compile(r"--\s{3,}+(?P<text>\S.*)")
_SCALAR: Final = r"""'[^']*+'|"(?:[^"\\]|\\.)*+"|[^\s,\[\]'"]++"""
_LIST: Final = rf"\[(?:\s*+(?:{_SCALAR})\s*+,?+)*+\s*+\]"
_PARAM: Final = re.compile(
    rf"""(?P<type>[A-Za-z]++(?:\[\])?+)(?P<optional>\?)?+
    (?:\s*+=\s*+(?P<default>{_LIST}|{_SCALAR}))?
    (?:\s++in\s++(?P<enum>{_LIST}))?
    (?:\s++(?:--|\u2014)\s*+(?P<description>.*))?""",
    re.X,
)
_LIMIT: Final = re.compile(r"[0-9]{1,18}")
_PARAM_FORM: Final = "-- param city: text = 'Berlin' -- what it is for"


def read_queries(path: Path) -> list[SavedQuery]:
    """Read the queries of a file, or of all files in a folder; raise ContractError on a fault."""
    found: dict[str, SavedQuery] = {}
    for file in _files(path):
        for query in _read(file):
            first = found.setdefault(query.name.lower(), query)  # a model mistakes the case
            if first is not query:
                other = f"{first.source.path}:{first.source.line()}"
                raise query.source.fault(f"{other} has a query of the same name; rename one")
    return list(found.values())


def query_files(folder: Path) -> list[Path]:
    """Return the files of a folder that have queries."""
    files = [each for each in folder.iterdir() if each.suffix in _SUFFIXES and each.is_file()]
    return sorted(each for each in files if not each.name.startswith("."))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        if path.suffix not in _SUFFIXES:
            raise ContractError(f"{path} must be a .toml or .sql file, or a folder of them")
        return [path]
    files = query_files(path)
    if not files:
        raise ContractError(f"{path} has no .toml or .sql file; add one with a query")
    return files


def _read(path: Path) -> Iterator[SavedQuery]:
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors write a byte order mark
    except OSError as error:
        raise ContractError(f"could not read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ContractError(f"{path} must be UTF-8 ({error})") from error
    if path.suffix == ".toml":
        yield from _of_toml(path, text)
    else:
        yield _of_sql(path, text)


def _of_toml(path: Path, text: str) -> Iterator[SavedQuery]:
    try:
        content = tomllib.loads(text)
    except ValueError as error:  # also of a number with thousands of digits
        raise ContractError(f"{path} is not valid TOML: {error}") from error
    except RecursionError as error:
        raise ContractError(f"{path} is not valid TOML: it is nested too deeply") from error
    if not content:
        raise ContractError(
            f'{path} has no queries; add one: [name], and below it description = "…" and sql = "…"'
        )
    for name, table in content.items():
        source = Source(path, name, text)
        if not isinstance(table, dict):
            raise source.fault("must be a table; write settings below the [name] of their query")
        yield define(source, table)


def _of_sql(path: Path, text: str) -> SavedQuery:
    lines: dict[tuple[str, ...], int] = {(): 1}
    source = Source(path, path.stem, text, lines)
    settings: dict[str, Any] = {"parameters": {}}
    described: dict[str, Any] | None = None
    rows = text.split("\n")
    is_sql = (bool(row.strip()) and not row.lstrip().startswith("--") for row in rows)
    count = next((index for index, found in enumerate(is_sql) if found), len(rows))
    for number, line in enumerate(map(str.strip, rows[:count]), 1):
        continued = _CONTINUED.fullmatch(line)
        setting = _SETTING.fullmatch(line)
        if continued is not None and described is not None:
            described["description"] += " " + continued["text"]
        elif setting is not None:
            described = _add_setting(source, lines, settings, setting, number)
    lines["sql",] = min(count + 1, len(rows))
    settings["sql"] = "\n".join(rows[count:])
    return define(source, settings)


def _add_setting(
    source: Source,
    lines: dict[tuple[str, ...], int],
    settings: dict[str, Any],
    setting: re.Match[str],
    number: int,
) -> dict[str, Any] | None:
    """Add a setting of a comment; return the table whose description may go on in the next line."""
    key, name, rest = setting["key"], setting["name"], setting["rest"].strip()
    is_param = key == "param"
    if name is not None and not is_param:
        return None  # a sentence with a colon
    place = ("parameters", name or "") if is_param else (key,)
    is_twice = place in lines
    lines[place] = number
    if not is_param and key not in _KEYS:
        raise source.fault(unknown_key(key, (*_KEYS, "param")), key)
    if is_twice:
        raise source.fault(f"{name or key} is there twice; leave one out", *place)
    if is_param:
        settings["parameters"][name or ""] = table = _param(source, name or "", rest)
        return table if "description" in table else None
    settings[key] = int(rest) if key == "limit" and _LIMIT.fullmatch(rest) else rest
    return settings if key == "description" else None


def _param(source: Source, name: str, text: str) -> dict[str, Any]:
    """Return the settings of a parameter in one line."""
    found = _PARAM.fullmatch(text)
    if found is None:
        raise source.fault(f"could not read the parameter; write {_PARAM_FORM}", "parameters", name)
    table: dict[str, Any] = {"type": found["type"]}
    if found["optional"]:
        table["optional"] = True
    for key in ("default", "enum"):
        if found[key] is not None:
            table[key] = _value(source, name, found[key])
    if found["description"]:
        table["description"] = found["description"].strip()
    return table


def _value(source: Source, name: str, text: str) -> Any:
    """Return a value as TOML reads it: quotes for a text, brackets for a list."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except ValueError as error:  # also of a number with thousands of digits
        raise source.fault(
            f"could not read {text}; write a text in quotes, a number, true or a list:"
            f" {_PARAM_FORM}",
            "parameters",
            name,
        ) from error
