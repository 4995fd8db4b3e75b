"""How the tests of this folder start a server."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from http_peer import HttpPeer, HttpServer
from serve.talk import ACCORD, ENVIRONMENT

HERE = Path(__file__).parent
WORKSHOP = str(HERE.parent / "workshop.py")
HANDSHAKE = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
STATELESS = "2026-07-28"
REVISIONS = [*HANDSHAKE, STATELESS]
ERAS = ["2025-11-25", STATELESS]


def serving(
    *words: str, address: str = "127.0.0.1:0", env: dict[str, str] = ENVIRONMENT
) -> HttpServer:
    """`accord serve` over HTTP: the workshop's tools and the stage's."""
    command = [ACCORD, "serve", "stage", WORKSHOP, "--http", address, *words]
    return HttpServer(command, cwd=HERE, env=env)


def limited(**settings: Any) -> HttpServer:
    """The same tools under limits of their own, and without an access log."""
    given = json.dumps({"grace": 0.2, **settings})
    command = [sys.executable, "-m", "serve.http.limited", given]
    return HttpServer(command, cwd=HERE.parents[1], env=ENVIRONMENT)


def census(peer: HttpPeer) -> dict[str, int]:
    """What the server's process holds while it answers this."""
    counted: dict[str, int] = json.loads(peer.call("census"))
    return counted


def eventually(holds: Callable[[], bool], seconds: float = 30) -> bool:
    """Whether something comes true in time; for what nobody is told of."""
    end = monotonic() + seconds
    while not holds():
        if monotonic() > end:
            return False
        sleep(0.01)
    return True
