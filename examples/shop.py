"""A shop with two tools: `accord serve shop:server`."""

from dataclasses import dataclass

from accord import Answer, Page, Problem, Server

server = Server("shop", version="1.0")


@dataclass
class Order:
    id: int
    item: str
    price: float


BOOK = {
    "ada": [Order(3, "difference engine", 912.5), Order(1, "punch cards", 4.2)],
    "grace": [Order(2, "moth trap", 19.99)],
}


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(read_only=True)
def orders(customer: str, limit: int = 20) -> Answer[list[Order]]:
    """List a customer's orders, newest first."""
    if customer not in BOOK:
        raise Problem.not_found(f"No customer {customer!r}", remediation="try ada or grace")
    found = BOOK[customer]
    page = Page(limit=limit, total=len(found))
    return Answer(found[:limit], page=page, warnings=["prices are from yesterday"])
