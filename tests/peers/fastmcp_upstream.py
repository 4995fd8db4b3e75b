"""A FastMCP server over stdio: an upstream of the gateway."""

from fastmcp import FastMCP

server = FastMCP("fast")


@server.tool
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers, as others do."""
    return a + b


server.run(show_banner=False)
