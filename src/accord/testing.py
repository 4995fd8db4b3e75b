"""For the tests of a Django project: a client that speaks MCP; needs `accord-mcp[django]`."""

import itertools
import json
from typing import Any, Final

try:
    from rest_framework.test import APIClient
except ImportError as missing:
    raise ImportError(
        "accord.testing needs an extra: pip install 'accord-mcp[django]'"
    ) from missing

from accord.errors import ContractError, PeerError
from accord.revisions import NEWEST, REVISIONS

__all__ = ["MCPClient", "MCPError"]

_META: Final = "io.modelcontextprotocol"
_CLIENT: Final = {"name": "accord.testing", "version": "1"}


class MCPError(PeerError):
    """A JSON-RPC error: the request was wrong, not what a tool made of it."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class MCPClient(APIClient):  # type: ignore[misc]  # Django has no types
    """The REST framework's test client with MCP beside: whoever it is logged in as makes the calls.

    `login`, `force_login`, `force_authenticate` and `credentials` are those of `APIClient`. A
    protocol error raises `MCPError`; a tool that fails returns a result that says so.
    """

    def __init__(
        self, path: str | None = None, *, revision: str = NEWEST.date, **defaults: Any
    ) -> None:
        """`path` is where the endpoint is; if left out, it is found in the project's URLs."""
        super().__init__(**defaults)
        self._path = path
        self._revision = REVISIONS[revision]
        self._ids = itertools.count(1)

    def initialize(self) -> dict[str, Any]:
        """What the server says of itself, in the revisions that begin like this."""
        hello = {
            "protocolVersion": self._revision.date,
            "capabilities": {},
            "clientInfo": _CLIENT,
        }
        return self.ask("initialize", hello)

    def list_tools(self) -> list[dict[str, Any]]:
        """Every tool that this client may see."""
        found: list[dict[str, Any]] = []
        params: dict[str, Any] = {}
        while True:
            page = self.ask("tools/list", params)
            found += page["tools"]
            if "nextCursor" not in page:
                return found
            params = {"cursor": page["nextCursor"]}

    def call_tool(self, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """The result of a call, a failed one too: then `isError` is true."""
        return self.ask("tools/call", {"name": name, "arguments": arguments or {}})

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The result of any request of MCP's."""
        response = self.send(method, params)
        reply = json.loads(response.content)
        if "error" in reply:
            raise MCPError(**reply["error"])
        result: dict[str, Any] = reply["result"]
        return result

    def send(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """The response to a request of MCP's, as Django gives it."""
        given = dict(params or {})
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": self._revision.date,
        }
        if self._revision.stateless:
            given["_meta"] = {
                f"{_META}/protocolVersion": self._revision.date,
                f"{_META}/clientCapabilities": {},
                f"{_META}/clientInfo": _CLIENT,
            }
            headers |= {"Mcp-Method": method}
            headers |= {"Mcp-Name": given["name"]} if method == "tools/call" else {}
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": given}
        body = json.dumps(message)
        return self.generic("POST", self.path, body, "application/json", headers=headers)

    @property
    def path(self) -> str:
        """Where the endpoint is."""
        if self._path is None:
            from accord.django.project import endpoints

            found = list(endpoints())
            if len(found) != 1:
                raise ContractError(f"say which endpoint is meant: there are {len(found)}")
            self._path = f"/{found[0]}"
        return self._path
