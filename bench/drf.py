"""The cost of a viewset's list over MCP, compared with DRF's own test client."""

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
MAX_RATIO = 1.25
ROUNDS = 60
CALLS = 20  # per round
TOKEN = "0123456789"
DRF = "DRF's test client"
INSIDE = "Accord, inside Django"
PEER = "django-rest-framework-mcp"
METHOD = """\
In one process, the example project (`examples/drf_shop`) with an in-memory database; the caller has a token.
*DRF's test client*: `APIClient().get("/api/customers/")`, through middleware, routing, the view, filters and the
renderer. *Inside Django*: the same client posts `tools/call` of `customers_list` to the endpoint; the request
passes the middleware once, and the view is called inside it. *Standalone*: the message goes to a server in its
own process, which passes the view's request through the middleware. *{peer}*: the same client posts the
same call to its endpoint, which calls the action without middleware, content negotiation or a renderer. CPU time,
{rounds} rounds of {times} calls each, alternating, the minimum; the garbage collector is off. django-mcp-server cannot
be imported together with version 2 of the SDK."""


@dataclass
class Figures:
    """Microseconds per call: the minimum of all rounds, by client and number of rows."""

    minimum: dict[tuple[str, int], float] = field(default_factory=dict)
    missing: str | None = None

    def add(self, client: str, rows: int, figure: float) -> None:
        key = (client, rows)
        self.minimum[key] = min(figure, self.minimum.get(key, figure))


def measure_drf(rounds: int = ROUNDS) -> Figures:
    """Measure each client in turn, with each number of rows."""
    set_up()
    figures = Figures()
    for rows in SIZES:
        fill(rows)
        clients = make_clients(figures)
        for name, run in clients.items():
            check(name, run(), rows)
        measure_clients(figures, clients, rows, rounds)
    return figures


def measure_clients(figures: Figures, clients: dict[str, Run], rows: int, rounds: int) -> None:
    was_on = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, run in clients.items():
                started = time.process_time_ns()
                for _ in range(CALLS):
                    run()
                figures.add(name, rows, (time.process_time_ns() - started) / CALLS / 1e3)
    finally:
        if was_on:
            gc.enable()


def set_up() -> None:
    """Set up the example project with an in-memory database."""
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

    Token.objects.create(user=User.objects.create_user("caller"), key=TOKEN)


def fill(rows: int) -> None:
    from storefront.models import Customer

    Customer.objects.all().delete()
    Customer.objects.bulk_create(
        Customer(name=f"Customer {n}", email=f"customer{n}@example.com") for n in range(rows)
    )


def make_clients(figures: Figures) -> dict[str, Run]:
    from rest_framework.test import APIClient

    from accord.django import project
    from accord.protocol import Request
    from accord.serve.call import OneWay, RunningCall
    from accord.serve.executor import run_blocking

    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {TOKEN}")
    message = call_message()
    server = project.server()
    connection = server.dispatcher.connect()

    def standalone() -> bytes:
        (request,) = connection.receive(message)
        assert isinstance(request, Request)
        call = RunningCall(request, connection, OneWay(CALLER))
        reply = call.finish(run_blocking(server.dispatcher, call))
        assert reply is not None
        return reply

    def post(path: str, message: bytes) -> bytes:
        response = client.generic("POST", path, message, "application/json", headers=HEADERS)
        return bytes(response.content)

    clients: dict[str, Run] = {
        DRF: lambda: bytes(client.get("/api/customers/").content),
        INSIDE: lambda: post("/mcp/", message),
        "Accord, standalone": standalone,
    }
    from bench import drf_urls

    figures.missing = drf_urls.MISSING
    peer_message = call_message("list_customers")
    return clients if drf_urls.MISSING else clients | {PEER: lambda: post("/peer/", peer_message)}


class Caller(NamedTuple):
    """The HTTP request of a call, as Accord's HTTP server passes it on."""

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


def check(name: str, reply: bytes, rows: int) -> None:
    """Check that the reply has all rows."""
    value: Any = json.loads(reply)
    listed = value if isinstance(value, list) else json.loads(value["result"]["content"][0]["text"])
    if len(listed) != rows:
        raise WrongReplyError(f"{name}: {reply[:300]!r}")


def drf_parts(figures: Figures, rounds: int = ROUNDS) -> list[str]:
    """Return the figures as Markdown."""
    clients = list(dict.fromkeys(client for client, _ in figures.minimum))
    head = ["CPU µs/call", *map(row_count, SIZES)]
    lines = [head, *([name, *(cell(figures, name, rows) for rows in SIZES)] for name in clients)]
    return [
        "## A Django REST framework list",
        table(lines),
        targets(figures),
        "## How the list was measured",
        METHOD.format(peer=PEER, rounds=rounds, times=CALLS),
    ]


def row_count(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows} rows"


def cell(figures: Figures, client: str, rows: int) -> str:
    figure = figures.minimum[client, rows]
    return f"{number(figure)} ({figure / figures.minimum[DRF, rows]:.2f}×)"


def targets(figures: Figures) -> str:
    minimum = figures.minimum
    lines = [["target", "measured", ""]]
    for rows in SIZES:
        share = minimum[INSIDE, rows] / minimum[DRF, rows]
        title = f"{row_count(rows)}: at most {MAX_RATIO} times DRF's test client"
        lines.append([title, f"{share:.2f}×", verdict(share, MAX_RATIO)])
        if (PEER, rows) in minimum:
            against = minimum[INSIDE, rows] / minimum[PEER, rows]
            title = f"{row_count(rows)}: less than {PEER}"
            lines.append([title, f"{against:.2f}×", verdict(against, 1.0)])
    note = f"\n\n{PEER} is not installed: {figures.missing}" if figures.missing else ""
    return table(lines) + note
