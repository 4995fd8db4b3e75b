"""A server that asks a model."""

from accord import Context, Server

server = Server("sampler")


@server.tool
async def sample(context: Context) -> str:
    """Ask a model."""
    return (await context.sample("Say hi")).text
