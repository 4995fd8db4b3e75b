"""An Accord server with one tool for each kind of answer, for the suites and for docs/clients.md."""

from pathlib import Path
from typing import Any

from accord import Answer, Context, Image, Notice, Page, Problem, Server

server = Server("shop", version="1.0", max_bytes=16_384, read_more=True)

ITEMS = [{"item": "lantern"}, {"item": "rope"}, {"item": "torch"}]
ORDERS = 1_700
PICTURE = Path(__file__).with_name("lantern.png").read_bytes()


@server.tool(read_only=True)
def stock() -> list[dict[str, Any]]:
    """List the three items."""
    return ITEMS


@server.tool(read_only=True)
def orders(cursor: str = "after-0") -> Answer[list[dict[str, int]]]:
    """List 1,700 orders, 500 a page."""
    start = int(cursor.removeprefix("after-"))
    found = [{"order": number} for number in range(start, min(start + 500, ORDERS))]
    has_more = start + 500 < ORDERS
    following = f"after-{start + 500}" if has_more else None
    return Answer(found, page=Page(total=ORDERS, has_more=has_more, cursor=following))


@server.tool(read_only=True)
def log() -> list[dict[str, str]]:
    """List 2,000 entries, which are more than an answer may have."""
    return [{"entry": f"{number:04} {'.' * 60}"} for number in range(2_000)]


@server.tool(read_only=True)
def price(item: str = "rope") -> Answer[dict[str, Any]]:
    """Return a price, with a warning."""
    warning = Notice("The price is from 2019", code="STALE")
    return Answer({"item": item, "price": 12.5}, warnings=[warning])


@server.tool()
def buy(item: str = "sword") -> dict[str, str]:
    """Buy an item; there is no sword."""
    if {"item": item} not in ITEMS:
        raise Problem.not_found(f"No {item} here", remediation="try lantern or rope")
    return {"bought": item}


@server.tool()
def refund(order: int = 1) -> None:
    """Refuse any caller."""
    raise Problem.authorization("Refunds are not allowed")


@server.tool(read_only=True)
def picture() -> Answer[dict[str, str]]:
    """Return a picture and its caption."""
    return Answer({"caption": "a lantern"}, blocks=[Image(PICTURE, "image/png")])


@server.tool(read_only=True)
def revision(context: Context) -> str:
    """Return the revision of MCP that the client negotiated."""
    return context.revision
