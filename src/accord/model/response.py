"""The generic response: one structure for whatever a tool says (camelCase on the wire)."""

from typing import Any, Final, Literal

import msgspec

from accord.model.answer import Page

ResponseType = Literal["list", "single", "action", "tool_catalog", "error"]
Status = Literal["success", "error", "partial"]

CATALOG: Final = "mcp_list_tools"
"""The tool whose list is a catalog of tools."""
META_KEY: Final = "dev.accord-mcp/answer"
"""Where the page and the warnings of an answer are in the `_meta` of a result."""


class Pagination(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Where a list stands among all there is."""

    offset: int | float | None = None
    limit: int | float | None = None
    has_more: bool | None = None
    next_offset: int | float | str | None = None
    cursor: str | None = None
    before: str | None = None
    after: str | None = None

    @classmethod
    def of(cls, page: Page) -> "Pagination":
        """A page in these words: a cursor is where to go on, unless a number says that already."""
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
    """How many items there are, and how many of them are here."""

    total: int | float | None = None
    returned: int | float | None = None
    has_more: bool | None = None


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why it failed."""

    code: str | int | float
    message: str
    details: dict[str, Any] | str


class Response(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What a tool said, whoever it was and however it was worded."""

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
        """The same as plain data, named as on the wire."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain
