"""ASGI applications for other HTTP servers: the samples alone, and mounted under a path of another app."""

from starlette.applications import Starlette
from starlette.routing import Mount

from accord.server import combine
from samples import faulty, features

server = combine({"features": features.progress, "faulty": faulty.blocking})
plain = server.asgi()
app = Starlette(routes=[Mount("/x", app=server.asgi()), Mount("/deep", app=server.asgi(path="/y"))])
