"""The server that the official conformance suite calls: its tools under the suite's names."""

import asyncio

from accord import Answer, Audio, Context, Embedded, Image, Problem, Server

server = Server("conformance", version="1.0", instructions="For the conformance suite.")

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
SILENCE = bytes.fromhex(
    "524946462400000057415645666d74201000000001000100401f0000401f00000100080064617461"
) + bytes(4)


@server.tool
async def test_simple_text() -> str:
    """Say something simple."""
    return "This is a simple text response for testing."


@server.tool
async def test_image_content() -> Answer[str]:
    """Show a picture."""
    return Answer("A red pixel", blocks=[Image(PIXEL, "image/png")])


@server.tool
async def test_audio_content() -> Answer[str]:
    """Play nothing for a moment."""
    return Answer("Silence", blocks=[Audio(SILENCE, "audio/wav")])


@server.tool
async def test_embedded_resource() -> Answer[str]:
    """Send a resource along."""
    resource = Embedded(
        "test://embedded-resource", "This is an embedded resource content.", "text/plain"
    )
    return Answer("A resource", blocks=[resource])


@server.tool
async def test_multiple_content_types() -> Answer[str]:
    """Send text, a picture and a resource."""
    resource = Embedded(
        "test://mixed-content-resource", '{"test":"data","value":123}', "application/json"
    )
    return Answer("Multiple content types test:", blocks=[Image(PIXEL, "image/png"), resource])


@server.tool
async def test_error_handling() -> str:
    """Fail."""
    raise Problem("This tool intentionally returns an error for testing")


@server.tool
async def test_tool_with_progress(context: Context) -> str:
    """Tell how far it has come, three times."""
    for done in (0, 50, 100):
        await context.progress(done, total=100, message=f"{done} of 100")
        await asyncio.sleep(0.05)
    return "done"


@server.tool
async def test_missing_capability(context: Context) -> str:
    """Go on only with a client that can sample."""
    context.require("sampling")
    return "The client can sample"


@server.tool
async def test_streaming_elicitation(context: Context) -> str:
    """Need a client that can be asked; it is not asked yet."""
    context.require("elicitation")
    return "done"


@server.tool
async def test_logging_tool() -> str:
    """Log nothing: there is no logging yet."""
    return "done"
