"""A client of several databases that are explored, in the same process with real workers."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from accord import Server
from accord.sources.sql import Database, Options, schema_features, sql_tools
from sources.sql.shop import Shop


class Explored(Shop):
    """A client that also reads resources and completes names."""

    def resources(self) -> list[str]:
        """Return the URIs of `resources/list`."""
        result = self.peer.ask("resources/list")["result"]
        return [each["uri"] for each in result["resources"]]

    def templates(self) -> list[str]:
        result = self.peer.ask("resources/templates/list")["result"]
        return [each["uriTemplate"] for each in result["resourceTemplates"]]

    def read(self, uri: str) -> Any:
        """Return the reply to `resources/read`."""
        return self.peer.ask("resources/read", {"uri": uri})

    def complete(self, template: str, argument: str, typed: str, **others: str) -> list[str]:
        params = {
            "ref": {"type": "ref/resource", "uri": template},
            "argument": {"name": argument, "value": typed},
            "context": {"arguments": others},
        }
        reply = self.peer.ask("completion/complete", params)
        return list(reply["result"]["completion"]["values"])

    def found(self, words: str, **arguments: Any) -> list[tuple[str, str, list[str]]]:
        """Return the database, the table and the columns of each match."""
        rows = self.data("search_schema", words=words, **arguments)
        return [
            (row["database"], row["table"], [each["name"] for each in row.get("columns", ())])
            for row in rows
        ]


@contextmanager
def exploring(where: Mapping[str, Path | str], **options: Any) -> Iterator[Explored]:
    """Serve databases under their names until the block ends; a single one without a prefix."""
    with ExitStack() as stack:
        databases = {}
        whole = Server("shops", version="1.0.0", profile="prose")
        for name, place in where.items():
            database = databases[name] = Database(str(place), Options(explore=True, **options))
            stack.callback(database.close)
            part = Server(name, profile="prose")
            for tool in sql_tools(database):
                part.add(tool)
            whole.include(part, f"{name}_" if len(where) > 1 else "")
        for feature in schema_features(databases):
            whole.add(feature)
        yield Explored(whole)
