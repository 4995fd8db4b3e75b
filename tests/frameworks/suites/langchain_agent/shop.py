"""An Accord server."""

from typing import Any

from accord import Answer, Image, Notice, Page, Problem, Server

server = Server("shop", version="1.0")


@server.tool(read_only=True)
def customer(number: int) -> dict[str, Any]:
    """Return a customer."""
    if number != 7:
        raise Problem.not_found(f"No customer {number}", remediation="call customers first")
    return {"number": 7, "name": "Ada"}


@server.tool(read_only=True)
def customers(cursor: str = "0") -> Answer[list[dict[str, Any]]]:
    """Return customers, two at a time."""
    start = int(cursor)
    found = [{"number": n} for n in range(start, min(start + 2, 5))]
    has_more = start + 2 < 5
    following = str(start + 2) if has_more else None
    return Answer(
        found,
        page=Page(total=5, has_more=has_more, cursor=following),
        warnings=[Notice("prices are of yesterday")],
    )


@server.tool(read_only=True)
def portrait() -> Answer[dict[str, Any]]:
    """Return a customer with a picture."""
    return Answer({"name": "Ada"}, blocks=[Image(b"pixel", "image/png")])
