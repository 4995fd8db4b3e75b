"""Clients of the example: HTTP to its API, MCP inside Django, MCP to a separate server."""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.core.cache import cache
from django.db import transaction
from rest_framework.test import APIClient

import wire
from accord import Server
from accord.protocol import Request
from accord.serve.call import OneWay, RunningCall
from accord.serve.executor import run_blocking
from accord.testing import MCPClient
from stdio_peer import modern_params

T = TypeVar("T")
Arguments = dict[str, Any]
Headers = Mapping[str, str]


class Client(MCPClient):
    """A client that checks every message on the wire."""

    def post_message(self, method: str, params: dict[str, Any] | None = None) -> Any:
        response = super().post_message(method, params)
        wire.check(response.content, revision=self._revision.date, method=method)
        return response


class Sender:
    """The sender of a request, as our HTTP server passes it."""

    def __init__(self, headers: Headers, address: str = "127.0.0.1") -> None:
        self.fields = {name.lower().encode(): value.encode() for name, value in headers.items()}
        self.address = address


def ask(
    server: Server,
    method: str,
    params: dict[str, Any],
    sender: Any = None,
    *,
    profile: str = "plain",
) -> Any:
    """Return the result of a request to a server outside of Django."""
    wanted = {"extensions": {"dev.accord-mcp/profile": {"name": profile}}}
    given = modern_params(params, capabilities=wanted)
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": given}
    connection = server.dispatcher.connect()
    (event,) = connection.receive(json.dumps(message).encode())
    if isinstance(event, Request):
        call = RunningCall(event, connection, OneWay(sender))
        event = call.finish(run_blocking(server.dispatcher, call))  # type: ignore[assignment]
    assert isinstance(event, bytes)
    return wire.check(event, revision=wire.STATELESS, method=method, profile=profile)["result"]


def call(server: Server, tool: str, arguments: Arguments, sender: Any = None) -> Any:
    """Return the envelope of a tool call to a server outside of Django."""
    params = {"name": tool, "arguments": arguments}
    result = ask(server, "tools/call", params, sender, profile="envelope")
    return json.loads(result["content"][0]["text"])


def over_http(method: str, path: str, body: Any, headers: Headers) -> Any:
    """Return the API's own response."""
    sent = "" if body is None else json.dumps(body)
    return APIClient().generic(method, path, sent, "application/json", headers=dict(headers))


def rolled_back(make: Callable[[], T]) -> T:
    """Return the result of a function, and roll its changes back."""
    with transaction.atomic():
        made = make()
        transaction.set_rollback(True)
    cache.clear()
    return made


def text_of(result: Any) -> str:
    """The text of a result."""
    return str(result["content"][0]["text"])
