"""The response-v2 envelope, and the two functions that create it.

They work in any framework: a tool can return `asdict(success_response(users=[…]))`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from types import NoneType
from typing import Any, Final, Literal

import msgspec

from accord.errors import ContractError
from accord.model import schemas
from accord.model.answer import KINDS, Answer, Encoded, FieldError, Notice, Page, Problem
from accord.model.arguments import Checker, JsonSchema
from accord.model.values import as_json, known

VERSION: Final = "response-v2"
ROOT: Final = frozenset({"success", "data", "error", "meta"})
_SCALARS: Final = frozenset({list, str, int, float, bool, NoneType, tuple, Encoded, msgspec.Raw})
_FLAGS: Final = frozenset({"partial", "truncated"})
_NO_REASON: Final = "The tool reported a failure"
_PAGE_NAMES: Final = {"page_size": "limit", "total_count": "total"}


@dataclass(frozen=True)
class Envelope:
    """A response-v2 envelope; a contradictory one raises ContractError."""

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
    *,
    meta: Mapping[str, Any] | None = None,
    warnings: Iterable[Notice | str] = (),
    pagination: Page | Mapping[str, Any] | None = None,
    request_id: str | None = None,
    telemetry: Mapping[str, Any] | None = None,
    rate_limit: Mapping[str, Any] | None = None,
    content_fidelity: Literal["full", "partial", "summary", "reference_only"] | None = None,
    **fields: Any,
) -> Envelope:
    """Return a response-v2 envelope for a success, with the payload in `data` or in keywords.

    A list becomes the member `items` and a single value `result`. `meta` are further members of
    `meta`, with names of your own.
    """
    notices = notices_of(warnings)
    known_meta = known(
        request_id=request_id,
        pagination=None if pagination is None else pagination_of(pagination),
        rate_limit=rate_limit,
        telemetry=telemetry,
        content_fidelity=content_fidelity,
    )
    free = _free_meta(meta)
    return _checked(True, _payload(data, fields), None, known_meta | warnings_of(notices) | free)


def _free_meta(meta: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return free members of `meta`; raise if one has a name of the contract."""
    if meta is None:
        return {}
    if not isinstance(meta, Mapping):
        raise ContractError(
            "meta must be a mapping of further members; pass a payload with a member of that name"
            " as data={'meta': …}"
        )
    reserved = meta.keys() & schemas.load(VERSION)["properties"]["meta"]["properties"].keys()
    if reserved:
        raise ContractError(
            f"meta must not have {min(reserved)!r}, which response-v2 defines; use the argument for"
            " it, if there is one"
        )
    return dict(meta)


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
    """Return a response-v2 envelope for a failure, with the given context in `data`."""
    if type is not None and type not in KINDS:
        raise ContractError(f"no error type {type!r}; there are {', '.join(KINDS)}")
    data = known(error_code=code, error_type=type, remediation=remediation, details=details)
    meta = known(request_id=request_id, rate_limit=rate_limit, telemetry=telemetry)
    return _checked(False, data, message, meta)


def envelope_in(value: Any) -> Envelope | None:
    """Return a tool's value as an envelope if it is one, as a dataclass or by its shape.

    The shape is that of response-v2: exactly its four members, and no contradiction.
    """
    kind: Any = type(value)
    if kind in _SCALARS:
        return None
    is_mapping = isinstance(value, dict) or isinstance(value, Mapping)  # noqa: SIM101 - faster
    if not (value.keys() == ROOT if is_mapping else _has_root(kind)):
        return None
    if isinstance(value, Envelope):
        return value
    found = value if is_mapping else {name: getattr(value, name) for name in ROOT}
    data, error = found["data"], found["error"]
    if found["success"] is False:  # also an incomplete failure must not go out as a success
        data = {} if data is None else data
        error = error if isinstance(error, str) and error.strip() else _NO_REASON
    try:
        if not isinstance(data, dict):
            data = as_json(data, "data")
        return Envelope(found["success"], data, error, as_json(found["meta"], "meta"))
    except ContractError:
        return None


@lru_cache(1_024)
def _has_root(kind: Any) -> bool:
    """True if a record type has exactly the four fields of an envelope."""
    if is_dataclass(kind):
        return {field.name for field in fields(kind)} == ROOT
    if issubclass(kind, msgspec.Struct):
        return set(kind.__struct_encode_fields__) == ROOT
    names = getattr(kind, "model_fields", None)  # of a pydantic model
    return isinstance(names, Mapping) and names.keys() == ROOT


def is_envelope_schema(schema: JsonSchema) -> bool:
    """True if a schema describes the four members of an envelope."""
    properties = schema.get("properties")
    return isinstance(properties, dict) and properties.keys() == ROOT


def to_answer(envelope: Envelope) -> Answer[Any]:
    """Return the Answer that an envelope contains; raise a Problem for a failure."""
    meta = _readable_meta(envelope.meta)
    del meta["version"]
    if not envelope.success:
        raise _problem(envelope, meta)
    pagination = meta.pop("pagination", None)
    page = None if pagination is None else page_of(pagination)
    if pagination is not None:
        names = {_PAGE_NAMES.get(name, name): name for name in pagination}
        more = {names[n]: pagination[names[n]] for n in names if n not in Page.__struct_fields__}
        meta |= {"pagination": more} if more else {}
    return Answer(
        envelope.data,
        message=meta.pop("message", None),
        warnings=_warnings(meta),
        page=page,
        partial=meta.pop("partial", False),
        truncated=meta.pop("truncated", False),
        meta=meta or None,
    )


def _readable_meta(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return `meta` with what response-v2 does not allow under `other`, and without nulls."""
    found = {
        name: each
        for name, each in as_json(meta, "meta").items()
        if name == "wrapper" or not (each is None or (each is False and name in _FLAGS))
    }
    if isinstance(found.get("pagination"), dict):
        found["pagination"] = pagination_of(found["pagination"])
    whole = {"success": True, "data": {}, "error": None, "meta": found}
    steps = (fault.field.removeprefix("meta.") for fault in _checker().errors(whole))
    wrong = {step.partition(".")[0].partition("[")[0] for step in steps}
    other = {name: found.pop(name) for name in wrong & found.keys()}
    return {**found, "other": other} if other else found


def _warnings(meta: dict[str, Any]) -> list[Notice]:
    """Remove the warnings from `meta` and return them."""
    sentences, details = meta.pop("warnings", ()), meta.pop("warning_details", ())
    if details:
        return [Notice(each["message"], each.get("code"), each["severity"]) for each in details]
    return [Notice(sentence) for sentence in sentences]


def _problem(envelope: Envelope, meta: dict[str, Any]) -> Problem:
    data, error = envelope.data, meta.pop("error", {})
    kind = error.get("type", data.get("error_type"))
    code, remediation = (
        error.get(name, data.get(other))
        for name, other in (("code", "error_code"), ("remediation", "remediation"))
    )
    return Problem(
        str(envelope.error),
        kind=kind if isinstance(kind, str) and kind in KINDS else "internal",  # type: ignore[arg-type]
        code=code if isinstance(code, str) else None,
        summary=error.get("summary"),
        fields=[FieldError(e["field"], e["error"], e["severity"]) for e in error.get("fields", ())],
        remediation=remediation if isinstance(remediation, str) else None,
        retryable=error.get("retryable"),
        retry_after=error.get("retry_after"),
        data=as_json(data, "data") or None,
        meta=meta or None,
    )


def page_of(pagination: Mapping[str, Any]) -> Page:
    """Return the Page for `meta.pagination`."""
    fields = {_PAGE_NAMES.get(name, name): each for name, each in pagination.items()}
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
    if fields:
        raise ContractError(
            f"the payload must be data or named fields, not both; put {min(fields)!r} into data"
        )
    if isinstance(data, Mapping):
        return dict(data)
    return {"items" if isinstance(data, list | tuple) else "result": data}


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
