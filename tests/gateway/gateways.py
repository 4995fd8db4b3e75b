"""Gateways in front of the sample upstream, and clients that use them."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from accord import Client, Elicited, Server
from accord.client import ElicitRequest, SampleRequest
from accord.gateway import Gateway, spec_of
from accord.reader import Reading
from commands import ACCORD
from http_peer import HttpServer

HERE = Path(__file__).parent
SAMPLE = [ACCORD, "serve", str(HERE / "sample_upstream.py")]
REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
WAYS = ["stdio", "http"]
ODD = [sys.executable, str(HERE / "odd_upstream.py")]


@contextmanager
def sample(way: str) -> Iterator[Any]:
    """Yield what a gateway connects to: a command line, or the URL of a running server."""
    if way == "stdio":
        yield SAMPLE
        return
    with HttpServer([*SAMPLE, "--http", "127.0.0.1:0"]) as served:
        yield served.url


def gateway_of(target: Any, *, name: str = "sample", **options: Any) -> Gateway:
    return Gateway([spec_of(target, name=name, **options)])


@contextmanager
def served(way: str, target: Any, revision: str | None = None, *options: str) -> Iterator[Any]:
    """Yield what a client connects to: a gateway in a process of its own."""
    env = {**os.environ, "GATEWAY_TARGET": json.dumps(target)}
    if revision is not None:
        env["GATEWAY_REVISION"] = revision
    command = [ACCORD, "serve", str(HERE / "served_gateway.py")]
    if way == "stdio":
        yield ["env", *(f"{k}={v}" for k, v in env.items() if k.startswith("GATEWAY")), *command]
        return
    with HttpServer([*command, "--http", "127.0.0.1:0", *options], env=env) as found:
        yield found.url


class User:
    """Answers every question, and remembers it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.logs: list[Any] = []
        self.answers: dict[str, Any] = {}

    def elicit(self, request: ElicitRequest) -> Elicited[Any]:
        self.asked.append(request.url or request.message)
        if request.url is not None:
            return Elicited("accept")
        assert request.schema is not None
        (field,) = request.schema["properties"]
        return Elicited("accept", {field: self.answers.get(request.message, "blue")})

    def sample(self, request: SampleRequest) -> str:
        self.asked.append("model")
        return "hello from the model"


@asynccontextmanager
async def client_of(
    target: Server | str | list[str], revision: str, user: User | None = None, **options: Any
) -> AsyncIterator[Client]:
    """Connect a client that can be asked everything, if there is a user."""
    if user is not None:
        options = {
            "on_elicit": user.elicit,
            "on_sample": user.sample,
            "roots": ["file:///home"],
            "on_log": user.logs.append,
            **options,
        }
    async with Client(target, revision=revision, timeout=20, **options) as client:
        yield client


def message_of(reading: Reading) -> str:
    """Return the message of a failure."""
    assert reading.response.error is not None
    return reading.response.error.message


async def until(true: Callable[[], Any], seconds: float = 10) -> None:
    """Wait until something is true."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - what it waits for has no event
            await asyncio.sleep(0.01)
