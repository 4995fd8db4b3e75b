"""Where a list stands among all there is, as its paginator knows."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

from rest_framework import pagination

from accord.model.answer import Page


def page_of(response: Any) -> Page | None:
    """The page of a response that a view has paginated."""
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
    page = getattr(paginator, "page", None)  # there is none until a list was asked for
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
