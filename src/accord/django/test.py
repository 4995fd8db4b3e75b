"""The test client of django-rest-framework-mcp, on that of `accord.testing`."""

from typing import Any

from accord import testing
from accord.errors import ContractError
from accord.revisions import REVISIONS

__all__ = ["MCPClient"]


class MCPClient(testing.MCPClient):
    """A test client with the endpoint, the handshake and the results of that package."""

    def __init__(
        self, *args: Any, mcp_endpoint: str = "mcp/", auto_initialize: bool = True, **kwargs: Any
    ) -> None:
        """`args` and `kwargs` are those of Django's client; the path is that of the endpoint."""
        super().__init__("/" + mcp_endpoint.lstrip("/"), **_client_options(args), **kwargs)
        self.mcp_endpoint: str = self.path
        self._is_initialized = False
        if auto_initialize:
            self.initialize()

    def initialize(self) -> dict[str, Any]:
        """Send `initialize` and return its result."""
        revision = self._revision
        self._revision = REVISIONS["2025-06-18"]
        try:
            result = super().initialize()
        finally:
            self._revision = revision
        self._is_initialized = True
        return result

    def list_tools(self) -> Any:
        """Return the result of `tools/list`."""
        self._require_initialized()
        return {"tools": super().list_tools()}

    def call_tool(self, tool_name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """Call a tool and return its result; a tool error has `isError`."""
        self._require_initialized()
        return super().call_tool(tool_name, arguments)

    def _require_initialized(self) -> None:
        if not self._is_initialized:
            raise ContractError("the client must be initialized: call initialize() first")


def _client_options(args: tuple[Any, ...]) -> dict[str, Any]:
    """Return the positional arguments of Django's client by name."""
    return dict(zip(("enforce_csrf_checks", "raise_request_exception"), args, strict=False))
