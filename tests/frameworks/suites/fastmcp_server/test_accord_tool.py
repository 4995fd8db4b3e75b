"""`accord_tool` inside a FastMCP server, called by FastMCP's own client."""

import asyncio
from typing import Annotated, Any

import pytest
from answers import FUNCTIONS, NAMES, PROFILES, Meaning, by_accord, meaning_of
from fastmcp import Client, Context, FastMCP
from fastmcp.dependencies import Depends
from fastmcp.exceptions import ToolError
from fastmcp.tools import ToolResult
from pydantic import Field

from accord import ContractError, Problem, read
from accord.integrations.fastmcp import accord_tool


def server_of(*functions: Any, **options: Any) -> Any:
    mcp = FastMCP("shop")
    for each in functions:
        mcp.tool(accord_tool(**options)(each))
    return mcp


def called(mcp: Any, tool: str, **arguments: Any) -> Any:
    """Return the result of a call as it was sent."""

    async def main() -> Any:
        async with Client(mcp) as client:
            return await client.call_tool_mcp(tool, arguments)

    return asyncio.run(main())


def wire(result: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped


def tool_of(mcp: Any, name: str) -> dict[str, Any]:
    async def main() -> Any:
        async with Client(mcp) as client:
            return {tool.name: tool for tool in await client.list_tools()}

    return wire(asyncio.run(main())[name])


def all_read(profile: str) -> dict[str, Meaning]:
    async def main() -> dict[str, Meaning]:
        async with Client(server_of(*FUNCTIONS, profile=profile)) as client:
            await client.list_tools()  # results are then checked against the schemas
            results = {name: await client.call_tool_mcp(name, {}) for name in NAMES}
        return {name: meaning_of(read(result, name)) for name, result in results.items()}

    return asyncio.run(main())


@pytest.mark.parametrize("profile", PROFILES)
def test_a_tool_says_the_same_as_in_a_server_of_accord(profile: str) -> None:
    assert all_read(profile) == by_accord(profile)


@pytest.mark.parametrize("profile", PROFILES)
def test_the_result_of_the_client_reads_as_the_wire_does(profile: str) -> None:
    async def main() -> list[tuple[Any, Any]]:
        found = []
        async with Client(server_of(*FUNCTIONS, profile=profile)) as client:
            for name in NAMES:
                result = await client.call_tool(name, raise_on_error=False)
                sent = await client.call_tool_mcp(name, {})
                found.append((meaning_of(read(result, name)), meaning_of(read(sent, name))))
        return found

    for mine, sent in asyncio.run(main()):
        assert mine == sent


@pytest.mark.parametrize("profile", PROFILES)
def test_a_problem_is_a_failed_result(profile: str) -> None:
    from answers import a_problem

    result = wire(called(server_of(a_problem, profile=profile), "a_problem"))
    assert result["isError"] is True
    reading = read(result, "a_problem")
    assert reading.response.error is not None
    assert reading.response.error.code == "VALIDATION_ERROR"
    assert reading.response.error.details["remediation"] == "use 7"
    if profile not in ("envelope", "generic"):
        assert result["_meta"]["dev.accord-mcp/answer"]["problem"]["kind"] == "validation"


def test_an_unexpected_exception_is_left_to_fastmcp() -> None:
    def broken() -> dict[str, Any]:
        raise ZeroDivisionError("by zero")

    async def main() -> None:
        async with Client(server_of(broken)) as client:
            await client.call_tool("broken")

    with pytest.raises(ToolError, match="broken"):
        asyncio.run(main())


def test_a_result_of_fastmcp_passes_unchanged() -> None:
    def own() -> dict[str, Any] | ToolResult:
        return ToolResult(content="mine")

    result = wire(called(server_of(own, profile="envelope"), "own"))
    assert [each["text"] for each in result["content"]] == ["mine"]


# Parameters


def greeting() -> str:
    return "Hello"


def add(
    first: Annotated[int, Field(ge=0, description="a number")],
    ctx: Context,
    words: str = Depends(greeting),
    second: int = 2,
) -> dict[str, Any]:
    """Add two numbers.

    Args:
        second: another one
    """
    return {"sum": first + second, "words": words, "server": ctx.fastmcp.name}


def test_parameters_description_context_and_dependencies_are_those_of_the_function() -> None:
    mcp = server_of(add, profile="envelope")
    plain = FastMCP("shop")
    plain.tool(add)
    wrapped, own = tool_of(mcp, "add"), tool_of(plain, "add")
    assert wrapped["inputSchema"] == own["inputSchema"]
    assert wrapped["description"] == own["description"]
    reading = read(called(mcp, "add", first=1), "add")
    assert reading.value == {"sum": 3, "words": "Hello", "server": "shop"}


def test_a_decorator_without_options_is_plain() -> None:
    mcp = FastMCP("shop")

    @mcp.tool
    @accord_tool
    def count() -> list[int]:
        return [1, 2]

    result = wire(called(mcp, "count"))
    assert result["content"] == [{"type": "text", "text": "[1,2]"}]
    assert result["structuredContent"] == {"result": [1, 2]}


def test_a_method_is_a_tool() -> None:
    class Shop:
        def __init__(self) -> None:
            self.stock = 3

        def left(self, sold: int) -> int:
            return self.stock - sold

    mcp = server_of(Shop().left)
    assert read(called(mcp, "left", sold=1)).value == 2


# Schemas


def schema_of(function: Any, profile: str) -> Any:
    return tool_of(server_of(function, profile=profile), function.__name__).get("outputSchema")


def test_the_output_schema_is_that_of_the_profile() -> None:
    from answers import a_model, an_object, models, words

    assert schema_of(a_model, "plain")["properties"].keys() == {"number", "name", "_accord"}
    assert schema_of(models, "plain")["required"] == ["result"]
    assert schema_of(words, "plain") is None
    assert schema_of(an_object, "envelope")["required"] == ["success", "data", "error", "meta"]
    assert schema_of(words, "generic")["required"] == ["toolName", "responseType"]


# Mistakes


def test_a_value_that_does_not_fit_its_type_fails() -> None:
    def wrong() -> dict[str, int]:
        return {"a": "b"}  # type: ignore[dict-item]

    assert wire(called(server_of(wrong), "wrong"))["isError"] is True


def test_a_wrong_option_is_an_error_at_the_decorator() -> None:
    with pytest.raises(ContractError, match="there are plain, envelope"):
        accord_tool(profile="fancy")(greeting)
    with pytest.raises(ContractError, match="did you mean 'profile'"):
        accord_tool(profil="plain")(greeting)  # type: ignore[call-overload]


def test_a_generator_is_an_error_at_the_decorator() -> None:
    def several() -> Any:
        yield 1

    with pytest.raises(ContractError, match="generator"):
        accord_tool(several)


def test_a_large_result_is_cut_and_says_so() -> None:
    def many() -> list[str]:
        return ["word"] * 1_000

    reading = read(called(server_of(many, max_bytes=2_000, read_only=True), "many"), "many")
    assert reading.is_truncated
    assert len(reading.value) < 1_000
    assert "cursor" not in reading.warnings[0].message


def test_a_function_can_still_be_called() -> None:
    def problem() -> int:
        raise Problem.not_found("No")

    assert accord_tool(problem)().is_error
