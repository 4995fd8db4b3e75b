"""`accord_tool`: a tool of the official SDK's server that answers in a profile of Accord.

    @mcp.tool()
    @accord_tool(profile="envelope")
    def customer(number: int) -> dict[str, Any]: ...

For the `FastMCP` of SDK 1 and the `MCPServer` of SDK 2.
"""

from collections.abc import Callable
from typing import Annotated, Any, Unpack, overload

from accord.integrations.tool_results import Framework, Options, decorated, model_of

Function = Callable[..., Any]


@overload
def accord_tool(function: Function, /) -> Function: ...


@overload
def accord_tool(**options: Unpack[Options]) -> Callable[[Function], Function]: ...


def accord_tool(function: Function | None = None, /, **options: Unpack[Options]) -> Any:
    """Return a function for `@mcp.tool()` that returns what Accord makes of its value.

    The function returns any value, an Answer or an Envelope, or raises a Problem. Other exceptions
    are the SDK's to handle, and its own results pass unchanged.
    """
    return decorated(function, options, _framework())


def _framework() -> Framework:
    try:
        from mcp import types
    except ImportError as missing:
        raise ImportError("accord_tool needs its framework: pip install mcp") from missing
    result = types.CallToolResult
    asking = getattr(types, "InputRequiredResult", result)  # of SDK 2
    return Framework(
        result=result.model_validate,
        annotation=lambda schema: result if schema is None else Annotated[result, model_of(schema)],
        own=(result, asking),
    )
