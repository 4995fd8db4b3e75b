"""`accord_tool`: a tool of a FastMCP server that answers in a profile of Accord.

    @mcp.tool
    @accord_tool(profile="envelope")
    def customer(number: int) -> dict[str, Any]: ...

For FastMCP 3 and 4; `accord.integrations.sdk` has the same for the official SDK.
"""

from collections.abc import Callable
from typing import Any, Unpack, overload

from accord.integrations.tool_results import Framework, Options, decorated, model_of

Function = Callable[..., Any]


@overload
def accord_tool(function: Function, /) -> Function: ...


@overload
def accord_tool(**options: Unpack[Options]) -> Callable[[Function], Function]: ...


def accord_tool(function: Function | None = None, /, **options: Unpack[Options]) -> Any:
    """Return a function for `@mcp.tool` that returns what Accord makes of its value.

    The function returns any value, an Answer or an Envelope, or raises a Problem. Other exceptions
    are FastMCP's to handle, and its own results pass unchanged.
    """
    return decorated(function, options, _framework())


def _framework() -> Framework:
    try:
        from fastmcp.tools import ToolResult
        from mcp import types
    except ImportError as missing:
        raise ImportError("accord_tool needs its framework: pip install fastmcp") from missing

    asking = getattr(types, "InputRequiredResult", ToolResult)  # of FastMCP 4

    def result(wire: dict[str, Any]) -> Any:
        return ToolResult(
            content=types.CallToolResult.model_validate(wire).content,
            structured_content=wire.get("structuredContent"),
            meta=wire.get("_meta"),
            is_error=wire.get("isError", False),
        )

    return Framework(
        result=result,
        annotation=lambda schema: ToolResult if schema is None else model_of(schema),
        own=(ToolResult, types.CallToolResult, asking),
    )
