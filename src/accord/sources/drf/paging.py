"""Pages of lists: the page of a response, and the query for what is after a part of it."""

from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import msgspec
from django.core.paginator import Paginator
from rest_framework import pagination

from accord.model.answer import FieldError, Page, Problem

_METHODS: Final = (
    "paginate_queryset",
    "get_page_size",
    "get_page_number",
    "get_limit",
    "get_offset",
)
"""Methods of a paginator that decide which items a page has."""


class Paging(msgspec.Struct, frozen=True):
    """The names of a paginator's query parameters; None for those that it does not take."""

    number: str | None = None
    size: str | None = None
    offset: str | None = None
    cursor: str | None = None
    max_size: int | None = None

    @classmethod
    def of(cls, view: Any, *, has_own_items: bool) -> "Paging":
        """Return the names for a view; none if it has no paginator of the REST framework.

        Pages may begin elsewhere if the paginator is unchanged, and `has_own_items`: a list is
        the items of a page in their order.
        """
        paginator: Any = getattr(view, "pagination_class", None)
        kinds = getattr(paginator, "__mro__", ())
        if pagination.CursorPagination in kinds:
            return cls(cursor=paginator.cursor_query_param)
        if not has_own_items or not _is_unchanged(paginator):
            return cls()
        if pagination.PageNumberPagination in kinds:
            return cls(
                number=paginator.page_query_param,
                size=paginator.page_size_query_param,
                max_size=paginator.max_page_size,
            )
        if pagination.LimitOffsetPagination in kinds:
            return cls(offset=paginator.offset_query_param)
        return cls()

    def query_after(self, page: Page, passed: int) -> dict[str, Any] | None:
        """Return the query for the items after the first ones of a page.

        None if there is no such query: then a cursor is needed.
        """
        if page.offset is None or passed < 1:
            return None
        start = page.offset + passed
        if self.offset is not None:
            return {self.offset: start}
        if self.number is None or self.size is None:
            return None
        size = _page_size(start, min(passed, self.max_size or passed))
        return None if size is None else {self.number: start // size + 1, self.size: size}

    def cursor_query(self, cursor: str) -> dict[str, Any]:
        """Return the query for a cursor of the paginator; raise a Problem if it has none."""
        if self.cursor is None:
            fault = FieldError("cursor", "is not from an answer of this tool")
            raise Problem.validation(
                f"The cursor {fault.error}", code="INVALID_CURSOR", fields=[fault]
            )
        return {self.cursor: cursor}


def _is_unchanged(paginator: Any) -> bool:
    """True if the REST framework's own code decides which items a page has."""
    methods = [getattr(paginator, name, None) for name in _METHODS]
    pages = getattr(paginator, "django_paginator_class", Paginator)
    return pages is Paginator and all(
        each.__module__.startswith("rest_framework.") for each in methods if each is not None
    )


def _page_size(start: int, largest: int) -> int | None:
    """Return the size of pages of which one begins here; None if they would be much smaller."""
    sizes = range(largest, max(largest // 4, 1) - 1, -1)
    return next((size for size in sizes if start % size == 0), None)


def page_of(response: Any) -> Page | None:
    """Return the page of a paginated response."""
    context = getattr(response, "renderer_context", None) or {}
    paginator = vars(context.get("view") or object).get("_paginator")
    if paginator is None:
        return None
    if isinstance(paginator, pagination.PageNumberPagination):
        return _numbered(paginator)
    if isinstance(paginator, pagination.LimitOffsetPagination):
        return _by_offset(paginator)
    if isinstance(paginator, pagination.CursorPagination):
        return _by_cursor(paginator)
    return None


def _numbered(paginator: Any) -> Page | None:
    page = getattr(paginator, "page", None)  # set only after a list was paginated
    if page is None:
        return None
    size = int(page.paginator.per_page)
    start, more = (page.number - 1) * size, bool(page.has_next())
    return Page(
        offset=start,
        limit=size,
        total=page.paginator.count,
        has_more=more,
        next_offset=start + size if more else None,
    )


def _by_offset(paginator: Any) -> Page | None:
    limit, total = getattr(paginator, "limit", None), getattr(paginator, "count", None)
    if limit is None or total is None:
        return None
    end = paginator.offset + limit
    more = end < total
    return Page(
        offset=paginator.offset,
        limit=limit,
        total=total,
        has_more=more,
        next_offset=end if more else None,
    )


def _by_cursor(paginator: Any) -> Page | None:
    if getattr(paginator, "page", None) is None:
        return None
    link = paginator.get_next_link()
    found = parse_qs(urlsplit(link or "").query).get(paginator.cursor_query_param, [None])
    return Page(limit=paginator.page_size, has_more=link is not None, cursor=found[0])
