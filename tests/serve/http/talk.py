"""Starts sample servers over HTTP."""

import json
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

from commands import ACCORD, ENVIRONMENT, SAMPLES, TESTS, launch_command
from http_peer import HttpPeer, HttpServer

SERVERS = ("features:progress", "faulty:blocking")
HANDSHAKE = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
STATELESS = "2026-07-28"
REVISIONS = [*HANDSHAKE, STATELESS]
ERAS = ["2025-11-25", STATELESS]


def serving(
    *words: str, address: str = "127.0.0.1:0", env: dict[str, str] = ENVIRONMENT
) -> HttpServer:
    """Start `accord serve` with both sample servers over HTTP."""
    command = [ACCORD, "serve", *SERVERS, "--http", address, *words]
    return HttpServer(command, cwd=SAMPLES, env=env)


def limited(**settings: Any) -> HttpServer:
    """Start both sample servers over HTTP with settings, without an access log."""
    command = launch_command("http", *SERVERS, **{"grace": 0.2, **settings})
    return HttpServer(command, cwd=TESTS, env=ENVIRONMENT)


def census(peer: HttpPeer) -> dict[str, int]:
    """Return the tasks, descriptors and kilobytes that the server has during this call."""
    counted: dict[str, int] = json.loads(peer.call("census"))
    return counted


def eventually(holds: Callable[[], bool], seconds: float = 30) -> bool:
    """True if something becomes true in time; for states without a notification."""
    end = monotonic() + seconds
    while not holds():
        if monotonic() > end:
            return False
        sleep(0.01)
    return True
