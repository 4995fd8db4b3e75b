"""Starts a server with a page, and calls the API of the page."""

import http.client
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import wire
from cli.command import ACCORD, EXAMPLES
from commands import ENVIRONMENT, SAMPLES
from http_peer import HttpServer

HERE = Path(__file__).parent
COMMAND = f"{ACCORD} serve {SAMPLES / 'features.py'}:display"
SHOP = f"{ACCORD} serve {EXAMPLES / 'shop.py'}"
NEWEST = "2026-07-28"
MANY = 18
"""Number of tools of the sample server."""
_TOKEN = re.compile(rb'<meta name="accord-token" content="([\w-]*)">')
LINK = re.compile(r"page at (http://\S+)")


def sample(*words: str) -> HttpServer:
    """Start `accord serve` with the sample `features:display` and its page."""
    return serving("features:display", *words, cwd=SAMPLES)


def serving(target: str, *words: str, cwd: Path) -> HttpServer:
    """`accord serve` of anything, with its page."""
    command = [ACCORD, "serve", target, "--http", "127.0.0.1:0", *words]
    return HttpServer(command, cwd=cwd, env=ENVIRONMENT, timeout=30)


def inspecting(target: str, *words: str) -> HttpServer:
    """`accord inspect` of somebody's server; its `url` is the link that is printed."""
    command = [ACCORD, "inspect", target, "--http", "127.0.0.1:0", *words]
    return HttpServer(command, cwd=HERE, env=ENVIRONMENT, url=LINK, timeout=30)


class ApiResponse(NamedTuple):
    """A response of the API."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def is_stream(self) -> bool:
        """True if messages were sent before the result."""
        return self.headers.get_content_type() == "text/event-stream"

    @property
    def events(self) -> list[Any]:
        """The events of a stream."""
        return [
            json.loads(line.removeprefix(b"data:"))
            for line in self.body.split(b"\n")
            if line.startswith(b"data:")
        ]

    @property
    def ending(self) -> "ApiResponse":
        """The response without the messages that were sent before the result."""
        last = self.events[-1]
        return ApiResponse(last["status"], self.headers, json.dumps(last["body"]).encode())

    @property
    def said(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def refusal(self) -> str:
        """Return the message of the error."""
        return str(self.said["error"]["message"])


class Api:
    """The page's API, for one who has its token."""

    def __init__(self, server: HttpServer, token: str | None = None) -> None:
        self._port = server.port
        self.token = self._found() if token is None else token

    @classmethod
    def linked(cls, server: HttpServer) -> "Api":
        """By the link that `accord inspect` prints."""
        return cls(server, server.url.partition("#token=")[2])

    def _found(self) -> str:
        found = _TOKEN.search(self.get("/").body)
        assert found is not None
        return found[1].decode()

    def get(
        self, path: str, headers: Mapping[str, str] | None = None, method: str = "GET"
    ) -> ApiResponse:
        """Return the response to a GET."""
        return self._send(method, path, b"", dict(headers or {}))

    def post(
        self, verb: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> ApiResponse:
        """Return the response to a POST."""
        usual = {"Content-Type": "application/json", "X-Accord-Token": self.token}
        raw = body if isinstance(body, bytes) else json.dumps({} if body is None else body).encode()
        return self._send("POST", f"/inspector/api/{verb}", raw, usual | dict(headers or {}))

    def say(self, verb: str, **body: Any) -> Any:
        """Return the body of a request that succeeds."""
        got = self.post(verb, body)
        assert got.status == 200, got.body
        if "messages" in got.said:
            checked(got.said)
        return got.said

    def call(self, tool: str, options: Mapping[str, str] | None = None, /, **arguments: Any) -> Any:
        """A call of a tool as it went."""
        return self.say("call", tool=tool, arguments=arguments, render=dict(options or {}))

    def _send(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> ApiResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request(method, path, body or None, dict(headers))
            response = connection.getresponse()
            got = ApiResponse(response.status, response.headers, response.read())
            return got.ending if got.is_stream else got
        finally:
            connection.close()


def checked(record: Any) -> None:
    """Show each message that a server sent to the referee."""
    methods = {
        message["id"]: message["method"]
        for line in record["messages"]
        if line["direction"] == "sent"
        and {"id", "method"} <= (message := json.loads(line["raw"])).keys()
    }
    for line in record["messages"]:
        if line["direction"] == "received":
            message = json.loads(line["raw"])
            wire.check(
                line["raw"].encode(),
                revision=record["revision"],
                method=methods.get(message.get("id")),
            )


def reply_of(record: Any) -> Any:
    """The message that answered a call."""
    return json.loads(record["messages"][-1]["raw"])
