"""The stage as others serve it: by itself, and under a path of another app."""

from starlette.applications import Starlette
from starlette.routing import Mount

from serve.http.stage import server

plain = server.asgi()
app = Starlette(routes=[Mount("/x", app=server.asgi()), Mount("/deep", app=server.asgi(path="/y"))])
