"""Names that people give, against those that there are."""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Final

from accord.model.answer import FieldError, Problem

_PLAIN: Final = re.compile(r"\w{1,64}")
_MOST: Final = 50
_LONGEST: Final = 64


def quoted(name: str) -> str:
    """A name as it is shown: what is inside the quotes is somebody's data."""
    shown = name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"
    return '"' + shown.replace('"', '""') + '"'


def listed(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    shown = ", ".join(quoted(name) for name in names[:_MOST])
    more = len(names) - _MOST
    return f"{shown} and {more:,} more" if more > 0 else shown or "none"


def find_table(
    name: str, there: Sequence[str], fold: Callable[[str], str] = lambda name: name
) -> str:
    """A table by the name that it has itself; a Problem that says what there is."""
    known = {fold(each): each for each in there}
    if fold(name) in known:
        return known[fold(name)]
    fault = f"no table {quoted(name)}; {suggestion(name, there)}"
    raise Problem.not_found(fault, fields=[FieldError("table_name", fault)])


def require_columns(
    table: str,
    given: Iterable[tuple[str, str]],
    there: Sequence[str],
    fold: Callable[[str], str] = lambda name: name,
) -> None:
    """Raise if a column, each given with the field that it stands in, is unknown or there twice."""
    known = {fold(each) for each in there}
    shown = table if _PLAIN.fullmatch(table) else quoted(table)
    seen: set[tuple[str, str]] = set()
    faults: list[FieldError] = []
    for field, name in given:
        if fold(name) not in known:
            fault = f"no column {quoted(name)} in {shown}; {suggestion(name, there)}"
            faults.append(FieldError(f"{field}.{name}", fault))
        elif (field, fold(name)) in seen:
            faults.append(FieldError(f"{field}.{name}", f"{quoted(name)} is named twice"))
        seen.add((field, fold(name)))
    if faults:
        raise Problem.validation("; ".join(fault.error for fault in faults), fields=faults)


def require_some(field: str, given: object, table: str, there: Sequence[str], why: str) -> None:
    """Raise if nothing is given, and say what could be."""
    if not given:
        fault = f"{why}; {quoted(table)} has {listed(there)}"
        raise Problem.validation(f"{field} {fault}", fields=[FieldError(field, fault)])


def suggestion(name: str, there: Sequence[str]) -> str:
    """What could have been meant."""
    close = get_close_matches(name.casefold(), [each.casefold() for each in there], n=1)
    if close:
        meant = next(each for each in there if each.casefold() == close[0])
        return f"did you mean {quoted(meant)}?"
    return f"there are {listed(there)}"
