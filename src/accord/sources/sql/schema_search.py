"""The schemas of several databases: one tool that searches all of them, and their resources."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final
from urllib.parse import quote

import msgspec

from accord.model.answer import Answer, FieldError, Notice, Problem
from accord.model.completion import Completer, Completion
from accord.model.resource import JSON, Listed, Resource
from accord.model.tool import Bound, Tool
from accord.sources.sql.database import Database, read_each
from accord.sources.sql.messages import (
    CompleteName,
    DescribeTables,
    ListTableKinds,
    Match,
    Matches,
    Names,
    SearchSchema,
    TableDescriptions,
    TableKinds,
)
from accord.sources.sql.problems import join_names, quote_name
from accord.sources.sql.search import order, words_of
from accord.sources.sql.tool_schemas import STRING, input_of, list_of, output_of, text
from accord.sources.sql.tools import READS, async_tool

log: logging.Logger = logging.getLogger("accord")

SEARCH: Final = "search_schema"
"""The name of the tool that searches all databases."""
_DEFAULT_LIMIT: Final = 20
_MAX_LIMIT: Final = 100
_MAX_LISTED: Final = 1_000  # tables of one database in resources/list
_UNSAFE: Final = frozenset("/\\\0")  # what a variable of a URI template cannot hold

Databases = Mapping[str, Database]
"""Databases by name."""


class SearchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `search_schema`."""

    words: str
    database: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=_MAX_LIMIT)] = _DEFAULT_LIMIT


def schema_features(databases: Databases) -> list[Tool | Resource]:
    """Return `search_schema` over all databases, and the resources of each, under its name."""
    found: list[Tool | Resource] = [_search_tool(databases)]
    for name, database in databases.items():
        found += _resources(name, database)
    return found


# search_schema

_OUTPUT: Final = list_of(
    {
        **output_of(database=STRING, table=STRING, kind=STRING),
        "properties": {
            "database": STRING,
            "table": STRING,
            "kind": STRING,
            "comment": STRING,
            "columns": list_of(
                {
                    **output_of(name=STRING, type=STRING),
                    "properties": {"name": STRING, "type": STRING, "comment": STRING},
                }
            ),
        },
    }
)


def _search_tool(databases: Databases) -> Tool:
    properties = {
        "words": text("Words to find in the names of tables and columns, and in comments"),
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": _MAX_LIMIT,
            "default": _DEFAULT_LIMIT,
            "description": "The most tables to return",
        },
    }
    if len(databases) > 1:
        properties["database"] = {
            "type": "string",
            "enum": list(databases),
            "description": "The only database to search",
        }
    several = f"all databases ({', '.join(databases)})" if len(databases) > 1 else "the database"
    return async_tool(
        SEARCH,
        f"Find tables and columns of {several} by words",
        SearchArguments,
        _Search(databases).search_schema,
        input_of(["words"], **properties),
        _OUTPUT,
        READS,
    )


class _Search:
    def __init__(self, databases: Databases) -> None:
        self._databases = databases

    async def search_schema(self, arguments: SearchArguments, _: object) -> Answer[Any]:
        """Search all databases at once; one that fails is a warning beside the others."""
        words = words_of(arguments.words)
        if not words:
            raise _invalid("words", "must have at least one word")
        databases = self._chosen(arguments.database)
        request = SearchSchema(words, arguments.limit)
        replies = await read_each(list(databases.values()), request)
        found = dict(zip(databases, replies, strict=True))
        failed = {name: reply for name, reply in found.items() if isinstance(reply, Problem)}
        if len(failed) == len(found):
            raise next(iter(failed.values()))
        matches = {name: reply for name, reply in found.items() if isinstance(reply, Matches)}
        return _answer(matches, failed, arguments)

    def _chosen(self, name: str | None) -> Databases:
        if name is None:
            return self._databases
        if name not in self._databases:
            fault = f"must be one of {join_names(list(self._databases))}"
            raise _invalid("database", fault)
        return {name: self._databases[name]}


def _invalid(field: str, fault: str) -> Problem:
    return Problem.validation(f"{field} {fault}", fields=[FieldError(field, fault)])


def _answer(
    found: Mapping[str, Matches], failed: Mapping[str, Problem], arguments: SearchArguments
) -> Answer[Any]:
    total = sum(each.total for each in found.values())
    matches = [(name, match) for name, each in found.items() for match in each.matches]
    matches.sort(key=lambda each: order(each[1]))
    shown = matches[: arguments.limit]
    message = f"Found {total} tables:"
    if len(shown) < total:
        message = f"Found {total:,} tables; the best {len(shown)} are:"
    if not total:
        similar = list(dict.fromkeys(name for each in found.values() for name in each.similar))
        message = f"Found no table for {quote_name(arguments.words)}"
        message += f"; similar names: {join_names(similar)}" if similar else ""
    return Answer(
        [_entry(name, match) for name, match in shown],
        message=message,
        name="tables",
        partial=bool(failed),
        warnings=[
            Notice(f"{name} could not be searched: {problem.message}", code="NOT_SEARCHED")
            for name, problem in failed.items()
        ],
    )


def _entry(database: str, match: Match) -> dict[str, Any]:
    entry: dict[str, Any] = msgspec.to_builtins(match.table)
    return {"database": database, "table": entry.pop("name"), **entry}


# Resources


def _resources(name: str, database: Database) -> list[Resource]:
    """Return the list of tables, and the templates of a table and of a column."""
    schema = _Schema(name, database)
    common: dict[str, Any] = {"is_async": True, "mime_type": JSON, "bind": _bind}
    tables = f"schema://{name}"
    return [
        Resource(
            uri=tables,
            name=f"tables of {name}",
            description=f"All tables and views of {name}",
            invoke=schema.tables,
            **common,
        ),
        Resource(
            uri=f"{tables}/{{table}}",
            name=f"table of {name}",
            description=f"The schema of a table or view of {name}",
            invoke=schema.table,
            completers={"table": schema.completer("table")},
            listing=schema.listing,
            **common,
        ),
        Resource(
            uri=f"{tables}/{{table}}/{{column}}",
            name=f"column of {name}",
            description=f"The schema of a column of {name}",
            invoke=schema.column,
            completers={
                "table": schema.completer("table"),
                "column": schema.completer("column"),
            },
            **common,
        ),
    ]


def _bind(variables: bytes) -> Bound:
    return Bound(msgspec.json.decode(variables))


class _Schema:
    """The functions of the resources; each reads the schema as it is now."""

    def __init__(self, name: str, database: Database) -> None:
        self._name = name
        self._database = database

    async def tables(self, _: object, __: object) -> Any:
        reply: TableKinds = await self._database.read(ListTableKinds())
        return msgspec.to_builtins(reply.tables)

    async def table(self, variables: Mapping[str, str], _: object) -> Any:
        request = DescribeTables([variables["table"]])
        reply: TableDescriptions = await self._database.read(request)
        return msgspec.json.decode(reply.json[0])

    async def column(self, variables: Mapping[str, str], _: object) -> Any:
        table = await self.table(variables, None)
        wanted = variables["column"].lower()
        found = next((each for each in table["columns"] if each["name"].lower() == wanted), None)
        if found is None:
            names = [each["name"] for each in table["columns"]]
            raise Problem.not_found(f"no such column; there are {join_names(names)}")
        return {"table_name": table["table_name"], **found}

    async def listing(self) -> Sequence[Listed]:
        """Return the tables, none if the database cannot be read: others may be listed."""
        try:
            reply: TableKinds = await self._database.read(ListTableKinds())
        except Problem as problem:
            log.warning("%s: tables are not listed as resources: %s", self._name, problem)
            return []
        return [
            Listed(
                f"schema://{self._name}/{quote(table.name, safe='')}",
                table.name,
                f"The schema of the {table.kind} {table.name} of {self._name}",
            )
            for table in reply.tables[:_MAX_LISTED]
            if _UNSAFE.isdisjoint(table.name) and table.name not in (".", "..")
        ]

    def completer(self, of: Any) -> Completer:
        """Return the completer of a variable."""
        return Completer(self._completing(of), is_async=True)

    def _completing(self, of: Any) -> Callable[[str, dict[str, str]], Any]:
        async def complete(typed: str, others: dict[str, str]) -> Completion:
            request = CompleteName(typed, of, others.get("table"))
            reply: Names = await self._database.read(request)
            return Completion(reply.values, reply.total, reply.total > len(reply.values))

        return complete
