"""A server whose module prints as it is imported, and once more when Python ends."""

import atexit

from accord import Server

server = Server("chatty", version="1.0")

print("NOISE at import")
atexit.register(print, "NOISE at exit")


@server.tool
async def quiet() -> str:
    return "quiet"
