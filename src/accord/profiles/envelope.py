"""`envelope`: response-v2, for successes and failures alike."""

from typing import Any

import msgspec

from accord.answer import Answer, Problem, Said
from accord.envelope import VERSION, pagination_of, warnings_of
from accord.profiles.parts import add_meta, own_schema, own_shape
from accord.profiles.profile import Profile, Result, Setting
from accord.values import known


class _Root(msgspec.Struct, frozen=True):
    success: bool
    data: Any
    error: str | None
    meta: dict[str, Any]


_NOTHING = msgspec.Raw(b"{}")


def success(answer: Answer[Said], setting: Setting) -> Result:
    """The envelope as JSON text, and as structure."""
    meta: dict[str, Any] = {"version": VERSION}
    data = _object(answer, meta)
    _add_details(meta, answer)
    _add_observed(meta, setting)
    result = own_shape(_Root(True, data, None, meta), setting, answer.blocks)
    add_meta(result, answer)
    return result


def failure(problem: Problem, setting: Setting) -> Result:
    """The same, with `isError` beside it."""
    meta: dict[str, Any] = {"version": VERSION, "error": _error(problem)}
    _add_observed(meta, setting)
    result = own_shape(_Root(False, _NOTHING, problem.message, meta), setting)
    result["isError"] = True
    return result


def _object(answer: Answer[Said], meta: dict[str, Any]) -> Any:
    """The data as an object. A wrapper of ours is named in `meta`, so that a reader can undo it."""
    data = answer.data
    value: Any = data
    wrapper: str | None = "result"
    if not isinstance(data, str):
        value = msgspec.Raw(data.json)
        match data.json[:1]:
            case b"{":
                return value
            case b"[":
                wrapper = answer.name or "items"
            case b"n":
                wrapper = None
    meta["wrapper"] = wrapper
    return _NOTHING if wrapper is None else {wrapper: value}


def _add_details(meta: dict[str, Any], answer: Answer[Said]) -> None:
    meta |= known(message=answer.message)
    if answer.page is not None:
        meta["pagination"] = pagination_of(answer.page)
    if answer.warnings:
        meta |= warnings_of(answer.warnings)  # type: ignore[arg-type]  # all are Notices by now
    if answer.partial:
        meta["partial"] = True
    if answer.truncated:
        meta |= {"truncated": True, "content_fidelity": "partial"}


def _add_observed(meta: dict[str, Any], setting: Setting) -> None:
    seen = setting.observed
    if seen is not None:
        meta |= {"request_id": seen.request_id, "telemetry": seen.telemetry}


def _error(problem: Problem) -> dict[str, Any]:
    said = {"code": problem.code, "type": problem.kind, "retryable": problem.retryable}
    return said | known(
        summary=problem.summary,
        remediation=problem.remediation,
        retry_after=problem.retry_after,
        fields=problem.fields or None,
    )


PROFILE = Profile("envelope", success, failure, own_schema(VERSION), has_own_shape=True)
