"""What is checked of a change before and after it, whichever database it is for."""

from collections.abc import Callable, Sequence
from typing import Any

from accord.model.answer import FieldError, Problem
from accord.sources.sql.messages import Delete, Update, Writing
from accord.sources.sql.names import require_columns, require_some
from accord.sources.sql.values import unmarked

Take = Callable[[Any, str], Any]


def require_sense(
    asked: Writing, table: str, columns: Sequence[str], fold: Callable[[str], str]
) -> None:
    """Raise if a change names nothing, or what is not there."""
    data = {} if isinstance(asked, Delete) else asked.data
    where = asked.where if isinstance(asked, Update | Delete) else {}
    if not isinstance(asked, Delete):
        require_some("data", data, table, columns, "names no column")
    if isinstance(asked, Update | Delete):
        require_some(
            "where", where, table, columns, "names no condition, and all rows are not meant"
        )
    given = [("data", name) for name in data] + [("where", name) for name in where]
    require_columns(table, given, columns, fold)


def conditions(where: dict[str, Any], take: Take = unmarked) -> dict[str, Any]:
    """The values of conditions, each of which may be a list of them."""
    return {
        name: [take(each, f"where.{name}[{index}]") for index, each in enumerate(value)]
        if isinstance(value, list)
        else take(value, f"where.{name}")
        for name, value in where.items()
    }


def require_few(changes: int, most: int | None) -> None:
    """Raise if more rows are changed than was agreed; nothing of it may stay then."""
    if most is not None and changes > most:
        fault = f"is {most:,}, and {changes:,} rows would change"
        raise Problem.conflict(
            f"max_changes {fault}; nothing was changed",
            code="TOO_MANY_CHANGES",
            fields=[FieldError("max_changes", fault)],
            remediation="narrow the conditions, or raise max_changes",
        )
