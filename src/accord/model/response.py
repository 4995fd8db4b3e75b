"""The generic response: one shape for the reply of any tool (camelCase on the wire)."""

from typing import Any, Final, Literal

import msgspec

from accord.model.answer import Page, Problem
from accord.model.plain import plain_json
from accord.model.values import known

ResponseType = Literal["list", "single", "action", "tool_catalog", "error"]
Status = Literal["success", "error", "partial"]

CATALOG: Final = "mcp_list_tools"
"""Name of the tool whose list is a catalog of tools."""
META_KEY: Final = "dev.accord-mcp/answer"
"""Key of an answer's page and warnings, and of a `problem`, in the `_meta` of a result."""
GATEWAY_KEY: Final = "dev.accord-mcp/gateway"
"""Key of the facts about a forwarded result, or about an entry of another server, in `_meta`."""
TAGS_KEY: Final = "dev.accord-mcp/tags"
"""Key of the tags of a tool, prompt or resource, in the `_meta` of its entry."""


def problem_members(problem: Problem) -> dict[str, Any]:
    """Return the members of a problem as they are sent beside its text, under `META_KEY`."""
    members = {"kind": problem.kind, "code": problem.code, "message": problem.message}
    return members | known(
        summary=problem.summary,
        fields=problem.fields or None,
        remediation=problem.remediation,
        retryable=problem.retryable,
        retry_after=problem.retry_after,
        data=problem.data or None,
        meta=problem.meta or None,
    )


class Pagination(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The position of a list's items in the full list."""

    offset: int | float | None = None
    limit: int | float | None = None
    has_more: bool | None = None
    next_offset: int | float | str | None = None
    cursor: str | None = None
    before: str | None = None
    after: str | None = None

    @classmethod
    def of(cls, page: Page) -> "Pagination":
        """Convert a page; its cursor becomes `next_offset` if it has no number for that."""
        has_number = page.next_offset is not None
        return cls(
            offset=page.offset,
            limit=page.limit,
            has_more=page.has_more,
            next_offset=page.next_offset if has_number else page.cursor,
            cursor=page.cursor if has_number else None,
            before=page.before,
            after=page.after,
        )


class Summary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Number of items in total, and number of items returned."""

    total: int | float | None = None
    returned: int | float | None = None
    has_more: bool | None = None


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The error of a failed call: its code, message and details."""

    code: str | int | float
    message: str
    details: dict[str, Any] | str


class Response(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The generic response: the reply of any tool of any server, normalised."""

    tool_name: str
    response_type: ResponseType
    data: Any = None
    pagination: Pagination | None = None
    summary: Summary | None = None
    status: Status | None = None
    message: str | None = None
    error: Failure | None = None
    metadata: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON with the names of the wire, whatever Python values the data holds.

        Dates are ISO 8601, bytes Base64, NaN and infinities null.
        """
        plain: dict[str, Any] = plain_json(self)
        return plain
