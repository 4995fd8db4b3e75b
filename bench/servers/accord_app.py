"""Accord as an ASGI app, for a uvicorn of one's own."""

from bench.servers.accord_server import server

app = server.asgi()
