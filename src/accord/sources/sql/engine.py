"""What every database can be asked, whichever it is."""

from collections.abc import Callable
from typing import Protocol

from accord.sources.sql.messages import (
    Changed,
    Delete,
    Describe,
    Described,
    Insert,
    Names,
    Rows,
    Select,
    Settings,
    Update,
)


class Engine(Protocol):
    """One connection to one database. What cannot be done is a Problem."""

    def tables(self) -> Names: ...
    def describe(self, asked: Describe) -> Described: ...
    def select(self, asked: Select) -> Rows: ...
    def insert(self, asked: Insert) -> Changed: ...
    def update(self, asked: Update) -> Changed: ...
    def delete(self, asked: Delete) -> Changed: ...


def engine_for(settings: Settings) -> Callable[[Settings], Engine]:
    """The kind of engine that a database needs; each loads its own library."""
    if settings.url.startswith("postgresql:"):
        from accord.sources.sql.postgres import PostgresEngine

        return PostgresEngine
    from accord.sources.sql.sqlite import SqliteEngine

    return SqliteEngine
