"""Texts that are no UTF-8, which a query is asked for as bytes, in a second attempt."""

from collections.abc import Iterator
from typing import Any

from accord.sources.sql.rows import Row
from accord.sources.sql.scan import pieces
from accord.sources.sql.values import OddText


def texts_as_bytes(query: str, columns: int) -> str:
    """The same query with two columns for each: its type, and its value, of a text the bytes."""
    names = [f"c{index}" for index in range(columns)]
    pairs = ", ".join(
        f"typeof({name}), iif(typeof({name}) = 'text', CAST({name} AS BLOB), {name})"
        for name in names
    )
    inner = _without_end(query)
    own = _name_not_in(query)
    return f"WITH {own}({', '.join(names)}) AS ({inner}\n) SELECT {pairs} FROM {own}"


def _name_not_in(query: str) -> str:
    """A name for the query that means nothing within it."""
    name = "accord"
    while name in query.lower():
        name += "_"
    return name


def _without_end(query: str) -> str:
    """A query without its semicolon and what follows that."""
    ends = [piece.start for piece in pieces(query) if piece.text == ";"]
    return query[: ends[0]] if ends else query


def texts_from_bytes(rows: Iterator[Row], encoding: str) -> Iterator[Row]:
    """The rows that such a query gives, as the query itself would have given them."""
    for row in rows:
        yield tuple(
            _text(value, encoding) if kind == "text" else value
            for kind, value in zip(row[::2], row[1::2], strict=True)
        )


def _text(raw: Any, encoding: str) -> str | OddText:
    try:
        return bytes(raw).decode(encoding)
    except UnicodeDecodeError:
        return OddText(raw)
