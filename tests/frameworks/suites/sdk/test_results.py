"""Results of the official SDK, of whichever major version is installed."""

from mcp.types import CallToolResult, TextContent

from accord import read


def test_a_result_of_the_sdk_reads_as_its_wire_form() -> None:
    result = CallToolResult(content=[TextContent(type="text", text='[{"id": 1}]')])
    assert read(result, tool="list").response.data == [{"id": 1}]
