"""A server whose tools give the same list in pages, each in a dialect of its own."""

from typing import Any

from accord import Answer, Cursors, Page, Server

server = Server("pages", version="1.0", read_more=True)
CURSORS = Cursors(b"a key of thirty-two bytes or more")
ITEMS = [{"id": str(1_000 + n), "name": f"item {n} of the list"} for n in range(25)]
SIZE = 10


def window(start: int, size: int = SIZE) -> list[dict[str, str]]:
    return ITEMS[start : start + size]


@server.tool(read_only=True)
def list_by_offset(offset: int = 0, limit: int = SIZE) -> dict[str, Any]:
    """`nextOffset`."""
    end = offset + limit
    page = {"offset": offset, "limit": limit, "hasMore": end < len(ITEMS)}
    return {"items": window(offset, limit), **page, **({"nextOffset": end} if end < 25 else {})}


@server.tool(read_only=True)
def list_channels(offset: int = 0, limit: int = SIZE) -> dict[str, Any]:
    """As Discord's tools say it: more, but not from where."""
    found = window(offset, limit)
    more = offset + len(found) < len(ITEMS)
    return {
        "totalChannels": len(ITEMS),
        "showing": len(found),
        "offset": offset,
        "limit": limit,
        "hasMore": more,
        "channels": found,
    }


@server.tool(read_only=True)
def list_by_skip(skip: int = 0) -> dict[str, Any]:
    """Nothing but a total."""
    return {"total": len(ITEMS), "items": window(skip)}


@server.tool(read_only=True)
def list_by_cursor(cursor: str | None = None) -> dict[str, Any]:
    """`nextCursor`, an opaque word, null at the end."""
    start = int((cursor or "at-0").removeprefix("at-"))
    end = start + SIZE
    return {"items": window(start), "nextCursor": f"at-{end}" if end < len(ITEMS) else None}


@server.tool(read_only=True)
def list_by_token(page_token: str = "", max_results: int = SIZE) -> dict[str, Any]:
    """`next_page_token`, left out at the end."""
    start = int(page_token or 0)
    end = start + max_results
    token = {"next_page_token": f"{end:03d}"} if end < len(ITEMS) else {}
    return {"files": window(start, max_results), **token}


@server.tool(read_only=True)
def list_by_graph(first: int = SIZE, after: str | None = None) -> dict[str, Any]:
    """`pageInfo` with an `endCursor` on every page."""
    start = 0 if after is None else int(after.removeprefix("node:"))
    end = min(start + first, len(ITEMS))
    info = {"hasNextPage": end < len(ITEMS), "endCursor": f"node:{end}"}
    return {"data": {"nodes": window(start, first), "pageInfo": info}}


@server.tool(read_only=True)
def list_by_number(page: int = 1, per_page: int = SIZE) -> dict[str, Any]:
    """`page` and `total_pages`."""
    found = window((page - 1) * per_page, per_page)
    return {"items": found, "page": page, "per_page": per_page, "total_pages": -(-25 // per_page)}


@server.tool(read_only=True)
def list_issues(page: int = 1, perPage: int = SIZE) -> list[dict[str, str]]:  # noqa: N803
    """A bare array, as GitHub's tools give it."""
    return window((page - 1) * perPage, perPage)


@server.tool(read_only=True)
def read_channel(channel: str, before: str | None = None, limit: int = SIZE) -> dict[str, Any]:
    """The newest messages first, as Discord's tool gives them."""
    older = [item for item in reversed(ITEMS) if before is None or item["id"] < before]
    found = older[:limit]
    ids = {"oldestMessageId": found[-1]["id"], "newestMessageId": found[0]["id"]} if found else {}
    page = {"limit": limit, "count": len(found), **ids, "hasMore": len(older) > limit}
    return {"channel": {"id": channel, "name": "general"}, "messages": found, "pagination": page}


@server.tool(read_only=True)
def list_charges(starting_after: str | None = None, limit: int = SIZE) -> dict[str, Any]:
    """`has_more`, and the last id that is here: as Stripe does it."""
    newer = [item for item in ITEMS if starting_after is None or item["id"] > starting_after]
    return {"object": "list", "data": newer[:limit], "has_more": len(newer) > limit}


@server.tool(read_only=True)
def customers_list(query: dict[str, Any] | None = None) -> dict[str, Any]:
    """A page of Django REST framework, which names the next one by a link."""
    number = int((query or {}).get("page", 1))
    link = f"http://testserver/customers/?page={number + 1}" if number < 3 else None
    previous = f"http://testserver/customers/?page={number - 1}" if number > 1 else None
    found = window((number - 1) * SIZE)
    return {"count": len(ITEMS), "next": link, "previous": previous, "results": found}


@server.tool(read_only=True)
def orders_list(limit: int = SIZE, offset: int = 0) -> dict[str, Any]:
    """The same with `limit` and `offset` in the link."""
    end = offset + limit
    link = f"http://testserver/orders/?limit={limit}&offset={end}" if end < 25 else None
    return {"count": 25, "next": link, "previous": None, "results": window(offset, limit)}


@server.tool(read_only=True)
def list_sealed(cursor: str | None = None) -> Answer[list[dict[str, str]]]:
    """Pages of our own, with a signed cursor."""
    start = 0 if cursor is None else int(CURSORS.decode(cursor, "list_sealed"))
    end = start + SIZE
    more = end < len(ITEMS)
    sealed = CURSORS.encode(end, "list_sealed") if more else None
    page = Page(limit=SIZE, total=len(ITEMS), has_more=more, cursor=sealed)
    return Answer(window(start), page=page, name="items")


@server.tool(read_only=True, max_bytes=1_024)
def list_whole(cursor: str | None = None) -> list[dict[str, str]]:
    """More than fits into one answer; the rest is behind a cursor that the tool takes."""
    return ITEMS


@server.tool(read_only=True, max_bytes=1_024)
def list_anything() -> list[dict[str, str]]:
    """The same, where another tool takes the cursor."""
    return ITEMS
