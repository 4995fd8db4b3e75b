"""The response-v2 envelope, and the two functions that create it.

They work in any framework: a tool can return `asdict(success_response(users=[…]))`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from accord.errors import ContractError
from accord.model import schemas
from accord.model.answer import KINDS, Answer, Notice, Page, Problem
from accord.model.arguments import Checker
from accord.model.values import as_json, known

VERSION: Final = "response-v2"


@dataclass(frozen=True)
class Envelope:
    """The root of a response-v2; a contradictory one raises ContractError."""

    success: bool
    data: dict[str, Any]
    error: str | None
    meta: dict[str, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.success, bool):  # a caller may be untyped
            raise ContractError("success must be a bool")
        if self.success and self.error is not None:
            raise ContractError("error must be None in a success")
        if not self.success and not (isinstance(self.error, str) and self.error.strip()):
            raise ContractError("error must be a message in a failure")
        if not isinstance(self.data, dict):
            raise ContractError("data must be a dict; put a list or a value into a member of it")
        meta: object = self.meta
        if not isinstance(meta, dict) or meta.get("version") != VERSION:
            raise ContractError(f"meta must have the version {VERSION!r}")


def success_response(
    data: Any = None,
    /,
    *,
    warnings: Iterable[Notice | str] = (),
    pagination: Page | Mapping[str, Any] | None = None,
    request_id: str | None = None,
    telemetry: Mapping[str, Any] | None = None,
    rate_limit: Mapping[str, Any] | None = None,
    content_fidelity: Literal["full", "partial", "summary", "reference_only"] | None = None,
    **fields: Any,
) -> Envelope:
    """Return the envelope of a success. The payload is `data`, named fields, or both.

    A list becomes the member `items` and a single value `result`, unless given by name.
    """
    notices = notices_of(warnings)
    meta = known(
        request_id=request_id,
        pagination=None if pagination is None else pagination_of(pagination),
        rate_limit=rate_limit,
        telemetry=telemetry,
        content_fidelity=content_fidelity,
    )
    return _checked(True, _payload(data, fields), None, meta | warnings_of(notices))


def error_response(
    message: str,
    /,
    *,
    code: str | None = None,
    type: str | None = None,
    remediation: str | None = None,
    details: Mapping[str, Any] | None = None,
    request_id: str | None = None,
    telemetry: Mapping[str, Any] | None = None,
    rate_limit: Mapping[str, Any] | None = None,
) -> Envelope:
    """Return the envelope of a failure, with the given context in `data`."""
    if type is not None and type not in KINDS:
        raise ContractError(f"no error type {type!r}; there are {', '.join(KINDS)}")
    data = known(error_code=code, error_type=type, remediation=remediation, details=details)
    meta = known(request_id=request_id, rate_limit=rate_limit, telemetry=telemetry)
    return _checked(False, data, message, meta)


def to_answer(envelope: Envelope) -> Answer[Any]:
    """Return the Answer that an envelope contains; raise a Problem for a failure."""
    data, meta = envelope.data, envelope.meta
    if not envelope.success:
        raise Problem(
            str(envelope.error),
            kind=data.get("error_type", "internal"),
            code=data.get("error_code"),
            remediation=data.get("remediation"),
        )
    details = meta.get("warning_details") or [{"message": m} for m in meta.get("warnings", ())]
    pagination = meta.get("pagination")
    return Answer(
        data,
        warnings=[Notice(**each) for each in details],
        page=None if pagination is None else page_of(pagination),
    )


def page_of(pagination: Mapping[str, Any]) -> Page:
    """Return the Page for `meta.pagination`."""
    names = {"page_size": "limit", "total_count": "total"}
    fields = {names.get(name, name): each for name, each in pagination.items()}
    return Page(**{name: fields[name] for name in Page.__struct_fields__ if name in fields})


def _checked(
    success: bool, data: dict[str, Any], error: str | None, meta: dict[str, Any]
) -> Envelope:
    meta = {"version": VERSION, **as_json(meta, "meta")}
    envelope = Envelope(success, as_json(data, "data"), as_json(error, "error"), meta)
    for fault in _checker().errors(vars(envelope)):
        raise ContractError(f"{fault.field} {fault.error}")
    return envelope


@lru_cache
def _checker() -> Checker:
    return Checker(schemas.load(VERSION))


def _payload(data: Any, fields: dict[str, Any]) -> dict[str, Any]:
    if data is None:
        return fields
    if not isinstance(data, Mapping):
        data = {"items" if isinstance(data, list | tuple) else "result": data}
    clash = data.keys() & fields.keys()
    if clash:
        raise ContractError(f"{min(clash)!r} must not be both in data and a named field")
    return {**data, **fields}


def notices_of(warnings: Iterable[Notice | str]) -> Sequence[Notice]:
    """Return warnings as Notices; raise if they are neither strings nor Notices."""
    given = [warnings] if isinstance(warnings, str) else list(warnings)
    for each in given:
        if not isinstance(each, str | Notice):
            raise ContractError(
                "warnings must be strings or Notices; pass a payload with a member of that name"
                " as the first argument"
            )
    return [each if isinstance(each, Notice) else Notice(each) for each in given]


def warnings_of(notices: Sequence[Notice]) -> dict[str, Any]:
    """Return the members of `meta` for warnings: messages, and details if one has any."""
    if not notices:
        return {}
    members: dict[str, Any] = {"warnings": [notice.message for notice in notices]}
    if any(notice.code is not None or notice.severity != "warning" for notice in notices):
        members["warning_details"] = [
            known(code=notice.code, severity=notice.severity, message=notice.message)
            for notice in notices
        ]
    return members


def pagination_of(page: Page | Mapping[str, Any]) -> dict[str, Any]:
    """Return `meta.pagination` for a page: three fixed members, and the others if known."""
    if not isinstance(page, Page):
        return {"cursor": None, "has_more": None, "page_size": None, **known(**page)}
    always = {"cursor": page.cursor, "has_more": page.has_more, "page_size": page.limit}
    return always | known(
        total_count=page.total,
        offset=page.offset,
        next_offset=page.next_offset,
        before=page.before,
        after=page.after,
    )
