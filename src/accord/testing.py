"""An MCP client for the tests of a Django project; needs `accord-mcp[django]`."""

import itertools
import json
from typing import Any, Final

try:
    from rest_framework.test import APIClient
except ImportError as _error:
    from accord.extras import missing

    raise ImportError(missing("accord.testing", "django")) from _error

from accord.errors import ContractError, PeerError
from accord.revisions import NEWEST, REVISIONS

__all__ = ["MCPClient", "MCPError"]

_META: Final = "io.modelcontextprotocol"
_CLIENT: Final = {"name": "accord.testing", "version": "1"}


class MCPError(PeerError):
    """A JSON-RPC error reply: a protocol error, not a tool error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class MCPClient(APIClient):  # type: ignore[misc]  # Django has no types
    """The REST framework's test client, with MCP requests as the logged-in user.

    `login`, `force_login`, `force_authenticate` and `credentials` are those of `APIClient`. A
    protocol error raises `MCPError`; a tool error returns a result with `isError`.
    """

    def __init__(
        self, path: str | None = None, *, revision: str = NEWEST.date, **defaults: Any
    ) -> None:
        """`path` is the endpoint's URL path; by default the only endpoint in the project's URLs."""
        super().__init__(**defaults)
        self._path = path
        self._revision = REVISIONS[revision]
        self._ids = itertools.count(1)

    def initialize(self) -> dict[str, Any]:
        """Return the server's reply to `initialize`, in revisions that have it."""
        params = {
            "protocolVersion": self._revision.date,
            "capabilities": {},
            "clientInfo": _CLIENT,
        }
        return self.send_request("initialize", params)

    def list_tools(self) -> list[dict[str, Any]]:
        """Return every tool visible to this client, from all pages."""
        found: list[dict[str, Any]] = []
        params: dict[str, Any] = {}
        while True:
            page = self.send_request("tools/list", params)
            found += page["tools"]
            if "nextCursor" not in page:
                return found
            params = {"cursor": page["nextCursor"]}

    def call_tool(self, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """Call a tool and return its result; a tool error has `isError`."""
        return self.send_request("tools/call", {"name": name, "arguments": arguments or {}})

    def send_request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send any MCP request and return its result; raise MCPError on a JSON-RPC error."""
        response = self.post_message(method, params)
        reply = json.loads(response.content)
        if "error" in reply:
            raise MCPError(**reply["error"])
        result: dict[str, Any] = reply["result"]
        return result

    def post_message(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """Send any MCP request and return Django's response."""
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
        """The endpoint's URL path."""
        if self._path is None:
            from accord.django.project import endpoints

            found = list(endpoints())
            if len(found) != 1:
                raise ContractError(f"path must be given: the project has {len(found)} endpoints")
            self._path = f"/{found[0]}"
        return self._path
