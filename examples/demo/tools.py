"""Functions of the demo shop as tools: `accord serve examples/demo/tools.py`."""

import asyncio
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from random import Random
from typing import Annotated, Any, Literal

from msgspec import Meta

from accord import Answer, Context, FieldError, Page, Problem, Server
from shop_data import Order, Product, orders, products

server = Server(
    "outfitter",
    version="1.0",
    instructions="An outfitter of adventurers. Prices are in gold pieces.",
)
PRODUCTS = products()
ORDERS = {order.id: order for order in orders()}
SUNDAY = 6

Category = Literal["light", "rope and climbing", "camp", "tools", "writing", "music"]
Weight = Annotated[float, Meta(gt=0, le=30, description="Kilograms")]


class Speed(Enum):
    """Ways to send a parcel."""

    MULE = "mule"
    COACH = "coach"
    GRIFFIN = "griffin"


@dataclass
class Address:
    """The recipient of a parcel."""

    name: Annotated[str, Meta(min_length=2, max_length=60)]
    town: Annotated[str, Meta(min_length=2, max_length=60)]
    street: str | None = None


@dataclass
class Parcel:
    """A parcel to send."""

    weight: Weight
    is_fragile: bool = False


@dataclass
class Quote:
    """The price of a shipment, and its date of arrival."""

    price: float
    arrives: date
    parcels: int
    speed: Speed


@server.tool(read_only=True)
def catalogue(
    category: Category | None = None,
    at_most: Annotated[float, Meta(gt=0, description="The highest price")] | None = None,
    limit: Annotated[int, Meta(ge=1, le=50)] = 10,
    offset: Annotated[int, Meta(ge=0)] = 0,
) -> Answer[list[Product]]:
    """List the products, a page at a time."""
    found = [
        product
        for product in PRODUCTS
        if (category is None or product.category == category)
        and (at_most is None or product.price <= at_most)
    ]
    after = offset + limit
    page = Page(
        offset=offset,
        limit=limit,
        total=len(found),
        has_more=after < len(found),
        next_offset=after if after < len(found) else None,
    )
    return Answer(found[offset:after], page=page, warnings=["stock is from this morning"])


@server.tool(read_only=True)
def order_status(order: int) -> Order:
    """Return an order with its status."""
    if order not in ORDERS:
        raise Problem.not_found(f"No order {order}", remediation=f"try 1 to {len(ORDERS)}")
    return ORDERS[order]


@server.tool(read_only=True)
def shipping_quote(
    to: Address,
    parcels: Annotated[list[Parcel], Meta(min_length=1, max_length=10)],
    leaves_on: date,
    speed: Speed = Speed.COACH,
) -> Answer[Quote]:
    """Return the price of sending parcels, and when they arrive."""
    if leaves_on.weekday() == SUNDAY:
        wrong = FieldError("leaves_on", "is a Sunday, when nothing leaves")
        raise Problem.validation("Nothing leaves on that day", fields=[wrong])
    rate, days = {Speed.MULE: (0.1, 9), Speed.COACH: (0.3, 4), Speed.GRIFFIN: (2.5, 1)}[speed]
    price = round(
        sum(rate * parcel.weight * (1.5 if parcel.is_fragile else 1) for parcel in parcels), 2
    )
    arrives = leaves_on + timedelta(days=days)
    return Answer(
        Quote(price, arrives, len(parcels), speed),
        message=f"To {to.town} by {speed.value}: {price} gold pieces",
    )


@server.tool(read_only=True, task=True)
async def count_stock(
    shelves: Annotated[int, Meta(ge=1, le=len(PRODUCTS))], context: Context
) -> dict[str, int]:
    """Count the stock, shelf by shelf, and report progress."""
    counted = 0
    for done, product in enumerate(PRODUCTS[:shelves], 1):
        await asyncio.sleep(0.05)
        counted += product.stock
        await context.progress(done, total=shelves, message=product.name)
        if not product.stock % 7:
            await context.log("info", f"{product.name}: {product.stock} left")
    return {"shelves": shelves, "things": counted}


@server.tool(read_only=True)
def roll_character(
    name: Annotated[str, Meta(min_length=1, max_length=60)],
    character_class: Literal["fighter", "rogue", "wizard"] = "fighter",
    level: Annotated[int, Meta(ge=1, le=20)] = 1,
) -> dict[str, Any]:
    """Roll a character, and return the arguments for fill_dnd_character_sheet.

    The result is the same for the same name.
    """
    dice = Random(name)
    scores = [sum(sorted(dice.randint(1, 6) for _ in range(4))[1:]) for _ in range(6)]
    character = {
        "character": {"name": name, "class": character_class, "level": level, "race": "Human"},
        "abilities": dict(zip(("STR", "DEX", "CON", "INT", "WIS", "CHA"), scores, strict=True)),
        "proficiencies": {"skills": ["Perception"], "languages": ["Common"]},
        **_KITS[character_class],
    }
    return {"character_data": character, "return_pdf": True}


@server.resource("outfitter://products/{number}")
def product_sheet(number: int) -> Product:
    """One product of the catalogue."""
    found = next((each for each in PRODUCTS if each.id == number), None)
    if found is None:
        raise Problem.not_found(f"No product {number}", remediation=f"try 1 to {len(PRODUCTS)}")
    return found


@server.completion("outfitter://products/{number}", "number")
def product_numbers(value: str) -> list[str]:
    """Numbers of products that begin like the value."""
    return [str(each.id) for each in PRODUCTS if str(each.id).startswith(value)]


@server.resource("outfitter://opening-hours")
def opening_hours() -> str:
    """When the shop is open."""
    return "Monday to Saturday, from sunrise to sunset. Nothing leaves on a Sunday."


@server.prompt
def packing_list(journey: str, days: str = "3", category: str = "camp") -> str:
    """Ask for a packing list.

    Args:
        journey: Where to
        days: How long
        category: What to begin with
    """
    return (
        f"I travel to {journey} for {days} days. Call catalogue for the category {category!r},"
        " then write a packing list with prices."
    )


@server.completion("packing_list", "category")
def categories(value: str) -> list[str]:
    """Categories that begin like the value."""
    return sorted({each.category for each in PRODUCTS if each.category.startswith(value)})


_KITS: dict[str, dict[str, Any]] = {
    "fighter": {
        "attacks": ["Longsword"],
        "equipment": {"armor": "Chain Mail", "shield": True, "currency": {"gold": 12}},
    },
    "rogue": {
        "attacks": ["Shortsword", "Shortbow"],
        "equipment": {"armor": "Leather", "currency": {"gold": 30}},
    },
    "wizard": {
        "attacks": ["Dagger"],
        "equipment": {"currency": {"gold": 20}},
        "spells": {"cantrips": ["Light", "Mage Hand"], "first_level": ["Shield", "Magic Missile"]},
    },
}
