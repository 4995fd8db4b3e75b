"""The data of the demo: products, customers and orders of an outfitter, the same in each run."""

import sqlite3
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from datetime import date, timedelta
from pathlib import Path
from random import Random

SCHEMA = """
CREATE TABLE customers (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL UNIQUE,
    town TEXT NOT NULL,
    joined DATE NOT NULL
);
CREATE TABLE products (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    category TEXT NOT NULL,
    price REAL NOT NULL CHECK (price > 0),
    stock INTEGER NOT NULL CHECK (stock >= 0)
);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers(id),
    placed DATE NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('paid', 'packed', 'sent', 'returned'))
);
CREATE TABLE order_lines (
    order_id INTEGER NOT NULL REFERENCES orders(id),
    product_id INTEGER NOT NULL REFERENCES products(id),
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    price REAL NOT NULL,
    PRIMARY KEY (order_id, product_id)
);
CREATE TABLE reviews (
    id INTEGER PRIMARY KEY,
    product_id INTEGER NOT NULL REFERENCES products(id),
    customer_id INTEGER NOT NULL REFERENCES customers(id),
    stars INTEGER NOT NULL CHECK (stars BETWEEN 1 AND 5),
    words TEXT
);
CREATE INDEX orders_of_customer ON orders (customer_id);
CREATE VIEW best_sellers AS
    SELECT products.name, products.category, sum(order_lines.quantity) AS sold
    FROM products JOIN order_lines ON order_lines.product_id = products.id
    GROUP BY products.id ORDER BY sold DESC, products.name;
"""


@dataclass(frozen=True)
class Product:
    """A product on the shelves."""

    id: int
    name: str
    category: str
    price: float
    stock: int


@dataclass(frozen=True)
class Order:
    """An order with its customer, date and status."""

    id: int
    customer_id: int
    placed: str
    status: str


_SHELVES: dict[str, dict[str, float]] = {
    "light": {"torch": 0.1, "candle": 0.05, "hooded lantern": 5, "bullseye lantern": 10, "lamp": 0.5, "oil flask": 0.2, "tinderbox": 0.5, "glow moss": 2.5},
    "rope and climbing": {"hempen rope": 1, "silk rope": 10, "grappling hook": 2, "piton": 0.25, "climber's kit": 25, "block and tackle": 1.5, "ladder": 0.8, "ten-foot pole": 0.35},
    "camp": {"bedroll": 1, "two-person tent": 2, "mess kit": 0.2, "waterskin": 0.2, "rations for a day": 0.5, "iron pot": 2, "blanket": 0.5, "fishing tackle": 1},
    "tools": {"crowbar": 2, "hammer": 1, "shovel": 2, "miner's pick": 2, "thieves' tools": 25, "healer's kit": 5, "hourglass": 25, "spyglass": 1000},
    "writing": {"ink": 10, "ink pen": 0.02, "parchment": 0.1, "blank book": 25, "sealing wax": 0.5, "map case": 1, "chalk": 0.01, "spell primer": 50},
    "music": {"lute": 35, "flute": 2, "drum": 6, "viol": 30, "horn": 3, "shawm": 2, "pan flute": 12, "bagpipes": 30},
}  # fmt: skip
_FIRST = "Ada Bram Cora Dain Elra Finn Gwen Hugo Isla Jora Kiva Lars Mira Nils Orla Perrin Quill Rosa Sten Tilda".split()
_LAST = "Ashford Brightwood Copperkettle Dunmore Emberly Fairwind".split()
_TOWNS = ["Amberfall", "Bree's Crossing", "Cinder Hill", "Dunharbour", "Eastmere"]
_WORDS = [
    None,
    "As described.",
    "Outlasted the dungeon.",
    "Arrived damp.",
    "Would buy again.",
    "Squeaks at night.",
]
_STATUS = ["paid", "packed", "sent", "sent", "sent", "sent", "sent", "returned"]
_OPENED = date(2024, 1, 2)
ORDERS = 900
REVIEWS = 300


def products() -> list[Product]:
    """Return all products."""
    named = [
        (name, shelf, price) for shelf, things in _SHELVES.items() for name, price in things.items()
    ]
    return [
        Product(number, name, shelf, float(price), 7 * number % 40)
        for number, (name, shelf, price) in enumerate(named, 1)
    ]


def customers() -> list[tuple[int, str, str, str, str]]:
    """Return all customers."""
    names = [f"{first} {last}" for last in _LAST for first in _FIRST]
    return [
        (
            number,
            name,
            f"{name.lower().replace(' ', '.')}@example.com",
            _TOWNS[number % len(_TOWNS)],
            (_OPENED + timedelta(days=3 * number)).isoformat(),
        )
        for number, name in enumerate(names, 1)
    ]


def orders() -> list[Order]:
    """Return all orders, oldest first."""
    random, many = Random(5), len(customers())
    return [
        Order(
            number,
            random.randint(1, many),
            (_OPENED + timedelta(days=number // 2)).isoformat(),
            random.choice(_STATUS),
        )
        for number in range(1, ORDERS + 1)
    ]


def _lines() -> Iterator[tuple[int, int, int, float]]:
    random, shelves = Random(6), products()
    for order in orders():
        for product in random.sample(shelves, random.randint(1, 4)):
            yield order.id, product.id, random.randint(1, 6), product.price


def _reviews() -> Iterator[tuple[int, int, int, int, str | None]]:
    random, many = Random(7), len(customers())
    for number in range(1, REVIEWS + 1):
        product, customer = random.randint(1, len(products())), random.randint(1, many)
        yield number, product, customer, random.randint(2, 5), random.choice(_WORDS)


def make(path: Path) -> bool:
    """Create the database atomically if it does not exist; return True if it was created."""
    if path.exists():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    unfinished.unlink(missing_ok=True)
    database = sqlite3.connect(unfinished)
    database.executescript(SCHEMA)
    for table, rows in {
        "customers": customers(),
        "products": [astuple(product) for product in products()],
        "orders": [astuple(order) for order in orders()],
        "order_lines": list(_lines()),
        "reviews": list(_reviews()),
    }.items():
        places = ", ".join("?" * len(rows[0]))
        database.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
    database.commit()
    database.close()
    unfinished.replace(path)
    return True
