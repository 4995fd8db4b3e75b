"""What a viewset's list costs over MCP, beside the same list through DRF's own test client."""

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bench.child import ROOT
from bench.report import number, table, verdict
from bench.wire import WrongReplyError

Run = Callable[[], bytes]
SIZES = (1, 10, 100)
MOST = 1.25
ROUNDS = 60
TIMES = 20  # a round
TOKEN = "0123456789"
DRF = "DRF's test client"
MINE = "Accord, inside Django"
PEER = "django-rest-framework-mcp"
HOW = """\
In one process, the example project (`examples/drf_shop`) with tables in memory; the caller has a token.
*DRF's test client*: `APIClient().get("/api/customers/")`, all the way through middleware, routing, the view, filters and the
renderer. *Inside Django*: the same client posts `tools/call` of `customers_list` to the endpoint, so the
request goes through middleware once, and the view is called inside of it. *By itself*: the message to a server
in a process of its own, which goes through middleware for the view. *{peer}*: the same client posts the same
call to its endpoint; it calls the action without middleware, content negotiation or a renderer in between. CPU
time, {rounds} rounds of {times} calls by turns, the least of them; the garbage collector is off. django-mcp-server
does not import beside the SDK's second version."""


@dataclass
class Figures:
    """Microseconds a call: the least of all rounds, by way and number of rows."""

    least: dict[tuple[str, int], float] = field(default_factory=dict)
    missing: str | None = None

    def note(self, way: str, rows: int, figure: float) -> None:
        key = (way, rows)
        self.least[key] = min(figure, self.least.get(key, figure))


def measure_drf(rounds: int = ROUNDS) -> Figures:
    """Measure each way in turn, with each number of rows."""
    set_up()
    figures = Figures()
    for rows in SIZES:
        fill(rows)
        ways = ways_to_ask(figures)
        for way, run in ways.items():
            check(way, run(), rows)
        measure_ways(figures, ways, rows, rounds)
    return figures


def measure_ways(figures: Figures, ways: dict[str, Run], rows: int, rounds: int) -> None:
    was_on = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for way, run in ways.items():
                begun = time.process_time_ns()
                for _ in range(TIMES):
                    run()
                figures.note(way, rows, (time.process_time_ns() - begun) / TIMES / 1e3)
    finally:
        if was_on:
            gc.enable()


def set_up() -> None:
    """The example project, in memory."""
    sys.path.insert(0, str(ROOT / "examples" / "drf_shop"))
    from storefront import settings

    settings.DATABASES["default"]["NAME"] = ":memory:"
    settings.ROOT_URLCONF = "bench.drf_urls"
    os.environ["DJANGO_SETTINGS_MODULE"] = "storefront.settings"
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", run_syncdb=True, verbosity=0)
    from django.contrib.auth.models import User
    from rest_framework.authtoken.models import Token

    Token.objects.create(user=User.objects.create_user("somebody"), key=TOKEN)


def fill(rows: int) -> None:
    from storefront.models import Customer

    Customer.objects.all().delete()
    Customer.objects.bulk_create(
        Customer(name=f"Customer {n}", email=f"customer{n}@example.com") for n in range(rows)
    )


def ways_to_ask(figures: Figures) -> dict[str, Run]:
    from rest_framework.test import APIClient

    from accord.django import project
    from accord.protocol import Call
    from accord.serve import blocking

    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {TOKEN}")
    message = call_message()
    server = project.server()
    connection = server.connect()

    def by_itself() -> bytes:
        (call,) = connection.receive(message)
        assert isinstance(call, Call)
        done = blocking.run(server, call, blocking.OneWay(CALLER))
        reply = connection.finish(call, done.reply)
        assert reply is not None
        return reply

    def post(path: str, message: bytes) -> bytes:
        sent = client.generic("POST", path, message, "application/json", headers=HEADERS)
        return bytes(sent.content)

    ways: dict[str, Run] = {
        DRF: lambda: bytes(client.get("/api/customers/").content),
        MINE: lambda: post("/mcp/", message),
        "Accord, by itself": by_itself,
    }
    from bench import drf_urls

    figures.missing = drf_urls.MISSING
    peers = call_message("list_customers")
    return ways if drf_urls.MISSING else ways | {PEER: lambda: post("/peer/", peers)}


class Caller(NamedTuple):
    """What an HTTP server of ours would know of who is calling."""

    fields: dict[bytes, bytes]
    address: str = "127.0.0.1"


CALLER = Caller({b"authorization": f"Token {TOKEN}".encode(), b"host": b"localhost"})
HEADERS = {
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "customers_list",
    "Accept": "application/json",
}


def call_message(tool: str = "customers_list") -> bytes:
    prefix = "io.modelcontextprotocol"
    meta = {f"{prefix}/protocolVersion": "2026-07-28", f"{prefix}/clientCapabilities": {}}
    params = {"name": tool, "arguments": {}, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(message).encode()


def check(way: str, reply: bytes, rows: int) -> None:
    """That it is the whole list."""
    said: Any = json.loads(reply)
    listed = said if isinstance(said, list) else json.loads(said["result"]["content"][0]["text"])
    if len(listed) != rows:
        raise WrongReplyError(f"{way}: {reply[:300]!r}")


def drf_parts(figures: Figures, rounds: int = ROUNDS) -> list[str]:
    """As Markdown."""
    ways = list(dict.fromkeys(way for way, _ in figures.least))
    head = ["CPU µs/call", *map(named, SIZES)]
    lines = [head, *([way, *(cell(figures, way, rows) for rows in SIZES)] for way in ways)]
    return [
        "## A Django REST framework list",
        table(lines),
        goals(figures),
        "## How the list was measured",
        HOW.format(peer=PEER, rounds=rounds, times=TIMES),
    ]


def named(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows} rows"


def cell(figures: Figures, way: str, rows: int) -> str:
    figure = figures.least[way, rows]
    return f"{number(figure)} ({figure / figures.least[DRF, rows]:.2f}×)"


def goals(figures: Figures) -> str:
    least = figures.least
    lines = [["goal", "measured", ""]]
    for rows in SIZES:
        share = least[MINE, rows] / least[DRF, rows]
        words = f"{named(rows)}: at most {MOST} times DRF's test client"
        lines.append([words, f"{share:.2f}×", verdict(share, MOST)])
        if (PEER, rows) in least:
            against = least[MINE, rows] / least[PEER, rows]
            words = f"{named(rows)}: less than {PEER}"
            lines.append([words, f"{against:.2f}×", verdict(against, 1.0)])
    note = f"\n\n{PEER} is not there: {figures.missing}" if figures.missing else ""
    return table(lines) + note
