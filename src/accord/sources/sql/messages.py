"""Messages between the server and a worker process: requests, replies, settings.

Most requests are also the arguments of a tool.
"""

from typing import Annotated, Any, Final, Literal

import msgspec

from accord.model.answer import FieldError, Kind, Problem

LINE: Final = "line"
"""The member of a Problem's data that names a line of a checked query, counted from 1."""
NEEDS_RECOVERY: Final = "NEEDS_RECOVERY"
"""Code of the Problem that a reader raises if an interrupted transaction must be rolled back."""

MAX_FILE: Final = 256 * 1024 * 1024
"""Maximum size in bytes of a temporary file that a query sorts in."""

Params = list[Any] | dict[str, Any] | None
MaxChanges = Annotated[int, msgspec.Meta(ge=0)]


class _Request(
    msgspec.Struct, frozen=True, tag_field="$request", tag=True, forbid_unknown_fields=True
):
    """Base of all requests."""


class ListTables(_Request, frozen=True):
    """List all tables and views."""


class DescribeTable(_Request, frozen=True):
    """Describe a table or view."""

    table_name: str
    details: bool = False


class SelectRows(_Request, frozen=True, omit_defaults=True):
    """Run a query; skip `skip` rows, then return at most `limit`."""

    query: str
    params: Params
    limit: int
    skip: int
    as_table: bool = False
    """Return the names of the columns once, and each row as a list."""


class InsertRow(_Request, frozen=True):
    """Insert a row."""

    table_name: str
    data: dict[str, Any]
    dry_run: bool = False


class UpdateRows(_Request, frozen=True):
    """Update the rows that meet the conditions."""

    table_name: str
    data: dict[str, Any]
    where: dict[str, Any]
    dry_run: bool = False
    max_changes: MaxChanges | None = None


class DeleteRows(_Request, frozen=True):
    """Delete the rows that meet the conditions."""

    table_name: str
    where: dict[str, Any]
    dry_run: bool = False
    max_changes: MaxChanges | None = None


class ListTableKinds(_Request, frozen=True):
    """List all tables and views, each with its kind."""


class DescribeTables(_Request, frozen=True):
    """Describe several tables: columns, comments, keys both ways, row estimates, sample rows."""

    names: list[str]
    details: bool = False
    sample_rows: int = 0


class SearchSchema(_Request, frozen=True):
    """Find tables whose names, columns or comments have some of the words."""

    words: list[str]
    limit: int


class CompleteName(_Request, frozen=True):
    """Find the names that begin with the typed text: of tables, or of the columns of one or all."""

    typed: str
    of: Literal["table", "column"] = "table"
    table_name: str | None = None


class ExplainQuery(_Request, frozen=True):
    """Return the plan of a query; with `analyze`, run it and measure."""

    query: str
    params: Params = None
    analyze: bool = False


class CheckQuery(_Request, frozen=True):
    """Prepare a query as SelectRows would run it, without running it."""

    query: str
    params: list[str]
    """The names of the parameters, all of which are null."""


SchemaRequest = ListTableKinds | DescribeTables | SearchSchema | CompleteName
QueryRequest = SelectRows | CheckQuery | ExplainQuery
ReadRequest = ListTables | DescribeTable | SchemaRequest | QueryRequest
WriteRequest = InsertRow | UpdateRows | DeleteRows
Request = ReadRequest | WriteRequest


class _Reply(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """Base of all replies."""


class TableNames(_Reply, frozen=True):
    """The names of all tables, then those of all views."""

    names: list[str]


class TableDescription(_Reply, frozen=True):
    """The name of a table, and the JSON of its description."""

    table_name: str
    json: bytes


class Rows(_Reply, frozen=True):
    """The JSON of a list of rows, each an object; or of a table, see `SelectRows`."""

    json: bytes
    count: int
    has_more: bool = False
    notices: list[str] = []


class TableKind(msgspec.Struct, frozen=True):
    """A table or view, and which of them it is."""

    name: str
    kind: str


class TableKinds(_Reply, frozen=True):
    """All tables, then all views."""

    tables: list[TableKind]


class TableDescriptions(_Reply, frozen=True):
    """The names of tables, and the JSON of the description of each."""

    names: list[str]
    json: list[bytes]


class ColumnEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A column, as a search of the schema finds it."""

    name: str
    type: str
    comment: str | None = None


class TableEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A table and its columns, as a search of the schema finds them."""

    name: str
    kind: str
    comment: str | None = None
    columns: list[ColumnEntry] = []


class Match(msgspec.Struct, frozen=True):
    """A table that a search found, with its matching columns only; a higher score is better."""

    score: float
    table: TableEntry


class Matches(_Reply, frozen=True):
    """The best matches of a search, how many there are, and names like the words."""

    matches: list[Match]
    total: int
    similar: list[str] = []


class Names(_Reply, frozen=True):
    """Some names, and how many there are."""

    values: list[str]
    total: int


class QueryPlan(_Reply, frozen=True):
    """The plan of a query, as JSON and as an indented text."""

    json: bytes
    text: str


class CheckedQuery(_Reply, frozen=True):
    """The columns of a query."""

    columns: list[str]
    types: list[str | None]
    """The JSON types of the columns; None if a column may have values of several types."""


class ChangeCount(_Reply, frozen=True):
    """The number of rows that changed, or would have, and the id of an inserted one."""

    changes: int
    last_insert_id: Any = None


class ProblemReply(_Reply, frozen=True):
    """The fields of a Problem."""

    message: str
    kind: Kind
    code: str
    fields: list[FieldError] = []
    remediation: str | None = None
    retryable: bool = False
    line: int | None = None
    """See `LINE`."""

    @classmethod
    def from_problem(cls, problem: Problem) -> "ProblemReply":
        """Return the reply for a Problem."""
        return cls(
            message=problem.message,
            kind=problem.kind,
            code=problem.code,
            fields=list(problem.fields),
            remediation=problem.remediation,
            retryable=problem.retryable,
            line=(problem.data or {}).get(LINE),
        )

    @property
    def problem(self) -> Problem:
        """The Problem to raise."""
        return Problem(
            self.message,
            kind=self.kind,
            code=self.code,
            fields=self.fields,
            remediation=self.remediation,
            retryable=self.retryable,
            data=None if self.line is None else {LINE: self.line},
        )


class CrashReply(_Reply, frozen=True):
    """The traceback of a bug, for the log only."""

    traceback: str


class Ready(_Reply, frozen=True):
    """The first message of a worker: it has started."""


Reply = (
    TableNames
    | TableDescription
    | Rows
    | TableKinds
    | TableDescriptions
    | Matches
    | Names
    | QueryPlan
    | CheckedQuery
    | ChangeCount
    | ProblemReply
    | CrashReply
    | Ready
)


class WorkerSettings(msgspec.Struct, frozen=True):
    """The first message to a worker: the database, and how it may be used."""

    url: str
    """The path of a file, or `postgresql://…`."""
    writes: bool
    timeout: float
    max_bytes: int
    max_length: int
    allow: frozenset[str] | None = None
    wal: bool = False

    @property
    def timeout_problem(self) -> Problem:
        """The Problem of a request that the database stopped at the time limit."""
        operation = "change" if self.writes else "query"
        consequence = "nothing was changed" if self.writes else "it was stopped"
        return Problem.timeout(
            f"The {operation} took longer than {self.timeout:g} s; {consequence}",
            remediation="ask for less, or for what an index can find",
            retryable=False,
        )

    @property
    def kill_problem(self) -> Problem:
        """The Problem of a request whose worker was killed after the time limit."""
        if not self.writes:
            return self.timeout_problem
        return Problem.timeout(
            f"The change took longer than {self.timeout:g} s; check whether it was made",
            retryable=False,
        )


encode_request: Final = msgspec.json.Encoder().encode
decode_request: Final = msgspec.json.Decoder(Request).decode
encode_reply: Final = msgspec.msgpack.Encoder().encode
decode_reply: Final = msgspec.msgpack.Decoder(Reply).decode
