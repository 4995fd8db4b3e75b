"""What a tool says, before any wire: an `Answer`, a `Problem` that it raises, or `Asking`."""

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
    """A warning that goes along with an answer."""

    message: str
    code: str | None = None
    severity: Severity = "warning"

    def __post_init__(self) -> None:
        if self.severity not in _SEVERITIES:
            raise ContractError(f"no severity {self.severity!r}; there are info, warning, error")


class Page(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Where an answer's items stand among all there are. What is not known is left out."""

    offset: int | None = None
    limit: int | None = None
    total: int | None = None
    has_more: bool | None = None
    next_offset: int | None = None
    cursor: str | None = None
    before: str | None = None
    after: str | None = None


class Encoded(msgspec.Struct, frozen=True, gc=False):
    """Data that is JSON already, from a source that writes it faster than Python can."""

    json: bytes
    is_checked: bool = False
    """Its source knows it to be one line of JSON; else that is looked at again."""


Said = str | Encoded
"""Data as it goes on a wire: text as it stands, or JSON."""


class _Details(msgspec.Struct, frozen=True, kw_only=True):
    """The keyword-only half of `Answer`."""

    message: str | None = None
    text: str | None = None
    page: Page | None = None
    warnings: Sequence[Notice | str] = ()
    blocks: Sequence[Block | str] = ()
    name: str | None = None
    partial: bool = False
    truncated: bool = False


class Answer(_Details, Generic[T], frozen=True):
    """What a tool says: its data, and what a reader should know about it.

    `message` is a sentence; `text`, where given, is the whole text in the `prose` profile;
    `name` is what a list is called inside an envelope; `partial` says that some of the work
    could not be done, `truncated` that there is more than `data` holds. A warning may be given as
    a plain string.
    """

    data: T = None  # type: ignore[assignment]  # an answer may have nothing but words

    def __post_init__(self) -> None:
        """Make each warning a Notice, so that nobody after us has to ask."""
        if self.warnings:
            given = [self.warnings] if isinstance(self.warnings, str) else self.warnings
            notices = tuple(Notice(w) if isinstance(w, str) else w for w in given)
            msgspec.structs.force_setattr(self, "warnings", notices)

    def with_warnings(self, notices: Sequence[Notice]) -> "Answer[T]":
        """The same answer with further warnings."""
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
    """What a kind of problem means: its code, and whether the same call may succeed later."""

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
    """One field of the input that is wrong; `field` is its path (`spells.first_level[0].level`)."""

    field: str
    error: str
    severity: Severity = "error"


class Details(TypedDict, total=False):
    """What a Problem may say beyond its kind and message."""

    code: str | None
    summary: str | None
    fields: Iterable[FieldError]
    remediation: str | None
    retryable: bool | None
    retry_after: float | None


class _Make(Protocol):
    """A constructor with the kind filled in."""

    def __call__(self, message: str, **details: Unpack[Details]) -> "Problem": ...


def _of(kind: Kind) -> _Make:
    def make(cls: "type[Problem]", message: str, **details: Unpack[Details]) -> "Problem":
        return cls(message, kind=kind, **details)

    return cast(_Make, classmethod(make))


class Problem(Exception):
    """Why a tool could not do what was asked. A tool raises it; the caller sees it as written.

    `Problem.not_found("No customer 7", remediation="call customers first")`: there is one such
    constructor for each kind. `code` and `retryable` follow from the kind unless they are given.
    `summary` says in a few words what failed, where `message` says why.
    """

    message: str
    kind: Kind
    code: str
    summary: str | None
    fields: tuple[FieldError, ...]
    remediation: str | None
    retryable: bool
    retry_after: float | None

    validation = _of("validation")
    authentication = _of("authentication")
    authorization = _of("authorization")
    not_found = _of("not_found")
    conflict = _of("conflict")
    rate_limit = _of("rate_limit")
    timeout = _of("timeout")
    unavailable = _of("unavailable")
    internal = _of("internal")

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
    ) -> None:
        if kind not in KINDS:
            raise ContractError(f"no problem kind {kind!r}; there are {', '.join(KINDS)}")
        if not message.strip():
            raise ContractError("a problem needs a message that says what is wrong")
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
        )

    def __setattr__(self, name: str, value: object) -> None:
        self._refuse_change(name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._refuse_change(name)
        super().__delattr__(name)

    def _refuse_change(self, name: str) -> None:
        """Fields are read-only; what Python itself keeps on an exception is not ours to stop."""
        if name in Problem.__annotations__:
            raise AttributeError(f"a Problem's {name} is read-only")

    def __setstate__(self, state: dict[str, Any] | None) -> None:
        """For pickle and copy, which rebuild an exception from its message and then its fields."""
        vars(self).update(state or {})


class Asking(BaseException):
    """A run that ends with questions, by their keys: it begins again when they are answered.

    No Exception, so that a tool which catches those does not catch it.
    """

    def __init__(self, questions: Mapping[str, Any]) -> None:
        super().__init__(", ".join(questions))
        self.questions = dict(questions)
