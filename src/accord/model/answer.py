"""The result of a tool: an `Answer`, a `Problem` that it raises, or `InputRequired`."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from types import MappingProxyType
from typing import (
    Any,
    Final,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
)

import msgspec

from accord.errors import ContractError
from accord.model.content import Block

T = TypeVar("T")

Severity = Literal["info", "warning", "error"]
_SEVERITIES: Final = frozenset({"info", "warning", "error"})


class Notice(msgspec.Struct, frozen=True, omit_defaults=True):
    """A warning beside an answer."""

    message: str
    code: str | None = None
    severity: Severity = "warning"

    def __post_init__(self) -> None:
        if self.severity not in _SEVERITIES:
            raise ContractError(f"no severity {self.severity!r}; there are info, warning, error")


class Page(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The position of an answer's items in the full list. Unknown members are None."""

    offset: int | None = None
    limit: int | None = None
    total: int | None = None
    has_more: bool | None = None
    next_offset: int | None = None
    cursor: str | None = None
    before: str | None = None
    after: str | None = None


Layout = Literal["indented", "line", "table"]


class Encoded(msgspec.Struct, frozen=True, gc=False):
    """Data that is already encoded as JSON, from a source that encodes faster than Python."""

    json: bytes
    is_checked: bool = False
    """True if the source guarantees one line of valid JSON; else it is checked."""
    layout: Layout = "indented"
    """How `prose` shows it: as indented JSON, as one line, or `columns` and `rows` as Markdown."""
    items_at: tuple[str, ...] | None = None
    """Path of the list that is cut if the answer is too large; its largest part if None."""


Value = str | Encoded
"""Data ready to be sent: plain text, or encoded JSON."""


class _Details(msgspec.Struct, frozen=True, kw_only=True):
    """The keyword-only fields of `Answer`."""

    message: str | None = None
    text: str | None = None
    page: Page | None = None
    warnings: Sequence[Notice | str] = ()
    blocks: Sequence[Block | str] = ()
    name: str | None = None
    partial: bool = False
    truncated: bool = False
    page_in_data: bool = False
    meta: Mapping[str, Any] | None = None


class Answer(_Details, Generic[T], frozen=True):
    """The result of a successful tool call: data, message, page, warnings and content blocks.

    `message` is a sentence; `text`, if given, is the whole text in the `prose` profile; `name`
    is the member for a list inside an envelope; `partial` means that part of the work failed,
    `truncated` that `data` is incomplete. A warning may be a plain string. `page_in_data` means
    that the data itself states the page, so no profile adds it. `meta` are free members for the
    `meta` of an envelope; other profiles send them in `_meta`.
    """

    data: T = None  # type: ignore[assignment]  # an answer may have a message only

    def __post_init__(self) -> None:
        """Convert warnings given as strings to Notices."""
        if self.warnings:
            given = [self.warnings] if isinstance(self.warnings, str) else self.warnings
            notices = tuple(Notice(w) if isinstance(w, str) else w for w in given)
            msgspec.structs.force_setattr(self, "warnings", notices)

    def with_warnings(self, notices: Sequence[Notice | str]) -> "Answer[T]":
        """Return a copy of the answer with more warnings."""
        return msgspec.structs.replace(self, warnings=(*self.warnings, *notices))


Kind = Literal[
    "validation",
    "authentication",
    "authorization",
    "not_found",
    "conflict",
    "rate_limit",
    "timeout",
    "unavailable",
    "internal",
]


class KindRule(NamedTuple):
    """Defaults of a kind of problem: its code, and whether a retry may succeed."""

    code: str
    retryable: bool


KINDS: Final = MappingProxyType[Kind, KindRule](
    {
        "validation": KindRule("VALIDATION_ERROR", retryable=False),
        "authentication": KindRule("UNAUTHENTICATED", retryable=False),
        "authorization": KindRule("FORBIDDEN", retryable=False),
        "not_found": KindRule("NOT_FOUND", retryable=False),
        "conflict": KindRule("CONFLICT", retryable=False),
        "rate_limit": KindRule("RATE_LIMITED", retryable=True),
        "timeout": KindRule("TIMEOUT", retryable=True),
        "unavailable": KindRule("UNAVAILABLE", retryable=True),
        "internal": KindRule("INTERNAL_ERROR", retryable=False),
    }
)


class FieldError(msgspec.Struct, frozen=True):
    """An invalid input field; `field` is its path (`spells.first_level[0].level`)."""

    field: str
    error: str
    severity: Severity = "error"


class Details(TypedDict, total=False):
    """Optional fields of a Problem."""

    code: str | None
    summary: str | None
    fields: Iterable[FieldError]
    remediation: str | None
    retryable: bool | None
    retry_after: float | None
    data: Mapping[str, Any] | None
    meta: Mapping[str, Any] | None


class _Make(Protocol):
    """Constructor of a Problem of one kind."""

    def __call__(self, message: str, **details: Unpack[Details]) -> "Problem": ...


def _of(kind: Kind) -> _Make:
    def make(cls: "type[Problem]", message: str, **details: Unpack[Details]) -> "Problem":
        return cls(message, kind=kind, **details)

    return cast(_Make, classmethod(make))


class Problem(Exception):
    """The error of a failed call. A tool raises it, and the caller sees it as written.

    `Problem.not_found("No customer 7", remediation="call customers first")`: there is one such
    constructor for each kind. `code` and `retryable` follow from the kind unless they are given.
    `summary` names the failed operation in a few words, `message` gives the reason. `data` is
    context for a program, and `meta` free members for the `meta` of an envelope.
    """

    message: str
    kind: Kind
    code: str
    summary: str | None
    fields: tuple[FieldError, ...]
    remediation: str | None
    retryable: bool
    retry_after: float | None
    data: Mapping[str, Any] | None
    meta: Mapping[str, Any] | None

    validation: _Make = _of("validation")
    """The arguments are not valid; `fields` has the invalid ones."""
    authentication: _Make = _of("authentication")
    """The caller is not authenticated."""
    authorization: _Make = _of("authorization")
    """The caller is not allowed to do this."""
    not_found: _Make = _of("not_found")
    """The requested object does not exist."""
    conflict: _Make = _of("conflict")
    """The request conflicts with the current state, such as a duplicate name."""
    rate_limit: _Make = _of("rate_limit")
    """There were too many calls; `retry_after` is the time to wait in seconds."""
    timeout: _Make = _of("timeout")
    """The call took too long."""
    unavailable: _Make = _of("unavailable")
    """A service that the call needs is not available."""
    internal: _Make = _of("internal")
    """The call failed because of an error in the server."""

    def __init__(
        self,
        message: str,
        *,
        kind: Kind = "internal",
        code: str | None = None,
        summary: str | None = None,
        fields: Iterable[FieldError] = (),
        remediation: str | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
        data: Mapping[str, Any] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        if kind not in KINDS:
            raise ContractError(f"no problem kind {kind!r}; there are {', '.join(KINDS)}")
        if not message.strip():
            raise ContractError("the message of a Problem must not be empty")
        super().__init__(message)
        rule = KINDS[kind]
        vars(self).update(
            message=message,
            kind=kind,
            code=rule.code if code is None else code,
            summary=summary,
            fields=tuple(fields),
            remediation=remediation,
            retryable=rule.retryable if retryable is None else retryable,
            retry_after=retry_after if isfinite(retry_after or 0) else None,
            data=data,
            meta=meta,
        )

    def __setattr__(self, name: str, value: object) -> None:
        self._require_writable(name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._require_writable(name)
        super().__delattr__(name)

    def _require_writable(self, name: str) -> None:
        """Raise if the name is a field; Python's own attributes of exceptions stay writable."""
        if name in Problem.__annotations__:
            raise AttributeError(f"a Problem's {name} is read-only")

    def with_message(self, message: str) -> "Problem":
        """Return a copy with another message."""
        return Problem(
            message,
            kind=self.kind,
            code=self.code,
            summary=self.summary,
            fields=self.fields,
            remediation=self.remediation,
            retryable=self.retryable,
            retry_after=self.retry_after,
            data=self.data,
            meta=self.meta,
        )

    def __setstate__(self, state: dict[str, Any] | None) -> None:
        """Restore the fields for pickle and copy, which pass only the message to `__init__`."""
        vars(self).update(state or {})


MASKED: Final = Problem.internal("Internal error")
"""The outcome of any exception that is not meant for the caller."""


class InputRequired(BaseException):
    """Raised to end a call that needs responses of the client; it runs again with them.

    A BaseException, so that `except Exception` in a tool does not catch it.
    """

    def __init__(self, questions: Mapping[str, Any], state: str | None = None) -> None:
        """`state` is the `requestState` of another server, which comes back with the responses."""
        super().__init__(", ".join(questions))
        self.questions: dict[str, Any] = dict(questions)
        self.state = state
