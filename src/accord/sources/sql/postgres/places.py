"""Places in a query that have a name, as PostgreSQL has them, with a number."""

from typing import Any

from accord.sources.sql.messages import Params
from accord.sources.sql.refusals import unbound
from accord.sources.sql.scan import POSTGRES, pieces
from accord.sources.sql.values import unmarked


def numbered(query: str, params: Params) -> tuple[str, list[Any]]:
    """The query with `$1` for each `:name`, and the values in that order."""
    if params is None:
        return query, []
    if isinstance(params, list):
        return query, [unmarked(value, f"params[{index}]") for index, value in enumerate(params)]
    numbers: dict[str, int] = {}
    text: list[str] = []
    for piece in pieces(query, POSTGRES):
        name = piece.text[1:]
        if piece.kind != "parameter":
            text.append(piece.text)
            continue
        if name not in params:
            raise unbound(name)
        text.append(f"${numbers.setdefault(name, len(numbers) + 1)}")
    return "".join(text), [unmarked(params[name], f"params.{name}") for name in numbers]
