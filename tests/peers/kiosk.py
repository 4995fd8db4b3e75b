"""A server with one of everything, for clients that do everything."""

import asyncio
from enum import Enum
from typing import Annotated, Any, Literal

import msgspec

from accord import (
    Annotations,
    Answer,
    Audio,
    Completion,
    Context,
    Elicit,
    Embedded,
    Header,
    Icon,
    Image,
    Link,
    ListRoots,
    Message,
    Problem,
    Sample,
    Server,
)

ICON = Icon("https://example.org/kiosk.png", "image/png", ["48x48"])
PICTURE = b"\x89PNG\r\n"
server = Server(
    "kiosk",
    version="1.0",
    title="The Kiosk",
    website_url="https://example.org",
    icons=[ICON],
    page_size=2,
    changing={"tools", "prompts", "resources"},
)


class Size(Enum):
    SMALL_CUP = "s"
    LARGE_CUP = "l"


class Wish(msgspec.Struct):
    drink: Annotated[str, msgspec.Meta(description="What to drink")]
    size: Size = Size.SMALL_CUP
    cups: Annotated[int, msgspec.Meta(ge=1, le=9)] = 1
    extras: list[Literal["milk", "sugar"]] = []


@server.tool(title="Order a drink", icons=[ICON], meta={"example.org/counter": 3})
async def order(context: Context) -> str:
    """Ask what somebody wants to drink."""
    wish = await context.elicit("What would you like?", Wish)
    if not wish.accepted or wish.data is None:
        return wish.action
    return f"{wish.data.cups} {wish.data.drink} {wish.data.size.name} {'+'.join(wish.data.extras)}"


@server.tool
async def pay(context: Context) -> str:
    """Send somebody to a page to pay."""
    return (await context.elicit_url("Please pay", "https://example.org/pay")).action


@server.tool
async def praise(context: Context) -> str:
    """Let a model find words."""
    said = await context.sample(
        ["Praise the coffee", Message("Mmh", "assistant"), Image(PICTURE, "image/png")],
        max_tokens=20,
        system="You are a poet.",
        temperature=0.5,
        stop=["."],
        preferences={"hints": [{"name": "poet"}]},
    )
    return f"{said.model}: {said.text}"


@server.tool
async def folders(context: Context) -> list[str]:
    """Ask for the folders that the client has."""
    return [root.uri for root in await context.roots()]


@server.tool
async def greet(context: Context) -> str:
    """Ask for three things at once, and then for one more."""
    said = await context.ask(
        name=Elicit("Your name?", str), blurb=Sample("Greet them"), where=ListRoots()
    )
    again = await context.ask(name=Elicit("And your family name?", str))
    names = f"{said['name'].data} {again['name'].data}"
    return f"{said['blurb'].text}, {names} of {said['where'][0].uri}"


@server.tool
async def brew(context: Context) -> str:
    """Tell how far it has come, and what happens."""
    await context.log("debug", "grinding")
    await context.progress(1, total=2, message="grinding")
    await context.log("warning", {"beans": 3}, logger="grinder")
    await context.progress(2, total=2, message="brewing")
    return "coffee"


@server.tool
async def tray() -> list[str | Image | Audio | Embedded | Link]:
    """Hand out all kinds of things."""
    return [
        "Here you are:",
        Image(PICTURE, "image/png", Annotations(audience=["user"], priority=0.5)),
        Audio(b"RIFF", "audio/wav"),
        "and",
        Embedded("kiosk://note", "Enjoy", "text/plain"),
        Link("kiosk://menu", "menu", "text/plain", "What there is"),
    ]


@server.tool
async def forever(context: Context) -> str:
    """Ask, and wait for an answer that may never come."""
    return (await context.elicit("Are you there?", bool)).action


@server.tool
async def shelf(
    region: Annotated[str, Header("Region")], row: Annotated[int, Header("Row")]
) -> str:
    """Find a shelf by what HTTP headers say too."""
    return f"{region} {row}"


@server.tool
async def open_counter() -> str:
    """Put one more of everything into the kiosk."""

    def extra() -> str:
        """Something that was not there before."""
        return "extra"

    server.tool(name="extra")(extra)
    server.prompt(name="extra")(extra)
    server.resource("kiosk://extra")(extra)
    return "open"


@server.tool
def close_counter() -> str:
    """Take it away again, from a thread."""
    server.remove(server.tools["extra"])
    server.remove(server.prompts["extra"])
    server.remove(server.resources["kiosk://extra"])
    return "closed"


MENU = ["coffee", "tea"]


@server.tool
def rewrite_menu(dish: str) -> str:
    """Write something on the menu, from a thread."""
    MENU.append(dish)
    server.updated("kiosk://menu")
    server.updated("kiosk://orders/7")
    return "written"


@server.resource(
    "kiosk://menu",
    title="Menu",
    watched=True,
    fresh_for=2.5,
    is_public=True,
    size=10,
    icons=[ICON],
    annotations=Annotations(audience=["user", "assistant"], priority=1.0),
    meta={"example.org/wall": "north"},
)
def menu() -> str:
    """What there is."""
    return "\n".join(MENU)


@server.resource("kiosk://logo", mime_type="image/png")
async def logo() -> bytes:
    """The picture over the door."""
    return PICTURE


@server.resource("kiosk://diary")
async def diary(context: Context) -> str:
    """For those alone who say who they are."""
    name = await context.elicit("Who wants to read?", str)
    return f"Dear {name.data}"


@server.resource("kiosk://box")
def box() -> list[Embedded]:
    """Several things in one."""
    return [Embedded("kiosk://box/1", "one", "text/plain"), Embedded("kiosk://box/2", b"two")]


@server.resource("kiosk://orders/{number}", watched=True)
def one_order(number: int) -> dict[str, Any]:
    """One order."""
    if number > 9:
        raise Problem.not_found(f"No order {number}")
    return {"number": number, "drink": "tea"}


@server.resource("kiosk://files/{+path}")
def file(path: str) -> str:
    """A file."""
    return f"file {path}"


@server.resource("kiosk://search{?query,limit}")
def search(query: str = "", limit: int = 3) -> list[str]:
    """Some of the menu."""
    return [dish for dish in MENU if query in dish][:limit]


@server.prompt(title="Recommend", icons=[ICON], meta={"example.org/tone": "warm"})
def recommend(drink: Literal["coffee", "tea"], guest: str = "you", cups: int = 1) -> str:
    """Recommend a drink.

    Args:
        drink: What to recommend
        guest: To whom
    """
    return f"Recommend {cups} {drink} to {guest}"


@server.prompt
async def chat(context: Context) -> list[Message | str | Image]:
    """A conversation that begins with a question to the user."""
    topic = await context.elicit("About what?", str)
    return [
        f"Let us talk about {topic.data}",
        Message("Gladly", "assistant"),
        Image(PICTURE, "image/png"),
    ]


@server.completion("recommend", "guest")
async def guests(value: str, others: dict[str, str]) -> Completion:
    """Guests who drink this."""
    known = {"coffee": ["ada", "alan"], "tea": ["grace"]}.get(others.get("drink", ""), [])
    return Completion([each for each in known if each.startswith(value)], total=len(known))


@server.completion("kiosk://orders/{number}", "number")
def numbers(value: str) -> list[str]:
    """Numbers of orders: more than fit into one answer."""
    return [str(n) for n in range(1, 200) if str(n).startswith(value)]


@server.tool
async def census() -> dict[str, int]:
    """How many tasks there are."""
    return {"tasks": len(asyncio.all_tasks())}


@server.tool
def refuse(context: Context) -> Answer[str]:
    """A plain function that asks, which it cannot."""
    context.elicit("Well?", bool)
    return Answer("never")
