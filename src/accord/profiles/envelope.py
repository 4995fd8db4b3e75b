"""`envelope`: response-v2, for success and failure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from accord.model.answer import Answer, Problem, Value
from accord.model.envelope import VERSION, pagination_of, warnings_of
from accord.model.values import known
from accord.profiles.profile import (
    Profile,
    RenderContext,
    Result,
    TextResult,
    has_details,
    own_schema,
    own_shape,
    shape_of,
    shaped,
)
from accord.telemetry import CallTelemetry


class _Root(msgspec.Struct, frozen=True, gc=False):
    success: bool
    data: Any
    error: str | None
    meta: dict[str, Any]


_NOTHING = msgspec.Raw(b"{}")


def success(answer: Answer[Value], context: RenderContext) -> TextResult | Result:
    """Return the envelope as JSON text, and as structure."""
    meta: dict[str, Any] = {"version": VERSION}
    data = _object(answer, meta)
    has_more = has_details(answer)
    if has_more or answer.message is not None:
        _add_details(meta, answer)
    if context.observed is not None:
        _add_observed(meta, context.observed)
    return shaped(_Root(True, data, None, meta), answer, context, has_more=has_more)


def failure(problem: Problem, context: RenderContext) -> Result:
    """Return the envelope of a failure, with `isError` beside it."""
    meta: dict[str, Any] = {"version": VERSION, "error": _error(problem)}
    if problem.meta:
        _add_free(meta, problem.meta)
    if context.observed is not None:
        _add_observed(meta, context.observed)
    data = problem.data or _NOTHING
    rendered = own_shape(_Root(False, data, problem.message, meta), context)
    return rendered.to_dict() | {"isError": True}


def _object(answer: Answer[Value], meta: dict[str, Any]) -> Any:
    """Return the data as an object; `meta` names the wrapper, so it can be undone."""
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
    if answer.meta:
        _add_free(meta, answer.meta)


def _add_free(meta: dict[str, Any], free: Mapping[str, Any]) -> None:
    """Add free members; objects of the same name are merged, and no other member is replaced."""
    for name, each in free.items():
        given = meta.setdefault(name, each)
        if given is not each and isinstance(given, dict) and isinstance(each, Mapping):
            meta[name] = {**each, **given}


def _add_observed(meta: dict[str, Any], observed: CallTelemetry) -> None:
    """Add the telemetry of the call; what the tool states itself stays."""
    meta.setdefault("request_id", observed.request_id)
    meta["telemetry"] = {**observed.telemetry, **meta.get("telemetry", {})}


def _error(problem: Problem) -> dict[str, Any]:
    members = {"code": problem.code, "type": problem.kind, "retryable": problem.retryable}
    return members | known(
        summary=problem.summary,
        remediation=problem.remediation,
        retry_after=problem.retry_after,
        fields=problem.fields or None,
    )


PROFILE = Profile("envelope", success, failure, own_schema(VERSION), has_own_shape=True)
