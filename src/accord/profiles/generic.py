"""`generic`: the generic response, for success and failure."""

from typing import Any

import msgspec

from accord.model.answer import Answer, Page, Problem, Value
from accord.model.response import (
    CATALOG,
    Failure,
    Pagination,
    Response,
    ResponseType,
    Summary,
)
from accord.model.tool import Tool
from accord.model.values import known
from accord.profiles.profile import (
    Profile,
    RenderContext,
    Result,
    Shape,
    TextResult,
    has_details,
    own_schema,
    own_shape,
    shape_of,
    shaped,
)

_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def success(answer: Answer[Value], context: RenderContext) -> TextResult | Result:
    """Return the generic response as structure, and as JSON text."""
    tool = context.tool
    data, shape = answer.data, shape_of(answer.data)
    kind = _kind(shape, tool)
    metadata: dict[str, Any] = {}
    value = data if isinstance(data, str) else msgspec.Raw(data.json)
    if shape not in ("object", "list"):
        value = _wrapped(value, shape, metadata)
    has_more = has_details(answer)
    if has_more and answer.warnings:
        metadata["warnings"] = answer.warnings
    if has_more and answer.truncated:
        metadata["truncated"] = True
    page = answer.page
    response = Response(
        tool_name=tool.name,
        response_type=kind,
        data=value,
        pagination=None if page is None else Pagination.of(page),
        summary=None if page is None else _summary(page, answer.data),
        status="partial" if answer.partial else "success" if kind == "action" else None,
        message=answer.message,
        metadata=metadata or None,
    )
    return shaped(response, answer, context, has_more=has_more)


def failure(problem: Problem, context: RenderContext) -> Result:
    """Return the generic response of a failure, with `isError` beside it."""
    details = known(
        remediation=problem.remediation,
        retryable=problem.retryable or None,
        retryAfter=problem.retry_after,
        validationErrors=problem.fields or None,
        data=problem.data or None,
        meta=problem.meta or None,
    )
    response = Response(
        tool_name=context.tool.name,
        response_type="error",
        status="error",
        message=problem.summary or problem.message,
        error=Failure(code=problem.code, message=problem.message, details=details),
    )
    return own_shape(response, context).to_dict() | {"isError": True}


def _kind(shape: Shape, tool: Tool) -> ResponseType:
    """Return the response type: `list` for a list, else `action` unless the tool is read-only."""
    if shape == "list":
        return "tool_catalog" if tool.name == CATALOG else "list"
    return "single" if tool.hints.read_only else "action"


def _wrapped(value: Any, shape: Shape, metadata: dict[str, Any]) -> Any:
    """Return a value as an object; `metadata` names the wrapper, so it can be undone."""
    if shape == "null":
        return None
    wrapper = "result" if shape == "scalar" else "text"
    metadata["wrapper"] = wrapper
    return {wrapper: value}


def _summary(page: Page, data: Value) -> Summary:
    is_list = not isinstance(data, str) and shape_of(data) == "list"
    returned = len(_items(data.json)) if is_list else None  # type: ignore[union-attr] # no str here
    return Summary(total=page.total, returned=returned, has_more=page.has_more)


PROFILE = Profile("generic", success, failure, own_schema("generic"), has_own_shape=True)
