"""`envelope`: response-v2, for successes and failures alike."""

from typing import Any

import msgspec

from accord.model.answer import Answer, Problem, Value
from accord.model.envelope import VERSION, pagination_of, warnings_of
from accord.model.values import known
from accord.profiles.parts import has_beside, own_schema, own_shape, shape_of, shaped
from accord.profiles.profile import Profile, RenderContext, Result, TextResult
from accord.telemetry import CallTelemetry


class _Root(msgspec.Struct, frozen=True, gc=False):
    success: bool
    data: Any
    error: str | None
    meta: dict[str, Any]


_NOTHING = msgspec.Raw(b"{}")


def success(answer: Answer[Value], setting: RenderContext) -> TextResult | Result:
    """The envelope as JSON text, and as structure."""
    meta: dict[str, Any] = {"version": VERSION}
    data = _object(answer, meta)
    has_more = has_beside(answer)
    if has_more or answer.message is not None:
        _add_details(meta, answer)
    if setting.observed is not None:
        _add_observed(meta, setting.observed)
    return shaped(_Root(True, data, None, meta), answer, setting, has_more=has_more)


def failure(problem: Problem, setting: RenderContext) -> Result:
    """The same, with `isError` beside it."""
    meta: dict[str, Any] = {"version": VERSION, "error": _error(problem)}
    if setting.observed is not None:
        _add_observed(meta, setting.observed)
    said = own_shape(_Root(False, _NOTHING, problem.message, meta), setting)
    return said.to_dict() | {"isError": True}


def _object(answer: Answer[Value], meta: dict[str, Any]) -> Any:
    """The data as an object. A wrapper of ours is named in `meta`, so that a reader can undo it."""
    data, shape = answer.data, shape_of(answer.data)
    value = data if isinstance(data, str) else msgspec.Raw(data.json)
    if shape == "object":
        return value
    if shape == "null":
        meta["wrapper"] = None
        return _NOTHING
    wrapper = (answer.name or "items") if shape == "list" else "result"
    meta["wrapper"] = wrapper
    return {wrapper: value}


def _add_details(meta: dict[str, Any], answer: Answer[Value]) -> None:
    if answer.message is not None:
        meta["message"] = answer.message
    if answer.page is not None:
        meta["pagination"] = pagination_of(answer.page)
    if answer.warnings:
        meta |= warnings_of(answer.warnings)  # type: ignore[arg-type]  # all are Notices by now
    if answer.partial:
        meta["partial"] = True
    if answer.truncated:
        meta |= {"truncated": True, "content_fidelity": "partial"}


def _add_observed(meta: dict[str, Any], observed: CallTelemetry) -> None:
    meta |= {"request_id": observed.request_id, "telemetry": observed.telemetry}


def _error(problem: Problem) -> dict[str, Any]:
    said = {"code": problem.code, "type": problem.kind, "retryable": problem.retryable}
    return said | known(
        summary=problem.summary,
        remediation=problem.remediation,
        retry_after=problem.retry_after,
        fields=problem.fields or None,
    )


PROFILE = Profile("envelope", success, failure, own_schema(VERSION), has_own_shape=True)
