"""What is asked of a database and what it says, as a server and its worker send it to each other.

The requests are also what the tools take, as far as both are the same.
"""

from typing import Annotated, Any, Final

import msgspec

from accord.model.answer import FieldError, Kind, Problem

NEEDS_RECOVERY: Final = "NEEDS_RECOVERY"
"""The code of the problem that a reader has with a change that somebody could not finish."""

Params = list[Any] | dict[str, Any] | None
Limit = Annotated[int, msgspec.Meta(ge=0)]


class _Request(msgspec.Struct, frozen=True, tag_field="$ask", tag=True, forbid_unknown_fields=True):
    """One thing that is asked of a database."""


class Tables(_Request, frozen=True):
    """Which tables and views there are."""


class Describe(_Request, frozen=True):
    """What one of them is made of."""

    table_name: str
    details: bool = False


class Select(_Request, frozen=True):
    """The rows of a query: at most so many, behind so many others."""

    query: str
    params: Params
    most: int
    skip: int


class Insert(_Request, frozen=True):
    """A new row."""

    table_name: str
    data: dict[str, Any]
    dry_run: bool = False


class Update(_Request, frozen=True):
    """New values in rows that meet conditions."""

    table_name: str
    data: dict[str, Any]
    where: dict[str, Any]
    dry_run: bool = False
    max_changes: Limit | None = None


class Delete(_Request, frozen=True):
    """No more rows that meet conditions."""

    table_name: str
    where: dict[str, Any]
    dry_run: bool = False
    max_changes: Limit | None = None


Reading = Tables | Describe | Select
Writing = Insert | Update | Delete
Request = Reading | Writing


class _Reply(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """What comes back."""


class Names(_Reply, frozen=True):
    """The names of all tables, then those of all views."""

    names: list[str]


class Described(_Reply, frozen=True):
    """A table: the JSON of what it is made of."""

    table_name: str
    json: bytes


class Rows(_Reply, frozen=True):
    """Rows: the JSON of a list of objects, and whether there are more behind them."""

    json: bytes
    count: int
    has_more: bool = False
    notices: list[str] = []


class Changed(_Reply, frozen=True):
    """How many rows were changed, or would have been, and the id of a new one."""

    changes: int
    last_insert_id: Any = None


class Failed(_Reply, frozen=True):
    """A Problem, as data."""

    message: str
    kind: Kind
    code: str
    fields: list[FieldError] = []
    remediation: str | None = None
    retryable: bool = False

    @classmethod
    def of(cls, problem: Problem) -> "Failed":
        """The same as data."""
        return cls(
            message=problem.message,
            kind=problem.kind,
            code=problem.code,
            fields=list(problem.fields),
            remediation=problem.remediation,
            retryable=problem.retryable,
        )

    @property
    def problem(self) -> Problem:
        """The same to raise."""
        return Problem(
            self.message,
            kind=self.kind,
            code=self.code,
            fields=self.fields,
            remediation=self.remediation,
            retryable=self.retryable,
        )


class Broken(_Reply, frozen=True):
    """A bug: what Python says of it, for the log and for nobody else."""

    traceback: str


class Ready(_Reply, frozen=True):
    """The first thing that a worker says."""


Reply = Names | Described | Rows | Changed | Failed | Broken | Ready


class Settings(msgspec.Struct, frozen=True):
    """What a worker is told before anything is asked of it."""

    url: str
    """A file's path, or `postgresql://…`."""
    writes: bool
    timeout: float
    max_bytes: int
    max_length: int
    allow: frozenset[str] | None = None
    wal: bool = False

    @property
    def stopped(self) -> Problem:
        """What is said when the time is up."""
        what = "change took" if self.writes else "query took"
        rest = "nothing was changed" if self.writes else "it was stopped"
        return Problem.timeout(
            f"The {what} longer than {self.timeout:g} s; {rest}",
            remediation="ask for less, or for what an index can find",
            retryable=False,
        )

    @property
    def killed(self) -> Problem:
        """What is said when the time was up long ago, and a worker had to be ended."""
        if not self.writes:
            return self.stopped
        return Problem.timeout(
            f"The change took longer than {self.timeout:g} s; look whether it took place",
            retryable=False,
        )


encode_request: Final = msgspec.json.Encoder().encode
decode_request: Final = msgspec.json.Decoder(Request).decode
encode_reply: Final = msgspec.msgpack.Encoder().encode
decode_reply: Final = msgspec.msgpack.Decoder(Reply).decode
