"""Accord as an ASGI app, for uvicorn."""

from bench.servers.accord_server import server

app = server.asgi()
