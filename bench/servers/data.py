"""The rows that every server returns."""

from dataclasses import dataclass

AUDIENCE = "https://bench.example/mcp"
"""The name of the authorized server in tokens."""

COLUMNS = ("id", "customer", "product", "quantity", "price", "shipped")

RECORDS = tuple(
    (1000 + n, f"Customer {n:03} of the northern district", f"Product {n % 17:02} in blue", n % 9 + 1,
     n * 1.25 + 0.5, n % 3 == 0)
    for n in range(100)
)  # fmt: skip


@dataclass
class Row:
    id: int
    customer: str
    product: str
    quantity: int
    price: float
    shipped: bool


def make_rows() -> list[Row]:
    return [Row(*record) for record in RECORDS]
